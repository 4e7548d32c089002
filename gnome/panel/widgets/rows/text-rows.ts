// Provides rows without a setting: values, list items, links, commands, texts and notes.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import { type Command, commandOfLink, goTo, isLong } from '../../../../daemon/view/form.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { _ } from '../../../i18n.ts';
import { setDescription, setName, setTooltip, within } from '../accessible.ts';
import { commandBox, commandButton, copyButton, withoutHyphens } from '../buttons.ts';
import { keepValue } from '../columns.ts';
import { preformatted } from '../dialogs.ts';
import { actionRow, describeRow, pageArrow, type RowOf, type RowWidget, showWords } from './row-widget.ts';

/** Creates a label for right-aligned text that wraps. */
function valueLabel(): Gtk.Label {
  return new Gtk.Label({
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
    xalign: 1,
    justify: Gtk.Justification.RIGHT,
    attributes: withoutHyphens(),
    css_classes: ['dim-label', 'numeric'],
  });
}

/** Makes a row show its subtitle on one line, in monospace, shortened in the middle if necessary; or as other rows do. */
function showAsCode(widget: Adw.ActionRow, isCode: boolean): void {
  const { MIDDLE, NONE } = Pango.EllipsizeMode;
  for (const label of within(widget))
    if (label instanceof Gtk.Label && label.has_css_class('subtitle')) {
      label.ellipsize = isCode ? MIDDLE : NONE;
      if (isCode) label.add_css_class('monospace');
      else label.remove_css_class('monospace');
    }
}

export function factRow(first: RowOf<'fact'>, host: Host): RowWidget<'fact'> {
  const widget = actionRow();
  const value = valueLabel();
  widget.add_suffix(value);
  let text = first.value;
  let isCode = false;
  if (first.copy)
    widget.add_suffix(
      copyButton(
        `${_('Copy')} ${first.title}`,
        () => text,
        () => host.toast(_('Copied')),
      ),
    );
  return {
    widget,
    show(row) {
      const below = isLong(row);
      showWords(widget, below ? { ...row, subtitle: row.value } : row);
      if (below !== isCode) showAsCode(widget, below);
      isCode = below;
      setTooltip(widget, below ? row.value : '');
      text = row.value;
      value.visible = !below;
      value.label = row.value;
      keepValue(value, row.value);
      setDescription(widget, describeRow(row, row.value));
    },
  };
}

export function linkRow(first: RowOf<'link'>, host: Host): RowWidget<'link'> {
  const widget = actionRow();
  widget.focusable = true;
  widget.activatable = true;
  const value = new Gtk.Label({ ellipsize: Pango.EllipsizeMode.END, css_classes: ['dim-label'] });
  widget.add_suffix(value);
  widget.add_suffix(pageArrow());
  widget.connect('activated', () =>
    first.task ? void host.run(commandOfLink(first)) : host.goTo(first.page, first.row),
  );
  return {
    widget,
    show(row) {
      showWords(widget, row);
      value.label = row.value ?? '';
      keepValue(value, value.label);
      value.visible = Boolean(row.value);
      setName(widget, row.title);
      setDescription(widget, describeRow(row, row.value));
    },
  };
}

export function itemRow(host: Host): RowWidget<'item'> {
  const widget = actionRow();
  const run = (command: Command) => void host.run(command);
  const [edit, remove] = [commandButton(run, ['flat']), commandButton(run, ['flat'])];
  for (const button of [edit, remove]) widget.add_suffix(button.widget);
  return {
    widget,
    show(row) {
      const { sensitive = true, removeLabel: label } = row;
      const about = describeRow(row);
      showWords(widget, row);
      setDescription(widget, about);
      edit.show(row.edit ? { ...row.edit, icon: 'document-edit-symbolic', sensitive, about } : null);
      // a button without a command is there, so that the user sees that this entry can't be removed
      const command = row.remove ?? goTo('connection');
      remove.show({ label, command, icon: 'list-remove-symbolic', sensitive: sensitive && row.remove !== null, about });
    },
  };
}

/** Puts a widget into an expander if its row is folded. */
function foldedAway(child: Gtk.Widget, { title, folded }: RowOf<'shell' | 'text'>): Gtk.Widget {
  if (folded === undefined) return child;
  const expander = new Gtk.Expander({ label: folded, child, css_classes: ['culvert-entry'] });
  setName(expander, `${title}: ${folded}`);
  return expander;
}

export function shellRow(host: Host): RowWidget<'shell'> {
  const widget = new Adw.PreferencesRow({ activatable: false, focusable: false });
  let shown = '';
  return {
    widget,
    show(row) {
      const { title, shell, folded } = row;
      const content = JSON.stringify([title, shell, folded]);
      if (shown === content) return;
      shown = content;
      widget.title = title;
      setName(widget, title);
      const box = commandBox(title, shell, () => host.toast(_('Copied')));
      box.add_css_class('culvert-entry');
      widget.child = foldedAway(box, row);
    },
  };
}

export function textRow(first: RowOf<'text'>): RowWidget<'text'> {
  const title = new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] });
  const text = preformatted();
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6, css_classes: ['culvert-entry'] });
  box.append(title);
  box.append(text);
  const child = foldedAway(box, first);
  const widget = new Adw.PreferencesRow({ child, activatable: false, focusable: false });
  widget.use_markup = false;
  return {
    widget,
    show(row) {
      widget.title = row.title;
      setName(widget, row.title);
      title.label = row.title;
      text.label = row.text;
    },
  };
}

export function noteRow(): RowWidget<'note'> {
  const widget = actionRow();
  return {
    widget,
    show(row) {
      showWords(widget, row);
      setDescription(widget, describeRow(row));
    },
  };
}
