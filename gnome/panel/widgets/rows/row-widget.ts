// Defines the widget of a row, and the parts that several kinds of rows share.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import type { Row, RowKind, Tone } from '../../../../daemon/view/form.ts';
import { noteName, setDescription, within } from '../accessible.ts';
import { withoutHyphens } from '../buttons.ts';

export type RowOf<K extends RowKind> = Extract<Row, { kind: K }>;
export interface RowWidget<K extends RowKind> {
  widget: Gtk.Widget;
  show(row: RowOf<K>): void;
}
export type AnyRowWidget = { widget: Gtk.Widget; show(row: Row): void };

const TONES: Tone[] = ['success', 'accent', 'warning', 'error'];

export function actionRow(): Adw.ActionRow {
  const row = new Adw.ActionRow({ title_lines: 0, subtitle_lines: 0, focusable: false });
  row.use_markup = false;
  // a hyphen at the end of a line would look like a part of a name or an address
  for (const label of within(row)) if (label instanceof Gtk.Label) label.attributes = withoutHyphens();
  return row;
}

export function showWords(widget: Adw.ActionRow, { title, subtitle, tone }: Row): void {
  widget.title = title;
  widget.subtitle = subtitle ?? '';
  for (const each of TONES) {
    if (each === tone) widget.add_css_class(`culvert-${each}`);
    else widget.remove_css_class(`culvert-${each}`);
  }
}

/** Shows the words of a row, and describes its control, which assistive technology reads separately. */
export function showWordsOf(widget: Adw.ActionRow, control: Gtk.Widget, row: Row): void {
  showWords(widget, row);
  noteName(control, row.title);
  setDescription(control, row.subtitle ?? '');
}
