// Pure: makes the tray's menu and tooltip from the state of tunnel and kill switch.
import type { Mode } from '../../daemon/api/schema.ts';
import { modeName } from '../../daemon/view/client/labels.ts';
import type { Span, Command as ViewCommand } from '../../daemon/view/form.ts';
import { formatCount, formatElapsed } from '../../daemon/view/format.ts';
import type { PageName } from '../../daemon/view/page-list.ts';
import { isPause, MAIN_MODES, type Unconfirmed, unconfirmedText } from '../../daemon/view/states/changes.ts';
import { type KillSwitchView, PAUSES, pauseMinutes, pauseName } from '../../daemon/view/states/killswitch.ts';
import { offCommands, type Timed } from '../../daemon/view/states/timed.ts';
import type { TunnelView } from '../../daemon/view/states/tunnel.ts';
import { fill, type Translator } from '../../daemon/view/translator.ts';

/** An action of the panel's application: to show a page, or to copy the address of the proxy. */
export type PanelAction = PageName | 'copy-proxy';

export type Command =
  | 'connect'
  | 'disconnect'
  | 'start'
  | 'open'
  | 'quit'
  /** An action of the panel. */
  | { panel: PanelAction }
  /** A command such as a remedy. */
  | { ask: ViewCommand }
  | { mode: Mode }
  | { launch: string }
  | { killSwitch: boolean }
  /** Seconds; 0 resumes. */
  | { pause: number };

export interface Entry {
  /** Stable across changes, so that the host recognizes the item. 0 is the menu itself. */
  id: number;
  /** null for a separator. */
  label: string | null;
  enabled: boolean;
  command: Command | null;
  /** State of a check or radio entry; absent for other entries. */
  checked?: boolean;
  radio?: true;
  /** A submenu. */
  children?: Entry[];
}

export interface Shown {
  tunnel: TunnelView;
  killSwitch: KillSwitchView;
  /** States that end at a set time. */
  timed: Timed[];
  /** Changes that revert unless they are confirmed. */
  unconfirmed: Unconfirmed | null;
  /** Address of the local proxy, while it is on. */
  proxy: string | null;
  /** Apps recently started through the tunnel, the newest first. */
  recent: { id: string; name: string }[];
  /** Version that can be installed. */
  update: string | null;
  /** The network and its rule, if one applies; null while the daemon tracks no network. */
  network: { line: string; login: boolean; trustable: boolean } | null;
  /** Sentence about the access of other machines; null without such access. */
  remote: string | null;
  /** True if no daemon runs and one may be started. */
  stopped: boolean;
  /** ms since the epoch. */
  now: number;
}

type Make = (id: number, label: string, command: Command | null, enabled?: boolean) => Entry;
const entry: Make = (id, label, command, enabled = true) => ({ id, label, enabled, command });
const separator = (id: number): Entry => ({ id, label: null, enabled: true, command: null });

/** Entries of the menu, the toggle first. Modes and apps have ids above 100. */
export function menuOf(shown: Shown, tr: Translator): Entry[] {
  const { tunnel, stopped, update, remote, network } = shown;
  const { _ } = tr;
  const either = tunnel.look === 'unknown' && tunnel.settable;
  const hasState = tunnel.look !== 'unavailable';
  return [
    ...(either
      ? [entry(1, _('Connect'), 'connect'), entry(2, _('Disconnect'), 'disconnect')]
      : [entry(1, tunnel.toggle.label, tunnel.toggle.action, tunnel.toggle.sensitive)]),
    entry(3, tunnel.label, null, false),
    ...(tunnel.remedy && hasState ? [entry(22, tunnel.remedy.label, { ask: tunnel.remedy.command })] : []),
    ...(tunnel.other ? [entry(97, tunnel.other.label, { ask: tunnel.other.command })] : []),
    ...(network ? [entry(19, network.line, { panel: 'networks' } as const)] : []),
    // the page says what the sign-in does
    ...(network?.login ? [entry(99, _('Sign In to This Network…'), { panel: 'networks' } as const)] : []),
    // the page asks for confirmation
    ...(network?.trustable ? [entry(98, _('Trust This Network…'), { panel: 'networks' } as const)] : []),
    ...changeEntries(shown, tr),
    ...(remote ? [entry(23, remote, { panel: 'preferences' })] : []),
    ...(tunnel.mode !== null && hasState ? [modeEntry(tunnel, tr)] : []),
    ...killSwitchEntries(shown, tr),
    ...(hasState ? appEntries(shown, tr) : []),
    separator(5),
    ...(stopped ? [entry(6, _('Start Culvert'), 'start')] : []),
    // Translators: %s is a version
    ...(update ? [entry(20, fill(_('Culvert %s is available…'), update), { panel: 'updates' } as const)] : []),
    entry(7, _('Open Culvert'), 'open'),
    entry(21, _('Settings'), { panel: 'settings' }),
    entry(8, _('Quit Culvert'), 'quit'),
  ];
}

