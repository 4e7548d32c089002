// The forecast whether a target goes through the tunnel, by mode, connection, list and kill switch.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Snapshot } from '../../../daemon/api/schema.ts';
import { isOwn, parseRouteGet, routeOf } from '../../../daemon/routes/explain.ts';
import { forecast, parseTarget } from '../../../daemon/routes/why.ts';
import { createState, NO_KILL_SWITCH } from '../../../daemon/state/store.ts';
import { wordMessage } from '../../../daemon/view/message.ts';
import { whyAnswers } from '../../../daemon/view/states/why.ts';
import { english } from '../../../daemon/view/translator.ts';
import { temporary } from '../../support/temporary.ts';

const base = createState({ available: true, path: '/x', version: '1', emulated: false }).snapshot();
const route = (value: string) => ({ value, description: null });
const connected = (change: Partial<Snapshot> = {}): Snapshot => ({
  ...base,
  status: { ...base.status, state: 'connected' },
  settings: { Mode: 'warp' },
  splitTunnel: { mode: 'exclude', ips: ['10.0.0.0/8', '10.1.0.0/16'].map(route), hosts: ['*.corp.example'].map(route) },
  ...change,
});
const kernel = (device: string) => ({
  route: { device, gateway: null, source: null, tunnel: device === 'CloudflareWARP' },
});
const ask = (text: string, address: string, snapshot: Snapshot, device = 'eth0') => {
  const found = forecast(parseTarget(text)!, [{ address, kernel: kernel(device) }], snapshot);
  return { ...found.addresses[0]!, all: found };
};

describe('reading a target', () => {
  for (const [text, kind, value] of [
    ['192.0.2.1', 'ip', '192.0.2.1'],
    ['[2001:DB8::1]:443', 'ip', '2001:db8::1'],
    ['WWW.example.com', 'host', 'www.example.com'],
    ['www.example.com:8443', 'host', 'www.example.com'],
    ['https://user:pw@www.example.com:8443/x?y#z', 'host', 'www.example.com'],
    ['http://[2001:db8::1]/', 'ip', '2001:db8::1'],
    [' intranet ', 'host', 'intranet'],
    ['fe80::1%eth0', 'ip', 'fe80::1'],
    ['::ffff:10.0.0.1', 'ip', '10.0.0.1'],
  ] as const)
    test(`takes ${text}`, () => assert.deepEqual(parseTarget(text), { kind, value }));
  for (const text of ['', '10.0.0.0/8', '*.example.com', 'a b', 'https://', '10.0.0.1-10.0.0.9', 'x\u202e.example'])
    test(`refuses ${JSON.stringify(text)}`, () => assert.equal(parseTarget(text), null));
});

