// The page of the command log: what was asked of the tunnel CLI and what it answered, the newest at the end.
import './resource.ts';
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { LogEntry } from '../../daemon/api/schema.ts';
import { asText, createRing, emptyWord, passes, SHOWS, type Shows, showsName } from '../console.ts';
import { _, words } from '../i18n.ts';
import { type LogItem, logItem, logRows } from './console-row.ts';
import { copyText } from './copy.ts';
import { type Follow, followEnd } from './follow.ts';
import type { Page, Shell } from './shell.ts';

/** Until the daemon has told its own. */
const CAPACITY = 500;

export class ConsolePage extends Adw.Bin implements Page {
  static {
    GObject.registerClass(
      {
        GTypeName: 'CulvertConsolePage',
        Template: 'resource:///org/culvert/Culvert/ui/console-page.ui',
        InternalChildren: ['search', 'shows', 'copy', 'found', 'none', 'scrolled', 'list', 'newest'],
      },
      ConsolePage,
    );
  }
  declare readonly _search: Gtk.SearchEntry;
  declare readonly _shows: Gtk.DropDown;
  declare readonly _copy: Gtk.Button;
  declare readonly _found: Gtk.Stack;
  declare readonly _none: Adw.StatusPage;
  declare readonly _scrolled: Gtk.ScrolledWindow;
  declare readonly _list: Gtk.ListView;
  declare readonly _newest: Gtk.Button;

  readonly #shell: Shell;
  readonly #ring = createRing(CAPACITY);
  readonly #store: Gio.ListStore;
  readonly #filter: Gtk.CustomFilter;
  readonly #shown: Gtk.FilterListModel;
  readonly #follow: Follow;
  readonly #unsubscribe: () => void;
  #connected = false;

  constructor(shell: Shell) {
    super();
    this.#shell = shell;
    this.#store = new Gio.ListStore({ item_type: GObject.TYPE_OBJECT });
    this.#filter = Gtk.CustomFilter.new(item =>
      passes((item as LogItem).entry, SHOWS[this._shows.selected] ?? 'all', this._search.text),
    );
    this.#shown = new Gtk.FilterListModel({ model: this.#store, filter: this.#filter });
    this._shows.model = Gtk.StringList.new(SHOWS.map(shows => showsName(shows, words)));
    this._shows.selected = SHOWS.indexOf('notable' satisfies Shows);
    this._shows.connect('notify::selected', () => this.#refilter());
    this._search.connect('search-changed', () => this.#refilter());
    this._search.set_key_capture_widget(this._list);
    this._copy.connect('clicked', () => this.#copyAll());
    this.#follow = followEnd(this._scrolled, away => {
      this._newest.visible = away;
    });
    this._newest.connect('clicked', () => this.#follow.toEnd());
    this._list.factory = logRows(() => shell.say(_('Copied to the clipboard')));
    this._list.model = new Gtk.NoSelection({ model: this.#shown });
    this.#unsubscribe = shell.model.onEvent(({ event, data }) => {
      if (event === 'log') this.#add([data as LogEntry]);
    });
    this.#showFound();
  }

  refreshState(): void {
    const connected = this.#shell.model.facts().loss === null;
    // another daemon counts from 1 again, and what was missed meanwhile comes as no event
    if (connected && !this.#connected) void this.#read();
    this.#connected = connected;
  }

  focusSearch(): void {
    this._search.grab_focus();
  }

  reload(): void {
    void this.#read();
  }

  close(): void {
    this.#unsubscribe();
  }

  /** The whole log, page by page. */
  async #read(): Promise<void> {
    const entries: LogEntry[] = [];
    let capacity = CAPACITY;
    try {
      for (let since = 0; ; ) {
        const page = await this.#shell.model.call('GET /api/logs', { query: { since: String(since) } });
        entries.push(...page.entries);
        capacity = page.capacity;
        if (!page.entries.length || page.next <= since) break;
        since = page.next;
      }
    } catch {
      // a lost daemon is told by the window, and the next one is read again
      return;
    }
    const newest = entries.at(-1)?.id ?? 0;
    const later = this.#ring.entries().filter(({ id }) => id > newest && id <= newest + entries.length);
    this.#ring.reset(capacity, entries);
    this.#ring.add(later);
    this.#follow.changing();
    this.#store.splice(0, this.#store.n_items, this.#ring.entries().map(logItem));
    this.#showFound();
  }

  #add(entries: LogEntry[]): void {
    const change = this.#ring.add(entries);
    this.#follow.changing();
    if (change) {
      this.#store.splice(this.#store.n_items, 0, change.added.map(logItem));
      this.#store.splice(0, change.dropped, []);
    } else this.#store.splice(0, this.#store.n_items, this.#ring.entries().map(logItem));
    this.#showFound();
  }

  #refilter(): void {
    this.#follow.changing();
    this.#filter.changed(Gtk.FilterChange.DIFFERENT);
    this.#showFound();
  }

  #showFound(): void {
    const some = this.#shown.n_items > 0;
    this._copy.sensitive = some;
    this._found.visible_child_name = some ? 'some' : 'none';
    const { title, description } = emptyWord(this.#store.n_items, this._search.text.trim() !== '', words);
    this._none.title = title;
    this._none.description = description;
  }

  #copyAll(): void {
    const texts: string[] = [];
    for (let i = 0; i < this.#shown.n_items; i++) texts.push(asText((this.#shown.get_item(i) as LogItem).entry, words));
    copyText(this, `${texts.join('\n\n')}\n`);
    this.#shell.say(_('Copied to the clipboard'));
  }
}
