// Bundles of `culvert diagnose`: they hold nothing that identifies, and are written once, for this user only.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { History, HistoryQuery } from '../../../../daemon/api/history.ts';
import type { LogEntry } from '../../../../daemon/api/schema.ts';
import { CHECKS } from '../../../../daemon/doctor/checks/all.ts';
import { readArchive } from '../../../../daemon/doctor/diagnose/archive.ts';
import {
  createBundle,
  describeBundle,
  namesOf,
  readTimeline,
  writeBundle,
} from '../../../../daemon/doctor/diagnose/bundle.ts';
import { createRedactor } from '../../../../daemon/doctor/diagnose/redact.ts';
import { runChecks } from '../../../../daemon/doctor/engine.ts';
import { culvert, ended, start, startHome, status } from '../../../support/daemon/command.ts';
import { memoryTunnel } from '../../../support/daemon/memory-tunnel.ts';
import { KNOWLEDGE, snapshot, tree, world } from '../../../support/doctor/world.ts';
import { link } from '../../../support/networks/mocks.ts';
import { missing, temporary } from '../../../support/temporary.ts';

/** Lines in which only the place makes a word a name. */
const CONTEXT: Record<string, string> = {
  canaryuser: '/home/canaryuser/file',
  canarypassword: 'http://canaryuser:canarypassword@canary-host.example.net:3128',
};
/** One of each kind that must not get out. */
const CANARIES = [
  'canary-host.example.net',
  'CanaryCoffee 5G',
  'canaryteam',
  'canary.person@example.org',
  '203.0.113.77',
  '192.168.77.77',
  '2001:db8:ca4a:7::1',
  '02:ca:4a:7f:00:01',
  'canaryuser',
  'canarypassword',
  'Canarysdottir',
  '9c1c3a5e-ca4a-4a77-8b77-000000000001',
  'ca4a77ca4a77ca4a77ca4a77ca4a7701',
  'CANARYAA-CANARYBB-CANARYCC',
  'eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOnRydWV9.c2lnbmF0dXJl',
  'Q0FOQVJZQ0FOQVJZQ0FOQVJZQ0FOQVJZQ0FOQVJZQ0FOQVJZCANARY==',
  'canarylan',
];
const ALL = CANARIES.map(canary => CONTEXT[canary] ?? canary).join(' | ');

function entry(argv: string[], stdout: string): LogEntry {
  return {
    id: 1,
    at: '2026-11-21T10:00:00.000Z',
    source: 'action',
    argv,
    ok: true,
    exitCode: 0,
    durationMs: 1,
    stdout,
    stderr: stdout,
  };
}

const LEAKY = snapshot({
  status: { raw: ALL, reason: { code: null, text: ALL } },
  settings: {
    Organization: 'canaryteam',
    'Trusted SSIDs': ['CanaryCoffee 5G'],
    'Fallback domains': ['canarylan -> [203.0.113.77]', 'canary-host.example.net'],
    'Support URL': 'https://canary-host.example.net/help',
    'Unknown setting': ALL,
  },
  options: {
    organization: 'canaryteam',
    gatewayId: 'canarygateway',
    trustedSsids: ['CanaryLounge', 'CanaryCoffee 5G'],
    fallbackDomains: [{ domain: 'canaryprinters', note: '-> [203.0.113.77]' }],
    virtualNetworks: { active: null, networks: [{ id: 'canaryvnet', name: 'Canary Lab', default: true }] },
  },
  splitTunnel: {
    ips: [
      { value: '203.0.113.77', description: 'canarylan printer' },
      { value: '172.16.0.0/12', description: null },
    ],
    hosts: [{ value: '*.canary-host.example.net', description: null }],
  },
  tunnel: { endpoints: ['[2001:db8:ca4a:7::1]:443'] },
  account: { organization: 'canaryteam', type: 'team' },
  commands: {
    registration: {
      ...entry(['warp-cli', 'registration', 'show'], `Organization: canaryteam\n${ALL}`),
      argv: ['warp-cli'],
    } as never,
    trustedSsids: entry(['warp-cli', '-j', 'trusted', 'ssid', 'list'], '["CanaryHotel","CanaryCoffee 5G"]') as never,
    virtualNetworks: entry(
      ['warp-cli', '-j', 'vnet'],
      '{"virtual_networks":[{"id":"canaryvnet","name":"CanaryBasement"}]}',
    ) as never,
  },
});
const ENTRIES = [
  entry(['warp-cli', 'trusted', 'ssid', 'add', 'CanaryCoffee 5G'], 'Success'),
  entry(['warp-cli', 'dns', 'fallback', 'add', 'canarylan'], ALL),
  entry(['warp-cli', 'registration', 'new', 'canaryteam'], ALL),
  entry(['warp-cli', 'tunnel', 'ip', 'add', '192.168.77.77'], ALL),
];

