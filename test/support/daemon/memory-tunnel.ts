// A tunnel without processes: performs actions on values in memory, fails and hangs on demand, and publishes what it has.
import type { ActionRequest } from '../../../daemon/api/actions.ts';
import type { CommandOutput, Snapshot, SplitTunnel } from '../../../daemon/api/schema.ts';
import { Problem } from '../../../daemon/problem.ts';
import { createState, NO_OPTIONS, type State } from '../../../daemon/state/store.ts';
import type { Tunnel } from '../../../daemon/warp/tunnel.ts';

const OUTPUT: CommandOutput = {
  ok: true,
  argv: ['warp-cli'],
  exitCode: 0,
  stdout: 'Success\n',
  stderr: '',
  durationMs: 1,
  at: '2026-01-01T00:00:00.000Z',
};

/** As the tunnel CLI prints it (test/fixtures/warp-cli). */
const PRINTED: Record<string, string> = {
  'h3-with-h2-fallback': 'MASQUE (HTTP/3 with HTTP/2 fallback)',
  'h3-only': 'MASQUE (HTTP/3)',
  'h2-only': 'MASQUE (HTTP/2)',
};

export interface Values {
  connected: boolean;
  mode: string;
  protocol: string;
  families: Snapshot['options']['families'];
  /** HTTP version of MASQUE, as an argument. */
  masque: string;
  proxyPort: number;
  /** It is never reported, as by the real tunnel CLI. */
  endpoint: string | null;
  gatewayId: string | null;
  fallback: string[];
  split: SplitTunnel;
}

export interface MemoryTunnel {
  state: State;
  tunnel: Tunnel;
  values: Values;
  performed: ActionRequest[];
  /** False: nothing can be read, so the state keeps its last values, and says so. */
  readable: boolean;
  /** Is asked before each action; what it throws or awaits fails or delays the action. */
  before: (request: ActionRequest, number: number) => unknown;
}

export const route = (value: string) => ({ value, description: null });

/** @param store keeps the values elsewhere, after each action */
export function memoryTunnel(given: Partial<Values> = {}, store: (values: Values) => void = () => {}): MemoryTunnel {
  const state = createState({ available: true, path: '/usr/bin/warp-cli', version: '2026.7.1377.0', emulated: false });
  const values: Values = {
    connected: true,
    mode: 'warp',
    protocol: 'MASQUE',
    families: 'off',
    fallback: ['corp'],
    masque: 'h3-with-h2-fallback',
    proxyPort: 40_000,
    endpoint: null,
    gatewayId: null,
    split: { mode: 'exclude', ips: ['10.0.0.0/8', '198.18.7.0/24'].map(route), hosts: [route('example.com')] },
    ...given,
  };
  const publish = () => {
    const { connected, mode, protocol, families, fallback, split, proxyPort, gatewayId } = values;
    state.set('status', { ...state.snapshot().status, state: connected ? 'connected' : 'disconnected' });
    state.set('settings', { Mode: mode, 'WARP tunnel protocol': protocol });
    const fallbackDomains = fallback.map(domain => ({ domain, note: null }));
    state.set('options', {
      ...NO_OPTIONS,
      families,
      gatewayId,
      fallbackDomains,
      masque: PRINTED[values.masque] ?? null,
    });
    state.set('tunnel', { ...state.snapshot().tunnel, proxyPort: mode === 'proxy' ? proxyPort : null });
    state.set('splitTunnel', { ...split, ips: [...split.ips], hosts: [...split.hosts] });
  };
  const memory: MemoryTunnel = {
    state,
    values,
    performed: [],
    readable: true,
    before: () => {},
    tunnel: undefined as never,
  };
  memory.tunnel = {
    start() {},
    async stop() {},
    async runAction(request) {
      memory.performed.push(request);
      await memory.before(request, memory.performed.length);
      apply(values, request);
      store(values);
      return OUTPUT;
    },
    batch: work => work(),
    supports: async () => true,
    async refresh() {
      if (memory.readable) publish();
    },
    async readFigures() {},
    isFresh: () => true,
    stale: () => (memory.readable ? [] : (['settings', 'splitTunnel'] as const).map(part => ({ part, ageSeconds: 9 }))),
    hasOldParts: () => !memory.readable,
    changing: () => null,
    account: async () => assert(),
  };
  publish();
  return memory;
}

function assert(): never {
  throw new Error('not asked for here');
}

function apply(values: Values, { action, value = '' }: ActionRequest): void {
  const { split } = values;
  const at = (list: 'ips' | 'hosts') => split[list].findIndex(each => each.value === value);
  const add = (list: 'ips' | 'hosts') => {
    if (at(list) >= 0) throw new Problem('tunnel-cli-failed', `${value} exists.`);
    split[list].push(route(value));
  };
  const remove = (list: 'ips' | 'hosts') => {
    if (at(list) < 0) throw new Problem('tunnel-cli-failed', `${value} is missing.`);
    split[list].splice(at(list), 1);
  };
  switch (action) {
    case 'connect':
    case 'disconnect':
      values.connected = action === 'connect';
      return;
    case 'setMode':
      values.mode = value;
      return;
    case 'setProtocol':
      values.protocol = value;
      return;
    case 'enableLocalProxy':
      values.mode = 'proxy';
      return;
    case 'setMasqueOptions':
      values.masque = value;
      return;
    case 'resetMasqueOptions':
      values.masque = 'h3-with-h2-fallback';
      return;
    case 'setProxyPort':
      values.proxyPort = Number(value);
      return;
    case 'setFamilies':
      values.families = value === 'full' || value === 'malware' ? value : 'off';
      return;
    case 'setEndpoint':
    case 'resetEndpoint':
      values.endpoint = value || null;
      return;
    case 'setGatewayId':
    case 'resetGatewayId':
      values.gatewayId = value || null;
      return;
    case 'addFallbackDomain':
      values.fallback = [...values.fallback, value];
      return;
    case 'removeFallbackDomain':
      values.fallback = values.fallback.filter(each => each !== value);
      return;
    case 'resetSplitIps':
      values.split = { ...split, ips: [route('10.0.0.0/8')] };
      return;
    case 'resetSettings':
      values.split = { ...split, ips: [route('10.0.0.0/8')], hosts: [] };
      return;
    case 'resetSplitHosts':
      values.split = { ...split, hosts: [] };
      return;
    case 'addSplitIp':
    case 'addSplitRange':
      add('ips');
      return;
    case 'removeSplitIp':
    case 'removeSplitRange':
      remove('ips');
      return;
    case 'addSplitHost':
      add('hosts');
      return;
    case 'removeSplitHost':
      remove('hosts');
      return;
    default:
      throw new Problem('unsupported-by-cli', `${action} is not known here.`);
  }
}

/** Publishes everything that the tunnel publishes in a daemon's state as well. */
export function showIn(shown: State, { state }: Pick<MemoryTunnel, 'state'>): void {
  const follow = () => {
    const { status, settings, splitTunnel, options, tunnel } = state.snapshot();
    shown.set('status', status);
    shown.set('settings', settings);
    shown.set('splitTunnel', splitTunnel);
    shown.set('options', options);
    shown.set('tunnel', tunnel);
  };
  state.subscribe(follow);
  follow();
}
