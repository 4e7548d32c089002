// Builds the page of apps: a searchable list that starts apps through the tunnel, and asks once about the necessary changes.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { App } from '../../../daemon/api/schema.ts';
import { formatCount } from '../../../daemon/view/format.ts';
import { searchedText } from '../../../daemon/view/forms/search-rows.ts';
import { pageTitle } from '../../../daemon/view/page-list.ts';
import { openApps } from '../../../daemon/view/pages/apps.ts';
import { commonApps, launchable } from '../../../daemon/view/states/apps.ts';
import type { ProxyView } from '../../../daemon/view/states/proxy.ts';
import { fill } from '../../../daemon/view/translator.ts';
import type { View } from '../../../daemon/view/view.ts';
import { collectWhenQuiet } from '../../gc.ts';
import { _, tr } from '../../i18n.ts';
import { rememberApp } from '../../recent-apps.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { setDescription, setName, turnTo } from '../widgets/accessible.ts';
import { checkButton, copyButton, labelButton } from '../widgets/buttons.ts';
import { CLAMP } from '../widgets/columns.ts';
import { ask } from '../widgets/compat.ts';
import { dropRows, type Fill, OneStop, stepwise } from '../widgets/lists.ts';
import { createStatus, type StatusWidget } from '../widgets/rows/status.ts';
import { type AppRows, appRows } from './app-row.ts';

