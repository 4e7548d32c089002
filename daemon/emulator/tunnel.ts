// Connects and disconnects, changes settings, which may restart the connection, and reports the tunnel's statistics.
import {
  type Context,
  missingRegistration,
  notAuthorized,
  type Operation,
  refuse,
  sayJson,
  success,
} from './answer.ts';
import {
  beginConnection,
  connectedAt,
  effectiveMode,
  effectiveProtocol,
  statusAt,
  statusJson,
  statusText,
} from './connection.ts';
import { MODE_NAMES } from './settings.ts';
import { hexFrom, initialSettings, type Settings, type State, type Stats, type Summary } from './state.ts';

export const status: Operation = ({ state, now, faults, generation }) => {
  const shown = statusJson(statusAt(state, now, faults).status, generation);
  return { kind: 'said', text: statusText(shown), json: shown };
};

export const connect: Operation = context => {
  const { state, now, generation } = context;
  if (state.registration === null) return missingRegistration;
  change(context, settings => {
    settings.alwaysOn = true;
  });
  if (state.connection === null) beginConnection(state, now, generation);
  return success;
};

export const disconnect: Operation = context => {
  const { state } = context;
  if (state.registration === null) return missingRegistration;
  if (state.policy?.switchLocked && (state.override?.until ?? 0) <= context.now) return notAuthorized;
  change(context, settings => {
    settings.alwaysOn = false;
  });
  state.connection = null;
  return success;
};

export const mode: Operation = (context, [name = '']) => {
  const { state } = context;
  if (state.policy && !state.policy.allowModeSwitch) return notAuthorized;
  if (name === 'proxy' && proxyRefused(context)) return proxyNeedsMasque;
  if (state.policy) state.policy.mode = null;
  return change(context, settings => {
    settings.mode = name;
  });
};

export const setProtocol: Operation = (context, [name]) => {
  if (context.state.policy) return notAuthorized;
  if (name === 'WireGuard' && effectiveMode(context.state) === 'proxy' && context.generation.has('masqueOnlyProxy')) {
    return proxyNeedsMasque;
  }
  return change(context, settings => {
    settings.protocol = name as Settings['protocol'];
  });
};

export const resetSettings: Operation = context =>
  change(context, settings => {
    Object.assign(settings, initialSettings(), { alwaysOn: settings.alwaysOn });
  });

/** Creates an operation that stores a value as one setting. Members of an organization are refused. */
export const setting =
  (key: keyof Settings, toValue: (text: string) => unknown): Operation =>
  (context, [text = '']) =>
    context.state.policy
      ? notAuthorized
      : change(context, settings => Object.assign(settings, { [key]: toValue(text) }));

export const setDnsLog: Operation = (context, [value]) =>
  change(context, settings => {
    settings.dnsLog = value === 'enable';
  });

/**
 * Changes settings. Restarts a connection after a change of its route; without a connection, the
 * status names the change (`SettingsChanged`).
 */
export function change(context: Context, alter: (settings: Settings) => void): typeof success {
  const { state, now, generation } = context;
  const [before, route] = [summary(state), routeOf(context)];
  alter(state.settings);
  const after = summary(state);
  if (state.connection !== null && route !== routeOf(context)) beginConnection(state, now, generation);
  if (JSON.stringify(before) !== JSON.stringify(after)) state.change = { current: after, previous: before };
  return success;
}

function routeOf({ state, generation }: Context): string {
  const { endpoint, masque, environment, activeVnet } = state.settings;
  return JSON.stringify([
    effectiveMode(state),
    effectiveProtocol(state, generation),
    endpoint,
    masque,
    environment,
    activeVnet,
  ]);
}

function summary(state: State): Summary {
  return {
    always_on: state.settings.alwaysOn,
    switch_locked: state.policy?.switchLocked ?? false,
    auto_connect: null,
    operation_mode: MODE_NAMES[effectiveMode(state)] ?? effectiveMode(state),
  };
}

/** Returns true if proxy mode needs MASQUE, as since 2025.8.779; the text of the refusal was not recorded. */
function proxyRefused({ state, generation }: Context): boolean {
  return generation.has('masqueOnlyProxy') && effectiveProtocol(state, generation) === 'WireGuard';
}
const proxyNeedsMasque = refuse('ProxyModeRequiresMasque', 'Proxy mode requires the MASQUE tunnel protocol.');