describe('the forecast', () => {
  test('names the entry of a host that has no address', () => {
    const found = (name: string) => forecast(parseTarget(name)!, [], connected()).nameEntry;
    assert.deepEqual([found('a.corp.example'), found('other.example')], ['*.corp.example', null]);
  });

  test('says nothing about the entries of a list that is old or was never read', () => {
    const target = parseTarget('other.example')!;
    for (const part of ['settings', 'splitTunnel'] as const)
      assert.equal(forecast(target, [], { ...connected(), stale: [{ part, ageSeconds: 50 }] }).nameEntry, undefined);
    const splitTunnel = { mode: null, ips: [], hosts: [] };
    assert.equal(forecast(target, [], connected({ splitTunnel })).nameEntry, undefined);
  });

  test('forecasts a name by its entry only while a tunnel takes all apps', () => {
    const of = (name: string, change: Partial<Snapshot> = {}) =>
      forecast(parseTarget(name)!, [], connected(change)).nameForecast;
    const tunnelCli = { ...base.tunnelCli, emulated: true };
    assert.deepEqual([of('a.corp.example'), of('other.example')], [false, null]);
    for (const change of [
      { status: { ...base.status, state: 'disconnected' as const } },
      { settings: { Mode: 'doh' } },
      { settings: { Mode: 'proxy' } },
      { tunnelCli },
    ])
      assert.equal(of('a.corp.example', change), null);
  });

  test('says that the kill switch blocks a name without addresses, unless its address may be in an allowed network', () => {
    const blocking = { ...base.killSwitch, active: true, pausedUntil: null, allowLan: false };
    const of = (killSwitch: Snapshot['killSwitch']) => {
      const { nameForecast, nameBlocked } = forecast(parseTarget('a.corp.example')!, [], connected({ killSwitch }));
      return [nameForecast, nameBlocked];
    };
    assert.deepEqual(of(blocking), [false, true]);
    assert.deepEqual(of({ ...blocking, active: false }), [false, false]);
    assert.deepEqual(of({ ...blocking, pausedUntil: '2030-01-01T00:00:00.000Z' }), [false, false]);
    assert.deepEqual(of({ ...blocking, allowLan: true }), [null, undefined]);
  });

  test('names the narrowest entry that excludes an address', () => {
    const { tunnel, reason, entry } = ask('10.1.2.3', '10.1.2.3', connected());
    assert.deepEqual([tunnel, reason, entry], [false, 'entry', '10.1.0.0/16']);
  });

  test('sends through the tunnel what no entry excludes', () => {
    const { tunnel, reason } = ask('192.0.2.1', '192.0.2.1', connected(), 'CloudflareWARP');
    assert.deepEqual([tunnel, reason], [true, 'default']);
  });

  test('matches a wildcard below its name only', () => {
    assert.equal(ask('a.corp.example', '192.0.2.1', connected()).entry, '*.corp.example');
    assert.equal(ask('corp.example', '192.0.2.1', connected()).entry, null);
    assert.equal(ask('evilcorp.example', '192.0.2.1', connected()).entry, null);
  });

  test('turns round in include mode', () => {
    const include = connected({ splitTunnel: { mode: 'include', ips: [route('10.0.0.0/8')], hosts: [] } });
    assert.equal(ask('10.1.2.3', '10.1.2.3', include).forecast, true);
    assert.equal(ask('192.0.2.1', '192.0.2.1', include).forecast, false);
  });

  for (const [name, change, reason, tunnel] of [
    ['nothing is connected', { status: { ...base.status, state: 'disconnected' } }, 'disconnected', false],
    ['the mode encrypts DNS only', { settings: { Mode: 'doh' } }, 'dns-only', false],
    ['the mode is the proxy', { settings: { Mode: 'proxy' } }, 'proxy-only', false],
    ['the list was never read', { splitTunnel: { mode: null, ips: [], hosts: [] } }, 'unknown', null],
    ['something has to be set up', { status: { ...base.status, blocked: 'not-registered' } }, 'unknown', null],
  ] as const)
    test(`says why when ${name}`, () => {
      const found = ask('192.0.2.1', '192.0.2.1', connected(change as Partial<Snapshot>));
      assert.deepEqual([found.reason, found.forecast], [reason, tunnel]);
    });

  test('says that the kill switch blocks what would bypass the tunnel', () => {
    const blocking = connected({ killSwitch: { ...NO_KILL_SWITCH, enabled: true, active: true } });
    assert.equal(ask('10.1.2.3', '10.1.2.3', blocking).blocked, true);
    assert.equal(ask('192.0.2.1', '192.0.2.1', blocking, 'CloudflareWARP').blocked, false);
    const paused = { ...NO_KILL_SWITCH, enabled: true, active: true, pausedUntil: '2026-01-01T00:00:00.000Z' };
    assert.equal(ask('10.1.2.3', '10.1.2.3', connected({ killSwitch: paused })).blocked, false, 'not in a pause');
  });

  test('says that the local network is not blocked where the kill switch leaves it reachable', () => {
    const list = { mode: 'exclude' as const, ips: ['10.0.0.0/8', 'fe80::/10', '203.0.113.0/24'].map(route), hosts: [] };
    for (const [allowLan, blocked] of [
      [true, [false, false, true]],
      [false, [true, true, true]],
    ] as const) {
      const killSwitch = { ...NO_KILL_SWITCH, enabled: true, active: true, allowLan };
      const asked = ['10.1.2.3', 'fe80::1', '203.0.113.1'].map(
        address => ask(address, address, connected({ killSwitch, splitTunnel: list })).blocked,
      );
      assert.deepEqual(asked, blocked);
    }
  });

  test('leaves addresses of this machine to itself', () => {
    const killSwitch = { ...NO_KILL_SWITCH, enabled: true, active: true };
    const { addresses } = forecast(
      { kind: 'host', value: 'localhost' },
      [{ address: '127.0.0.1', own: true, kernel: kernel('lo') }],
      connected({ killSwitch }),
    );
    const { tunnel, reason, blocked, disagrees } = addresses[0]!;
    assert.deepEqual([tunnel, reason, blocked, disagrees], [false, 'own', false, false]);
    assert.deepEqual(
      [
        '127.0.0.53',
        '::1',
        ...Object.values(networkInterfaces()).flatMap(each => each!.map(({ address }) => address)),
      ].map(isOwn),
      [true, true, ...Object.values(networkInterfaces()).flatMap(each => each!.map(() => true))],
    );
    assert.deepEqual(['198.51.100.1', '2001:db8::1'].map(isOwn), [false, false]);
  });

  test('finds the longest fallback domain, with its resolvers', () => {
    const settings = {
      Mode: 'warp',
      'Fallback domains': ['example', 'corp.example -> [10.0.0.1, 10.0.0.2]', 'lan'],
    };
    assert.deepEqual(ask('a.corp.example', '192.0.2.1', connected({ settings })).all.fallback, {
      domain: 'corp.example',
      resolvers: ['10.0.0.1', '10.0.0.2'],
    });
    assert.equal(ask('notcorp.test', '192.0.2.1', connected({ settings })).all.fallback, null);
  });

  test('says first what the kernel does, and keeps the forecast apart', () => {
    const off = { status: { ...base.status, state: 'disconnected' as const } };
    for (const [address, change, device, tunnel, forecast, says] of [
      ['192.0.2.1', {}, 'eth0', false, true, 'Bypasses WARP'],
      ['10.1.2.3', {}, 'CloudflareWARP', true, false, 'Goes through WARP'],
      ['192.0.2.1', off, 'CloudflareWARP', true, false, 'The kernel sends it to WARP, which is not connected'],
    ] as const) {
      const found = ask(address, address, connected(change), device);
      assert.deepEqual([found.tunnel, found.forecast, found.disagrees], [tunnel, forecast, true], address);
      const [answer] = whyAnswers({ ok: true, ...found.all, resolveProblem: null }, english);
      const { verdict, kernel, way } = answer!;
      assert.deepEqual([verdict, way], [says, change === off ? null : tunnel]);
      assert.equal(kernel, `The kernel sends it by ${device}.`);
    }
  });

  test('points out where the kernel disagrees', () => {
    const found = ask('192.0.2.1', '192.0.2.1', connected(), 'eth0');
    assert.equal(found.disagrees, true);
    const [answer] = whyAnswers({ ok: true, ...found.all, resolveProblem: null }, english);
    // WARP's own rule may be missing as well
    assert.equal(answer!.disagreement, 'The system sends it elsewhere than expected.');
    assert.equal(ask('192.0.2.1', '192.0.2.1', connected(), 'CloudflareWARP').disagrees, false);
    const tunnel = { ...base.tunnel, endpoints: ['192.0.2.1:443', '[2001:db8::1]:443'] };
    for (const [address, disagrees] of [
      ['192.0.2.1', false],
      ['2001:db8::1', false],
      ['192.0.2.2', true],
    ] as const)
      assert.equal(ask(address, address, connected({ tunnel }), 'eth0').disagrees, disagrees, address);
  });

  test('claims nothing about the kernel in the demo', () => {
    const found = ask(
      '192.0.2.1',
      '192.0.2.1',
      connected({ tunnelCli: { ...base.tunnelCli, emulated: true } }),
      'eth0',
    );
    assert.deepEqual([found.kernel, found.disagrees], [null, false]);
    const [answer] = whyAnswers({ ok: true, ...found.all, resolveProblem: null }, english);
    assert.deepEqual(
      [answer!.kernel, answer!.disagreement],
      ['The demo routes nothing, so the kernel is not asked.', null],
    );
  });
});