/** Entries that keep or revert a change, extend or end a state, and pause WARP. */
function changeEntries({ tunnel, timed, unconfirmed }: Shown, tr: Translator): Entry[] {
  const { _ } = tr;
  const { toggle, settable } = tunnel;
  const off = offCommands(tunnel.pauses, tr).map(({ title, command }, i) => entry(25 + i, title, { ask: command }));
  return [
    ...(unconfirmed
      ? [
          entry(28, unconfirmed.publicText.replaceAll('\n', ' · '), null, false),
          entry(29, _('Keep'), { ask: unconfirmed.keep }),
          entry(30, _('Revert Now'), { ask: unconfirmed.revert }),
        ]
      : []),
    ...timed.flatMap(({ text, change, extend, end }, i) => [
      entry(31 + 3 * i, text, null, false),
      ...(extend ? [entry(32 + 3 * i, extend.label, { ask: extend.command })] : []),
      // the toggle already connects
      ...(isPause(change) && change.problem === null && toggle.action === 'connect'
        ? []
        : [entry(33 + 3 * i, end.label, { ask: end.command })]),
    ]),
    ...(toggle.action === 'disconnect' && tunnel.look !== 'unavailable'
      ? [{ ...entry(24, _('Pause WARP'), null, settable && toggle.sensitive), children: off }]
      : []),
  ];
}

function modeEntry({ mode, modeTitle, settable, lock }: TunnelView, tr: Translator): Entry {
  const other = MAIN_MODES.includes(mode as Mode) ? [] : [mode as Mode];
  const children = [...MAIN_MODES, ...other].map((name, i): Entry => {
    const label = modeName(name, tr).title;
    return { ...entry(101 + i, label, { mode: name }, settable && lock === null), checked: name === mode, radio: true };
  });
  // Translators: %s is a mode such as All traffic
  return { ...entry(4, fill(tr._('Mode: %s'), modeTitle), null), children };
}

function killSwitchEntries({ killSwitch, now }: Shown, tr: Translator): Entry[] {
  const { _ } = tr;
  const { look, on, sensitive, pausable, pausedUntil } = killSwitch;
  if (look === 'unavailable' || look === 'demo') return [];
  if (look === 'not-installed')
    return [separator(9), entry(10, _('Kill Switch: install it in Culvert…'), { panel: 'preferences' })];
  const check = { ...entry(10, _('Kill Switch'), { killSwitch: !on }, sensitive), checked: on };
  if (pausedUntil !== null) {
    const minutes = pauseMinutes(pausedUntil, now);
    // Translators: %d is a number of minutes
    const label = fill(
      tr.ngettext('Resume (%d minute left)', 'Resume (%d minutes left)', minutes),
      formatCount(minutes, tr),
    );
    return [separator(9), check, entry(15, label, { pause: 0 }, sensitive)];
  }
  if (!on) return [separator(9), check];
  const children = PAUSES.map((minutes, i) => entry(12 + i, pauseName(minutes, tr), { pause: minutes * 60 }));
  return [separator(9), check, { ...entry(11, _('Pause Kill Switch'), null, pausable), children }];
}

function appEntries({ recent, proxy }: Shown, { _ }: Translator): Entry[] {
  const apps = recent.map(({ id, name }, i) => entry(201 + i, name, { launch: id }));
  return [
    ...(apps.length || proxy ? [separator(16)] : []),
    ...(apps.length ? [{ ...entry(17, _('Start in the Tunnel'), null), children: apps }] : []),
    // Translators: %s is an address such as 127.0.0.1:40000
    ...(proxy ? [entry(18, fill(_('Copy Proxy Address %s'), proxy), { panel: 'copy-proxy' } as const)] : []),
  ];
}

/** Title and text of the tooltip: the state in words, its cause, and the kill switch unless it is off. */
export function tooltipOf(
  { tunnel, killSwitch, timed, unconfirmed, now }: Shown,
  tr: Translator,
): { title: string; text: string } {
  const lines = [
    tunnel.sentence,
    ...timed.map(({ text, span, isSaid }) => [isSaid ? null : text, span && minutesLeft(span, now, tr)]).map(joined),
    unconfirmed && unconfirmedText(unconfirmed, tr),
  ];
  if (killSwitch.pausedUntil !== null) {
    const minutes = pauseMinutes(killSwitch.pausedUntil, now);
    // Translators: %d is a number of minutes
    const left = tr.ngettext('Kill switch paused, %d minute left', 'Kill switch paused, %d minutes left', minutes);
    lines.push(fill(left, formatCount(minutes, tr)));
  } else if (killSwitch.installed && killSwitch.look !== 'off')
    // Translators: %s is a sentence on the kill switch
    lines.push(fill(tr._('Kill switch · %s'), killSwitch.sentence));
  return { title: tunnel.label, text: lines.filter(Boolean).join('\n') };
}

function minutesLeft({ until }: Span, now: number, tr: Translator): string {
  return fill(tr._('%s left'), formatElapsed(60 * pauseMinutes(until, now), tr));
}

const joined = (parts: readonly (string | null)[]) => parts.filter(Boolean).join(' · ');
