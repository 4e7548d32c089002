// The initial state of a fake daemon, and pieces for tests to build on.
import type { Tool, ToolAccount } from '../../../daemon/api/accounts.ts';
import type { Change } from '../../../daemon/api/changes.ts';
import type { CheckResult } from '../../../daemon/api/doctor.ts';
import type { RoutesPreview } from '../../../daemon/api/routes.ts';
import type {
  App,
  ConfigResponse,
  History,
  KillSwitch,
  LogEntry,
  Snapshot,
  Status,
  UpdateCheck,
} from '../../../daemon/api/schema.ts';
import type { TrustReport, TrustTool } from '../../../daemon/api/trust.ts';
import { Blocked } from '../../../daemon/api/values.ts';
import { DEFAULTS } from '../../../daemon/config/keys.ts';
import { createState, NO_KILL_SWITCH } from '../../../daemon/state/store.ts';
import { message } from '../../../daemon/view/message.ts';

/** A disconnected tunnel on a registered device. */
export function initialSnapshot(revision: number): Snapshot {
  const tunnelCli = { available: true, path: '/usr/bin/warp-cli', version: '2026.7.1377.0', emulated: false };
  const snapshot = createState(tunnelCli).snapshot();
  return {
    ...structuredClone(snapshot),
    revision,
    status: disconnected(snapshot.generatedAt),
    settings: { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' },
    splitTunnel: { mode: 'exclude', ips: [], hosts: [] },
    account: { registered: true, type: 'Free', organization: null, managed: false },
    toolAccounts: { offered: true },
    trust: { offered: true, removalDue: false },
  };
}

/** Installed, and off. */
export const KILL_SWITCH: KillSwitch = {
  ...NO_KILL_SWITCH,
  installed: true,
  active: false,
  protection: 'owner-persist',
  bootGuard: true,
  backend: 'nftables 1.0.6',
};

/** An update check on the newest version. */
export function noUpdate(): UpdateCheck {
  return {
    ok: true,
    current: '0.2.7',
    channel: 'stable',
    latest: '0.2.7',
    updateAvailable: false,
    manifest: null,
    checkedAt: '2026-11-21T06:00:00.000Z',
    problem: null,
    applicable: false,
    command: null,
    previous: null,
    progress: null,
    source: { state: 'ok', lastAnswerAt: null },
  };
}

/** An app of the desktop, by the name of its desktop file. */
export function app(id: string, name: string, more: Partial<App> = {}): App {
  return {
    id: `${id}.desktop`,
    name,
    icon: null,
    categories: [],
    kind: 'generic',
    packaging: 'native',
    method: 'environment',
    note: null,
    shortcut: null,
    tunnelShortcut: null,
    outsideShortcut: null,
    ...more,
  };
}

/** A tool without accounts and shim. */
export function tool(cli: string, more: Partial<Tool> = {}): Tool {
  return {
    cli,
    shim: 'none',
    path: `/home/a/.local/bin/${cli}`,
    variables: [`${cli.toUpperCase()}_KEY`],
    scope: 'key',
    terms: { accounts: 'allowed', note: null, url: null, read: null },
    accounts: [],
    order: 'list',
    next: null,
    total: { remaining: null, limit: null, used: null },
    runs: [],
    consumers: [],
    turnedAway: 0,
    ...more,
  };
}

/** An account of which nothing is known yet. */
export function toolAccount(name: string, more: Partial<ToolAccount> = {}): ToolAccount {
  return {
    name,
    enabled: true,
    default: false,
    sources: ['keyring'],
    stored: true,
    paused: null,
    remaining: null,
    limit: null,
    used: null,
    resets: null,
    at: null,
    emptyAt: null,
    sharedWith: [],
    problem: null,
    ...more,
  };
}

/** A tool with something in each row of its page, at a time in ms since the epoch. */
export function richTool(now: number): Tool {
  const at = (hours: number) => new Date(now + hours * 3_600_000).toISOString();
  const run = { command: 'crawl', class: null } as const;
  return tool('firecrawl', {
    shim: 'installed',
    next: 'team-a',
    scope: 'team',
    total: { remaining: 1650, limit: 3000, used: 1350 },
    terms: { accounts: 'per-team', note: null, url: 'https://firecrawl.example/terms', read: '2026-11-21' },
    accounts: [
      toolAccount('team-a', { default: true, remaining: 850, limit: 1000, emptyAt: at(3), resets: at(72) }),
      toolAccount('team-b', { remaining: 0, limit: 1000, paused: { class: 'quota', until: at(0.2) } }),
      toolAccount('team-c', { remaining: 800, limit: 1000, sharedWith: ['team-d'] }),
      toolAccount('team-d', { enabled: false, paused: { class: 'auth', until: null } }),
    ],
    runs: [
      { ...run, at: at(-1), account: 'team-a', outcome: 'ok' },
      { ...run, at: at(-1), account: 'team-b', outcome: 'left', class: 'quota' },
    ],
    consumers: [
      {
        name: 'research-agent',
        ends: at(72),
        requests: 1280,
        accounts: { 'team-b': 480, 'team-a': 800 },
        refused: 3,
        used: 500,
        budget: 500,
        last: at(-0.1),
        account: 'team-a',
      },
    ],
  });
}

/** A result of the doctor, by the id of its check. */
export function checkResult(id: string, verdict: CheckResult['verdict'], more: Partial<CheckResult> = {}): CheckResult {
  return {
    id,
    title: `Title of ${id}`,
    group: 'dns',
    verdict,
    evidence: [`seen by ${id}`],
    explanation: null,
    fix: null,
    fixId: null,
    source: null,
    appliesTo: null,
    durationMs: 1,
    ...more,
  };
}

/** A fix that sets the mode. */
export const MODE_FIX: CheckResult['fix'] = {
  kind: 'action',
  label: 'Use another mode',
  actions: [{ action: 'setMode', value: 'warp+doh' }],
  undo: [{ action: 'setMode', value: 'warp' }],
};

/** A change that reverts automatically. */
export function change(subject: Change['subject'], more: Partial<Change> = {}): Change {
  return {
    subject,
    value: null,
    previous: null,
    setAt: '2026-01-01T10:00:00.000Z',
    confirmBy: null,
    endsAt: null,
    endingSoon: false,
    problem: null,
    ...more,
  };
}

/** The split tunnel as a document, with presets and two documents in its history; and a target to ask about. */
export const ROUTE_ANSWERS = {
  'GET /api/routes': {
    ok: true,
    revision: 'a',
    mode: 'exclude',
    readOnly: false,
    entries: [],
    document: 'mode exclude\n10.0.0.0/8\n192.168.0.0/16  # home\n',
  },
  'GET /api/routes/presets': {
    ok: true,
    presets: [
      { id: 'lan', entries: [{ value: '192.168.1.0/24', source: 'wlan0' }] },
      { id: 'docker', entries: [{ value: '172.17.0.0/16', source: 'docker0' }] },
    ],
  },
  'GET /api/routes/history': {
    ok: true,
    documents: [
      { id: 2, at: '2026-01-02T10:00:00.000Z', cause: 'edit', entries: 2, current: true, undo: false },
      { id: 1, at: '2026-01-01T10:00:00.000Z', cause: 'outside', entries: 12, current: false, undo: true },
    ],
  },
  'POST /api/why': {
    ok: true,
    target: { kind: 'host', value: 'example.com' },
    mode: 'warp',
    list: 'exclude',
    proxy: null,
    fallback: null,
    resolveProblem: null,
    addresses: [
      {
        address: '192.0.2.1',
        tunnel: true,
        reason: 'default',
        entry: null,
        blocked: false,
        disagrees: true,
        kernelProblem: null,
        kernel: { device: 'eth0', gateway: '10.0.0.1', source: null, tunnel: false },
      },
    ],
  },
};

/** A preview of another document, with changes of each kind but no invalid lines. */
export const ROUTE_PREVIEW: RoutesPreview = {
  ok: true,
  revision: 'a',
  mode: 'exclude',
  unchanged: 1,
  calls: 2,
  invalid: [],
  add: [{ kind: 'range', value: '192.168.1.0/24' }],
  remove: [{ kind: 'range', value: '192.168.0.0/16' }],
  duplicates: [{ line: 6, value: '10.0.0.0/8', first: 2 }],
  contained: [{ line: 5, value: '10.1.0.0/16', in: '10.0.0.0/8' }],
  warnings: [{ code: 'gateway', value: '192.168.1.1' }],
};

/** A finished command in the log. */
export function logEntry(id: number, argv: string, more: Partial<LogEntry> = {}): LogEntry {
  return {
    id,
    at: new Date().toISOString(),
    source: 'action',
    argv: argv.split(' '),
    ok: true,
    exitCode: 0,
    durationMs: 12.4,
    stdout: 'Success\n',
    stderr: '',
    ...more,
  };
}

function disconnected(since: string): Status {
  const reason = { code: 'Manual', text: 'Manual disconnection' };
  return { state: 'disconnected', reason, network: null, blocked: null, since, raw: 'Disconnected' };
}

const reason = (code: string) => ({ code, text: 'vendor' });
/** States with titles and sentences of all lengths; neighbors have different titles. */
export const STATUSES: Partial<Status>[] = [
  { state: 'disconnected' },
  { state: 'connecting', reason: reason('PerformingHappyEyeballs') },
  { state: 'disconnecting' },
  { state: 'connected', network: 'unstable' },
  { state: 'unable', reason: reason('NoNetwork') },
  { state: 'connected' },
  { state: 'unable', reason: reason('SomethingNew') },
  { state: 'disconnected', reason: reason('ConnectAccepted') },
  { state: 'unable', reason: reason('InsufficientResource') },
  { state: 'unknown', raw: 'Hibernating' },
];
/** States that need the user. */
export const NEEDS: Partial<Status>[] = [
  { state: 'unable', reason: reason('CaptivePortal') },
  // the last of them has the same title as another one
  ...[...Blocked.options.slice(-2), ...Blocked.options.slice(0, -2)].map(
    blocked => ({ state: 'unable', blocked }) as const,
  ),
];

export function initialConfig(): ConfigResponse {
  const defaults = structuredClone(DEFAULTS);
  const source = 'https://culvert.example/releases';
  return {
    ok: true,
    config: { ...defaults, ui: { ...defaults.ui, firstSteps: false }, updates: { ...defaults.updates, source } },
    sources: {},
    restartRequired: [],
    problems: [],
  };
}

/**
 * Two days of which the tunnel was up for one, with figures of the last hour.
 * @param changes how many times it went up and down
 */
export function recorded(changes = 4): History {
  const now = Date.now();
  const at = (minutes: number) => new Date(now - minutes * 60_000).toISOString();
  const nothing = { reason: null, blocked: null, network: null, mode: 'warp', colo: null } as const;
  const day = (ago: number) => at(ago * 1440).slice(0, 10);
  const total = { connectedSeconds: 43_200, received: 1_200_000_000, sent: 34_000_000, drops: { NoNetwork: 2 } };
  return {
    ok: true,
    enabled: true,
    since: at(1440),
    until: at(0),
    resolution: 'minute',
    next: null,
    changes: Array.from({ length: changes }, (_, i) =>
      i % 2
        ? {
            ...nothing,
            at: at(changes - i),
            kind: 'state' as const,
            state: 'unable' as const,
            reason: i % 4 === 1 ? 'SomethingNew' : 'NoNetwork',
          }
        : { ...nothing, at: at(changes - i), kind: 'state' as const, state: 'connected' as const, colo: 'AMS' },
    ),
    samples: Array.from({ length: 60 }, (_, i) => ({
      at: at(60 - i),
      seconds: 60,
      latencyMs: 12,
      latencyMinMs: 9,
      latencyMaxMs: 20,
      loss: 0.01,
      received: 6_000_000 * (1 + (i % 5)),
      sent: 600_000,
    })),
    totals: {
      connectedSeconds: 86_400,
      received: 2_400_000_000,
      sent: 68_000_000,
      drops: { NoNetwork: 4 },
      days: [
        { day: day(1), ...total },
        { day: day(0), ...total },
      ],
    },
  };
}

export const NOT_RECORDED: History = {
  ...recorded(0),
  samples: [],
  totals: { connectedSeconds: 0, received: 0, sent: 0, drops: {}, days: [] },
};

const LACKS = message('Its own list of authorities lacks the certificate.');

function trustTool(id: string, title: string, more: Partial<TrustTool>): TrustTool {
  const wording = more.wording ?? [LACKS];
  return {
    id,
    title,
    program: `/usr/bin/${id}`,
    verdict: 'does-not-trust',
    reasons: wording.map(({ text }) => text),
    wording,
    applied: false,
    newSessions: false,
    changes: [],
    administrator: [],
    ...more,
  };
}

/** One tool of each verdict, and a certificate. */
export const TRUST: TrustReport = {
  ok: true,
  certificates: [
    {
      fingerprint: Array.from({ length: 32 }, () => 'AB').join(':'),
      name: 'Gateway CA',
      from: '2026-01-01T00:00:00.000Z',
      until: '2031-01-01T00:00:00.000Z',
      source: '/usr/local/share/ca-certificates/managed-warp.pem',
      state: 'valid',
      confirmed: false,
      inSystem: true,
    },
  ],
  refused: [],
  tools: [
    trustTool('node', 'Node.js', {
      changes: [{ target: '/home/a/.profile', diff: '--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n' }],
    }),
    trustTool('git', 'Git', {
      verdict: 'trusts',
      applied: true,
      wording: [message('It reads %s', '/home/a/bundle.pem')],
    }),
    trustTool('java', 'Java', { administrator: ['keytool -importcert -file /home/a/extra.pem'] }),
    trustTool('curl', 'curl', {
      verdict: 'trusts-too-much',
      wording: [message('It verifies no certificates: anyone on the way can read and change what it sends.')],
    }),
  ],
  removalDue: false,
};