/** A history never has a name or an address; what came into its files by another hand is redacted as well. */
const WEEK: History = {
  ok: true,
  enabled: true,
  since: '2026-11-14T12:00:00.000Z',
  until: '2026-11-21T12:00:00.000Z',
  resolution: 'hour',
  samples: [],
  totals: null,
  next: null,
  changes: [
    {
      at: '2026-11-20T12:00:00.000Z',
      kind: 'state',
      state: 'unable',
      reason: ALL,
      blocked: null,
      network: null,
      mode: 'warp',
      colo: 'AMS',
    },
  ],
};

test('the timeline of a bundle is a week of changes, the newest of many, with the totals of all', async () => {
  const asked: HistoryQuery[] = [];
  const change = (n: number) => ({ ...WEEK.changes[0]!, at: new Date(n).toISOString() });
  const found = await readTimeline(async query => {
    asked.push(query);
    const changes = Array.from({ length: 1_500 }, (_, i) => change(i + 1_500 * (asked.length - 1)));
    return { ...WEEK, changes, next: asked.length < 3 ? String(asked.length) : null };
  });
  assert.deepEqual(
    asked.map(({ cursor }) => cursor),
    [undefined, '1', '2'],
  );
  assert.deepEqual([found.changes.length, found.changes.at(-1)?.at], [2_000, change(4_499).at]);
});

async function bundle(t: TestContext) {
  const root = tree(t, {
    '/etc/resolv.conf': `nameserver 192.168.77.77\nsearch canarylan canary-host.example.net bad!${'canarylan'}\n`,
    '/etc/passwd': `${userInfo().username}:x:0:0:Canaria Canarysdottir,,,:/root:/bin/sh\n`,
    '/var/lib/cloudflare-warp/mdm.xml': { link: '/home/canaryuser/canary-host.example.net/mdm.xml' },
    '/etc/apt/sources.list.d/warp.list':
      'deb [signed-by=/home/canaryuser/keys/pkg.gpg] https://pkg.cloudflareclient.com/ bookworm main\n',
  });
  const knowledge = { ...KNOWLEDGE, problems: [`/home/canaryuser/known.toml: ${ALL}`] };
  const within = world(t, { root, knowledge, tunnel: LEAKY, env: { PATH: missing(t), WAYLAND_DISPLAY: ALL } });
  const results = await runChecks(CHECKS, within);
  const traceUrl = 'https://canaryuser:canarypassword@canary-host.example.net/trace';
  const config = {
    config: { warp: { traceUrl } },
    problems: [{ message: ALL }],
    files: ['/home/canaryuser/c.json'],
  } as never;
  return createBundle({
    world: within,
    results,
    entries: ENTRIES,
    config,
    timeline: await readTimeline(async () => WEEK),
    history: [{ id: 'x', label: ALL, at: 'now' }],
  });
}

test('no canary gets into a bundle, whatever part it was put into', async t => {
  const { files, redacted } = await bundle(t);
  const whole = files
    .map(({ text }) => text)
    .join('\n')
    .toLowerCase();
  for (const canary of CANARIES) assert.ok(!whole.includes(canary.toLowerCase()), canary);
  assert.ok(!whole.includes('canary'), whole.slice(whole.indexOf('canary') - 80, whole.indexOf('canary') + 80));
  for (const kind of ['ssid', 'organization', 'host', 'ip', 'lan-ip', 'mac', 'email', 'id', 'key'])
    assert.ok((redacted[kind] ?? 0) > 0, kind);
});

test('a bundle stays readable: the same thing has the same placeholder, and public facts stay', async t => {
  const { files } = await bundle(t);
  const text = (name: string) => files.find(file => file.name === name)?.text ?? '';
  const [placeholder] = /<organization-\d>/.exec(text('snapshot.json')) ?? [];
  assert.ok(placeholder && text('command-log.json').includes(placeholder));
  assert.match(text('versions.json'), /2026\.8\.2100\.0/);
  assert.match(text('snapshot.json'), /"172\.16\.0\.0\/12"/);
  assert.match(text('doctor.json'), /\/etc\/resolv\.conf/);
  for (const { name, text: content } of files) if (name.endsWith('.json')) JSON.parse(content);
});

