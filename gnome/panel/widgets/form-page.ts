// A page that shows a form: groups of rows, renewed in place while their order stays.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Form, Group } from '../../../daemon/view/forms/form.ts';
import type { View } from '../../../daemon/view/view.ts';
import { collectWhenQuiet } from '../../gc.ts';
import type { Page, Shell } from '../shell.ts';
import { setName, within } from './accessible.ts';
import { createRow, type Radios, type RowHost, type ShownRow } from './rows.ts';

interface ShownGroup {
  widget: Adw.PreferencesGroup;
  /** The rows' list. */
  list: Gtk.Widget;
  rows: { key: string; shown: ShownRow }[];
  radios: Radios;
}

/** A form inside any container of groups. */
export class FormGroups {
  readonly #host: RowHost;
  /** What a group without a title is called by assistive technology: the page's title. */
  name = '';
  readonly #add: (group: Adw.PreferencesGroup) => void;
  readonly #remove: (group: Adw.PreferencesGroup) => void;
  #shown = new Map<string, ShownGroup>();

  constructor(
    host: RowHost,
    add: (group: Adw.PreferencesGroup) => void,
    remove: (group: Adw.PreferencesGroup) => void,
  ) {
    [this.#host, this.#add, this.#remove] = [host, add, remove];
  }

  show({ groups }: Form): void {
    const filled = groups.filter(({ rows }) => rows.length > 0);
    if ([...this.#shown.keys()].join('\n') !== filled.map(({ id }) => id).join('\n')) this.#rebuild(filled);
    for (const group of filled) this.#showGroup(group);
  }

  /** Whether an entry holds text that was not sent. */
  get typed(): boolean {
    return [...this.#shown.values()].some(({ rows }) => rows.some(({ shown }) => shown.typed?.()));
  }

  #rebuild(groups: Group[]): void {
    for (const { widget } of this.#shown.values()) this.#remove(widget);
    const before = this.#shown;
    this.#shown = new Map(groups.map(({ id }) => [id, before.get(id) ?? createGroup()]));
    for (const [id, group] of before) if (!this.#shown.has(id)) dropRows(group, 0);
    for (const { widget } of this.#shown.values()) this.#add(widget);
  }

  #showGroup({ id, title, description, rows }: Group): void {
    const shown = this.#shown.get(id)!;
    shown.widget.title = title ? escapeMarkup(title) : '';
    setName(shown.list, title || this.name);
    shown.widget.description = description ? escapeMarkup(description) : '';
    const keys = rows.map(({ kind, id }) => `${kind} ${id}`);
    let same = 0;
    while (same < keys.length && shown.rows[same]?.key === keys[same]) same++;
    dropRows(shown, same);
    rows.forEach((row, i) => {
      if (i < same) {
        shown.rows[i]!.shown.show(row);
        return;
      }
      const made = createRow(row, this.#host, shown.radios);
      shown.rows.push({ key: keys[i]!, shown: made });
      shown.widget.add(made.widget);
    });
  }
}

function createGroup(): ShownGroup {
  const widget = new Adw.PreferencesGroup();
  const list = [...within(widget)].find(child => child instanceof Gtk.ListBox) ?? widget;
  return { widget, list, rows: [], radios: { members: [], setting: false } };
}

/**
 * Drops the rows from `first` on. They are disposed of, since row, controls and handlers refer to each other partly from C, where
 * the engine sees no cycle; it would keep them for good. A combo row has no controls of ours, and complains about a second time.
 */
function dropRows({ widget, rows }: ShownGroup, first: number): void {
  for (const { shown } of rows.splice(first)) {
    widget.remove(shown.widget);
    if (!(shown.widget instanceof Adw.ComboRow)) shown.widget.run_dispose();
  }
}

export class FormPage extends Adw.Bin implements Page {
  static {
    GObject.registerClass({ GTypeName: 'CulvertFormPage' }, FormPage);
  }
  readonly #shell: Shell;
  readonly #build: (view: View) => Form;
  readonly #groups: FormGroups;
  readonly #page = new Adw.PreferencesPage();
  readonly #ticks: boolean;
  #away = false;

  /**
   * @param build what the page shows of the state.
   * @param ticks whether it changes with time alone.
   */
  constructor(shell: Shell, build: (view: View) => Form, ticks = false) {
    super();
    [this.#shell, this.#build, this.#ticks] = [shell, build, ticks];
    this.#groups = new FormGroups(
      shell,
      group => this.#page.add(group),
      group => this.#page.remove(group),
    );
    this.child = this.#page;
  }

  /** The page's title, for assistive technology. */
  setTitle(title: string): void {
    this.#groups.name = title;
  }

  refresh(view: View): void {
    this.#away = false;
    this.#groups.show(this.#build(view));
  }

  /** Shows what else than the state has changed, unless another page is shown. */
  update(): void {
    if (!this.#away) this.refresh(this.#shell.view());
  }

  tick(): void {
    if (this.#ticks) this.update();
  }

  /** Lets go of its rows, which weigh much and are made again when the page is turned to, unless they hold what was typed. */
  leave(): void {
    this.#away = true;
    // not within the handler of the row that leads to another page
    void Promise.resolve().then(() => {
      if (!this.#away || this.#groups.typed) return;
      this.#groups.show({ groups: [] });
      collectWhenQuiet();
    });
  }
}

/** Titles of groups are Pango markup. */
function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
