// Bundles hold nothing that identifies, and archives of strangers are explained without doing harm.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { History, HistoryQuery } from '../../../daemon/api/schema/history.ts';
import type { LogEntry } from '../../../daemon/api/schema.ts';
import { CHECKS } from '../../../daemon/doctor/checks/all.ts';
import { analyze } from '../../../daemon/doctor/diagnose/analyze.ts';
import { ArchiveError, LIMITS, readArchive } from '../../../daemon/doctor/diagnose/archive.ts';
import { createBundle, describeBundle, writeBundle } from '../../../daemon/doctor/diagnose/bundle.ts';
import { namesOf } from '../../../daemon/doctor/diagnose/names.ts';
import { createRedactor } from '../../../daemon/doctor/diagnose/redact.ts';
import { readTimeline } from '../../../daemon/doctor/diagnose/timeline.ts';
import { runChecks } from '../../../daemon/doctor/engine.ts';
import { createHome, culvert, ended, start, startDaemon, status } from '../../support/daemon/command.ts';
import { memoryTunnel } from '../../support/daemon/memory-tunnel.ts';
import { KNOWLEDGE, snapshot, tree, world } from '../../support/doctor/world.ts';
import { type ZipEntry, zip } from '../../support/doctor/zip.ts';
import { link } from '../../support/networks/mocks.ts';
import { missing, temporary } from '../../support/temporary.ts';

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

test('redaction leaves versions, times, loopback, file names and vendor hosts alone', () => {
  const redactor = createRedactor({ names: [], public: ['162.159.197.0/24'] });
  for (const kept of [
    '2026-11-21T10:00:00.000Z',
    'warp-cli 2026.8.2100.0',
    '127.0.2.2:53',
    '0.0.0.0',
    '::1',
    '162.159.197.3:443',
    '/etc/systemd/resolved.conf',
    'warp-svc.service',
    'https://www.cloudflare.com/cdn-cgi/trace',
    'org.freedesktop.resolve1',
    'CF_DNS_PROXY_FAILURE',
    '10:23:59',
  ])
    assert.equal(redactor.text(kept), kept);
  assert.equal(redactor.text('fe80::1%eth0 and 8.8.8.8, 8.8.8.8 again'), '<lan-ip-1>%eth0 and <ip-1>, <ip-1> again');
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
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('status', status('connected'));
  // a process of its own, whose directory is that of the files
  const run = async (words: string[]) => ended(await start(home, words));
  const written = await run(['diagnose', '--out', 'report.zip']);
  assert.equal(written.code, 0, written.stderr);
  assert.match(written.stderr, /Inside:\n {2}contents\.txt[^\n]*\n {2}doctor\.json/);
  assert.equal((await run(['diagnose', '--out', 'report.zip'])).code, 1);
  assert.equal((await run(['diagnose'])).code, 2);
  assert.equal((await run(['diagnose', '--out', 'other.zip', '--dry-run'])).code, 0);
  assert.ok(!existsSync(join(home.path, 'other.zip')));
  assert.ok(!readFileSync(join(home.path, 'report.zip')).includes(home.path));
  assert.equal((await run(['diagnose', 'read', 'report.zip'])).code, 0);
});

function archive(t: TestContext, entries: ZipEntry[]): string {
  const path = join(temporary(t, 'zip'), 'warp-debugging-info.zip');
  writeFileSync(path, zip(entries));
  return path;
}

const SETTINGS = (mode: string) =>
  `Merged configuration:\n(user set)\tMode: ${mode}\n(network policy)\tWARP tunnel protocol: MASQUE\n(default)\tExclude mode, with hosts/ips:\n  10.0.0.0/8\n\n(default)\tFallback domains:\n  corp\n  lan\n`;
const DIAG: ZipEntry[] = [
  { name: 'version.txt', content: 'warp-cli 2026.8.2100.0\n' },
  { name: 'status.txt', content: 'Status update: Connected\n' },
  { name: 'warp-settings.txt', content: SETTINGS('Warp') },
  { name: 'resolv.conf.txt', content: '# This file was generated by cloudflare-warp.\nnameserver 127.0.2.2\n' },
];
const withFile = (name: string, content: string) => [...DIAG.filter(file => file.name !== name), { name, content }];
const causesOf = async (t: TestContext, entries: ZipEntry[]) =>
  analyze(await readArchive(archive(t, entries)), KNOWLEDGE);

test('an archive without a fault has a version and no causes', async t => {
  const { version, causes, codes } = await causesOf(t, DIAG);
  assert.deepEqual([version, causes.map(({ id }) => id), codes], ['2026.8.2100.0', [], []]);
});

