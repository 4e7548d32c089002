// Builds the page of the split tunnel: one list to search, add to with validation, and take from with a way back.

import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { Why } from '../../../daemon/api/schema.ts';
import { actionCommand } from '../../../daemon/view/form.ts';
import { searchedText } from '../../../daemon/view/forms/search/searched-rows.ts';
import {
  addRoute,
  describeRoutes,
  type RouteEntry,
  type RoutesView,
  removal,
  resetRoutes,
  routeKindName,
  routeMatches,
} from '../../../daemon/view/forms/tunnel/split-tunnel.ts';
import { checks } from '../../../daemon/view/forms/validate.ts';
import { pageTitle } from '../../../daemon/view/page-titles.ts';
import { whyForm } from '../../../daemon/view/routes/why.ts';
import { fill } from '../../../daemon/view/translator.ts';
import type { View } from '../../../daemon/view/view.ts';
import { collectWhenQuiet } from '../../gc.ts';
import { _, tr } from '../../i18n.ts';
import type { Page, Shell } from '../shell.ts';
import { nameMenuButton, setDescription, setName } from '../widgets/a11y/accessible.ts';
import { labelButton } from '../widgets/button-label.ts';
import { nameListItem } from '../widgets/compat.ts';
import { type Fill, stepwise } from '../widgets/lists/fill.ts';
import { dropRows, type RowFactory, rowFactory } from '../widgets/lists/row-factory.ts';
import { FormGroups } from '../widgets/rows/form-page.ts';
import { withoutHyphens } from '../widgets/rows/row-widget.ts';
import { turnTo } from '../widgets/stack.ts';

/** Room for the shadow of a card, or its outline in high contrast, which what scrolls it would cut off. */
const EDGE = 3;
/** Margin of the page, as in the style sheet. */
const MARGIN = 12;
/** Greatest height of the answer to a question, in pixels. */
const WHY_HEIGHT = 440;

interface Row {
  title: Gtk.Label;
  note: Gtk.Label;
  badge: Gtk.Label;
  remove: Gtk.Button;
}