export class AppsPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertAppsPage' }, AppsPage);
  }
  readonly #host: WindowHost;
  readonly #search = new Gtk.SearchEntry({ placeholder_text: _('Search apps'), hexpand: true });
  readonly #reload = new Gtk.Button({ icon_name: 'view-refresh-symbolic', css_classes: ['flat'] });
  readonly #sentence = new Gtk.Label({ xalign: 0, wrap: true, hexpand: true });
  readonly #enable = new Gtk.Button({ halign: Gtk.Align.START });
  readonly #copy: Gtk.Button;
  readonly #warning = new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['warning'] });
  readonly #remedy = new Gtk.Button({ halign: Gtk.Align.START });
  /** Why the list can't be read again. */
  readonly #failed = new Gtk.Label({ xalign: 0, wrap: true, visible: false, css_classes: ['error'] });
  readonly #all = checkButton(_('Show all'));
  readonly #verify = checkButton(_('Check the tunnel first'));
  readonly #states = new Gtk.Stack({ vexpand: true });
  readonly #status: StatusWidget;
  readonly #list = new Gtk.ListView({ css_classes: ['culvert-list', 'card'], show_separators: true });
  readonly #page: ReturnType<typeof openApps>;
  /** IDs of the listed apps. */
  readonly #shown = new Gtk.StringList();
  #fill: Fill | null = null;
  readonly #rows: AppRows;
  #proxy: ProxyView | null = null;
  #listed: ReadonlyMap<string, App> = new Map();
  #busy: ReadonlySet<string> = new Set();
  /** Search conditions of the list on screen. */
  #by: object | null = null;
  #isOnScreen = false;

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    const changed = () => {
      if (this.#isOnScreen) this.refresh(host.view());
    };
    const page = openApps(host, changed);
    this.#page = page;
    this.#rows = appRows({
      find: id => {
        const app = this.#listed.get(id);
        return app && { app, busy: this.#busy.has(id) };
      },
      launch: id => void this.#launch(id),
      shortcut: id => void page.toggleShortcut(id),
      entries: page.entries,
      run: (id, { command }) => void page.run(id, command),
    });
    this.#copy = copyButton(
      _('Copy the proxy’s address'),
      () => this.#proxy?.address ?? '',
      () => host.toast(_('Copied')),
    );
    this.#status = createStatus(host);
    this.child = this.#build();
    this.#search.connect('changed', () => page.narrow({ query: this.#search.text }));
    this.#reload.connect('clicked', () => this.reload());
    this.#all.connect('toggled', () => page.narrow({ all: this.#all.active }));
    this.#remedy.connect('clicked', () => {
      const remedy = this.#proxy?.failure?.remedy;
      if (remedy) void host.run(remedy.command);
    });
    this.#enable.connect('clicked', () => void this.#enableProxy());
  }

  refresh(view: View): void {
    this.#isOnScreen = true;
    const { proxy, client } = view;
    this.#proxy = proxy;
    this.#enable.visible = proxy.look !== 'on';
    labelButton(this.#enable, proxy.enable.label);
    this.#enable.sensitive = proxy.sensitive;
    this.#copy.visible = proxy.address !== null;
    this.#sentence.label = proxy.sentence;
    const warning = proxy.failure?.text ?? proxy.warning;
    this.#warning.visible = warning !== null;
    this.#warning.label = warning ?? '';
    setDescription(this.#enable, this.#enable.sensitive ? '' : (warning ?? ''));
    this.#remedy.visible = Boolean(proxy.failure?.remedy);
    labelButton(this.#remedy, proxy.failure?.remedy?.label ?? '');
    for (const widget of [this.#list, this.#reload]) widget.sensitive = !client.offline;
    this.#showList(view);
  }

  get inert(): boolean {
    return this.#enable.visible && !this.#enable.sensitive;
  }

  focusSearch(): void {
    this.#search.grab_focus();
  }

  reveal(row: string): void {
    const query = searchedText(row);
    if (!query) return;
    this.#page.narrow({ query, all: true }); // the app may be one that the short list leaves out
    this.focusSearch();
  }

  leave(): void {
    this.#isOnScreen = false;
  }

  close(): void {
    this.#isOnScreen = false;
    this.#page.close();
    dropRows(this.#list);
  }

  reload(): void {
    this.#page.shown();
  }

  #build(): Gtk.Widget {
    setName(this.#search, _('Search apps'));
    setName(this.#reload, _('Look for apps again'));
    this.#reload.tooltip_text = _('Look for apps again');
    const top = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6, css_classes: ['culvert-toolbar'] });
    const about = new Gtk.Box({ spacing: 6 });
    about.append(this.#sentence);
    about.append(this.#copy);
    const searching = new Gtk.Box({ spacing: 6 });
    searching.append(this.#search);
    searching.append(this.#reload);
    // otherwise screen readers would present the options as a table
    const accessible_role = Gtk.AccessibleRole.GROUP;
    const options = new Gtk.FlowBox({
      selection_mode: Gtk.SelectionMode.NONE,
      max_children_per_line: 2,
      accessible_role,
    });
    for (const child of [this.#all, this.#verify])
      options.append(new Gtk.FlowBoxChild({ child, focusable: false, accessible_role }));
    for (const child of [about, this.#enable, this.#warning, this.#remedy, searching, options, this.#failed])
      top.append(child);
    const list = this.#list;
    list.model = new Gtk.NoSelection({ model: this.#shown });
    list.factory = this.#rows.factory;
    this.#fill = stepwise(list, this.#shown);
    setName(list, _('Apps'));
    this.#search.set_key_capture_widget(list);
    list.connect('activate', (_list, position) => this.#activate(position));
    this.#search.connect('activate', () => {
      if (this.#search.text.trim()) this.#activate(0);
    });
    const clamp = new Adw.ClampScrollable({ ...CLAMP, child: list });
    const spinner = new Gtk.Spinner({ spinning: true, halign: Gtk.Align.CENTER, valign: Gtk.Align.CENTER });
    setName(spinner, _('Looking for apps'));
    const pages: [string, Gtk.Widget][] = [
      ['some', new OneStop(list, new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp }))],
      ['status', new Gtk.ScrolledWindow({ child: this.#status.widget })],
      ['loading', spinner],
    ];
    for (const [name, page] of pages) this.#states.add_named(page, name);
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
    box.append(new Adw.Clamp({ ...CLAMP, child: top }));
    box.append(this.#states);
    return box;
  }

  /** Starts the app at a position of the list. */
  #activate(position: number): void {
    const id = this.#shown.get_string(position);
    const app = id === null ? undefined : this.#listed.get(id);
    if (app && launchable(app)) void this.#launch(app.id);
  }

  async #launch(id: string): Promise<void> {
    const app = await this.#page.launch(id, this.#verify.active);
    if (app) rememberApp({ id, name: app.name });
  }

  #showList(view: View): void {
    const { by, listed, status, busy, failed } = this.#page.view(view);
    this.#failed.label = failed ?? '';
    this.#failed.visible = failed !== null;
    if (this.#search.text !== by.query) this.#search.text = by.query;
    this.#all.active = by.all;
    const changing = [...this.#busy, ...busy].filter(id => this.#busy.has(id) !== busy.has(id));
    this.#busy = busy;
    if (listed !== this.#listed) {
      this.#listed = listed;
      collectWhenQuiet();
      const ids = [...listed.keys()];
      if (by !== this.#by) this.#fill?.show(ids);
      else if (this.#fill?.update(ids)) this.#rows.update();
      this.#by = by;
    }
    for (const id of changing) this.#rows.update(id);
    if (status) this.#status.show(status);
    turnTo(this.#states, status ? 'status' : listed.size > 0 ? 'some' : 'loading', pageTitle('apps', tr));
  }

  /** Turns on the local proxy, then offers shortcuts. */
  async #enableProxy(): Promise<void> {
    if (await this.#host.run(this.#host.view().proxy.enable.command)) await offerShortcuts(this.#host);
  }
}

/** Offers shortcuts for installed common apps once the local proxy is on, and creates the chosen shortcuts. */
async function offerShortcuts(host: WindowHost): Promise<void> {
  try {
    const { apps } = await host.model.call('GET /api/apps');
    const common = commonApps(apps);
    if (!common.length) {
      host.toast(_('Only chosen apps are tunneled'));
      return;
    }
    const { widget, chosen } = choices(common);
    const answer = await ask(host.window, {
      heading: _('Only chosen apps are tunneled'),
      body: _('Add these to the app menu, started in the tunnel?'),
      responses: [
        ['later', _('Not Now')],
        ['make', _('Add')],
      ],
      suggested: 'make',
      extra: widget,
    });
    if (answer === 'make') await make(host, chosen());
  } catch (error) {
    host.showError(error);
  }
}

async function make(host: WindowHost, apps: App[]): Promise<void> {
  for (const { id: appId } of apps)
    await host.model.call('POST /api/apps/shortcut', { body: { appId, present: true } });
  if (apps.length)
    host.toast(fill(tr.ngettext('%d app added', '%d apps added', apps.length), formatCount(apps.length, tr)));
}

/** Creates a list of apps with check boxes, all checked. */
function choices(apps: App[]): { widget: Gtk.Widget; chosen(): App[] } {
  const list = new Gtk.ListBox({ selection_mode: Gtk.SelectionMode.NONE, css_classes: ['boxed-list'] });
  const checks = apps.map(({ name }) => {
    const check = new Gtk.CheckButton({ active: true, valign: Gtk.Align.CENTER });
    // the row names the check box
    const row = new Adw.ActionRow({ title: name, use_markup: false, activatable_widget: check });
    row.add_prefix(check);
    list.append(row);
    return check;
  });
  return { widget: list, chosen: () => apps.filter((_app, i) => checks[i]!.active) };
}
