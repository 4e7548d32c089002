// Pure: what is known of tunnel and kill switch -> the tray's menu and tooltip.
import { type KillSwitchView, PAUSES, pauseMinutes, pauseName } from '../killswitch-view.ts';
import { modeName, type View } from '../view.ts';
import { fill, type Words } from '../words.ts';

export type Command =
  | 'connect'
  | 'disconnect'
  | 'start'
  | 'open'
  | 'quit'
  | { killSwitch: boolean }
  /** Seconds; 0 resumes. */
  | { pause: number };

export interface Entry {
  /** Stable over changes: the host keeps an item by it. 0 is the menu itself. */
  id: number;
  /** null for a separator. */
  label: string | null;
  enabled: boolean;
  command: Command | null;
  /** Of a check mark; absent where there is none. */
  checked?: boolean;
  /** A submenu. */
  children?: Entry[];
}

export interface Shown {
  view: View;
  killSwitch: KillSwitchView;
  /** No daemon runs, and one may be started. */
  stopped: boolean;
  /** ms since the epoch. */
  now: number;
}

/** Entries of the menu, the toggle first. */
export function menuOf({ view, killSwitch, stopped, now }: Shown, words: Words): Entry[] {
  const { _ } = words;
  const line = (id: number, label: string): Entry => ({ id, label, enabled: false, command: null });
  const entry = (id: number, label: string, command: Command | null, enabled = true): Entry => ({
    id,
    label,
    enabled,
    command,
  });
  const separator = (id: number): Entry => ({ id, label: null, enabled: true, command: null });
  const either = view.look === 'unknown' && view.settable;
  return [
    ...(either
      ? [entry(1, _('Connect'), 'connect'), entry(2, _('Disconnect'), 'disconnect')]
      : [entry(1, view.toggle.label, view.toggle.action, view.toggle.sensitive)]),
    line(3, stateLine(view, words)),
    ...(view.mode !== null && view.look !== 'unavailable'
      ? [line(4, fill(_('Mode: %s'), modeName(view.mode, words).title))]
      : []),
    ...killSwitchEntries(killSwitch, now, words, entry, separator),
    separator(5),
    ...(stopped ? [entry(6, _('Start Culvert'), 'start')] : []),
    entry(7, _('Open Culvert'), 'open'),
    entry(8, _('Quit'), 'quit'),
  ];
}

function killSwitchEntries(
  killSwitch: KillSwitchView,
  now: number,
  words: Words,
  entry: (id: number, label: string, command: Command | null, enabled?: boolean) => Entry,
  separator: (id: number) => Entry,
): Entry[] {
  const { _ } = words;
  const { look, on, sensitive, pausable, pausedUntil } = killSwitch;
  if (look === 'unavailable' || look === 'not-installed') return [];
  const check = { ...entry(10, _('Kill Switch'), { killSwitch: !on }, sensitive), checked: on };
  if (pausedUntil !== null) {
    const minutes = pauseMinutes(pausedUntil, now);
    // Translators: %d is a number of minutes
    const label = fill(words.ngettext('Resume (%d minute left)', 'Resume (%d minutes left)', minutes), minutes);
    return [separator(9), check, entry(15, label, { pause: 0 }, sensitive)];
  }
  if (!on) return [separator(9), check];
  const children = PAUSES.map((minutes, i) => entry(12 + i, pauseName(minutes, words), { pause: minutes * 60 }));
  return [separator(9), check, { ...entry(11, _('Pause Kill Switch'), null, pausable), children }];
}

/** Title and text of the tooltip: the state in words, why, and what the kill switch does where it is not off. */
export function tooltipOf({ view, killSwitch, now }: Shown, words: Words): { title: string; text: string } {
  const { _ } = words;
  const lines = [view.sentence, view.reason];
  if (killSwitch.pausedUntil !== null) {
    const minutes = pauseMinutes(killSwitch.pausedUntil, now);
    // Translators: %d is a number of minutes
    const left = words.ngettext('Kill switch paused, %d minute left', 'Kill switch paused, %d minutes left', minutes);
    lines.push(fill(left, minutes));
  } else if (!['unavailable', 'not-installed', 'off'].includes(killSwitch.look))
    // Translators: %s is a sentence on the kill switch
    lines.push(fill(_('Kill switch · %s'), killSwitch.sentence));
  return { title: stateLine(view, words), text: lines.filter(Boolean).join('\n') };
}

function stateLine(view: View, { _ }: Words): string {
  // Translators: %s is a state such as Connected
  return view.emulated ? fill(_('Demo: %s'), view.label) : view.label;
}
