// Describes the split tunnel: which addresses, ranges and hosts go outside the tunnel, or are the only ones inside it.
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
  /** Its origin: the default list, the organization, or this user. */
  origin: string;
  /** Anything but what the organization gives can be taken away. */
  removable: boolean;
  note: string | null;
}

export interface RoutesView {
  mode: SplitTunnel['mode'];
  /** Meaning of the list. */
  sentence: string;
  entries: RouteEntry[];
  sensitive: boolean;
  /** The organization decides. */
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
    const standard = DEFAULTS.has(value);
    return {
      value,
      kind,
      note: description,
      removable: !managed,
      origin: managed ? _('Organization') : standard ? _('Default') : _('Added'),
    };
  };
  return {
    mode: split.mode,
    sentence: sentenceOf(split.mode, tr),
    entries: [
      ...split.ips.map(ip => entry(ip, routeKind(withoutFullLength(ip.value)) === 'range' ? 'range' : 'address')),
      ...split.hosts.map(host => entry(host, 'host')),
    ],
    sensitive: settable && !managed,
    managed,
  };
}

/** WARP lists an address as the range of that address only, `192.0.2.7/32`, and removes it by the address. */
function withoutFullLength(value: string): string {
  return value.replace(/^([\d.]+)\/32$|^([\da-f:.]+)\/128$/i, '$1$2');
}

function sentenceOf(mode: SplitTunnel['mode'], { _ }: Translator): string {
  if (mode === 'include') return _('Only these use WARP; everything else bypasses it.');
  if (mode === 'exclude') return _('These bypass WARP.');
  return _('WARP has not reported its list yet.');
}

export function routeKindName(kind: RouteKind, { _ }: Translator): string {
  return { address: _('Address'), range: _('Range'), host: _('Host') }[kind];
}

/** True for an entry that holds every word of `query`. */
export function routeMatches(entry: RouteEntry, query: string): boolean {
  return holdsWords(entryText(entry), query);
}

const entryText = searchable<RouteEntry>(({ value, note, origin }) => `${value} ${note ?? ''} ${origin}`);

/**
 * A single entry is set for good: people add several one after another, its opposite is one press away in the same list,
 * and a list as a whole, which can cut off more, waits to be confirmed.
 * @param value of a known kind; see `routeKind`.
 */
export function addRoute(value: string): ActionRequest {
  const kind = routeKind(value);
  if (kind === 'range') return { action: 'addSplitRange', value };
  return kind === 'host' ? { action: 'addSplitHost', value } : { action: 'addSplitIp', value };
}

function removeRoute({ value, kind }: RouteEntry): ActionRequest {
  if (kind === 'range') return { action: 'removeSplitRange', value };
  return kind === 'host' ? { action: 'removeSplitHost', value } : { action: 'removeSplitIp', value };
}

/** Taking an entry off, with the way back. */
export function removal(entry: RouteEntry, { _ }: Translator): Command {
  return actionCommand(removeRoute(entry), {
    undo: { kind: 'action', request: addRoute(entry.value) },
    // Translators: %s is an address or a host name
    done: fill(_('%s removed'), entry.value),
  });
}

/** Back to the default list, after a question. */
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
