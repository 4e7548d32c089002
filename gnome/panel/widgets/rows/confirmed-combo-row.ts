// Provides a combo row that shows only what the daemon confirmed: choosing asks, and the row moves when the event says so.
import type Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';

export class Choice {
  readonly #row: Adw.ComboRow;
  #values: string[] = [];
  #known = 0;
  #offered = '';
  readonly #labels = Gtk.StringList.new([]);
  #confirmed: string | null = null;
  #setting = false;

  /**
   * @param values what can be chosen.
   * @param label what a value is called.
   * @param choose is called with the value that the user picked.
   */
  constructor(row: Adw.ComboRow, values: string[], label: (value: string) => string, choose: (value: string) => void) {
    this.#row = row;
    row.model = this.#labels;
    this.offer(values, label);
    row.connect('notify::selected', () => {
      const value = this.#values[row.selected];
      if (this.#setting || value === undefined || value === this.#confirmed) return;
      this.#select();
      choose(value);
    });
  }

  /** Replaces what can be chosen, where that has changed. */
  offer(values: string[], label: (value: string) => string): void {
    const labels = values.map(label);
    const offered = JSON.stringify([values, labels]);
    if (offered === this.#offered) return;
    this.#offered = offered;
    this.#setting = true;
    this.#labels.splice(0, this.#labels.get_n_items(), labels);
    this.#row.selected = Gtk.INVALID_LIST_POSITION;
    this.#setting = false;
    this.#values = [...values];
    this.#known = values.length;
  }

  /** @param value null while it is not known; one that is not among the choices is added. */
  show(value: string | null, sensitive: boolean): void {
    this.#confirmed = value;
    this.#row.sensitive = sensitive;
    if (value !== null && !this.#values.includes(value)) {
      this.#setting = true;
      this.#labels.splice(this.#known, this.#values.length - this.#known, [value]);
      this.#values.splice(this.#known, Infinity, value);
      this.#setting = false;
    }
    this.#select();
  }

  #select(): void {
    const index = this.#confirmed === null ? -1 : this.#values.indexOf(this.#confirmed);
    this.#setting = true;
    this.#row.selected = index < 0 ? Gtk.INVALID_LIST_POSITION : index;
    this.#setting = false;
  }
}
