// Shows the status of a page: a disc, a title, a sentence, a line, at most two buttons, and what the page waits for.
import Adw from 'gi://Adw?version=1';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import { type Command, lockOf, type MenuButton, type Status } from '../../../../daemon/view/form.ts';
import type { Host } from '../../../../daemon/view/host.ts';
import { _ } from '../../../i18n.ts';
import { setName } from '../accessible.ts';
import { commandButton, copyButton, createMenu, withoutHyphens } from '../buttons.ts';
import { ButtonLine, Shrinking, vertical } from '../columns.ts';
import { announce } from '../compat.ts';
import { preformatted } from '../dialogs.ts';
import { Ring } from '../graph.ts';
import { showTone } from './row-widget.ts';

export interface StatusWidget {
  widget: Gtk.Widget;
  /** The main button. */
  first: Gtk.Widget;
  show(status: Status): void;
}

/** Creates the widget. */
export function createStatus(host: Host): StatusWidget {
  const widget = vertical(6);
  widget.add_css_class('culvert-hero');
  const icon = new Gtk.Image({ pixel_size: 48, accessible_role: Gtk.AccessibleRole.PRESENTATION });
  const overlay = new Gtk.Overlay({ child: new Adw.Bin({ child: icon, css_classes: ['culvert-disc'] }) });
  const ring = new Ring();
  overlay.add_overlay(ring);
  const shrinking = new Shrinking();
  const disc = new Gtk.Box({ layout_manager: shrinking, margin_bottom: 6, vexpand: true });
  disc.append(overlay);
  widget.vexpand = false; // the disc alone grows
  const title = centered(['title-1']);
  const sentence = centered([]);
  const line = centered(['dim-label', 'numeric']);
  const run = (command: Command) => void host.run(command);
  const first = commandButton(run, ['pill'], true);
  const second = commandButton(run, ['pill'], true);
  const menu = createMenu(run);
  const buttons = new Gtk.Box({ layout_manager: new ButtonLine(), css_classes: ['culvert-buttons'] });
  for (const child of [first.widget, second.widget, menu.widget]) buttons.append(child);
  const waiting = createWaiting();
  const details = createDetails(() => host.toast(_('Copied')));
  const sentencePlace = new Adw.Bin({ child: sentence });
  const linePlace = new Adw.Bin({ child: line });
  for (const child of [disc, title, sentencePlace, linePlace, buttons, waiting.widget, details.widget])
    widget.append(child);
  let said = '';
  /** Reserves the height of a status with short words. Longer words take room of the disc, so that nothing below moves. */
  const reserve = (isSteady: boolean) => {
    const body = lineHeight(sentence);
    const below = [buttons, waiting.widget.visible ? waiting.widget : details.widget];
    const [high = 0, low = 0] = below.map(part => part.measure(Gtk.Orientation.VERTICAL, -1)[1]);
    const gaps = 5 * widget.spacing + disc.margin_bottom;
    shrinking.least = isSteady ? LEAST_DISC : DISC;
    sentencePlace.height_request = isSteady ? 2 * body : -1;
    linePlace.height_request = isSteady ? body : -1;
    widget.height_request = isSteady ? DISC + lineHeight(title) + 3 * body + high + low + gaps : -1;
  };
  return {
    widget,
    first: first.widget,
    show(status) {
      if (icon.icon_name !== status.icon) icon.icon_name = status.icon;
      showTone(widget, status.tone);
      // a page with a changing line has many states, between which nothing may move
      const isSteady = status.line !== undefined;
      widget.valign = isSteady ? Gtk.Align.START : Gtk.Align.CENTER;
      // a label without text would be read aloud as a label
      sentence.visible = Boolean(status.sentence);
      line.visible = Boolean(status.line);
      sentencePlace.visible = isSteady || sentence.visible;
      linePlace.visible = isSteady || line.visible;
      buttons.visible = isSteady || status.buttons.length + (status.menu?.length ?? 0) > 0;
      const note = status.waiting ?? lockOf(status);
      // the details take the same place
      waiting.widget.visible = status.waiting !== undefined && (note !== null || !status.details);
      ring.plot(status.span ?? null, host.now());
      title.label = status.title;
      sentence.label = status.sentence ?? '';
      line.label = status.line ?? '';
      const words = [status.title, status.sentence].filter(Boolean).join('. ');
      if (said && said !== words) announce(widget, words);
      said = words;
      const [main = null, other = null] = status.buttons;
      if (!other && hasFocus(second.widget)) first.widget.grab_focus();
      const about = ({ sensitive = true }: MenuButton) => (sensitive ? null : note) ?? words;
      first.show(main && { ...main, about: about(main) });
      second.show(other && { ...other, about: about(other) });
      menu.show(status.menu, `${status.title}: ${_('More')}`);
      waiting.show(note, Boolean(status.waiting));
      details.show(status.details ?? null);
      reserve(isSteady);
    },
  };
}

/** Height of the disc, and its minimum next to long words, in pixels. */
const [DISC, LEAST_DISC] = [96, 24];

const lineHeight = (label: Gtk.Label) => label.create_pango_layout('0').get_pixel_size()[1]!;

function hasFocus(widget: Gtk.Widget): boolean {
  return (widget.root as Gtk.Window | null)?.get_focus() === widget;
}

/** Creates the line that says what the page waits for, or why its button can't be used. Its place is always there. */
function createWaiting() {
  const widget = new Gtk.Box({ spacing: 6, halign: Gtk.Align.CENTER, css_classes: ['culvert-waiting'] });
  const spinner = new Gtk.Spinner({ spinning: true });
  const label = new Gtk.Label({ wrap: true });
  for (const child of [spinner, label]) widget.append(child);
  return {
    widget,
    show(text: string | null, isWaiting: boolean) {
      spinner.visible = isWaiting;
      label.visible = text !== null;
      label.label = text ?? '';
    },
  };
}

/** Creates an expander with the words of another program, for search engines and support. */
function createDetails(copied: () => void) {
  const text = preformatted();
  text.hexpand = true;
  text.can_focus = false;
  const line = new Gtk.Box({ spacing: 6, margin_top: 6 });
  line.append(text);
  line.append(copyButton(_('Copy the technical details'), () => text.label, copied));
  const widget = new Gtk.Expander({ label: _('Technical details'), child: line, halign: Gtk.Align.CENTER });
  // it takes the place of what the page waits for
  widget.add_css_class('culvert-waiting');
  setName(widget, _('Technical details'));
  return {
    widget,
    show(details: string | null) {
      widget.visible = details !== null;
      text.label = details ?? '';
    },
  };
}

function centered(css_classes: string[]): Gtk.Label {
  return new Gtk.Label({
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    justify: Gtk.Justification.CENTER,
    max_width_chars: 40,
    // a hyphen at the end of a line would look like a part of a name
    attributes: withoutHyphens(),
    css_classes,
  });
}
