// Hostile calls that any user can make on the bus. Each is refused, and table, files and service stay as they were.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { missing, setStage } from '../../support/killswitch/stage.ts';
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
const ARGUMENTS: readonly (readonly [method: string, ...args: string[]])[] = [
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
const FURTHER: typeof ARGUMENTS = [
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

test('hostile calls are refused with nothing changed', { skip: missing }, async t => {
  const stage = await setStage();
  try {
    const service = await stage.serve();
    assert.ok((await stage.call('Enable', one('162.159.193.0/24'))).ok);
    await until(() => stage.state()?.protection !== 'none');
    const look = async () => ({
      table: await stage.table(),
      rules: readFileSync(stage.path('state/rules.nft'), 'utf8'),
      files: readdirSync(stage.path('state')),
      state: readFileSync(stage.path('run/state.json'), 'utf8'),
      pid: service.exitCode === null ? service.pid : null,
    });
    const before = await look();
    const busctl = (uid: number, ...words: string[]) =>
      run(
        'setpriv',
        [
          `--reuid=${uid}`,
          `--regid=${uid}`,
          '--clear-groups',
          'busctl',
          '--system',
          '--timeout=10',
          '--auto-start=no',
          ...words,
        ],
        { env: { ...process.env, ...stage.env } },
      );
    let refused = 0;
    async function refuses(what: string, attempt: () => Promise<unknown>): Promise<void> {
      const said = await attempt().then(
        () => 'accepted',
        (error: { message: string; stderr?: string }) => error.stderr ?? error.message,
      );
      assert.match(said, /^(Call failed|Failed to|Access denied)|InvalidArgs|Invalid argument/, what);
      assert.doesNotMatch(said, /not connected|timed out/i, what);
      refused++;
    }

    stage.allow('enable', 'disable', 'pause');
    for (const [method, ...args] of [...ARGUMENTS, ...FURTHER])
      await refuses(`${method} ${args.join(' ').slice(0, 80)}`, async () => {
        const { ok, text } = await stage.call(method, args);
        if (!ok) throw new Error(text);
      });
    assert.deepEqual(await look(), before);

    stage.allow();
    // users of every Debian; the bus takes no others
    const users = [1, 2, 3, 6, 7, 8, 9, 10, 13, 33, 34];
    let turn = 0;
    const another = () => users[turn++ % users.length]!;
    for (const [method, ...args] of [
      ['Disable'],
      ['Pause', 'u', '1'],
      ['Pause', 'u', '0'],
      ['Enable', 'ba(ssaq)', 'false', '0'],
      ['Enable', 'ba(ssaq)', 'true', '0'],
    ] as const)
      await refuses(`${method} without permission`, async () => {
        const { ok, text } = await stage.call(method, args, another());
        if (!ok) throw new Error(text);
      });
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
      await refuses(words.join(' '), () => busctl(another(), ...words));
    // a signal that pretends to come from polkit or systemd is not listened to
    await busctl(another(), 'emit', PATH, NAME, 'Changed', 's', '{"enabled":false}');
    assert.deepEqual(await look(), before);

    // the slower the machine, the more calls at the same time it takes to outrun the limit, which refills
    let limited = 0;
    for (let calls = 60; limited === 0 && calls < 1000; calls *= 2) {
      const flood = await Promise.all(Array.from({ length: calls }, () => stage.call('Disable', [], 65534)));
      assert.ok(flood.every(({ ok }) => !ok));
      limited += flood.filter(({ text }) => text.includes('LimitsExceeded')).length;
      refused += flood.length;
    }
    assert.ok(limited > 0, 'calls beyond the limit are refused by it');

    stage.allow('disable');
    // until the end: a question that arrives late must not be allowed
    writeFileSync(stage.path('silent'), '');
    const waiting = Array.from({ length: 5 }, () => stage.call('Disable', [], 6));
    const first = await Promise.race(waiting);
    assert.match(first.text, /LimitsExceeded: Other requests/, 'questions without an answer do not pile up');
    assert.ok((await stage.call('Status', [], 7)).ok, 'nor do they keep others waiting');
    refused++;

    const after = await look();
    assert.deepEqual({ ...after, state: '' }, { ...before, state: '' });
    assert.ok(refused >= 60);
    t.diagnostic(`${refused} hostile calls refused`);
  } finally {
    await stage.end();
  }
});
