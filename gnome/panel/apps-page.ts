// The page of apps: a list to search, each started through the local proxy, and what to do while that is off.
import './resource.ts';
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { appMatches, describeProxy, launchable, launchedWord, shortcutWord, sortApps } from '../apps-view.ts';
import { collectWhenQuiet } from '../collect.ts';
import { _, words } from '../i18n.ts';
import { fill } from '../words.ts';
import { type AppRows, appRows, type ListedApp } from './app-row.ts';
import type { Page, Shell } from './shell.ts';
import { offerShortcuts } from './shortcut-offer.ts';

export class AppsPage extends Adw.Bin implements Page {
  static {
    GObject.registerClass(
      {
        GTypeName: 'CulvertAppsPage',
        Template: 'resource:///org/culvert/Culvert/ui/apps-page.ui',
        InternalChildren: [
          ...['states', 'enable', 'enabling', 'unavailable', 'again', 'search', 'reload'],
          ...['proxy', 'warning', 'verify', 'found', 'list', 'none'],
        ],
      },
      AppsPage,
    );
  }
  declare readonly _states: Gtk.Stack;
  declare readonly _enable: Gtk.Button;
  declare readonly _enabling: Gtk.Spinner;
  declare readonly _unavailable: Adw.StatusPage;
  declare readonly _again: Gtk.Button;
  declare readonly _search: Gtk.SearchEntry;
  declare readonly _reload: Gtk.Button;
  declare readonly _proxy: Gtk.Label;
  declare readonly _warning: Gtk.Label;
  declare readonly _verify: Gtk.CheckButton;
  declare readonly _found: Gtk.Stack;
  declare readonly _list: Gtk.ListView;
  declare readonly _none: Adw.StatusPage;

  readonly #shell: Shell;
  /** By id, in the order of the list. */
  #apps = new Map<string, ListedApp>();
  /** Ids of the apps that the search finds. */
  readonly #shown = new Gtk.StringList();
  readonly #rows: AppRows;
  #loaded: 'no' | 'loading' | 'yes' | { failed: string } = 'no';

  constructor(shell: Shell) {
    super();
    this.#shell = shell;
    this.#rows = appRows({
      find: id => this.#apps.get(id),
      launch: id => void this.#launch(id),
      shortcut: id => void this.#toggleShortcut(id),
    });
    this._list.model = new Gtk.NoSelection({ model: this.#shown });
    this._list.factory = this.#rows.factory;
    this._list.connect('activate', (_list, position) => {
      const id = this.#shown.get_string(position);
      const listed = id === null ? undefined : this.#apps.get(id);
      if (listed && launchable(listed.app)) void this.#launch(listed.app.id);
    });
    this._search.connect('search-changed', () => this.#showFound());
    this._search.set_key_capture_widget(this._list);
    this._reload.connect('clicked', () => this.reload());
    this._again.connect('clicked', () => this.reload());
    this._enable.connect('clicked', () => void this.#enable());
  }

  refreshState(): void {
    const proxy = describeProxy(this.#shell.model.facts(), words);
    this._enable.sensitive = proxy.sensitive;
    this._enabling.visible = proxy.waiting;
    this._proxy.visible = proxy.address !== null;
    // Translators: %s is an address such as 127.0.0.1:40000
    if (proxy.address) this._proxy.label = fill(_('The proxy listens on %s'), proxy.address);
    this._warning.visible = proxy.warning !== null;
    this._warning.label = proxy.warning ?? '';
    if (proxy.look === 'on' && this.#loaded === 'no') void this.#load();
    const failed = typeof this.#loaded === 'object' ? this.#loaded.failed : null;
    this._again.visible = failed !== null;
    this._unavailable.description = GLib.markup_escape_text(failed ?? _('The Culvert daemon is not running.'), -1);
    this._states.visible_child_name =
      proxy.look !== 'on' ? proxy.look : failed !== null ? 'unavailable' : this.#loaded === 'yes' ? 'list' : 'loading';
  }

  focusSearch(): void {
    this._search.grab_focus();
  }

  reload(): void {
    if (this.#loaded === 'loading') return;
    // what is listed stays until the answer is there
    this.#loaded = 'no';
    this.refreshState();
  }

  async #load(): Promise<void> {
    this.#loaded = 'loading';
    try {
      const { apps } = await this.#shell.model.call('GET /api/apps');
      this.#apps = new Map(sortApps(apps).map(app => [app.id, { app, busy: false }]));
      this.#loaded = 'yes';
    } catch (error) {
      this.#loaded = { failed: (error as Error).message };
    }
    this.#showFound();
    this.refreshState();
  }

  #showFound(): void {
    collectWhenQuiet(250);
    const found = [...this.#apps.values()].filter(({ app }) => appMatches(app, this._search.text));
    this.#shown.splice(
      0,
      this.#shown.get_n_items(),
      found.map(({ app }) => app.id),
    );
    this._found.visible_child_name = this.#shown.get_n_items() ? 'some' : 'none';
    const searched = this.#apps.size > 0;
    this._none.title = searched ? _('Nothing found') : _('No apps');
    this._none.description = searched
      ? _('No app matches the search.')
      : _('This desktop has no apps with a menu entry.');
  }

  async #launch(id: string): Promise<void> {
    await this.#during(id, async ({ app }) => {
      const verify = this._verify.active;
      const body = { appId: id, ...(verify ? { verify } : {}) };
      const launched = await this.#shell.model.call('POST /api/apps/proxy-launcher', { body });
      this.#shell.say(launchedWord(app.name, launched, words));
    });
  }

  async #toggleShortcut(id: string): Promise<void> {
    await this.#during(id, async listed => {
      const present = listed.app.shortcut === null;
      const made = await this.#shell.model.call('POST /api/apps/shortcut', { body: { appId: id, present } });
      listed.app = { ...listed.app, shortcut: made.shortcut };
      this.#shell.say(shortcutWord(listed.app.name, present, words));
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
      this.#shell.complain(error);
    } finally {
      listed.busy = false;
      this.#rows.update(id);
    }
  }

  /** The specification's way: the Console page shows what happens, and common apps are offered shortcuts. */
  async #enable(): Promise<void> {
    this.#shell.goTo('console');
    if (!(await this.#shell.perform('enableLocalProxy'))) return;
    await offerShortcuts(this.#shell);
    this.reload();
  }
}
