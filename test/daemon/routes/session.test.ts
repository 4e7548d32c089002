// Checks whether an SSH session survives a change of the tunnel, for each place that a session can come from.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '../../../daemon/api/schema.ts';
import { type After, judge, sessionIn } from '../../../daemon/routes/session.ts';
import { createState } from '../../../daemon/state/store.ts';

const CLI = { available: true, path: '/usr/bin/warp-cli', version: '2026.8.2100.0', emulated: false };
const base = createState(CLI).snapshot();
const route = (value: string) => ({ value, description: null });

type Changed = { [K in keyof Snapshot]?: Partial<Snapshot[K]> };

/** A tunnel that is off, in the mode warp, whose split tunnel excludes two ranges. */
function off(changed: Changed = {}): Snapshot {
  const usual: Changed = {
    status: { state: 'disconnected' },
    settings: { Mode: 'warp' },
    splitTunnel: { mode: 'exclude', ips: ['10.0.0.0/8', '192.168.0.0/16'].map(route), hosts: [] },
    account: { managed: false },
  };
  const merged: Record<string, unknown> = { ...base };
  for (const source of [usual, changed])
    for (const [part, value] of Object.entries(source))
      merged[part] = { ...(merged[part] as object), ...(value as object) };
  return merged as Snapshot;
}

const old = (part: 'settings' | 'splitTunnel') => ({ ...off(), stale: [{ part, ageSeconds: 9 }] });
const on = (changed: Changed = {}) => off({ status: { state: 'connected' }, ...changed });
const DEVICES = new Map([
  ['192.0.2.1', 'eth0'],
  ['100.64.0.7', 'tailscale0'],
  ['100.96.0.3', 'CloudflareWARP'],
]);
const CONNECT: After = { connected: true, mode: 'warp' };
const OUTSIDE = '203.0.113.5 50000 192.0.2.1 22';
const LAN = '192.168.1.9 50000 192.0.2.1 22';
const THROUGH_WARP = '100.96.0.9 50000 100.96.0.3 22';

interface Row {
  of: string;
  from: string;
  now?: Snapshot;
  after?: After;
  survives: 'yes' | 'no' | 'unknown' | null;
  because?: RegExp;
  exclude?: string | null;
  advice?: RegExp;
}

const include = { splitTunnel: { mode: 'include' as const, ips: [route('203.0.113.0/24')], hosts: [] } };

