// A page that shows a form: groups of rows, renewed in place while their order stays.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Form, Group } from '../../../daemon/view/forms/form.ts';
import type { View } from '../../../daemon/view/view.ts';
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

  #rebuild(groups: Group[]): void {
    for (const { widget } of this.#shown.values()) this.#remove(widget);
    const before = this.#shown;
    this.#shown = new Map(groups.map(({ id }) => [id, before.get(id) ?? createGroup()]));
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
    for (const { shown: gone } of shown.rows.splice(same)) shown.widget.remove(gone.widget);
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

export class FormPage extends Adw.Bin implements Page {
  static {
    GObject.registerClass({ GTypeName: 'CulvertFormPage' }, FormPage);
  }
  readonly #build: (view: View) => Form;
  readonly #groups: FormGroups;
  readonly #page = new Adw.PreferencesPage();
  #view: View | null = null;
  readonly #ticks: boolean;

  /**
   * @param build what the page shows of the state.
   * @param ticks whether it changes with time alone.
   */
  constructor(shell: Shell, build: (view: View) => Form, ticks = false) {
    super();
    [this.#build, this.#ticks] = [build, ticks];
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
    this.#view = view;
    this.#groups.show(this.#build(view));
  }

  tick(): void {
    if (this.#ticks && this.#view) this.refresh(this.#view);
  }
}

/** Titles of groups are Pango markup. */
function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