describe('the kernel’s answer', () => {
  test('is read from the JSON of ip', () => {
    assert.deepEqual(parseRouteGet('[{"dst":"1.1.1.1","gateway":"192.0.2.1","dev":"eth0","prefsrc":"192.0.2.2"}]'), {
      route: { device: 'eth0', gateway: '192.0.2.1', source: '192.0.2.2', tunnel: false },
    });
  });
  for (const text of ['', '[]', '{}', '[1]', '[{"dev":5}]', 'RTNETLINK answers'])
    test(`is a problem when it is ${JSON.stringify(text)}`, () => assert.ok('problem' in parseRouteGet(text)));
});

test('an address that the kernel sends nowhere is an answer, neither a contradiction nor blocked', async t => {
  const bin = temporary(t, 'ip');
  const killSwitch = { ...NO_KILL_SWITCH, enabled: true, active: true };
  // no route, and routes of the types unreachable, blackhole and prohibit
  for (const refusal of ['Network is unreachable', 'No route to host', 'Invalid argument', 'Permission denied']) {
    writeFileSync(join(bin, 'ip'), `#!/bin/sh\necho 'RTNETLINK answers: ${refusal}' >&2; exit 2\n`, { mode: 0o755 });
    const kernel = await routeOf('192.0.2.1', { PATH: bin });
    for (const change of [{}, { killSwitch }, { status: { ...base.status, state: 'disconnected' as const } }]) {
      const found = forecast(parseTarget('192.0.2.1')!, [{ address: '192.0.2.1', kernel }], connected(change));
      const [answer] = whyAnswers({ ok: true, ...found, resolveProblem: null }, english);
      assert.deepEqual(
        [answer!.verdict, answer!.way, answer!.kernel, answer!.blocked, answer!.disagreement],
        ['Goes nowhere', null, `The kernel sends it nowhere: ${refusal}`, false, null],
      );
      assert.equal(found.addresses[0]!.blocked, false);
    }
  }
});

test('asks the kernel through ip, and passes on what it refuses', async () => {
  assert.deepEqual(await routeOf('127.0.0.1', {}), {
    route: { device: 'lo', gateway: null, source: '127.0.0.1', tunnel: false },
  });
  const refused = await routeOf('not-an-address', {});
  assert.match('problem' in refused ? wordMessage(refused.problem, english) : '', /prefix is expected/);
});
