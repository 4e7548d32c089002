// Reads tunnel values from snapshots, and finds the actions that restore them. Pure, except for knownNow.
import * as z from 'zod/mini';
import {
  type ActionRequest,
  ARGUMENTS,
  actionRequest,
  MODES,
  PROTOCOLS,
  type TunnelSubject as Subject,
  subjectOf,
} from '../api/actions.ts';
import type { Snapshot, StalePart } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { Problem } from '../problem.ts';
import { canonical } from '../routes/document.ts';
import { message } from '../view/message.ts';

const MASQUE = ARGUMENTS.masqueOptions.values;

/** A subject with its value; null is the tunnel client's default. */
export const Value = z.discriminatedUnion('subject', [
  /** True if the tunnel should be up. */
  z.object({ subject: z.literal('connection'), value: z.boolean() }),
  z.object({ subject: z.literal('mode'), value: z.enum(MODES) }),
  z.object({ subject: z.literal('protocol'), value: z.nullable(z.enum(PROTOCOLS)) }),
  z.object({ subject: z.literal('endpoint'), value: z.nullable(z.string()) }),
  z.object({ subject: z.literal('masque'), value: z.enum(MASQUE) }),
  z.object({ subject: z.literal('proxyPort'), value: z.int().check(z.gte(1), z.lte(65_535)) }),
  z.object({ subject: z.literal('families'), value: z.enum(['off', 'malware', 'full']) }),
  z.object({ subject: z.literal('gatewayId'), value: z.nullable(z.string()) }),
  z.object({ subject: z.literal('fallback'), value: z.array(z.string()) }),
  /** Canonical entries of the split tunnel. */
  z.object({ subject: z.literal('routes'), value: z.array(z.string()) }),
]);
export type Value = z.infer<typeof Value>;

/** A snapshot with its stale parts, whose values are unknown. */
export type Known = Snapshot & { stale: StalePart[] };

export function knownNow({ state, tunnel }: Pick<FeatureContext, 'state' | 'tunnel'>): Known {
  return { ...state.snapshot(), stale: tunnel.stale() };
}

/** Returns the part of a snapshot that contains a subject's value. */
function partOf(subject: Subject): StalePart['part'] {
  if (subject === 'connection') return 'status';
  return subject === 'routes' ? 'splitTunnel' : 'settings';
}

export function valueNotRead(): Problem {
  return new Problem('tunnel-cli-failed', message('The tunnel client does not report the current value.'));
}

/** Returns the current value; null if the tunnel CLI did not report it, or it may be outdated. */
export function currentValue(subject: Subject, snapshot: Known): Value | null {
  const { status, settings, splitTunnel } = snapshot;
  if (snapshot.stale.some(({ part }) => part === partOf(subject))) return null;
  if (subject === 'connection') {
    if (status.blocked || status.state === 'unknown') return null;
    return { subject, value: status.state !== 'disconnected' && status.state !== 'disconnecting' };
  }
  if (subject === 'routes') {
    const { mode, ips, hosts } = splitTunnel;
    // the lists are also empty before the first read
    if (mode === null && ips.length + hosts.length === 0) return null;
    return { subject, value: [...ips, ...hosts].map(({ value }) => canonical(value).value) };
  }
  if (Object.keys(settings).length === 0) return null;
  const { options } = snapshot;
  switch (subject) {
    case 'mode': {
      const value = MODES.find(mode => mode === settings.Mode);
      return value ? { subject, value } : null;
    }
    case 'protocol':
      return { subject, value: PROTOCOLS.find(name => name === settings['WARP tunnel protocol']) ?? null };
    case 'families':
      return options.families === null ? null : { subject, value: options.families };
    case 'endpoint':
      return { subject, value: options.endpoint };
    case 'masque': {
      const value = masqueOf(options.masque);
      return value && { subject, value };
    }
    case 'proxyPort':
      // reported in proxy mode only
      return snapshot.tunnel.proxyPort === null ? null : { subject, value: snapshot.tunnel.proxyPort };
    case 'gatewayId':
      return { subject, value: options.gatewayId };
    case 'fallback':
      return { subject, value: options.fallbackDomains.map(({ domain }) => domain) };
  }
}

/** Says when the tunnel CLI reports a value that it does not report with the present settings; null for any other value. */
export function reportedOnly(subject: Subject, { settings, options, tunnel, stale }: Known): string | null {
  if (stale.some(({ part }) => part === 'settings')) return null;
  const { Mode, 'WARP tunnel protocol': protocol } = settings;
  if (subject === 'proxyPort' && tunnel.proxyPort === null && Mode !== undefined && Mode !== 'proxy')
    return 'in proxy mode';
  return subject === 'masque' && options.masque === null && protocol === 'WireGuard'
    ? 'with the protocol MASQUE'
    : null;
}

/**
 * Returns the actions that set a value; none if it is already set. daemon/routes/routes-service.ts sets routes.
 * @param now the current value; null sets the wanted value in any case, but must not be null for a list
 */
export function actionsTo(wanted: Exclude<Value, { subject: 'routes' }>, now: Value | null): ActionRequest[] {
  if (wanted.subject === 'fallback') {
    const set = now?.subject === 'fallback' ? now.value : [];
    return [
      ...wanted.value.filter(domain => !set.includes(domain)).map(value => actionRequest('addFallbackDomain', value)),
      ...set
        .filter(domain => !wanted.value.includes(domain))
        .map(value => actionRequest('removeFallbackDomain', value)),
    ];
  }
  if (now && now.value === wanted.value) return [];
  switch (wanted.subject) {
    case 'connection':
      return [actionRequest(wanted.value ? 'connect' : 'disconnect')];
    case 'mode':
      return [actionRequest('setMode', wanted.value)];
    case 'protocol':
      return [wanted.value === null ? actionRequest('resetProtocol') : actionRequest('setProtocol', wanted.value)];
    case 'endpoint':
      return [wanted.value === null ? actionRequest('resetEndpoint') : actionRequest('setEndpoint', wanted.value)];
    case 'masque':
      return [actionRequest('setMasqueOptions', wanted.value)];
    case 'proxyPort':
      return [actionRequest('setProxyPort', String(wanted.value))];
    case 'families':
      return [actionRequest('setFamilies', wanted.value)];
    case 'gatewayId':
      return [wanted.value === null ? actionRequest('resetGatewayId') : actionRequest('setGatewayId', wanted.value)];
  }
}

/** Returns the value that an action sets, in readable form; null for actions on a list. */
export function settingOf({ action, value }: ActionRequest): string | null {
  if (action === 'connect') return 'on';
  if (action === 'disconnect') return 'off';
  if (action === 'enableLocalProxy') return 'proxy';
  const subject = subjectOf(action);
  if (subject === 'routes' || subject === 'fallback') return null;
  return value ?? 'default';
}

/** Returns a value in readable form, like `settingOf`. */
export function textOf({ subject, value }: Value): string | null {
  if (subject === 'connection') return value ? 'on' : 'off';
  if (subject === 'routes' || subject === 'fallback') return null;
  return value === null ? 'default' : String(value);
}

/** Returns the argument for the option that the tunnel CLI prints: `MASQUE (HTTP/3 with HTTP/2 fallback)`. */
function masqueOf(printed: string | null): (typeof MASQUE)[number] | null {
  const versions = printed?.match(/HTTP\/[23]/g)?.join(' ') ?? '';
  const names = { 'HTTP/3 HTTP/2': 'h3-with-h2-fallback', 'HTTP/3': 'h3-only', 'HTTP/2': 'h2-only' } as const;
  return names[versions as keyof typeof names] ?? null;
}
