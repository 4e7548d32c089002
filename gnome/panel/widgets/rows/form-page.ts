// Provides the pages that are forms, with groups of rows, an optional search and an optional list.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Form } from '../../../../daemon/view/form.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import type { OpenPage, Page } from '../../../../daemon/view/pages/page.ts';
import type { View } from '../../../../daemon/view/view.ts';
import type { PageWidget } from '../../host.ts';
import { within } from '../accessible.ts';
import { createLongList, createSearchBar, LIST_WIDTH, type LongList, type SearchBar } from '../long-list.ts';
import { FormGroups } from './form-groups.ts';

export class FormPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertFormPage' }, FormPage);
  }
  readonly #host: Host;
  readonly #open: OpenPage;
  readonly #groups: FormGroups;
  readonly #page = new Adw.PreferencesPage();
  /** Container of the groups above a list, which replaces `#page`; null without a list. */
  #top: Top | null = null;
  #list: LongList | null = null;
  #search: SearchBar | null = null;
  /** True while the page is on screen. */
  #seen = false;
  focusSearch?: () => void;
  tick?: () => void;

  /** @param title title of the page, for assistive technology */
  constructor(host: Host, page: Page, title: string) {
    super();
    this.#host = host;
    this.#groups = new FormGroups(
      host,
      group => (this.#top ? this.#top.box.append(group) : this.#page.add(group)),
      group => (this.#top ? this.#top.box.remove(group) : this.#page.remove(group)),
    );
    this.#groups.name = title;
    this.#open = page(host, () => this.#changed());
    if (this.#open.ticks) this.tick = () => this.#changed();
  }

  get inert(): boolean {
    return this.#groups.inert;
  }

  get first(): Gtk.Widget | undefined {
    const row = this.#open.first === undefined ? undefined : this.#groups.find(this.#open.first);
    return row && [...within(row)].find(child => child instanceof Gtk.Entry);
  }

  refresh(view: View): void {
    this.#seen = true;
    const form = this.#open.form(view);
    if (!this.child) this.child = this.#build(form);
    this.#groups.show(form);
    this.#top?.fit();
    if (form.search) this.#search?.show(form.search);
    if (form.list) this.#list?.show(form.list, form.search?.text ?? '');
  }

  /** Builds the page: the search above the groups or, with a list, the search and the list below the groups. */
  #build({ search, list }: Form): Gtk.Widget {
    if (!search && !list) return this.#page;
    if (list) {
      this.#top = createTop();
      this.#list = createLongList(list, this.#host);
    }
    if (search) {
      this.#search = createSearchBar(search, list ? LIST_WIDTH : PAGE_WIDTH, this.#list);
      this.focusSearch = this.#search.focus;
    }
    this.#page.vexpand = true;
    const parts = list ? [this.#top, this.#search, this.#list] : [this.#search, { widget: this.#page }];
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
    for (const part of parts) if (part) box.append(part.widget);
    return box;
  }

  /** Updates the page if it is on screen; a hidden page is updated when it is shown. */
  #changed(): void {
    if (this.#seen) this.refresh(this.#host.view());
  }

  opened(): void {
    this.#open.shown?.();
  }

  reload(): void {
    this.#open.shown?.();
  }

  leave(): void {
    this.#seen = false;
    if (!this.#open.left) return;
    this.#open.left();
    this.#search?.clear();
  }

  close(): void {
    this.#seen = false;
    this.#open.close?.();
    this.#list?.close();
  }

  reveal(row: string): void {
    if (this.#open.reveal) {
      this.#open.reveal(row);
      this.#changed();
      this.focusSearch?.();
    }
    this.#groups.reveal(row);
  }
}

/** Width that libadwaita gives a page of groups, in pixels. */
const PAGE_WIDTH = 600;

/** Maximum height of the groups above a list, in pixels and as a part of the window, which leaves room for the list. */
const TOP_HEIGHT = 440;
const TOP_PART = 0.5;

interface Top {
  widget: Gtk.Widget;
  /** Holds the groups. */
  box: Gtk.Box;
  fit(): void;
}

/** Creates the container of the groups above a list, which scrolls if the groups don't fit. */
function createTop(): Top {
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 18 });
  for (const side of ['margin_start', 'margin_end', 'margin_top'] as const) box[side] = 12;
  // room for a card's shadow, or its outline in high contrast, which the scrolled window would cut off
  box.margin_bottom = 3;
  const child = new Adw.Clamp({ maximum_size: LIST_WIDTH, child: box });
  const widget = new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child });
  /** Fits the height to the groups: the scrolled window itself would request the height without line breaks. */
  const fit = () => {
    const [, height] = child.measure(Gtk.Orientation.VERTICAL, widget.hadjustment.page_size || -1);
    const window = (widget.root as Gtk.Window | null)?.get_height() || Number.POSITIVE_INFINITY;
    widget.min_content_height = Math.min(height, TOP_HEIGHT, Math.round(window * TOP_PART));
  };
  // not during the layout, which must not change itself
  const later = () => void Promise.resolve().then(fit);
  widget.hadjustment.connect('notify::page-size', later);
  widget.vadjustment.connect('notify::upper', later);
  return { widget, box, fit };
}
