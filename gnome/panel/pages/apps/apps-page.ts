// Builds the page of apps: a list to search, each started through the tunnel; what that changes is asked once.
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Command } from '../../../../daemon/view/form.ts';
import { searchedText } from '../../../../daemon/view/forms/search/searched-rows.ts';
import { pageTitle } from '../../../../daemon/view/page-list.ts';
import type { ProxyView } from '../../../../daemon/view/states/apps.ts';
import {
  type AppEntry,
  appMatches,
  furtherWays,
  isFarFetched,
  launchable,
  launchedText,
  noAppsText,
  shortcutText,
  sortApps,
} from '../../../../daemon/view/states/apps.ts';
import { errorText } from '../../../../daemon/view/states/problems.ts';
import { stateIcon } from '../../../../daemon/view/states/summary/table.ts';
import type { View } from '../../../../daemon/view/view.ts';
import { collectWhenQuiet } from '../../../gc.ts';
import { _, tr } from '../../../i18n.ts';
import { rememberApp } from '../../../recent-apps.ts';
import type { PageWidget, WindowHost } from '../../host.ts';
import { setDescription, setName } from '../../widgets/a11y/accessible.ts';
import { checkButton, labelButton } from '../../widgets/button-label.ts';
import { copyButton } from '../../widgets/copy.ts';
import { type Fill, stepwise } from '../../widgets/lists/fill.ts';
import { dropRows } from '../../widgets/lists/row-factory.ts';
import { turnTo } from '../../widgets/stack.ts';
import { type AppRows, appRows, type ListedApp } from './app-row.ts';
import { offerShortcuts } from './shortcut-offer.ts';

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
  readonly #all = checkButton(_('Show all'));
  readonly #verify = checkButton(_('Check the tunnel first'));
  readonly #states = new Gtk.Stack({ vexpand: true });
  readonly #failed = new Adw.StatusPage({
    icon_name: stateIcon('unknown'),
    title: _('Can’t list apps'),
  });
  readonly #again = new Gtk.Button({ label: _('Try Again'), halign: Gtk.Align.CENTER, css_classes: ['pill'] });
  readonly #none = new Adw.StatusPage({ icon_name: 'culvert-apps-symbolic' });
  readonly #list = new Gtk.ListView({ css_classes: ['culvert-list', 'card'], show_separators: true });
  /** By id, in the order of the list. */
  #apps = new Map<string, ListedApp>();
  /** Ids of the apps that the search finds. */
  readonly #shown = new Gtk.StringList();
  #fill: Fill | null = null;
  readonly #rows: AppRows;
  #proxy: ProxyView | null = null;
  #loaded: 'no' | 'loading' | 'yes' | { failed: string } = 'no';

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    this.#rows = appRows({
      find: id => this.#apps.get(id),
      launch: id => void this.#launch(id),
      shortcut: id => void this.#toggleShortcut(id),
      entries: id => this.#entries(id),
      run: (id, { command }) => void this.#run(id, command),
    });
    this.#copy = copyButton(
      _('Copy the proxy’s address'),
      () => this.#proxy?.address ?? '',
      () => host.toast(_('Copied')),
    );
    this.child = this.#build();
    this.#search.connect('changed', () => this.#showFound());
    this.#reload.connect('clicked', () => this.reload());
    this.#all.connect('toggled', () => this.#showFound());
    this.#remedy.connect('clicked', () => {
      const remedy = this.#proxy?.failure?.remedy;
      if (remedy) void host.run(remedy.command);
    });
    this.#enable.connect('clicked', () => void this.#enableProxy(true));
  }

  refresh({ proxy, client, tunnel }: View): void {
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
    if (!client.offline && this.#loaded === 'no') void this.#load();
    const listed = this.#loaded === 'yes';
    const failed =
      typeof this.#loaded === 'object' ? this.#loaded.failed : client.offline && !listed ? tunnel.sentence : null;
    for (const widget of [this.#list, this.#reload, this.#again]) widget.sensitive = !client.offline;
    this.#failed.description = GLib.markup_escape_text(failed ?? '', -1);
    turnTo(this.#states, failed !== null ? 'failed' : !listed ? 'loading' : this.#found(), pageTitle('apps', tr));
  }

  get inert(): boolean {
    return this.#enable.visible && !this.#enable.sensitive;
  }

  focusSearch(): void {
    this.#search.grab_focus();
  }

  reveal(row: string): void {
    const text = searchedText(row);
    if (!text) return;
    this.#all.active = true; // it may be one of those behind it
    this.#search.text = text;
    this.focusSearch();
  }

  close(): void {
    dropRows(this.#list);
  }

  reload(): void {
    if (this.#loaded === 'loading' || this.#host.view().client.offline) return;
    // the old list stays until the reply is there
    this.#loaded = 'no';
    this.refresh(this.#host.view());
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
    // not a table to those who can't see it
    const accessible_role = Gtk.AccessibleRole.GROUP;
    const options = new Gtk.FlowBox({
      selection_mode: Gtk.SelectionMode.NONE,
      max_children_per_line: 2,
      accessible_role,
    });
    for (const child of [this.#all, this.#verify])
      options.append(new Gtk.FlowBoxChild({ child, focusable: false, accessible_role }));
    for (const child of [about, this.#enable, this.#warning, this.#remedy, searching, options]) top.append(child);
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
    const clamp = new Adw.ClampScrollable({ maximum_size: 720, child: list });
    const spinner = new Gtk.Spinner({ spinning: true, halign: Gtk.Align.CENTER, valign: Gtk.Align.CENTER });
    setName(spinner, _('Looking for apps'));
    this.#again.connect('clicked', () => this.reload());
    this.#failed.child = this.#again;
    const pages: [string, Gtk.Widget][] = [
      ['some', new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp })],
      ['none', this.#none],
      ['loading', spinner],
      ['failed', this.#failed],
    ];
    for (const [name, page] of pages) this.#states.add_named(page, name);
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
    box.append(new Adw.Clamp({ maximum_size: 720, child: top }));
    box.append(this.#states);
    return box;
  }

  /** Starts the app at that place of the list. */
  #activate(position: number): void {
    const id = this.#shown.get_string(position);
    const listed = id === null ? undefined : this.#apps.get(id);
    if (listed && launchable(listed.app)) void this.#launch(listed.app.id);
  }

  async #load(): Promise<void> {
    this.#loaded = 'loading';
    try {
      const { apps } = await this.#host.model.call('GET /api/apps');
      this.#apps = new Map(sortApps(apps, tr.locale).map(app => [app.id, { app, busy: false }]));
      this.#loaded = 'yes';
    } catch (error) {
      this.#loaded = { failed: errorText(error, tr) };
    }
    this.#showFound(true);
    this.refresh(this.#host.view());
  }

  #found(): 'some' | 'none' {
    return this.#shown.get_n_items() ? 'some' : 'none';
  }

  /** @param again the same apps as before, as a rule. */
  #showFound(again = false): void {
    collectWhenQuiet();
    const query = this.#search.text;
    const searched = query.trim() !== '';
    const ids = [...this.#apps.values()]
      // a search covers all apps
      .filter(({ app }) => appMatches(app, query) && (searched || this.#all.active || !isFarFetched(app)))
      .map(({ app }) => app.id);
    if (!again) this.#fill?.show(ids);
    else if (this.#fill?.update(ids)) this.#rows.update();
    Object.assign(this.#none, noAppsText(this.#apps.size > 0, tr));
    if (this.#loaded === 'yes') turnTo(this.#states, this.#found(), pageTitle('apps', tr));
  }

  async #launch(id: string): Promise<void> {
    if (this.#proxy?.look !== 'on' && !(await this.#enableProxy(false))) return;
    await this.#during(id, async ({ app }) => {
      const verify = this.#verify.active;
      const body = { appId: id, ...(verify ? { verify } : {}) };
      await this.#host.model.call('POST /api/apps/proxy-launcher', { body });
      rememberApp({ id, name: app.name });
      this.#host.toast(launchedText(app.name, tr));
    });
  }

  async #toggleShortcut(id: string): Promise<void> {
    await this.#during(id, async listed => {
      const present = listed.app.shortcut === null;
      const made = await this.#host.model.call('POST /api/apps/shortcut', { body: { appId: id, present } });
      listed.app = { ...listed.app, shortcut: made.shortcut };
      this.#host.toast(shortcutText(listed.app.name, present, tr));
    });
  }

  #entries(id: string): AppEntry[] {
    const listed = this.#apps.get(id);
    const { model } = this.#host;
    const helper = this.#host.view().killSwitch.look;
    return listed ? furtherWays(listed.app, { call: model.call, helper }, tr) : [];
  }

  async #run(id: string, command: Command): Promise<void> {
    await this.#during(id, async () => {
      if (await this.#host.run(command)) this.reload();
    });
  }

  /** One request about an app at a time; its buttons show it. */
  async #during(id: string, work: (listed: ListedApp) => Promise<void>): Promise<void> {
    const listed = this.#apps.get(id);
    if (!listed || listed.busy) return;
    listed.busy = true;
    this.#rows.update(id);
    try {
      await work(listed);
    } catch (error) {
      this.#host.showError(error);
    } finally {
      listed.busy = false;
      this.#rows.update(id);
    }
  }

  /** Explains what it changes, in one dialog. Resolves with whether the proxy is on. */
  async #enableProxy(offer: boolean): Promise<boolean> {
    const enabled = await this.#host.run(this.#host.view().proxy.enable.command);
    if (enabled && offer) await offerShortcuts(this.#host);
    return enabled;
  }
}