// ── Statistics: a function of the seed and the time, so that every process prints the same ──────────────────────────

/** Prints the keys in the order of 2026.7.1377. */
export const stats: Operation = context => {
  const { state, generation } = context;
  const protocol = effectiveProtocol(state, generation);
  const figures = statsAt(context, protocol);
  if (figures === null) return refuse('WarpNotConnected', 'WARP is not connected.');
  return sayJson({
    v4_endpoint: figures.v4,
    v6_endpoint: figures.v6,
    warp_is_on: true,
    secs_since_last_handshake: figures.handshakeAge,
    bytes_sent: figures.sent,
    bytes_received: figures.received,
    estimated_latency_ms: figures.latency,
    estimated_loss: figures.loss,
    protocol: protocolText(protocol, state.settings.masque),
    tls:
      protocol === 'MASQUE'
        ? { ...TLS, curve: figures.curve, sni: sni(effectiveMode(state), state.policy !== null) }
        : null,
    edge: { colo: figures.colo, metal: figures.metal },
  });
};

const TLS = {
  version: 'TLSv1.3',
  curve: '',
  cipher: 'TLS_AES_256_GCM_SHA384',
  post_quantum_enabled: true,
};

function sni(mode: string, managed: boolean): string {
  if (managed) return 'zero-trust-client.cloudflareclient.com';
  return mode === 'proxy' ? 'consumer-masque-proxy.cloudflareclient.com' : 'consumer-masque.cloudflareclient.com';
}

function protocolText(protocol: 'MASQUE' | 'WireGuard', masque: string | null): string {
  if (protocol === 'WireGuard') return 'WireGuard';
  return masque === 'h2-only' ? 'MASQUE (HTTPS via TCP)' : 'MASQUE (HTTPS via UDP)';
}

/** Bytes per second, their swing, and its period in seconds: the rate rises and falls, but never below zero. */
const SENT = { rate: 2_400, swing: 0.7, period: 23 };
const RECEIVED = { rate: 19_000, swing: 0.9, period: 41 };
/** WireGuard makes new keys after two minutes (whitepaper, Rekey-After-Time); MASQUE keeps its handshake. */
const REKEY_SECONDS = 120;

/** @returns null while there is no connection */
function statsAt(context: Context, protocol: 'MASQUE' | 'WireGuard'): Stats | null {
  const { state, now, faults } = context;
  const since = connectedAt(state, now, faults);
  if (since === null) return null;
  const seconds = Math.max(now - since, 0) / 1000;
  const age = Math.floor(seconds);
  const steady = hexFrom(state.seed);
  const moment = hexFrom(state.seed + Math.floor(now / 2000));
  const part = (hex: string) => Number.parseInt(hex, 16) / 16 ** hex.length;
  const [v4 = '', v6 = ''] = (state.connection?.endpoints ?? []).map(host);
  return {
    v4: v4.includes(':') ? '0.0.0.0' : v4,
    v6: v4.includes(':') ? v4 : protocol === 'WireGuard' ? v6 || '::' : '::',
    handshakeAge: protocol === 'WireGuard' ? age % REKEY_SECONDS : age,
    sent: 3_100 + carried(seconds, SENT),
    received: 5_200 + carried(seconds, RECEIVED),
    latency: 9 + Math.floor(part(steady(4)) * 30) + Math.floor(part(moment(4)) * 9),
    loss: Number((part(moment(4)) * 0.0008).toFixed(10)),
    colo: ['MAD', 'FRA', 'AMS', 'DEL', 'HKG', 'SJC', 'GRU', 'NRT'][Math.floor(part(steady(4)) * 8)] ?? 'FRA',
    metal: steady(6),
    curve: 'P256Kyber768Draft00',
    ...state.stats,
  };
}

/** Returns the integral of `rate * (1 + swing * sin(2πt / period))` from 0 to t. */
function carried(seconds: number, { rate, swing, period }: typeof SENT): number {
  const turn = (2 * Math.PI) / period;
  return Math.floor(rate * (seconds + (swing / turn) * (1 - Math.cos(turn * seconds))));
}

const host = (endpoint: string) => endpoint.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
