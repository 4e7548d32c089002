// Builds the page of the command log, which lists commands to the tunnel CLI and their answers, the newest last.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { LogEntry } from '../../../daemon/api/schema.ts';
import { searchedText } from '../../../daemon/view/forms/search-rows.ts';
import { asText, createRing, emptyStatus, passes, SHOWS, type Shows, showsName } from '../../../daemon/view/log.ts';
import { pageTitle } from '../../../daemon/view/page-list.ts';
import type { View } from '../../../daemon/view/view.ts';
import { collectWhenQuiet } from '../../gc.ts';
import { _, tr } from '../../i18n.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { setDescription, setName, turnTo } from '../widgets/accessible.ts';
import { copyText } from '../widgets/buttons.ts';
import { CLAMP, vertical } from '../widgets/columns.ts';
import { dropRows, type Fill, type Follow, followEnd, OneStop, rowFactory, stepwise } from '../widgets/lists.ts';
import { createStatus, type StatusWidget } from '../widgets/rows/status.ts';
import { type LogSource, logRows } from './log-row.ts';

/** Maximum number of entries until the daemon reports its limit. */
const CAPACITY = 500;
/** Number of entries beyond the daemon's limit: removing the oldest entry updates every row. */
const SLACK = 50;

export class LogPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertLogPage' }, LogPage);
  }
  readonly #search = new Gtk.SearchEntry({ placeholder_text: _('Search commands and output') });
  readonly #shows = new Gtk.DropDown({ hexpand: true });
  readonly #copy = iconButton('edit-copy-symbolic', _('Copy all that is listed'), ['flat']);
  readonly #save = iconButton('document-save-symbolic', _('Save what is listed'), ['flat']);
  readonly #found = new Gtk.Stack({ vexpand: true });
  readonly #none: StatusWidget;
  readonly #list = new Gtk.ListView({ css_classes: ['culvert-list', 'culvert-console'] });
  readonly #scrolled = new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER });
  readonly #newest = iconButton('culvert-newest-symbolic', _('Go to the newest'), ['circular', 'osd']);
  readonly #host: WindowHost;
  readonly #ring = createRing(CAPACITY, SLACK);
  /** IDs of the entries that pass the filter. */
  readonly #shown = new Gtk.StringList();
  readonly #fill: Fill;
  /** The ring's entries by ID, for fast lookup: a list of thousands binds rows as it scrolls. */
  #byId = new Map<string, LogEntry>();
  readonly #source: LogSource = {
    entry: id => this.#byId.get(id),
    expanded: new Set(),
  };
  readonly #follow: Follow;
  readonly #unsubscribe: () => void;
  /** Entries that arrived during a read of the whole log, which the answer may lack; null while no read is running. */
  #arrived: LogEntry[] | null = null;
  #connected = false;
  /** True while another page is on screen; the page reads the missed entries when it returns. */
  #away = false;

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    this.#none = createStatus(host);
    this.child = this.#build();
    this.#shows.model = Gtk.StringList.new(SHOWS.map(shows => showsName(shows, tr)));
    this.#shows.selected = SHOWS.indexOf('notable' satisfies Shows);
    this.#shows.connect('notify::selected', () => this.#refilter());
    this.#search.connect('changed', () => this.#refilter());
    this.#search.set_key_capture_widget(this.#list);
    this.#copy.connect('clicked', () => this.#copyAll());
    this.#save.connect('clicked', () => void this.#saveAll().catch(error => host.showError(error)));
    setName(this.#search, _('Search commands and output'));
    // the inner toggle has the focus, but no name
    for (const widget of [this.#shows, this.#shows.get_first_child()!]) setName(widget, _('Which commands are listed'));
    this.#shorten();
    setName(this.#list, _('Log'));
    this.#follow = followEnd(this.#scrolled, this.#list, away => {
      this.#newest.visible = away;
    });
    this.#newest.connect('clicked', () => this.#follow.toEnd());
    this.#fill = stepwise(this.#list, this.#shown, 'bottom');
    this.#list.factory = logRows(this.#source, () => host.toast(_('Copied')));
    this.#list.model = new Gtk.NoSelection({ model: this.#shown });
    this.#unsubscribe = host.model.onEvent(({ event, data }) => {
      if (event !== 'log' || this.#away) return;
      this.#arrived?.push(data as LogEntry);
      this.#add([data as LogEntry]);
    });
    this.#changed();
  }

  #build(): Gtk.Widget {
    const filters = new Gtk.Box({ spacing: 6 });
    for (const child of [this.#shows, this.#save, this.#copy]) filters.append(child);
    const top = vertical(6);
    top.add_css_class('culvert-toolbar');
    for (const child of [this.#search, filters]) top.append(child);
    this.#scrolled.child = new Adw.ClampScrollable({ ...CLAMP, child: this.#list });
    const some = new Gtk.Overlay({ child: new OneStop(this.#list, this.#scrolled) });
    const { END: place } = Gtk.Align;
    Object.assign(this.#newest, { visible: false, halign: place, valign: place, margin_end: 18, margin_bottom: 18 });
    some.add_overlay(this.#newest);
    this.#found.add_named(new Gtk.ScrolledWindow({ child: this.#none.widget }), 'none');
    this.#found.add_named(some, 'some');
    const box = vertical(0);
    box.append(new Adw.Clamp({ ...CLAMP, child: top }));
    box.append(this.#found);
    return box;
  }

  /** Shortens the text of the chosen filter, which would widen the window in large letters; the list shows it in full. */
  #shorten(): void {
    const create = (item: Gtk.ListItem) => {
      const label = new Gtk.Label({ xalign: 0, ellipsize: Pango.EllipsizeMode.END });
      item.child = label;
      return label;
    };
    const show = (label: Gtk.Label, item: Gtk.ListItem) => {
      label.label = (item.item as Gtk.StringObject).string;
    };
    this.#shows.list_factory = this.#shows.factory;
    this.#shows.factory = rowFactory(create, show).factory;
  }

  refresh({ client }: View): void {
    const connected = client.offline === null;
    // a new daemon counts from 1, and no event brings missed entries
    if (connected && !this.#connected) void this.#read();
    this.#connected = connected;
  }

  focusSearch(): void {
    this.#search.grab_focus();
  }

  reveal(row: string): void {
    const text = searchedText(row);
    if (!text) return;
    this.#shows.selected = SHOWS.indexOf('all'); // the default filter hides reads
    this.#search.text = text;
    this.focusSearch();
  }

  reload(): void {
    this.#away = false;
    void this.#read();
  }

  /** Drops the rows, which take more memory than any other page; the next read creates them again. */
  leave(): void {
    this.#away = true;
    this.#fill.show([]);
    collectWhenQuiet();
  }

  close(): void {
    this.#unsubscribe();
    dropRows(this.#list, this.#shows);
  }

  /** Reads the whole log, page by page. */
  async #read(): Promise<void> {
    const entries: LogEntry[] = [];
    const arrived: LogEntry[] = [];
    this.#arrived = arrived;
    let capacity = CAPACITY;
    try {
      for (let since = 0; ; ) {
        const page = await this.#host.model.call('GET /api/logs', { query: { since: String(since) } });
        entries.push(...page.entries);
        capacity = page.capacity;
        if (!page.entries.length || page.next <= since) break;
        // show the first page without waiting for a long log
        if (since === 0 && !this.#ring.entries().length) this.#show(capacity, entries);
        since = page.next;
      }
    } catch {
      // the window reports that the daemon is gone, and the page reads the next daemon's log
      return;
    }
    // a later read has begun
    if (this.#arrived !== arrived) return;
    this.#arrived = null;
    this.#show(capacity, entries, arrived);
  }

  /** @param arrived entries that arrived as events during the read. */
  #show(capacity: number, entries: LogEntry[], arrived: LogEntry[] = []): void {
    this.#ring.reset(capacity, entries);
    this.#ring.add(arrived);
    this.#byId = new Map(this.#ring.entries().map(entry => [String(entry.id), entry]));
    this.#source.expanded.clear();
    this.#refilter();
  }

  #add(entries: LogEntry[]): void {
    const before = this.#ring.entries();
    const change = this.#ring.add(entries);
    for (const entry of entries) this.#byId.set(String(entry.id), entry);
    if (!change) {
      this.#refilter();
      return;
    }
    this.#fill.finish();
    const gone = before.slice(0, change.dropped);
    this.#shown.splice(this.#shown.get_n_items(), 0, this.#passing(change.added));
    if (gone.length) this.#shown.splice(0, this.#passing(gone).length, []);
    for (const { id } of gone) {
      this.#source.expanded.delete(String(id));
      this.#byId.delete(String(id));
    }
    this.#changed();
  }

  #refilter(): void {
    this.#fill.show(this.#passing(this.#ring.entries()));
    this.#changed();
  }

  #passing(entries: LogEntry[]): string[] {
    const [shows, query] = [SHOWS[this.#shows.selected] ?? 'all', this.#search.text];
    return entries.filter(entry => passes(entry, shows, query)).map(({ id }) => String(id));
  }

  #changed(): void {
    this.#follow.changed();
    collectWhenQuiet();
    const some = this.#shown.get_n_items() > 0;
    this.#copy.sensitive = some;
    this.#save.sensitive = some;
    turnTo(this.#found, some ? 'some' : 'none', pageTitle('log', tr));
    const filtered = this.#search.text.trim() !== '';
    const none = emptyStatus({ total: this.#ring.entries().length, filtered, showAll: () => this.#showAll() }, tr);
    for (const button of [this.#copy, this.#save]) setDescription(button, some ? '' : none.title);
    if (!some) this.#none.show(none);
  }

  #showAll(): void {
    this.#search.text = '';
    this.#shows.selected = SHOWS.indexOf('all' satisfies Shows);
    this.#search.grab_focus();
  }

  #copyAll(): void {
    copyText(this, this.#text());
    this.#host.toast(_('Copied'));
  }

  async #saveAll(): Promise<void> {
    if (await this.#host.saveText('culvert-log.txt', this.#text())) this.#host.toast(_('Saved'));
  }

  /** Returns the listed entries as text. */
  #text(): string {
    const shown = new Set(this.#passing(this.#ring.entries()));
    const entries = this.#ring.entries().filter(({ id }) => shown.has(String(id)));
    return `${entries.map(entry => asText(entry, tr)).join('\n\n')}\n`;
  }
}

/** Creates a button with an icon, whose name is its tooltip. */
function iconButton(icon_name: string, tooltip_text: string, css_classes: string[]): Gtk.Button {
  const button = new Gtk.Button({ icon_name, tooltip_text, css_classes });
  setName(button, tooltip_text);
  return button;
}
