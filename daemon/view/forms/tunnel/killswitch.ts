// Describes the kill switch page, and words the list of blocked traffic for every client.
import type { BlockedEntry, BlockedList } from '../../../api/schema.ts';
import type { ClientState } from '../../client/client-state.ts';
import { type Form, type Group, noteRow, type Row } from '../../form.ts';
import { formatCount, formatList, formatTime } from '../../format.ts';
import {
  installButton,
  type KillSwitchView,
  killSwitchCommand,
  killSwitchRow,
  leaveDemo,
  PAUSES,
  pauseLeft,
  pauseName,
  setKillSwitch,
} from '../../states/killswitch.ts';
import { fill, type Translator } from '../../translator.ts';

/**
 * @param now ms since the epoch, for the time left of a pause
 * @param blocked the list, which is not in the event stream; `records` is true if the daemon records without a reader
 */
export function killSwitchForm(
  view: KillSwitchView,
  now: number,
  tr: Translator,
  { records, ...blocked }: BlockedState & { records: boolean | null } = { ...NOT_READ, records: null },
): Form {
  const { _ } = tr;
  if (view.look === 'demo' || view.look === 'not-installed') return absentForm(view, tr);
  const rows: Row[] = [
    killSwitchRow(view, tr),
    {
      kind: 'switch',
      id: 'lan',
      title: _('Allow local network'),
      subtitle: _('Printers and other devices nearby stay reachable'),
      on: view.allowLan,
      sensitive: view.sensitive,
      command: setKillSwitch(view, { enabled: view.on, allowLan: !view.allowLan }),
    },
  ];
  const pauses: Row[] = PAUSES.map(minutes => ({
    // Translators: %s is a duration such as 15 minutes
    kind: 'button',
    id: `pause-${minutes}`,
    title: fill(_('Pause for %s'), pauseName(minutes, tr)),
    label: _('Pause'),
    sensitive: view.pausable,
    reason: view.sensitive ? _('Keep or revert the change first.') : null,
    command: killSwitchCommand({ seconds: 60 * minutes }),
  }));
  const paused: Row[] =
    view.pausedUntil === null
      ? pauses
      : [
          {
            kind: 'button',
            id: 'resume',
            title: _('Paused'),
            label: _('Resume'),
            style: 'suggested',
            // Translators: %s is a clock such as 4:32
            subtitle: fill(_('%s left'), pauseLeft(view.pausedUntil, now, tr)),
            sensitive: view.sensitive,
            command: killSwitchCommand({ seconds: 0 }),
          },
        ];
  const fact = (id: string, title: string, value: string | null): Row[] =>
    value === null ? [] : [noteRow(id, title, value)];
  return {
    groups: [
      { id: 'switch', description: consequence(tr), rows },
      ...(view.on
        ? [{ id: 'pause', title: _('Pause'), description: _('To sign in to a Wi-Fi, for example'), rows: paused }]
        : []),
      ...blockedGroups(blocked, records, tr),
      {
        id: 'protection',
        rows: [
          ...fact('protection', _('Tamper protection'), view.protection),
          ...fact('boot', _('When the system starts'), view.boot),
          ...fact('detail', _('Details'), view.detail),
        ],
      },
      ...commandGroups(view, tr),
    ],
  };
}

/** Returns the page without the root service, or in the demo, which has no kill switch. */
function absentForm(view: KillSwitchView, tr: Translator): Form {
  const { _ } = tr;
  const isDemo = view.look === 'demo';
  return {
    status: {
      icon: 'culvert-killswitch-symbolic',
      tone: 'neutral',
      title: isDemo ? view.sentence : _('The kill switch is not installed'),
      sentence: isDemo ? null : _('It blocks traffic outside the tunnel. An administrator installs it once.'),
      line: isDemo ? null : view.detail,
      buttons: [isDemo ? leaveDemo(tr) : installButton(tr)],
    },
    groups: commandGroups(view, tr, { folded: _('Show commands') }),
  };
}

function commandGroups({ command }: KillSwitchView, { _ }: Translator, fold: { folded?: string } = {}): Group[] {
  if (!command) return [];
  const { purpose, command: shell } = command;
  const row: Row = { kind: 'shell', id: 'shell', title: purpose, shell, ...fold };
  return [{ id: 'command', title: _('In a terminal'), rows: [row] }];
}

function blockedGroups(blocked: BlockedState, records: boolean | null, tr: Translator): Group[] {
  const { _ } = tr;
  const rows = blockedRows(blocked, tr);
  if (records !== null)
    rows.push({
      kind: 'switch',
      id: 'record',
      title: _('Remember what was blocked'),
      subtitle: _('For ten minutes, also while this page is closed'),
      on: records,
      command: { ask: { kind: 'config', patch: { warp: { recordBlocked: !records } } } },
    });
  return rows.length ? [{ id: 'blocked', title: _('Blocked in the last ten minutes'), rows }] : [];
}