export class RoutesPage extends Adw.Bin implements Page {
  static {
    GObject.registerClass({ GTypeName: 'CulvertRoutesPage' }, RoutesPage);
  }
  readonly #shell: Shell;
  readonly #search = new Gtk.SearchEntry({ placeholder_text: _('Search routes'), hexpand: true });
  readonly #add = new Gtk.Entry({ placeholder_text: _('Address, range or host to add'), hexpand: true });
  readonly #addButton = new Gtk.Button({ label: _('Add') });
  readonly #wrong = new Gtk.Label({ xalign: 0, wrap: true, visible: false, css_classes: ['caption', 'error'] });
  readonly #sentence = new Gtk.Label({ xalign: 0, wrap: true });
  readonly #whyBox = new Gtk.Box({
    orientation: Gtk.Orientation.VERTICAL,
    spacing: 6,
    margin_start: EDGE,
    margin_end: EDGE,
    margin_top: EDGE,
    margin_bottom: EDGE,
  });
  /** A host with many addresses has a long answer, which must not push the list out of the window. */
  readonly #whyScroller = new Gtk.ScrolledWindow({
    hscrollbar_policy: Gtk.PolicyType.NEVER,
    margin_start: MARGIN - EDGE,
    margin_end: MARGIN - EDGE,
    margin_top: MARGIN - EDGE,
  });
  readonly #why: FormGroups;
  #answer: Why | null = null;
  readonly #shown = new Gtk.StringList();
  #fill: Fill | null = null;
  readonly #list = new Gtk.ListView({ css_classes: ['culvert-list', 'card'], show_separators: true });
  #rows: RowFactory<Row>['rows'] = new Map();
  readonly #stack = new Gtk.Stack({ vexpand: true });
  readonly #none = new Adw.StatusPage({ icon_name: 'culvert-routes-symbolic', title: _('No routes') });
  #entries = new Map<string, RouteEntry>();
  #view: RoutesView | null = null;
  /** It was sent empty. */
  #missing = false;
  #key = '';

  constructor(shell: Shell) {
    super();
    this.#shell = shell;
    this.#why = new FormGroups(
      shell,
      group => this.#whyBox.append(group),
      group => this.#whyBox.remove(group),
    );
    this.#why.name = pageTitle('routes', tr);
    this.child = this.#build();
    this.#search.connect('changed', () => this.#showFound());
    this.#add.connect('changed', () => {
      this.#missing = false;
      this.#validate();
    });
    this.#add.connect('activate', () => void this.#submit());
    this.#addButton.connect('clicked', () => void this.#submit());
  }

  refresh({ client, tunnel }: View): void {
    const view = describeRoutes(client, tunnel.settable, tr);
    this.#view = view;
    this.#sentence.label = view.managed
      ? `${view.sentence} ${_('Your organization manages this list')}.`
      : view.sentence;
    this.#add.sensitive = view.sensitive;
    this.#validate();
    this.#showWhy();
    const key = JSON.stringify([view.entries, view.sensitive]);
    if (key === this.#key) return;
    this.#key = key;
    this.#entries = new Map(view.entries.map(entry => [entry.value, entry]));
    if (this.#fill?.update(this.#found())) for (const [item, row] of this.#rows) this.#showEntry(row, item);
    this.#changed();
  }

  /** The form that changes the list; the question above it is about the present list. */
  get first(): Gtk.Widget {
    return this.#add;
  }

  get inert(): boolean {
    return this.#view?.sensitive === false || this.#why.inert;
  }

  close(): void {
    dropRows(this.#list);
  }

  focusSearch(): void {
    this.#search.grab_focus();
  }

  reveal(row: string): void {
    const text = searchedText(row);
    if (!text) return;
    this.#search.text = text;
    this.focusSearch();
  }

  #build(): Gtk.Widget {
    setName(this.#search, _('Search routes'));
    setName(this.#add, _('Address, range or host to add'));
    setName(this.#addButton, _('Add a route'));
    const top = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6, css_classes: ['culvert-toolbar'] });
    const adding = line(this.#add, this.#addButton);
    const edit = new Gtk.Button();
    labelButton(edit, _('Edit as Text'));
    edit.connect('clicked', () => this.#shell.goTo('editor'));
    const why = this.#whyScroller;
    why.child = this.#whyBox;
    why.hadjustment.connect('notify::page-size', () => void Promise.resolve().then(() => this.#fitWhy()));
    edit.valign = Gtk.Align.CENTER;
    this.#sentence.hexpand = true;
    const searching = line(this.#search, this.#menu());
    for (const child of [line(this.#sentence, edit), adding, this.#wrong, searching]) top.append(child);
    const list = this.#list;
    list.model = new Gtk.NoSelection({ model: this.#shown });
    list.factory = this.#factory();
    this.#fill = stepwise(list, this.#shown);
    setName(list, _('Routes'));
    const clamp = new Adw.ClampScrollable({ maximum_size: 720, child: list });
    const scrolled = new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp });
    this.#stack.add_named(scrolled, 'some');
    this.#stack.add_named(this.#none, 'none');
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
    for (const child of [why, top]) box.append(new Adw.Clamp({ maximum_size: 720, child }));
    box.append(this.#stack);
    return box;
  }

  #showWhy(): void {
    const ask = async (target: string) => {
      this.#answer = null;
      this.#showWhy();
      this.#answer = await this.#shell.model.call('GET /api/why', { query: { target } });
      this.#showWhy();
    };
    this.#why.show(whyForm(this.#answer, ask, tr));
    this.#fitWhy();
  }

  /** Shows the whole answer: on its own, the scroller would ask for the height of lines that are not broken. */
  #fitWhy(): void {
    const width = this.#whyScroller.hadjustment.page_size || -1;
    const [, height] = this.#whyBox.measure(Gtk.Orientation.VERTICAL, width);
    this.#whyScroller.min_content_height = Math.min(height, WHY_HEIGHT);
  }

  #menu(): Gtk.Widget {
    const actions = new Gio.SimpleActionGroup();
    const menu = new Gio.Menu();
    const entry = (name: string, label: string, work: () => void) => {
      const action = new Gio.SimpleAction({ name });
      action.connect('activate', work);
      actions.add_action(action);
      menu.append(label, `routes.${name}`);
    };
    entry('reset-addresses', _('Default Addresses…'), () => void this.#shell.run(resetRoutes('addresses', tr)));
    entry('reset-hosts', _('Remove All Hosts…'), () => void this.#shell.run(resetRoutes('hosts', tr)));
    this.insert_action_group('routes', actions);
    const button = new Gtk.MenuButton({ icon_name: 'view-more-symbolic', menu_model: menu, tooltip_text: _('More') });
    nameMenuButton(button, _('More for routes'));
    return button;
  }

  #factory(): Gtk.SignalListItemFactory {
    const create = (item: Gtk.ListItem): Row => {
      const title = new Gtk.Label({ xalign: 0, wrap: true, attributes: withoutHyphens() });
      const note = new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] });
      const text = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, hexpand: true, valign: Gtk.Align.CENTER });
      text.append(title);
      text.append(note);
      const badge = new Gtk.Label({
        wrap: true,
        natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
        xalign: 1,
        justify: Gtk.Justification.RIGHT,
        css_classes: ['caption', 'dim-label'],
      });
      const remove = new Gtk.Button({ icon_name: 'list-remove-symbolic', css_classes: ['flat'] });
      remove.connect('clicked', () => {
        const entry = this.#entries.get(idOf(item));
        if (entry) void this.#shell.run(removal(entry, tr));
      });
      item.child = line(text, badge, remove);
      item.activatable = false;
      if ('focusable' in item) item.focusable = false;
      return { title, note, badge, remove };
    };
    const { factory, rows } = rowFactory(create, (row, item) => this.#showEntry(row, item));
    this.#rows = rows;
    return factory;
  }

  #showEntry({ title, note, badge, remove }: Row, item: Gtk.ListItem): void {
    // a row that the list keeps for reuse has no item
    const entry = item.item && this.#entries.get(idOf(item));
    if (!entry) return;
    showWrapped(title, entry.value);
    showWrapped(note, entry.note ?? '');
    note.visible = entry.note !== null;
    badge.label = `${routeKindName(entry.kind, tr)} · ${entry.origin}`;
    // Translators: %s is an address or a host name
    const label = fill(_('Remove %s'), entry.value);
    remove.tooltip_text = label;
    setName(remove, label);
    setDescription(remove, this.#view?.managed ? this.#sentence.label : '');
    remove.sensitive = entry.removable && this.#view?.sensitive === true;
    nameListItem(item, `${entry.value}, ${badge.label}`);
  }

  #showFound(): void {
    this.#fill?.show(this.#found());
    this.#changed();
  }

  #found(): string[] {
    const query = this.#search.text;
    return [...this.#entries.values()].filter(entry => routeMatches(entry, query)).map(({ value }) => value);
  }

  #changed(): void {
    collectWhenQuiet();
    this.#none.title = this.#entries.size ? _('Nothing found') : _('No routes');
    turnTo(this.#stack, this.#shown.get_n_items() ? 'some' : 'none', pageTitle('routes', tr));
  }

  #validate(): void {
    const text = this.#add.text.trim();
    const listed = this.#entries.has(text) ? _('It is already on the list') : null;
    const missing = this.#missing && text === '' ? _('Fill in this field first.') : null;
    const problem = checks(tr).route(text) ?? listed ?? missing;
    this.#wrong.label = problem ?? '';
    this.#wrong.visible = problem !== null;
    const managed = this.#view?.managed ? this.#sentence.label : null;
    for (const widget of [this.#add, this.#addButton]) setDescription(widget, problem ?? managed ?? '');
    this.#addButton.sensitive = (text === '' || problem === null) && this.#view?.sensitive === true;
    // as in the rows of forms
    this.#addButton.focusable = text !== '';
  }

  async #submit(): Promise<void> {
    const text = this.#add.text.trim();
    if (!this.#addButton.sensitive) return;
    this.#missing = text === '';
    if (this.#missing) {
      this.#validate();
      this.#add.grab_focus();
      return;
    }
    // Translators: %s is an address or a host name
    const done = fill(_('%s added'), text);
    if (!(await this.#shell.run(actionCommand(addRoute(text), { done })))) return;
    // newer text stays
    if (this.#add.text.trim() === text) this.#add.text = '';
  }
}

/** Anything up to this length fits a narrow window, also in large letters, in characters: any range of IPv4. */
const SHORT = 18;

/** A long name may have no place to break; to break anywhere takes GTK much longer to measure, in each of 200 rows. */
function showWrapped(label: Gtk.Label, text: string): void {
  const { WORD, WORD_CHAR } = Pango.WrapMode;
  label.wrap_mode = text.length > SHORT ? WORD_CHAR : WORD;
  label.label = text;
}

function line(...children: Gtk.Widget[]): Gtk.Box {
  const box = new Gtk.Box({ spacing: 6 });
  for (const child of children) box.append(child);
  return box;
}

function idOf(item: Gtk.ListItem): string {
  return (item.item as Gtk.StringObject).string;
}
