// Describes the split tunnel, a list of addresses, ranges and hosts that bypass WARP or that alone use it.
import type { ActionRequest, SplitTunnel } from '../../../api/schema.ts';
import type { ClientState } from '../../client/client-state.ts';
import { DEFAULT_ROUTES } from '../../default-routes.ts';
import { actionCommand, type Command } from '../../form.ts';
import { holdsWords, searchable } from '../../text-search.ts';
import { fill, type Translator } from '../../translator.ts';
import { type RouteKind, routeKind } from '../validate.ts';

export interface RouteEntry {
  value: string;
  kind: RouteKind;
  /** Origin of the entry in words: the default list, the organization, or this user. */
  origin: string;
  /** True for an entry of the vendor's default list. */
  isBuiltIn: boolean;
  /** False if the organization manages the list. */
  removable: boolean;
  note: string | null;
}

export interface RoutesView {
  mode: SplitTunnel['mode'];
  /** Says what the list means. */
  sentence: string;
  /** The user's entries, then the default list. */
  entries: RouteEntry[];
  sensitive: boolean;
  /** True if the organization manages the list. */
  managed: boolean;
}

const DEFAULTS = new Set(DEFAULT_ROUTES);

export function describeRoutes(client: ClientState, settable: boolean, tr: Translator): RoutesView {
  const { _ } = tr;
  const snapshot = client.snapshot;
  const split = snapshot?.splitTunnel ?? { mode: null, ips: [], hosts: [] };
  const managed = snapshot?.options.modeLocked === true || snapshot?.account.managed === true;
  const entry = ({ value: listed, description }: SplitTunnel['ips'][number], kind: RouteKind): RouteEntry => {
    const value = withoutFullLength(listed);
    const isBuiltIn = DEFAULTS.has(value);
    return {
      value,
      kind,
      isBuiltIn,
      note: description,
      removable: !managed,
      origin: managed ? _('Organization') : originName(isBuiltIn, tr),
    };
  };
  return {
    mode: split.mode,
    sentence: sentenceOf(split.mode, tr),
    entries: ownFirst(
      [
        ...split.hosts.map(host => entry(host, 'host')),
        ...split.ips.map(ip => entry(ip, routeKind(withoutFullLength(ip.value)) === 'range' ? 'range' : 'address')),
      ],
      ({ isBuiltIn }) => isBuiltIn,
    ),
    sensitive: settable && !managed,
    managed,
  };
}

/** Returns a list with the user's entries first. */
export function ownFirst<E>(entries: readonly E[], isBuiltIn: (entry: E) => boolean): E[] {
  return [...entries.filter(entry => !isBuiltIn(entry)), ...entries.filter(isBuiltIn)];
}

/** Says who put an entry on a list. */
export function originName(isBuiltIn: boolean, { _ }: Translator): string {
  // Translators: an entry of a list that comes with WARP, or that the user added
  return isBuiltIn ? _('built in') : _('yours');
}

/** Removes `/32` or `/128`: WARP lists an address as a range, `192.0.2.7/32`, but removes it by the address alone. */
function withoutFullLength(value: string): string {
  return value.replace(/^([\d.]+)\/32$|^([\da-f:.]+)\/128$/i, '$1$2');
}

function sentenceOf(mode: SplitTunnel['mode'], { _ }: Translator): string {
  if (mode === 'include') return _('Only these use WARP; everything else bypasses it.');
  if (mode === 'exclude') return _('These bypass WARP.');
  return _('WARP has not reported its list yet.');
}

/** True if the entry contains every word of `query`. */
export function routeMatches(entry: RouteEntry, query: string): boolean {
  return holdsWords(entryText(entry), query);
}

const entryText = searchable<RouteEntry>(({ value, note, origin }) => `${value} ${note ?? ''} ${origin}`);

/**
 * Returns the request that adds an entry, without confirmation: people add several in a row and can remove each with
 * one press. Only a change of the whole list, which can cut off more, needs confirmation.
 * @param value an entry of a known kind; see `routeKind`.
 */
export function addRoute(value: string): ActionRequest {
  const kind = routeKind(value);
  if (kind === 'range') return { action: 'addSplitRange', value };
  return kind === 'host' ? { action: 'addSplitHost', value } : { action: 'addSplitIp', value };
}

function removeRoute({ value, kind }: Pick<RouteEntry, 'value' | 'kind'>): ActionRequest {
  if (kind === 'range') return { action: 'removeSplitRange', value };
  return kind === 'host' ? { action: 'removeSplitHost', value } : { action: 'removeSplitIp', value };
}

/** Returns the command that adds an entry, with its undo. @param mode meaning of the list */
export function addition(value: string, mode: SplitTunnel['mode'], { _ }: Translator): Command {
  const entry = { value, kind: routeKind(value) ?? 'host' };
  // Translators: %s is an address or a host name
  const done = mode === 'include' ? _('%s uses WARP') : _('%s bypasses WARP');
  return actionCommand(addRoute(value), {
    undo: { kind: 'action', request: removeRoute(entry) },
    done: fill(done, value),
  });
}

/** Returns the command that removes an entry, with its undo. */
export function removal(entry: Pick<RouteEntry, 'value' | 'kind'>, { _ }: Translator): Command {
  return actionCommand(removeRoute(entry), {
    undo: { kind: 'action', request: addRoute(entry.value) },
    // Translators: %s is an address or a host name
    done: fill(_('%s removed'), entry.value),
  });
}

/** Returns the command that resets the list, after a question. */
export function resetRoutes(what: 'addresses' | 'hosts', { _ }: Translator): Command {
  const action = what === 'hosts' ? 'resetSplitHosts' : 'resetSplitIps';
  return actionCommand(
    { action },
    {
      confirm: {
        heading: what === 'hosts' ? _('Remove all hosts?') : _('Use default addresses?'),
        body: _('What you added is lost. Export the list first to keep it.'),
        accept: _('Reset'),
        destructive: true,
      },
    },
  );
}
