// Asks the questions of commands in a dialog, with the links, lines or entries that they come with.
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { Question } from '../../../../daemon/view/form.ts';
import { _ } from '../../../i18n.ts';
import type { WindowHost } from '../../host.ts';
import { setName } from '../a11y/accessible.ts';
import { ask } from '../compat.ts';

/** Resolves with the secrets that were typed, or null when the user declined. */
export async function answerOf(
  { window, open }: Pick<WindowHost, 'window' | 'open'>,
  { heading, body, accept, destructive, links, text, secrets }: Question,
): Promise<string[] | null> {
  const typed = secrets?.length ? secretEntries(secrets) : null;
  const answer = await ask(window, {
    heading,
    body,
    responses: [
      ['cancel', _('Cancel')],
      ['accept', accept],
    ],
    ...(destructive ? { destructive: 'accept' } : { suggested: 'accept' }),
    ...(links ? { extra: linkBox(links, open) } : text ? { extra: preformatted(text) } : {}),
    ...(typed ? { extra: typed.widget, gate: typed.gate } : {}),
  });
  return answer === 'accept' ? (typed?.values() ?? []) : null;
}

interface SecretEntries {
  widget: Gtk.Widget;
  /** Allows the response once each entry has something. */
  gate(allow: (allowed: boolean) => void): void;
  values(): string[];
}

/** One entry for each name. */
function secretEntries(names: readonly string[]): SecretEntries {
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6 });
  const entries = names.map(name => {
    const entry = new Gtk.PasswordEntry({ show_peek_icon: true, activates_default: true, hexpand: true });
    setName(entry, name);
    box.append(new Gtk.Label({ label: name, xalign: 0, wrap: true, css_classes: ['caption', 'dim-label'] }));
    box.append(entry);
    return entry;
  });
  const values = () => entries.map(entry => entry.text.trim());
  return {
    widget: box,
    values,
    gate(allow) {
      const check = () => allow(values().every(value => value !== ''));
      for (const entry of entries) entry.connect('changed', check);
      check();
    },
  };
}

/** Links to pages of the web, one below the other. */
export function linkBox(links: { label: string; uri: string }[], open: (uri: string) => void): Gtk.Widget {
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, halign: Gtk.Align.CENTER });
  for (const { label, uri } of links) {
    const link = new Gtk.LinkButton({ label, uri });
    link.connect('activate-link', () => {
      open(uri);
      return true;
    });
    box.append(link);
  }
  return box;
}

/** Lines as they are, such as the difference of a file: a label that keeps its lines, can be selected, and wraps rather than being cut. */
export function preformatted(label = ''): Gtk.Label {
  const text = new Gtk.Label({
    label,
    xalign: 0,
    selectable: true,
    wrap: true,
    wrap_mode: Pango.WrapMode.WORD_CHAR,
    css_classes: ['monospace', 'caption'],
  });
  // commands and differences run from left to right in every language
  text.set_direction(Gtk.TextDirection.LTR);
  return text;
}