const ROWS: Row[] = [
  { of: 'the Internet', from: OUTSIDE, survives: 'no', because: /firewall/, exclude: '203.0.113.5' },
  { of: 'an excluded network', from: LAN, survives: 'yes', because: /192\.168\.0\.0\/16 is excluded/ },
  {
    of: 'the Internet, on a managed machine',
    from: OUTSIDE,
    now: off({ account: { managed: true } }),
    survives: 'no',
    exclude: null,
    advice: /Ask its administrator to keep 203\.0\.113\.5/,
  },
  {
    of: 'an address that is listed as using WARP',
    from: OUTSIDE,
    now: off(include),
    survives: 'no',
    because: /203\.0\.113\.0\/24 is listed/,
    exclude: null,
    advice: /remove 203\.0\.113\.0\/24/,
  },
  { of: 'an address that is not listed', from: LAN, now: off(include), survives: 'yes', because: /only listed/ },
  {
    of: 'the Internet, before the split tunnel was read',
    from: OUTSIDE,
    now: off({ splitTunnel: { mode: null, ips: [], hosts: [] } }),
    survives: 'unknown',
    because: /split tunnel is not known/,
  },
  {
    of: 'the Internet, in a mode that is not known',
    from: OUTSIDE,
    now: off({ settings: { Mode: undefined } as never }),
    after: { connected: true, mode: null },
    survives: 'unknown',
    because: /mode of the tunnel is not known/,
  },
  {
    of: 'the Internet, with a tunnel that may be down by now',
    from: OUTSIDE,
    now: on({ status: { state: 'connected', lastKnown: { at: '2020-02-29T12:00:00.000Z', said: null } } }),
    survives: 'no',
    because: /firewall/,
    exclude: '203.0.113.5',
  },
  {
    of: 'the Internet, with a list that may have changed',
    from: OUTSIDE,
    now: old('splitTunnel'),
    survives: 'unknown',
    because: /split tunnel is not known/,
  },
  { of: 'the Internet, with an old mode', from: OUTSIDE, now: old('settings'), survives: 'no', because: /firewall/ },
  { of: 'the Internet, for a proxy', from: OUTSIDE, after: { connected: true, mode: 'proxy' }, survives: 'yes' },
  { of: 'the Internet, for DNS', from: OUTSIDE, after: { connected: true, mode: 'doh' }, survives: 'yes' },
  { of: 'the Internet, with the tunnel up', from: OUTSIDE, now: on(), survives: 'yes', because: /connected already/ },
  {
    of: 'the Internet, when a proxy becomes a tunnel',
    from: OUTSIDE,
    now: on({ settings: { Mode: 'proxy' } }),
    survives: 'no',
    exclude: '203.0.113.5',
  },
  {
    of: 'a program on this machine',
    from: '127.0.0.1 50000 127.0.0.1 22',
    survives: 'unknown',
    because: /cloudflared/,
    exclude: null,
  },
  { of: 'this machine', from: '192.0.2.1 50000 192.0.2.1 22', survives: 'yes', because: /this machine itself/ },
  {
    of: 'another VPN',
    from: '100.64.0.9 50000 100.64.0.7 22',
    now: off({ splitTunnel: { mode: 'exclude', ips: [route('100.64.0.0/10')], hosts: [] } }),
    survives: 'unknown',
    because: /through tailscale0/,
  },
  {
    of: 'the local network, with the kill switch on',
    from: LAN,
    now: off({ killSwitch: { active: true, allowLan: false } }),
    survives: 'unknown',
    because: /kill switch blocks/,
  },
  { of: 'the Internet, in the demo', from: OUTSIDE, now: off({ tunnelCli: { emulated: true } }), survives: 'yes' },
  {
    of: 'the tunnel, which is turned off',
    from: THROUGH_WARP,
    now: on(),
    after: { connected: false, mode: 'warp' },
    survives: 'no',
    because: /is turned off/,
    exclude: null,
  },
  {
    of: 'the tunnel, for a mode without one',
    from: THROUGH_WARP,
    now: on(),
    after: { connected: true, mode: 'doh' },
    survives: 'no',
  },
  { of: 'the tunnel, which stays', from: THROUGH_WARP, now: on(), survives: 'yes' },
  {
    of: 'the tunnel, in another mode',
    from: THROUGH_WARP,
    now: on(),
    after: { connected: true, mode: 'warp+doh' },
    survives: 'unknown',
  },
  {
    of: 'the Internet, when the tunnel ends',
    from: OUTSIDE,
    now: on(),
    after: { connected: false, mode: 'warp' },
    survives: null,
  },
  {
    of: 'an IPv4 address in IPv6',
    from: '::ffff:10.1.2.3 5 ::ffff:192.0.2.1 22',
    survives: 'yes',
    because: /10\.0\.0\.0\/8/,
  },
  { of: 'an IPv6 address', from: '2001:db8::9 5 2001:db8::1 22', survives: 'no', exclude: '2001:db8::9' },
];

for (const { of, from, now = off(), after = CONNECT, survives, because = /./, exclude, advice } of ROWS)
  test(`a session from ${of}: ${survives ?? 'not touched'}`, () => {
    const session = sessionIn({ SSH_CONNECTION: from });
    assert.ok(session);
    const judgment = judge(session, after, now, DEVICES);
    assert.equal(judgment?.survives ?? null, survives, JSON.stringify(judgment));
    if (!judgment) return;
    assert.match(judgment.because, because);
    assert.match(judgment.because, /^[A-Z].*\.$/);
    if (exclude !== undefined) assert.equal(judgment.exclude, exclude);
    if (advice) assert.match(judgment.advice ?? '', advice);
    else assert.equal(judgment.advice, null);
  });

test('finds no session in an environment without one', () => {
  for (const text of [
    undefined,
    '',
    ' ',
    'nonsense 1 2 3',
    '203.0.113.0/24 1 192.0.2.1 22',
    'host.example 1 192.0.2.1 22',
  ])
    assert.equal(sessionIn({ SSH_CONNECTION: text }), null, text);
  assert.deepEqual(sessionIn({ SSH_CONNECTION: 'fe80::1%eth0 5' }), { peer: 'fe80::1', local: null });
  assert.deepEqual(sessionIn({ SSH_CONNECTION: 'UNKNOWN 65535 UNKNOWN 65535' }), { peer: null, local: null });
});

const PROXY: After = { connected: true, mode: 'proxy' };
for (const [when, after, now] of [
  ['as the tunnel connects', CONNECT, off()],
  ['for a proxy', PROXY, off()],
  ['for a proxy, with the tunnel up', PROXY, on()],
  ['with the tunnel up', CONNECT, on()],
  ['in a mode that is not known', { connected: true, mode: null }, off()],
] as const)
  test(`a session whose peer sshd does not know may end, ${when}`, () => {
    // such a peer may be cloudflared, as with a session from this machine
    for (const from of ['UNKNOWN 65535 UNKNOWN 65535', 'UNKNOWN 65535 192.0.2.1 22', '127.0.0.1 5 127.0.0.1 22']) {
      const { survives, exclude } = judge(sessionIn({ SSH_CONNECTION: from })!, after, now, DEVICES)!;
      assert.deepEqual([survives, exclude], ['unknown', null], from);
    }
  });
