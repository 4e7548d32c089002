// Hostile calls that any user can make on the bus. Each is refused, and table, files and service stay as they were.
import assert from 'node:assert/strict';
import { type ChildProcess, execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { missing, type Stage, setStage } from '../../support/killswitch/stage.ts';
import { until } from '../../support/until.ts';

const run = promisify(execFile);
const NAME = 'org.culvert.KillSwitch1';
const PATH = '/org/culvert/KillSwitch1';

const one = (cidr: string, protocol = 'udp', ports: readonly string[] = ['2408']) =>
  ['ba(ssaq)', 'false', '1', cidr, protocol, String(ports.length), ...ports] as const;
const many = (count: number, ports = ['1', '443']) => [
  'ba(ssaq)',
  'false',
  String(count),
  ...Array.from({ length: count }, (_, i) => [`104.16.${i >> 8}.${i & 255}`, 'tcp', ...ports]).flat(),
];

/** With all permissions: the arguments themselves are refused. */
const ENDPOINTS: readonly (readonly [method: string, ...args: string[]])[] = [
  '',
  ' ',
  'x',
  '0.0.0.0/0',
  '::/0',
  '0.0.0.0/1',
  '128.0.0.0/1',
  '8.0.0.0/8',
  '104.0.0.0/15',
  '2000::/3',
  '2606::/31',
  '10.0.0.0/8',
  '10.0.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.16.0.0/16',
  '192.168.0.1',
  '100.64.0.1',
  '192.0.0.0/16',
  '224.0.0.251',
  '239.255.255.250',
  '255.255.255.255',
  '::1',
  'fe80::1',
  'fd00::1',
  'ff02::1',
  '::ffff:10.0.0.1',
  '2002:a00:1::',
  '1.1.1.1; flush ruleset',
  '1.1.1.1 } accept; {',
  '1.1.1.1\nflush ruleset',
  '1.1.1.1"',
  '$(reboot)',
  '`id`',
  '@x',
  '1.1.1.1-9.9.9.9',
  '../../etc/shadow',
  '/etc/nftables.conf',
  'include "/etc/shadow"',
  '#',
  '1.1.1.1 # culvert',
  '1.1.1.1/024',
  '0x01010101',
  '16843009',
  '1'.repeat(100_000),
  '2606:4700::1%eth0',
  '[2606:4700::1]',
  '1.1.1.1:443',
].map(cidr => ['Enable', ...one(cidr)] as const);
const FURTHER: typeof ENDPOINTS = [
  ...['', 'UDP', 'icmp', 'sctp', 'udp accept', 'tcp;', 'ip'].map(
    protocol => ['Enable', ...one('1.1.1.1', protocol)] as const,
  ),
  ...[[], ['0'], ['53'], ['853'], ['443', '53'], Array.from({ length: 17 }, (_, i) => String(i + 1000))].map(
    ports => ['Enable', ...one('1.1.1.1', 'udp', ports)] as const,
  ),
  ['Enable', ...many(129)],
  ['Enable', ...many(2000)],
  ...['3601', '86400', '4294967295'].map(seconds => ['Pause', 'u', seconds] as const),
  // other types than the interface has
  ['Enable'],
  ['Enable', 'b', 'true'],
  ['Enable', 's', 'true'],
  ['Enable', 'bas', 'true', '1', '1.1.1.1'],
  ['Enable', 'ba(sss)', 'false', '1', '1.1.1.1', 'udp', '443'],
  ['Enable', 'ba(ssaq)b', 'false', '0', 'true'],
  ['Disable', 's', 'now'],
  ...['0', '601', '4294967295'].map(seconds => ['TryDisable', 'u', seconds] as const),
  ...['0', '601', '4294967295'].map(seconds => ['TryEnable', 'ba(ssaq)u', 'true', '0', seconds] as const),
  ['TryEnable', 'ba(ssaq)u', ...many(129).slice(1), '30'],
  ['TryEnable', 'ba(ssaq)u', ...one('10.0.0.1').slice(1), '30'],
  ['TryEnable', ...one('1.1.1.1')],
  ['TryDisable'],
  ['TryDisable', 'i', '-1'],
  ['SetEndpoints', 'a(ssaq)', ...many(129).slice(2)],
  ['SetEndpoints', 'a(ssaq)', ...one('8.0.0.0/8').slice(2)],
  ['SetEndpoints', ...one('1.1.1.1')],
  // nothing waits for a decision
  ['Confirm'],
  ['Revert'],
  ['Confirm', 'b', 'true'],
  ['Pause'],
  ['Pause', 'i', '-1'],
  ['Pause', 't', '60'],
  ['Pause', 's', '60'],
  ['Status', 'b', 'true'],
  ['Apply', 's', 'flush ruleset'],
  ['enable', 'ba(ssaq)', 'false', '0'],
];

const FLOOD = resolve(import.meta.dirname, '../../support/killswitch/load/flood.py');
/** Users of every Debian; the bus takes no others. */
const USERS = [1, 2, 3, 6, 7, 8, 9, 10, 13, 33, 34];

describe('hostile calls', { skip: missing }, () => {
  let stage: Stage;
  let service: ChildProcess;
  let before: Awaited<ReturnType<typeof look>>;
  let turn = 0;
  const another = () => USERS[turn++ % USERS.length]!;
  const look = async () => ({
    table: await stage.table(),
    rules: readFileSync(stage.path('state/rules.nft'), 'utf8'),
    files: readdirSync(stage.path('state')),
    state: readFileSync(stage.path('run/state.json'), 'utf8'),
    pid: service.exitCode === null ? service.pid : null,
  });
  const busctl = (uid: number, ...words: string[]) => {
    const as = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
    const options = ['--system', '--timeout=10', '--auto-start=no'];
    return run('setpriv', [...as, 'busctl', ...options, ...words], { env: { ...process.env, ...stage.env } });
  };
  const assertRefusal = (what: string, text: string) => {
    assert.match(text, /^(Call failed|Failed to|Access denied)|InvalidArgs|Invalid argument/, what);
    assert.doesNotMatch(text, /not connected|timed out/i, what);
  };
  const assertRefused = async (method: string, args: readonly string[], uid?: number) => {
    const { ok, text } = await stage.call(method, args, uid);
    const what = `${method} ${args.join(' ').slice(0, 80)}`;
    assertRefusal(what, ok ? 'accepted' : text);
  };

  beforeEach(async () => {
    stage = await setStage();
    service = await stage.serve();
    assert.ok((await stage.call('Enable', one('162.159.193.0/24'))).ok);
    await until(() => stage.state()?.protection !== 'none');
    before = await look();
  });
  afterEach(() => stage?.end());

  for (const [kind, calls] of Object.entries({ endpoint: ENDPOINTS, argument: FURTHER }))
    test(`with an invalid ${kind} are refused, also with every permission`, async () => {
      stage.allow('enable', 'disable', 'pause');
      for (const [method, ...args] of calls) await assertRefused(method, args);
      assert.deepEqual(await look(), before);
    });

  test('without permission are refused', async () => {
    stage.allow();
    for (const [method, ...args] of [
      ['Disable'],
      ['Pause', 'u', '1'],
      ['Pause', 'u', '0'],
      ['Enable', 'ba(ssaq)', 'false', '0'],
      ['Enable', 'ba(ssaq)', 'true', '0'],
    ] as const)
      await assertRefused(method, args, another());
    assert.deepEqual(await look(), before);
  });

  test('to other interfaces, paths and names are refused, and a false signal is not listened to', async () => {
    for (const words of [
      ['set-property', NAME, PATH, NAME, 'Enabled', 'b', 'false'],
      ['get-property', NAME, PATH, NAME, 'Enabled'],
      ['call', NAME, '/', NAME, 'Disable'],
      ['call', NAME, '/org/culvert/KillSwitch1/x', NAME, 'Disable'],
      ['call', NAME, PATH, 'org.freedesktop.DBus.Properties', 'Set', 'ssv', NAME, 'Enabled', 'b', 'false'],
      ['call', NAME, PATH, 'org.freedesktop.systemd1.Manager', 'Exit'],
      ['call', NAME, PATH, 'org.culvert.KillSwitch2', 'Disable'],
      ['call', 'org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus', 'RequestName', 'su', NAME, '7'],
    ])
      assertRefusal(
        words.join(' '),
        await busctl(another(), ...words).then(
          () => 'accepted',
          (error: { stderr: string }) => error.stderr,
        ),
      );
    await busctl(another(), 'emit', PATH, NAME, 'Changed', 's', '{"enabled":false}');
    assert.deepEqual(await look(), before);
  });

  test('in great numbers are refused by the limit of calls', async t => {
    stage.allow();
    // from one process, since the limit refills faster than a slow machine starts processes
    const words = [stage.path('bus'), 65534, 4, 0.5, 'Disable', 10].map(String);
    const { stdout } = await run('/usr/bin/python3', ['-I', FLOOD, ...words]);
    const [sent, limited] = stdout.trim().split('\n').at(-1)!.split(' ').map(Number);
    assert.ok(limited! > 0, stdout);
    t.diagnostic(`${limited} of ${sent} calls were refused by the limit`);
    await until(async () => (await stage.call('Status')).ok);
    assert.deepEqual(await look(), before);
  });

  test('without an answer from polkit do not pile up, nor keep others waiting', async () => {
    stage.allow('disable');
    // until the end: a question that arrives late must not be allowed
    writeFileSync(stage.path('silent'), '');
    const first = await Promise.race(Array.from({ length: 5 }, () => stage.call('Disable', [], 6)));
    assert.match(first.text, /LimitsExceeded: Other requests/);
    assert.ok((await stage.call('Status', [], 7)).ok);
    const after = await look();
    assert.deepEqual({ ...after, state: '' }, { ...before, state: '' });
  });
});
