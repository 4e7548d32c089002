// Prepares the emulator for each recorded question.
import { recordings } from './recordings.ts';

/** Degrees of agreement between a recording and the emulator's answer, from strong to weak (`fidelity.test.ts`). */
export type Relation = 'same' | 'head' | 'lines' | 'words' | 'labels' | 'subset';

export interface Scene {
  /** The release, where the recording leaves it open or is younger than it. */
  version?: string;
  /** Words for `--emulate`. */
  state?: string[];
  faults?: string;
  /** Commands before the recorded one. */
  first?: string[][];
  /** The recorded command, where it holds placeholders. */
  argv?: string[];
  /** On a terminal, with this typed. */
  typed?: string;
  /** While listening, do this, and look for the recorded line. */
  listening?: string[];
  /** A weaker relation than the fidelity tag asks for, and why. */
  relation?: [Relation, why: string];
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => first + at);
const all = (rows: number[], why: string) => Object.fromEntries(rows.map(row => [row, why]));

/** Recordings that are not replayed, and why. */
export const EXCUSED: Record<number, string> = {
  ...all([5, 105], 'older than what the emulator imitates'),
  ...all(range(6, 28), 'a help page, which nothing reads'),
  ...all(range(29, 33), 'text of releases that the daemon asks for JSON'),
  53: 'Disconnecting was never seen in a real capture',
  ...all([83, 93, 94, 95, 116, 119], 'the text of a read that the daemon makes as JSON'),
  90: 'a hand-written fake; two captures have status answer "Unable" with exit 0 without a registration',
  ...all([107, 111, 114, 115, 118], 'a command that the daemon does not run'),
  ...all([134, 135], 'a failure between the client and its service; the emulator is both'),
};

const connected: Scene = { first: [['connect']] };
const unregistered: Scene = { state: ['registration=null'] };
const stuck = (phase: string): Scene => ({ first: [['connect']], faults: `stuck=${phase}` });
const failing = (faults: string): Scene => ({ first: [['connect']], faults });
const proxied: Scene = { first: [['connect'], ['mode', 'proxy']] };
const license = '11111111-22222222-33333333';
const json = (key: string, value: unknown) => `${key}=${JSON.stringify(value)}`;
const zeros = '0'.repeat(32);
const nil = '00000000-0000-0000-0000-000000000000';

/** Lines of a block of recorded settings, so that a list that only one device had can be staged. */
function block(row: number, heading: string): string[] {
  const lines = recordings[row]!.stdout.split('\n');
  const start = lines.findIndex(line => line.includes(heading)) + 1;
  const end = lines.findIndex((line, at) => at >= start && !/^( {2}|\.\.\.)/.test(line));
  return lines
    .slice(start, end)
    .map(line => line.trim())
    .filter(line => line !== '...');
}

function routes(row: number) {
  return block(row, 'mode, with hosts/ips').map(line => {
    const [, value = line, description = ''] = line.match(/^(\S+) \((.*)\)$/) ?? [];
    return { value, description };
  });
}

function fallback(row: number) {
  return block(row, 'Fallback domains').map(line => {
    const [domain = '', servers] = line.split('\t-> ');
    return { domain, description: '', servers: servers ? servers.slice(1, -1).split(', ') : [] };
  });
}

const account = (publicKey: string, key: string | null): string[] => [
  json('registration.id', nil),
  json('registration.deviceId', nil),
  json('registration.publicKey', publicKey),
  json('registration.accountId', zeros),
  json('registration.license', key),
];

const vnets = json('vnets', [{ id: 'v-1', name: 'default', description: '', default: true }]);