test('a bundle is written once, for this user only, and lists its contents', async t => {
  const path = join(temporary(t, 'bundle'), 'report.zip');
  const made = await bundle(t);
  await writeBundle(path, made);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await assert.rejects(writeBundle(path, made), { code: 'EEXIST' });
  assert.ok(existsSync(path));
  const { files } = await readArchive(path);
  assert.deepEqual(
    files.map(({ name }) => name),
    made.files.map(({ name }) => name),
  );
  assert.equal(files[0]?.name, 'contents.txt');
  assert.match(
    files[0].text,
    /^Read the files before you share them\..*\nLeft are: keys and passwords without such a mark/,
  );
  assert.match(describeBundle(made), /command-log\.json +\d+ bytes[\s\S]*<ssid-…>/);
});

test('culvert diagnose lists what it writes before it writes, and explains its own archives', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('status', status('connected'));
  // a separate process, whose directory is that of the file
  const written = await ended(await start(home, ['diagnose', '--out', 'report.zip']));
  assert.equal(written.code, 0, written.stderr);
  assert.match(written.stderr, /Inside:\n {2}contents\.txt[^\n]*\n {2}doctor\.json/);
  const [report, other] = ['report.zip', 'other.zip'].map(name => join(home.path, name)) as [string, string];
  assert.equal((await culvert(home, ['diagnose', '--out', report])).code, 1);
  assert.equal((await culvert(home, ['diagnose'])).code, 2);
  assert.equal((await culvert(home, ['diagnose', '--out', other, '--dry-run'])).code, 0);
  assert.ok(!existsSync(other));
  assert.ok(!readFileSync(report).includes(home.path));
  assert.equal((await culvert(home, ['diagnose', 'read', report])).code, 0);
});

test('directories in the configuration are replaced', () => {
  const config = {
    webui: { address: 'https://nas:4173' },
    warp: { cli: '/srv/acme-corp/zeta-team/bin/warp-cli' },
  } as unknown as Parameters<typeof namesOf>[0]['config'];
  const empty = { hostname: 'h', username: 'u', passwd: '', resolvConf: '', snapshot: null, entries: [], changes: [] };
  const redactor = createRedactor({ names: namesOf({ ...empty, config }), public: [] });
  const text = JSON.stringify(redactor.value(config));
  for (const canary of ['acme-corp', 'zeta-team', 'nas']) assert.ok(!text.includes(canary), text);
  assert.match(text, /"\/srv\/<value-\d+>\/<value-\d+>\/bin\/warp-cli"/);
});

test('a bundle names neither the networks of this machine nor the rules for them', () => {
  const rule = {
    name: 'at grandma',
    match: { ssid: 'Grandma-5G', uuid: 'c0ffee00-1', beacon: { address: 'nas.grandma:8443', sha256: 'ab'.repeat(32) } },
    effects: { warp: 'pause' },
    proof: 'beacon',
    weakens: true,
    allowed: null,
  } as const;
  const { state } = memoryTunnel();
  state.set('networks', {
    service: 'NetworkManager',
    links: [
      link('wlan0', { name: 'Neighbor WLAN', uuid: 'c0ffee00-2', bssid: '02:00:5e:10:00:01', gateway: '192.168.7.1' }),
    ],
    rules: [rule],
    decision: { links: [{ device: 'wlan0', rule: 'at grandma' }], effects: [] },
    acted: { rule: 'was removed', at: '2026-01-01T00:00:00.000Z' },
    reverted: false,
    problem: 'at grandma: failed',
  });
  const snapshot = state.snapshot();
  const empty = { hostname: 'h', username: 'u', passwd: '', resolvConf: '', entries: [], config: null };
  const changes = [{ effect: { rule: 'Trusted Cafe' } }] as unknown as Parameters<typeof namesOf>[0]['changes'];
  const redactor = createRedactor({ names: namesOf({ ...empty, snapshot, changes }), public: [] });
  const text = JSON.stringify(redactor.value({ snapshot, changes }));
  for (const canary of [
    'grandma',
    'Grandma',
    'c0ffee',
    'abab',
    'Neighbor',
    '5e:10',
    '192.168.7',
    'was removed',
    'Cafe',
  ])
    assert.ok(!text.includes(canary), `${canary} in ${text}`);
});
