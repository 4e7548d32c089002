// Builds the page of the split tunnel: one list to search, add to with validation, and take from with a way back.

import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { actionCommand } from '../../../../daemon/view/form.ts';
import { searchedText } from '../../../../daemon/view/forms/search/searched-rows.ts';
import {
  addRoute,
  describeRoutes,
  type RouteEntry,
  type RoutesView,
  removal,
  resetRoutes,
  routeMatches,
} from '../../../../daemon/view/forms/tunnel/split-tunnel.ts';
import { checks } from '../../../../daemon/view/forms/validate.ts';
import { pageTitle } from '../../../../daemon/view/page-list.ts';
import { fill } from '../../../../daemon/view/translator.ts';
import type { View } from '../../../../daemon/view/view.ts';
import { collectWhenQuiet } from '../../../gc.ts';
import { _, tr } from '../../../i18n.ts';
import type { PageWidget, WindowHost } from '../../host.ts';
import { nameMenuButton, setDescription, setName } from '../../widgets/a11y/accessible.ts';
import { labelButton } from '../../widgets/button-label.ts';
import { type Fill, stepwise } from '../../widgets/lists/fill.ts';
import { dropRows } from '../../widgets/lists/row-factory.ts';
import { turnTo } from '../../widgets/stack.ts';
import { Question } from './question.ts';
import { line, routeRows } from './route-rows.ts';

export class RoutesPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertRoutesPage' }, RoutesPage);
  }
  readonly #host: WindowHost;
  readonly #search = new Gtk.SearchEntry({ placeholder_text: _('Search routes'), hexpand: true });
  readonly #add = new Gtk.Entry({ placeholder_text: _('Address, range or host to add'), hexpand: true });
  readonly #addButton = new Gtk.Button({ label: _('Add') });
  readonly #wrong = new Gtk.Label({ xalign: 0, wrap: true, visible: false, css_classes: ['caption', 'error'] });
  readonly #sentence = new Gtk.Label({ xalign: 0, wrap: true });
  readonly #question: Question;
  readonly #shown = new Gtk.StringList();
  #fill: Fill | null = null;
  readonly #list = new Gtk.ListView({ css_classes: ['culvert-list', 'card'], show_separators: true });
  readonly #rows = routeRows({
    entry: value => this.#entries.get(value),
    canRemove: entry => entry.removable && this.#view?.sensitive === true,
    reason: () => this.#managed(),
    remove: entry => void this.#host.run(removal(entry, tr)),
  });
  readonly #stack = new Gtk.Stack({ vexpand: true });
  readonly #none = new Adw.StatusPage({ icon_name: 'culvert-routes-symbolic', title: _('No routes') });
  #entries = new Map<string, RouteEntry>();
  #view: RoutesView | null = null;
  /** It was sent empty. */
  #missing = false;
  #key = '';

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    this.#question = new Question(host);
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
    this.#question.show();
    const key = JSON.stringify([view.entries, view.sensitive]);
    if (key === this.#key) return;
    this.#key = key;
    this.#entries = new Map(view.entries.map(entry => [entry.value, entry]));
    if (this.#fill?.update(this.#found())) this.#rows.renew();
    this.#changed();
  }

  /** The form that changes the list; the question above it is about the present list. */
  get first(): Gtk.Widget {
    return this.#add;
  }

  get inert(): boolean {
    return this.#view?.sensitive === false || this.#question.inert;
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
    edit.connect('clicked', () => this.#host.goTo('editor'));
    edit.valign = Gtk.Align.CENTER;
    this.#sentence.hexpand = true;
    const searching = line(this.#search, this.#menu());
    for (const child of [line(this.#sentence, edit), adding, this.#wrong, searching]) top.append(child);
    const list = this.#list;
    list.model = new Gtk.NoSelection({ model: this.#shown });
    list.factory = this.#rows.factory;
    this.#fill = stepwise(list, this.#shown);
    setName(list, _('Routes'));
    const clamp = new Adw.ClampScrollable({ maximum_size: 720, child: list });
    const scrolled = new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp });
    this.#stack.add_named(scrolled, 'some');
    this.#stack.add_named(this.#none, 'none');
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
    for (const child of [this.#question.widget, top]) box.append(new Adw.Clamp({ maximum_size: 720, child }));
    box.append(this.#stack);
    return box;
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
    entry('reset-addresses', _('Default Addresses…'), () => void this.#host.run(resetRoutes('addresses', tr)));
    entry('reset-hosts', _('Remove All Hosts…'), () => void this.#host.run(resetRoutes('hosts', tr)));
    this.insert_action_group('routes', actions);
    const button = new Gtk.MenuButton({ icon_name: 'view-more-symbolic', menu_model: menu, tooltip_text: _('More') });
    nameMenuButton(button, _('More for routes'));
    return button;
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

  /** Why nothing can be changed, where an organization manages the list. */
  #managed(): string {
    return this.#view?.managed ? this.#sentence.label : '';
  }

  #validate(): void {
    const text = this.#add.text.trim();
    const listed = this.#entries.has(text) ? _('It is already on the list') : null;
    const missing = this.#missing && text === '' ? _('Fill in this field first.') : null;
    const problem = checks(tr).route(text) ?? listed ?? missing;
    this.#wrong.label = problem ?? '';
    this.#wrong.visible = problem !== null;
    for (const widget of [this.#add, this.#addButton]) setDescription(widget, problem ?? this.#managed());
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
    if (!(await this.#host.run(actionCommand(addRoute(text), { done })))) return;
    // newer text stays
    if (this.#add.text.trim() === text) this.#add.text = '';
  }
}