export const SCENES: Record<number, Scene> = {
  34: { ...failing('dns-lookup-failed'), version: '2025.6' },
  37: { ...connected, version: '2025.8' },
  38: { ...connected, version: '2025.8' },
  39: connected,
  40: unregistered,
  41: unregistered,
  42: unregistered,
  43: { faults: 'not-in-api' },
  44: { first: [['connect'], ['disconnect']] },
  45: stuck('EstablishingConnection'),
  46: stuck('EstablishingConnection'),
  47: { ...stuck('PerformingHappyEyeballs'), state: ['ipv6=false'] },
  48: stuck('CheckingForRouteToDnsEndpoint'),
  49: failing('network-unstable'),
  50: failing('no-network'),
  51: failing('happy-eyeballs-failed'),
  52: connected,
  54: connected,
  55: stuck('PerformingHappyEyeballs'),
  56: stuck('EstablishingConnection'),
  57: stuck('PerformingConnectivityChecks'),
  59: { first: [['connect'], ['disconnect']] },
  60: unregistered,
  61: unregistered,
  62: { faults: 'reason={"NetworkDegraded":{"rtt_ms":6}}', listening: ['connect'] },
  63: failing('network-unstable'),
  64: failing('unable={"Port53Bound":{"offending_processes":[]}}'),
  65: { first: [['registration', 'delete']] },
  66: { listening: ['dns', 'families', 'malware'] },
  68: unregistered,
  69: { argv: ['--accept-tos', 'registration', 'license', license] },
  74: { argv: ['vnet', 'v-1'], state: [vnets] },
  76: { ...unregistered, faults: 'terms', typed: 'y\n' },
  77: {
    ...unregistered,
    faults: 'terms',
    typed: 'y\n',
    relation: ['lines', 'the two other captures of this prompt have an empty line before Success'],
  },
  78: { faults: 'terms' },
  79: { argv: ['status'], faults: 'terms' },
  80: { argv: ['settings'], faults: 'terms' },
  81: { argv: ['-j', 'connect'], faults: 'terms' },
  84: { state: account('REDACTED', 'REDACTED') },
  85: { state: ['organization=acme-team'] },
  86: { ...unregistered, faults: 'text-errors' },
  87: unregistered,
  88: unregistered,
  89: unregistered,
  91: { ...unregistered, faults: 'json-exit-1' },
  97: proxied,
  98: { version: '2026.6.822', first: [['mode', 'proxy']] },
  99: { version: '2026.6.822', first: [['tunnel', 'protocol', 'set', 'MASQUE']] },
  100: {
    first: [['connect'], ['mode', 'proxy'], ['tunnel', 'protocol', 'set', 'MASQUE']],
    relation: ['head', 'the head of the output alone'],
  },
  101: {
    first: [['mode', 'dot']],
    state: ['sources.Always On=default', 'sources.WARP tunnel protocol=default'],
    relation: ['lines', 'the head of the output alone, of macOS, which showed no switch lock'],
  },
  102: unregistered,
  103: {
    first: [['connect']],
    state: [
      'organization=example-org',
      'policy.mode=tunnel_only',
      'policy.profileId=00000000-0000-0000-0000-000000000001',
      'settings.splitMode=include',
      json('settings.ips', routes(103)),
    ],
    relation: ['subset', 'abbreviated, and its tabs are spaces'],
  },
  104: {
    version: '2025.6',
    first: [['connect']],
    state: [
      'settings.qlog=true',
      'organization=Organization-Name',
      'policy.mode=warp+doh',
      'policy.protocol=WireGuard',
      'policy.gateway.id=1xx0x1011xx000000000f0x00000x11',
      json('policy.gateway.servers', ['1xx.1xx.1x.1', '1x01:1x00:1x00::1xx1']),
      'policy.supportUrl=my-organizations-support-portal.com',
      'policy.appleCheckIps=xx.xxx.0.0/16',
      'policy.profileId=000000x1-00x1-1xx0-1xx1-11101x1axx11',
      json('settings.ips', routes(104)),
      json('settings.fallback', fallback(104)),
    ],
    relation: ['words', 'its tabs are spaces, and "..." stands for lines that were left out'],
  },
  106: {
    first: [['connect']],
    state: [json('settings.ips', [{ value: '10.0.0.0/8', description: '' }])],
    relation: ['subset', 'its source left lists out'],
  },
  108: {
    state: [json('settings.ips', [{ value: '10.0.0.0/8', description: '' }])],
    first: [
      ['tunnel', 'ip', 'add-range', '0.0.0.0/0'],
      ['tunnel', 'ip', 'add-range', '::/0'],
    ],
  },
  109: { state: ['settings.splitMode=include', json('settings.ips', [{ value: '0.0.0.0/0', description: '' }])] },
  110: { first: [['tunnel', 'host', 'add', 'www.baidu.com']] },
  117: { state: [vnets] },
  121: { faults: 'service-down' },
  122: { faults: 'service-down', relation: ['head', 'the first line alone'] },
  123: { faults: 'service-down,json-exit-0' },
  129: { state: ['organization=example-org', 'policy.allowModeSwitch=false'] },
  130: { state: ['organization=example-org', 'policy.localNetwork=false'] },
  131: { state: ['organization=example-org', 'policy.allowModeSwitch=false'] },
  133: { state: ['organization=example-org', 'policy.allowLeave=false'] },
};