/** Says how the kill switch affects other users, because anyone can turn it on. */
function consequence({ _ }: Translator): string {
  return _('Applies to all users, even after a restart. Turning it off needs an administrator.');
}

/** Time between reads while a client shows the list. */
export const READ_BLOCKED_MS = 3_000;
/** Maximum number of entries on a page. */
const MAX_ROWS = 30;

interface BlockedState {
  /** null until the daemon has answered. */
  list: BlockedList | null;
  /** Why the request failed; null if it did not. */
  failed: string | null;
}

export const NOT_READ: BlockedState = { list: null, failed: null };

/** True if the daemon records blocked traffic without a reader; null if this can't be set. */
export function recordsBlocked({ config, offline }: ClientState): boolean | null {
  return offline ? null : (config?.config.warp.recordBlocked ?? null);
}

/** Returns the rows of the list; empty while the daemon does not record. */
export function blockedRows({ list, failed }: BlockedState, tr: Translator): Row[] {
  const { _ } = tr;
  if (failed !== null) return [noteRow('blocked-failed', _('What was blocked can’t be shown'), failed)];
  if (!list?.recordingSince) return [];
  const rows = list.entries.slice(0, MAX_ROWS).map(entry =>
    // Translators: a program, and the address that it could not reach
    noteRow(keyOf(entry), fill(_('%1$s to %2$s'), originOf(entry, tr), targetOf(entry)), detailOf(entry, tr)),
  );
  const more = list.hidden + Math.max(0, list.entries.length - MAX_ROWS);
  if (more > 0) rows.push(noteRow('blocked-more', fill(_('%s more, also of other users'), formatCount(more, tr))));
  // Translators: %s is a time such as 14:02
  return rows.length
    ? rows
    : [noteRow('blocked-none', fill(_('Nothing was blocked since %s'), formatTime(list.recordingSince, tr)))];
}

function keyOf({ rule, uid, unit, source, protocol, address, port }: BlockedEntry): string {
  return ['blocked', rule, uid, unit, source, protocol, address, port].join('-');
}

/** Names the program by its processes, its unit or its user; for forwarded traffic, names its source. */
export function originOf({ programs, unit, uid, source }: BlockedEntry, tr: Translator): string {
  const { _ } = tr;
  if (source !== null) return source;
  if (programs.length) return formatList(programs, tr);
  const name = unit === null ? null : unitName(unit);
  return name ?? fill(_('A program of user %s'), String(uid));
}

/**
 * Returns the program's name in the name of a unit, by systemd's rules for desktop apps; null if it names no program.
 * `app-gnome-org.mozilla.firefox-1234.scope` -> `org.mozilla.firefox`
 */
export function unitName(unit: string): string | null {
  if (/^(?:culvert|session|run|vte-spawn)-/.test(unit) || /^user@/.test(unit)) return null;
  const name = unit.replace(/\.(?:scope|service|socket)$/, '');
  const [, app] = /^app-(?:[^-]+-)?([^-@]+)(?:-\d+|@.*)?$/.exec(name) ?? [];
  return (app ?? name).replace(/\\x([\da-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** `203.0.113.5:443 (TCP)`, `[2001:db8::1]:53 (UDP)`, `203.0.113.5 (ICMP)` */
export function targetOf({ address, port, protocol }: BlockedEntry): string {
  const host = address.includes(':') && port !== null ? `[${address}]` : address;
  const kind = protocol === 'ipv6-icmp' ? 'ICMPv6' : protocol.toUpperCase();
  return `${host}${port === null ? '' : `:${port}`} (${kind})`;
}

export function ruleText({ rule }: Pick<BlockedEntry, 'rule'>, { _ }: Translator): string {
  switch (rule) {
    case 'kill-switch':
      return _('kill switch');
    case 'dns':
      return _('kill switch: no DNS outside the tunnel');
    case 'forwarded':
      return _('kill switch, for a container or virtual machine');
    case 'tunnel-only':
      return _('this program uses the tunnel only');
  }
}

function detailOf(entry: BlockedEntry, tr: Translator): string {
  const { ngettext } = tr;
  // Translators: such as 14:02, and the rule that blocked
  return fill(
    ngettext('%1$s packet since %2$s: %3$s', '%1$s packets since %2$s: %3$s', entry.packets),
    formatCount(entry.packets, tr),
    formatTime(entry.since, tr),
    ruleText(entry, tr),
  );
}
