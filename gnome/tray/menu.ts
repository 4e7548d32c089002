// Pure: what is known of the tunnel -> the tray's menu and tooltip.
import { modeName, type View } from '../view.ts';
import { fill, type Words } from '../words.ts';

export type Command = 'connect' | 'disconnect' | 'start' | 'open' | 'quit';

export interface Entry {
  /** Stable over changes: the host keeps an item by it. 0 is the menu itself. */
  id: number;
  /** null for a separator. */
  label: string | null;
  enabled: boolean;
  command: Command | null;
}

/** Entries of the menu, the toggle first. `stopped`: no daemon runs, and one may be started. */
export function menuOf(view: View, stopped: boolean, words: Words): Entry[] {
  const { _ } = words;
  const line = (id: number, label: string): Entry => ({ id, label, enabled: false, command: null });
  const entry = (id: number, label: string, command: Command | null, enabled = true): Entry => ({
    id,
    label,
    enabled,
    command,
  });
  const either = view.look === 'unknown' && view.settable;
  return [
    ...(either
      ? [entry(1, _('Connect'), 'connect'), entry(2, _('Disconnect'), 'disconnect')]
      : [entry(1, view.toggle.label, view.toggle.action, view.toggle.sensitive)]),
    line(3, stateLine(view, words)),
    ...(view.mode !== null && view.look !== 'unavailable'
      ? [line(4, fill(_('Mode: %s'), modeName(view.mode, words).title))]
      : []),
    { id: 5, label: null, enabled: true, command: null },
    ...(stopped ? [entry(6, _('Start Culvert'), 'start')] : []),
    entry(7, _('Open Culvert'), 'open'),
    entry(8, _('Quit'), 'quit'),
  ];
}

/** Title and text of the tooltip: the state in words, and why. */
export function tooltipOf(view: View, words: Words): { title: string; text: string } {
  return { title: stateLine(view, words), text: [view.sentence, view.reason].filter(Boolean).join('\n') };
}

function stateLine(view: View, { _ }: Words): string {
  // Translators: %s is a state such as Connected
  return view.emulated ? fill(_('Demo: %s'), view.label) : view.label;
}