for (const [cause, file, content] of [
  ['service', 'status.txt', 'Status update: Unable\nReason: Registration Missing due to: Daemon Startup\n'],
  ['dns-resolv-conf', 'resolv.conf.txt', '# Generated by NetworkManager\nnameserver 192.168.1.1\n'],
  ['dns-search', 'resolv.conf.txt', 'nameserver 127.0.2.2\nsearch bad!name\n'],
  ['dns-fallback-only', 'warp-settings.txt', SETTINGS('DnsOverHttps')],
  [
    'dns-provider-resolvers',
    'resolv.conf.txt',
    '# Generated by cloudflare-warp\nnameserver 127.0.2.2\nnameserver 75.75.75.75\n',
  ],
  ['mdm-file', 'mdm.xml', '<dict><key>auth_client_id</key><string>x.access</string></dict>'],
  ['known-issues', 'version.txt', 'warp-cli 2026.1.150.0\n'],
  [
    'registration-stuck',
    'daemon.log',
    '2026-11-20T10:00:00.000Z INFO status: Checking your organization configuration\n2026-11-20T10:05:00.000Z INFO still waiting\n',
  ],
  ['session-expiry', 'status.txt', 'Status update: Unable\nReason: Authentication Expired\n'],
] as const)
  test(`an archive with the cause ${cause} names it`, async t => {
    const entries = withFile(file, content);
    if (cause === 'session-expiry')
      entries.push({ name: 'account.txt', content: 'Account type: Team\nOrganization: x\n' });
    if (cause === 'registration-stuck') {
      entries.push({
        name: 'status.txt',
        content: 'Status update: Unable\nReason: Checking your organization configuration\n',
      });
      entries.push({ name: 'version.txt', content: 'warp-cli 2026.6.822.0\n' });
      entries.splice(0, 2);
    }
    const { causes } = await causesOf(t, entries);
    assert.ok(
      causes.some(({ id }) => id === cause),
      JSON.stringify(causes.map(({ id, evidence }) => [id, evidence])),
    );
  });

test('an archive without a copy of resolv.conf says nothing of name lookup', async t => {
  const { causes } = await causesOf(
    t,
    DIAG.filter(({ name }) => !name.startsWith('resolv')),
  );
  assert.deepEqual(causes, []);
});

