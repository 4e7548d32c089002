// For random documents the forecast equals what a kernel does whose routes were made from the document.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { Snapshot } from '../../../daemon/api/schema.ts';
import { parseDocument } from '../../../daemon/routes/document.ts';
import { parseRouteGet } from '../../../daemon/routes/explain.ts';
import { tunneled } from '../../../daemon/routes/preview.ts';
import { forecast } from '../../../daemon/routes/why.ts';
import { createState } from '../../../daemon/state/store.ts';
import { FULL } from '../../support/thoroughness.ts';

const DOCUMENTS = FULL ? 1000 : 200;
const namespace = ['-rn', 'sh', '-c', 'ip link set lo up'];
const skip = spawnSync('unshare', namespace).status === 0 ? false : 'no network namespaces here';

const base = createState({ available: true, path: '/x', version: '1', emulated: false }).snapshot();
const CONNECTED = { status: { ...base.status, state: 'connected' as const }, settings: { Mode: 'warp' } };

/** A small generator with a fixed seed (mulberry32), so that a failure repeats. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

for (const family of [4, 6] as const)
  test(`the forecast for IPv${family} equals the kernel`, { skip }, () => {
    const next = random(20261121 + family);
    // networks of documentation and benchmarks: the kernel treats none of their addresses specially
    const address = () =>
      family === 4
        ? `198.18.${next(4)}.${next(256)}`
        : `2001:db8:${next(4).toString(16)}::${next(65_536).toString(16)}`;
    const entry = () => {
      const one = address();
      const shapes = family === 4 ? [`/${14 + next(19)}`, `/24 - ${one}`] : [`/${30 + next(99)}`, `/48 - ${one}`];
      return one + ['', ...shapes][next(3)];
    };
    // a pair, because kernels without the dummy driver have veth
    const lines = [
      'link add CloudflareWARP type veth peer name uplink',
      'link set CloudflareWARP up',
      'link set uplink up',
      ...(family === 4
        ? ['addr add 192.0.2.1/32 dev uplink', 'addr add 192.0.2.2/32 dev CloudflareWARP']
        : ['addr add 2001:db8:ffff::1/128 dev uplink nodad', 'addr add 2001:db8:ffff::2/128 dev CloudflareWARP nodad']),
    ];
    const expected: { address: string; snapshot: Snapshot; tunnel: boolean }[] = [];
    for (let i = 0; i < DOCUMENTS / 2; i++) {
      const mode = next(2) ? 'exclude' : 'include';
      const document = parseDocument(`mode ${mode}\n${Array.from({ length: next(6) }, entry).join('\n')}`);
      const entries = document.lines.flatMap(line => line.entries);
      const [listed, rest] = mode === 'include' ? ['CloudflareWARP', 'uplink'] : ['uplink', 'CloudflareWARP'];
      // a separate table for each document, so that none has to be emptied
      const table = 1000 + i;
      lines.push(`route add default dev ${rest} table ${table}`);
      for (const value of new Set(entries.map(each => each.value)))
        lines.push(`route add ${value} dev ${listed} table ${table}`);
      lines.push(`rule add from all lookup ${table} pref 10`);
      const goes = tunneled(mode, entries);
      const ips = entries.map(({ value }) => ({ value, description: null }));
      const snapshot: Snapshot = { ...base, ...CONNECTED, splitTunnel: { mode, ips, hosts: [] } };
      for (let j = 0; j < 4; j++) {
        const target = address();
        lines.push(`route get ${target}`);
        expected.push({ address: target, snapshot, tunnel: goes(target) });
      }
      lines.push('rule del pref 10');
    }
    const { stdout, stderr, status } = spawnSync('unshare', ['-rn', 'ip', `-${family}`, '-j', '-batch', '-'], {
      input: `${lines.join('\n')}\n`,
      encoding: 'utf8',
      maxBuffer: 64 * 2 ** 20,
    });
    assert.equal(status, 0, stderr);
    const answers = stdout.trim().split('\n');
    assert.equal(answers.length, expected.length);
    const found = expected.map(({ address, snapshot, tunnel }, at) => {
      const kernel = parseRouteGet(answers[at]!);
      const [why] = forecast({ kind: 'ip', value: address }, [{ address, kernel }], snapshot).addresses;
      // the rule behind the preview's warnings decides the same
      assert.deepEqual(
        [why?.kernel?.tunnel, why?.disagrees, why?.tunnel],
        [tunnel, false, tunnel],
        `${at}: ${address}`,
      );
      return tunnel;
    });
    assert.ok(found.includes(true) && found.includes(false));
  });
