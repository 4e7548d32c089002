// Pure: turns the list of what was blocked into words, for panel, page and command line.
import type { BlockedEntry, BlockedList } from '../../../api/schema.ts';
import type { ClientState } from '../../client/client-state.ts';
import type { Row } from '../../form.ts';
import { formatCount, formatList, formatTime } from '../../format.ts';
import { fill, type Translator } from '../../translator.ts';

/** Time between readings while someone looks. */
export const READ_BLOCKED_MS = 3_000;
/** Rows of a page. */
const MOST_ROWS = 30;

export interface BlockedState {
  /** null until the daemon has answered. */
  list: BlockedList | null;
  /** Why it could not be asked. */
  failed: string | null;
}

export const NOT_READ: BlockedState = { list: null, failed: null };

/** True if it is recorded without a reader; null if it can't be set. */
export function recordsBlocked({ config, offline }: ClientState): boolean | null {
  return offline ? null : (config?.config.warp.recordBlocked ?? null);
}

/** Rows of the list; empty if nothing is recorded. */
export function blockedRows({ list, failed }: BlockedState, tr: Translator): Row[] {
  const { _ } = tr;
  if (failed !== null) return [note('failed', _('What was blocked can’t be shown'), failed)];
  if (!list?.recordingSince) return [];
  const rows = list.entries.slice(0, MOST_ROWS).map(entry =>
    // Translators: a program, and the address that it could not reach
    note(keyOf(entry), fill(_('%1$s to %2$s'), originOf(entry, tr), targetOf(entry)), detailOf(entry, tr)),
  );
  const more = list.hidden + Math.max(0, list.entries.length - MOST_ROWS);
  if (more > 0) rows.push(note('more', fill(_('%s more, also of other users'), formatCount(more, tr)), null));
  // Translators: %s is a time such as 14:02
  return rows.length
    ? rows
    : [note('none', fill(_('Nothing was blocked since %s'), formatTime(list.recordingSince, tr)), null)];
}

function note(id: string, title: string, subtitle: string | null): Row {
  return { kind: 'note', id: `blocked-${id}`, title, subtitle };
}

function keyOf({ rule, uid, unit, source, protocol, address, port }: BlockedEntry): string {
  return [rule, uid, unit, source, protocol, address, port].join('-');
}

/** The program, as its processes, its unit or its user name it; or the machine behind this one. */
export function originOf({ programs, unit, uid, source }: BlockedEntry, tr: Translator): string {
  const { _ } = tr;
  if (source !== null) return source;
  if (programs.length) return formatList(programs, tr);
  const name = unit === null ? null : unitName(unit);
  return name ?? fill(_('A program of user %s'), String(uid));
}

/**
 * The part of a unit's name that says which program it is, by systemd's rules for desktop apps; null if it says nothing.
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