test('every code and log line of the knowledge is found in a log, with its line and its place in the timeline', async t => {
  const wanted = KNOWLEDGE.codes.filter(({ kind }) => kind === 'error' || kind === 'log');
  for (const code of wanted) {
    const name = [code.code.replace(/^log: /, '').replace(/ \(.*/, ''), ...code.also][0] ?? '';
    const log = `2026-11-20T10:00:01.123Z  INFO main: Status update: Connecting\n2026-11-20T10:00:02.123Z ERROR actor: ${name}\n`;
    const { codes, timeline } = await causesOf(t, withFile('daemon.log', log));
    assert.ok(
      codes.some(found => found.code.title === code.title || found.line.includes(name)),
      code.code,
    );
    assert.deepEqual(
      timeline.map(({ at }) => at),
      ['2026-11-20T10:00:01', '2026-11-20T10:00:02'],
    );
  }
});

test('entries that leave the archive, links, devices and encrypted ones are skipped and named', async t => {
  const path = archive(t, [
    ...DIAG,
    { name: '../../etc/passwd.txt', content: 'root' },
    { name: '/etc/shadow.txt', content: 'root' },
    { name: 'a\\..\\b.txt', content: 'x' },
    { name: 'link.txt', content: '/etc/passwd', mode: 0o120777 },
    { name: 'device.log', content: '', mode: 0o060644 },
    { name: 'picture.png', content: 'x' },
    { name: '\x1b[2Jname.txt', content: 'x' },
  ]);
  const { files, skipped } = await readArchive(path);
  assert.equal(files.length, DIAG.length + 1);
  assert.equal(skipped.length, 6);
  assert.ok(skipped.some(line => line.startsWith('link.txt: not a regular file')));
  const home = createHome(t);
  const { code, stdout } = await culvert(home, ['diagnose', 'read', path]);
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /\x1b\[2J/);
});

test('a zip bomb is cut, however large it claims to be', async t => {
  const zeros = Buffer.alloc(200 * 2 ** 20, 'a');
  const path = archive(t, [
    ...DIAG,
    { name: 'bomb.log', content: zeros },
    { name: 'liar.log', content: zeros, claimedSize: 10 },
  ]);
  assert.ok(statSync(path).size < 2 ** 20);
  const before = process.memoryUsage().rss;
  const { files, skipped } = await readArchive(path);
  const bomb = files.find(({ name }) => name === 'bomb.log');
  assert.deepEqual([bomb?.cut, bomb?.text.length], [true, LIMITS.fileBytes]);
  assert.ok(skipped.some(line => line.startsWith('liar.log: ')));
  assert.ok(process.memoryUsage().rss - before < 200 * 2 ** 20);
});

test('100,000 entries, a file that is not an archive, a damaged one, a directory and a pipe are refused with a reason', async t => {
  const many = archive(
    t,
    Array.from({ length: 100_000 }, (_, at) => ({ name: `${at}.txt`, content: '' })),
  );
  await assert.rejects(readArchive(many), /100000 entries; more than 5000/);
  const directory = temporary(t, 'zip');
  writeFileSync(join(directory, 'text.zip'), 'no archive');
  const whole = zip(DIAG);
  writeFileSync(join(directory, 'damaged.zip'), Buffer.concat([whole.subarray(0, 20), whole.subarray(60)]));
  for (const name of ['text.zip', 'damaged.zip', 'absent.zip', '.'])
    await assert.rejects(
      readArchive(join(directory, name)).then(
        ({ files }) => assert.ok(files.length < DIAG.length) ?? Promise.reject(new ArchiveError('fewer')),
      ),
      ArchiveError,
    );
});

test('names are replaced in every form in which an output holds them', () => {
  const names = ['Casa "Canary" 5G', 'Z\u00e9b\\Back', 'T&C <Canary>', 'id', 'a', 'key'];
  const redactor = createRedactor({ names: names.map(text => ({ kind: 'ssid', text })), public: [] });
  for (const name of names) {
    const json = JSON.stringify({ list: [name] });
    const forms = [name, json, JSON.stringify({ stdout: `x\\n${json}` }), JSON.stringify(`first\n${name}\nlast`)];
    if (name.length > 3) forms.push(encodeURIComponent(name), json.replaceAll('\u00e9', '\\u00e9'));
    for (const form of forms) {
      const text = redactor.text(form);
      for (const left of name.length > 3 ? ['Canary', 'Back'] : [])
        assert.ok(!text.includes(left), `${form} became ${text}`);
      assert.match(text, /<ssid-\d+>/, form);
      assert.ok(
        !text
          .replace(/<[a-z-]+-\d+>/g, '')
          .split(/[^a-zA-Z]+/)
          .includes(name),
        `${form} became ${text}`,
      );
    }
  }
  // words that only contain a short name, and names of properties, stay
  assert.equal(redactor.text('idea, Id, kid, data'), 'idea, Id, kid, data');
  assert.deepEqual(redactor.value({ id: 'x', at: 'id' }), { id: 'x', at: redactor.text('id') });
  // nor is a name found in what replaced another
  assert.equal(redactor.text('198.51.100.7 id'), `<ip-1> ${redactor.text('id')}`);
});

test('names, addresses and secrets are replaced in the encodings of other programs', () => {
  const names = ['canaryhost', 'Canary Caf\u00e9 5G', 'Canary:Colon'];
  const redactor = createRedactor({ names: names.map(text => ({ kind: 'ssid', text })), public: [] });
  const percent = (text: string) => [...Buffer.from(text)].map(code => `%${code.toString(16)}`).join('');
  for (const text of [
    ...names.flatMap(name => [
      percent(name),
      encodeURIComponent(encodeURIComponent(name)),
      encodeURIComponent(name).replaceAll('%20', '+'),
      Buffer.from(name).toString('base64'),
      Buffer.from(name).toString('hex'),
      name.normalize('NFD'),
      name.replaceAll(' ', '\n'),
    ]),
    'Canary Caf\\303\\251 5G',
    'Canary\\x20Caf\\xc3\\xa9\\x205G',
    'Canary\\:Colon',
    'canary.person%40example.org',
    'c\u00e1nary@b\u00fcro-canary.example',
    'https://a.b/?next=https%3A%2F%2Fcanary.example%2F',
    'canary.m\u00fcller.example',
    '.canary-corp.example',
    '@canary-corp.example',
    'http://bob:canary@canary@proxy',
    'http:\\/\\/bob:canary@proxy',
    '?token=canary-secret',
    'API_KEY=canary-secret',
    'Authorization: Bearer canary-secret',
    '<key>auth_client_secret</key>\n  <string>canary &amp; secret</string>',
    '"Set-Cookie": "session=canary"',
    '"Cookie":"canary"',
    '/media/canary/USB',
    'ghp_canary1234567890abcdefABCDEF123456',
  ]) {
    const clean = redactor.text(`before ${text} after`);
    assert.match(clean, /^before .*(?:<[a-z]+-\d+>|\[redacted\]).* after$/s, text);
    assert.doesNotMatch(clean, /canary|nary|\b5G|%63|Y2FuYX|63616e|c3/i, `${text} became ${clean}`);
  }
  for (const text of [
    '2001:db8:ca4a:7::1: no route',
    'address:2001:db8:ca4a:7::1',
    '2001:db8:ca4a:7:0:0:0:1:443',
    '2001:db8:ca4a:7::1.443',
    '2001%3Adb8%3Aca4a%3A7%3A%3A1',
    '::ffff:203.0.113.77',
    'host_203.0.113.77',
    '02ca.4a7f.0001',
    '02\\:ca\\:4a\\:7f\\:00\\:01',
    'dev_02_CA_4A_7F_00_01',
    'wlx02ca4a7f0001',
    'mac=02ca4a7f0001',
    'HWaddr 02CA4A7F0001',
    '"bssid": "02ca4a7f0001"',
    'mac_address: 02ca4a7f0001',
  ]) {
    const clean = redactor.text(`before ${text} after`);
    assert.match(clean, /^before .*<(?:lan-)?(?:ip|mac)-\d+>.* after$/, `${text} became ${clean}`);
    assert.doesNotMatch(clean, /ca4a|4a7f|4A_7F|\.113|\.77/, `${text} became ${clean}`);
  }
  const secrets = { token: 'short', auth_client_secret: 'short', password: '', tokens: 3 };
  assert.deepEqual(Object.values(redactor.value(secrets)).slice(2), ['', 3]);
  assert.ok(!JSON.stringify(redactor.value(secrets)).includes('short'));
  for (const line of [
    'Cookie: a=canary; b=canary',
    '< set-cookie:\tx="canary"; path=/',
    'cookie: canaryhost; b=canary',
  ])
    assert.doesNotMatch(redactor.text(`before\n${line}\nafter`), /canary|path/, line);
  assert.equal(redactor.text('Cookie: a=canary\nafter'), 'Cookie: [redacted]\nafter');
  assert.match(redactor.value({ hwaddr: '02ca4a7f0001' }).hwaddr, /^<mac-\d+>$/);
  for (const plain of [
    'commit 02ca4a7f0001',
    'machine 02ca4a7f0001',
    '100%',
    '100%25',
    'a%20b',
    'disconnected',
    'deadbeef',
    '12:34:56',
    '::',
    'a::b::c',
    'culvert 1.2.3',
    'exit code=5',
  ])
    assert.equal(redactor.text(`before ${plain} after`), `before ${plain} after`);
});

test('secrets of base64url, and domains that end as files do, are replaced', () => {
  const redactor = createRedactor({ names: [], public: [] });
  for (const secret of [
    'aB3-'.repeat(10),
    `${'Qx_9'.repeat(12)}==`,
    'canary-corp.so',
    'www.canary.target',
    'canary.list',
  ])
    assert.match(redactor.text(`before ${secret} after`), /^before <(?:key|host)-\d+> after$/, secret);
  for (const plain of ['libssl.so', 'multi-user.target', '/etc/apt/sources.list', 'culvert.service', 'a-'.repeat(30)])
    assert.equal(redactor.text(`before ${plain} after`), `before ${plain} after`);
});

test('directories in the configuration are replaced', () => {
  const config = {
    webui: { tlsCertificate: '/srv/acme-corp/tls/fullchain.pem', address: 'https://nas:4173' },
    warp: { cli: '/opt/zeta-team/bin/warp-cli' },
  } as unknown as Parameters<typeof namesOf>[0]['config'];
  const empty = { hostname: 'h', username: 'u', passwd: '', resolvConf: '', snapshot: null, entries: [], changes: [] };
  const redactor = createRedactor({ names: namesOf({ ...empty, config }), public: [] });
  const text = JSON.stringify(redactor.value(config));
  for (const canary of ['acme-corp', 'zeta-team', 'fullchain', 'nas']) assert.ok(!text.includes(canary), text);
  assert.match(text, /"\/srv\/<value-\d+>\/tls\/<value-\d+>"/);
  assert.match(text, /"\/opt\/<value-\d+>\/bin\/warp-cli"/);
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
  const changes = [{ rule: 'Trusted Cafe' }] as unknown as Parameters<typeof namesOf>[0]['changes'];
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
