// Provides the pages that are forms, with an optional status, groups of rows, an optional search and an optional list.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Form, Search, Steps } from '../../../../daemon/view/form.ts';
import { withoutDaemon } from '../../../../daemon/view/forms/availability.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import type { OpenPage, Page } from '../../../../daemon/view/pages/page.ts';
import type { View } from '../../../../daemon/view/view.ts';
import type { PageWidget } from '../../host.ts';
import { within } from '../accessible.ts';
import { commandButton } from '../buttons.ts';
import { CLAMP, Columns, PAGE_MARGIN, vertical } from '../columns.ts';
import { FormGroups } from './form-groups.ts';
import { createLongList, type LongList } from './long-list.ts';
import { createSearchBar, type SearchBar } from './search-bar.ts';
import { createStatus, type StatusWidget } from './status.ts';

export class FormPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertFormPage' }, FormPage);
  }
  readonly #host: Host;
  readonly #open: OpenPage;
  readonly #groups: FormGroups;
  /** Holds the groups. */
  readonly #box = vertical(24);
  readonly #columns = new Columns();
  /** Holds the status and the groups. */
  readonly #content = new Gtk.Box({ layout_manager: this.#columns });
  readonly #scrolled = new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER });
  /** Holds all parts of the page. */
  #body: Gtk.Box | null = null;
  /** The form on screen. */
  #form: Form | null = null;
  #status: StatusWidget | null = null;
  #hasStatus = false;
  /** Fits the groups above a list. */
  #fit: (() => void) | null = null;
  #list: LongList | null = null;
  #search: SearchBar | null = null;
  #steps: StepBar | null = null;
  #isOnScreen = false;
  /** The row to reveal once the page shows it. */
  #wanted = '';
  focusSearch?: () => void;
  tick?: () => void;

  /** @param title title of the page, for assistive technology @param two true for two columns in a wide window */
  constructor(host: Host, page: Page, title: string, two = false) {
    super();
    this.#host = host;
    this.#columns.two = two;
    for (const side of ['margin_start', 'margin_end'] as const) this.#content[side] = PAGE_MARGIN;
    this.#content.append(this.#box);
    this.#groups = new FormGroups(
      host,
      group => this.#box.append(group),
      group => this.#box.remove(group),
    );
    this.#groups.name = title;
    this.#open = page(host, () => this.#changed());
    if (this.#open.ticks)
      this.tick = () => {
        if (this.#isOnScreen && this.#open.form(host.view()) !== this.#form) this.#changed();
      };
  }

  get inert(): boolean {
    return this.#groups.inert;
  }

  get searchBar(): SearchBar | null {
    return this.#search;
  }

  get first(): Gtk.Widget | undefined {
    if (this.#steps) return this.#steps.next;
    if (this.#hasStatus && this.#status?.first.visible) return this.#status.first;
    const row = this.#open.first === undefined ? undefined : this.#groups.find(this.#open.first);
    return row && [...within(row)].find(child => child instanceof Gtk.Entry || child instanceof Gtk.Button);
  }

  refresh(view: View): void {
    this.#isOnScreen = true;
    const form = this.#open.form(view);
    this.#form = form;
    this.#body ??= this.#build(form);
    this.child = this.#body;
    this.#showStatus(form, view);
    this.#groups.show(form);
    this.#fit?.();
    if (form.search) this.#showSearch(form.search, this.#body);
    if (form.list) this.#list?.show(form.list, form.search?.text ?? '');
    if (this.#wanted && this.#groups.reveal(this.#wanted)) this.#wanted = '';
    if (form.steps && this.#steps?.show(form.steps)) this.#scrolled.vadjustment.value = 0;
  }

  #showStatus(form: Form, { client }: View): void {
    const { groups } = form;
    const { status } = client.offline ? withoutDaemon({ ...form, groups: [] }, client) : form;
    this.#hasStatus = status !== undefined;
    if (status && !this.#status) {
      this.#status = createStatus(this.#host);
      this.#content.prepend(this.#status.widget);
    }
    if (!this.#status) return;
    this.#status.widget.visible = status !== undefined;
    this.#box.visible = groups.some(({ rows, actions }) => rows.length > 0 || actions?.length);
    if (status) this.#status.show(status);
  }

  /** Builds the page: the groups above the list. */
  #build({ list, steps }: Form): Gtk.Box {
    for (const side of ['margin_top', 'margin_bottom'] as const) this.#content[side] = list ? 12 : 24;
    const widget = this.#scrolled;
    widget.child = this.#content;
    widget.vexpand = !list;
    const box = vertical(0);
    box.append(widget);
    if (steps) {
      this.#steps = createStepBar(this.#host);
      for (const part of [new Gtk.Separator(), this.#steps.widget]) box.append(part);
    }
    if (!list) return box;
    this.#fit = fitAbove(widget, this.#content);
    this.#list = createLongList(list, this.#host);
    box.append(this.#list.widget);
    return box;
  }

  /** Shows the search, which a form can get later: above the groups or, with a list, above the list. */
  #showSearch(search: Search, box: Gtk.Box): void {
    if (!this.#search) {
      this.#search = createSearchBar(search, this.#list);
      this.focusSearch = this.#search.focus;
      const bar = new Adw.Clamp({ ...CLAMP, child: this.#search.widget });
      box.insert_child_after(bar, this.#list ? box.get_first_child() : null);
    }
    this.#search.show(search);
  }

  /** Updates the page if it is on screen; a hidden page is updated when it is shown. */
  #changed(): void {
    if (this.#isOnScreen) this.refresh(this.#host.view());
  }

  opened(): void {
    this.#open.shown?.();
  }

  reload(): void {
    this.#open.shown?.();
  }

  leave(): void {
    this.#isOnScreen = false;
    this.#wanted = '';
    if (!this.#open.left) return;
    this.#open.left();
    this.#search?.put('');
  }

  close(): void {
    this.#isOnScreen = false;
    this.#open.close?.();
    this.#list?.close();
  }

  reveal(row: string): void {
    this.#wanted = this.#open.reveal?.(row) ?? row;
    // a row that is found gets the focus instead
    if (this.#open.reveal) this.focusSearch?.();
    this.#changed();
  }
}

interface StepBar {
  widget: Gtk.Widget;
  next: Gtk.Widget;
  /** @returns true for another step */
  show(steps: Steps): boolean;
}

/** Creates the bar below the form of a step. */
function createStepBar(host: Host): StepBar {
  const button = () => commandButton(command => void host.run(command), [], true);
  const [back, next] = [button(), button()];
  const place = new Gtk.Label({ css_classes: ['dim-label'], hexpand: true });
  const bar = new Gtk.Box({ spacing: 6, margin_top: 6, margin_bottom: 6, margin_start: 12, margin_end: 12 });
  for (const part of [back.widget, place, next.widget]) bar.append(part);
  let at = 0;
  return {
    widget: new Adw.Clamp({ ...CLAMP, child: bar }),
    next: next.widget,
    show(steps) {
      const isOther = at !== steps.at;
      at = steps.at;
      place.label = steps.place;
      back.show(steps.back);
      next.show({ ...steps.next, style: 'suggested' });
      return isOther;
    },
  };
}

/** Maximum height of the groups above a list, in pixels and as a part of the window, which leaves room for the list. */
const TOP_HEIGHT = 440;
const TOP_PART = 0.5;

/** Returns what fits the height to the groups: the scrolled window itself would request the height without line breaks. */
function fitAbove(widget: Gtk.ScrolledWindow, child: Gtk.Widget): () => void {
  // room for a card's shadow, or its outline in high contrast, which the scrolled window would cut off
  child.margin_bottom = 3;
  const fit = () => {
    const [, height] = child.measure(Gtk.Orientation.VERTICAL, widget.hadjustment.page_size || -1);
    const window = (widget.root as Gtk.Window | null)?.get_height() || Number.POSITIVE_INFINITY;
    widget.min_content_height = Math.min(height, TOP_HEIGHT, Math.round(window * TOP_PART));
  };
  // not during the layout, which must not change itself
  const later = () => void Promise.resolve().then(fit);
  widget.hadjustment.connect('notify::page-size', later);
  widget.vadjustment.connect('notify::upper', later);
  return fit;
}
