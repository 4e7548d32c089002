// The page of the command log: what was asked of the tunnel CLI and what it answered, the newest at the end.
import './resource.ts';
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { LogEntry } from '../../daemon/api/schema.ts';
import { collectWhenQuiet } from '../collect.ts';
import { asText, createRing, emptyWord, passes, SHOWS, type Shows, showsName } from '../console.ts';
import { _, words } from '../i18n.ts';
import { type LogSource, logRows } from './console-row.ts';
import { copyText } from './copy.ts';
import { type Follow, followEnd } from './follow.ts';
import type { Page, Shell } from './shell.ts';

/** Until the daemon has told its own. */
const CAPACITY = 500;
const QUIET_MS = 250;
/** How many more than the daemon keeps may be listed: taking the oldest away moves, and so renews, every row. */
const SLACK = 50;

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
  readonly #ring = createRing(CAPACITY, SLACK);
  /** Ids of the entries that pass the filter. */
  readonly #shown = new Gtk.StringList();
  readonly #source: LogSource = {
    entry: id => this.#ring.entries().find(entry => String(entry.id) === id),
    expanded: new Set(),
  };
  readonly #follow: Follow;
  readonly #unsubscribe: () => void;
  /** What came while the whole log was being read, and may be missing there. */
  #arrived: LogEntry[] | null = null;
  #connected = false;

  constructor(shell: Shell) {
    super();
    this.#shell = shell;
    this._shows.model = Gtk.StringList.new(SHOWS.map(shows => showsName(shows, words)));
    this._shows.selected = SHOWS.indexOf('notable' satisfies Shows);
    this._shows.connect('notify::selected', () => this.#refilter());
    this._search.connect('search-changed', () => this.#refilter());
    this._search.set_key_capture_widget(this._list);
    this._copy.connect('clicked', () => this.#copyAll());
    this.#follow = followEnd(this._scrolled, this._list, away => {
      this._newest.visible = away;
    });
    this._newest.connect('clicked', () => this.#follow.toEnd());
    this._list.factory = logRows(this.#source, () => shell.say(_('Copied to the clipboard')));
    this._list.model = new Gtk.NoSelection({ model: this.#shown });
    this.#unsubscribe = shell.model.onEvent(({ event, data }) => {
      if (event !== 'log') return;
      this.#arrived?.push(data as LogEntry);
      this.#add([data as LogEntry]);
    });
    this.#changed();
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
    const arrived: LogEntry[] = [];
    this.#arrived = arrived;
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
    // a later read has begun meanwhile
    if (this.#arrived !== arrived) return;
    this.#arrived = null;
    this.#ring.reset(capacity, entries);
    this.#ring.add(arrived);
    this.#source.expanded.clear();
    this.#refilter();
  }

  #add(entries: LogEntry[]): void {
    const before = this.#ring.entries();
    const change = this.#ring.add(entries);
    if (!change) {
      this.#refilter();
      return;
    }
    const gone = before.slice(0, change.dropped);
    this.#shown.splice(this.#shown.get_n_items(), 0, this.#passing(change.added));
    if (gone.length) this.#shown.splice(0, this.#passing(gone).length, []);
    for (const { id } of gone) this.#source.expanded.delete(String(id));
    this.#changed();
  }

  #refilter(): void {
    this.#shown.splice(0, this.#shown.get_n_items(), this.#passing(this.#ring.entries()));
    this.#changed();
  }

  #passing(entries: LogEntry[]): string[] {
    const [shows, query] = [SHOWS[this._shows.selected] ?? 'all', this._search.text];
    return entries.filter(entry => passes(entry, shows, query)).map(({ id }) => String(id));
  }

  #changed(): void {
    this.#follow.changed();
    collectWhenQuiet(QUIET_MS);
    const some = this.#shown.get_n_items() > 0;
    this._copy.sensitive = some;
    this._found.visible_child_name = some ? 'some' : 'none';
    const { title, description } = emptyWord(this.#ring.entries().length, this._search.text.trim() !== '', words);
    this._none.title = title;
    this._none.description = description;
  }

  #copyAll(): void {
    const shown = new Set(this.#passing(this.#ring.entries()));
    const entries = this.#ring.entries().filter(({ id }) => shown.has(String(id)));
    const texts = entries.map(entry => asText(entry, words));
    copyText(this, `${texts.join('\n\n')}\n`);
    this.#shell.say(_('Copied to the clipboard'));
  }
}
