// `culvert history`: the timeline, the totals, both for other programs, and deleting it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHome, culvert, ended, prints, startDaemon, startOnTerminal } from '../../../support/daemon/command.ts';
import type { Running } from '../../../support/daemon/listeners.ts';

/** An hour of which the tunnel was up, until the network was gone. */
async function record({ daemon, history }: Pick<Running, 'daemon' | 'history'>): Promise<void> {
  const { state } = daemon;
  const status = (name: 'connected' | 'unable', code: string | null) =>
    state.set('status', {
      ...state.snapshot().status,
      state: name,
      raw: name,
      reason: code === null ? null : { code, text: 'x' },
    });
  const figures = (received: number, ageMs: number) =>
    state.set('tunnel', {
      ...state.snapshot().tunnel,
      at: new Date(Date.now() - ageMs).toISOString(),
      latencyMs: 12,
      loss: 0.01,
      colo: 'AMS',
      bytesReceived: received,
      bytesSent: 0,
    });
  history.start();
  status('connected', null);
  state.set('settings', { Mode: 'warp' });
  figures(0, 6_000);
  figures(2_097_152, 1_000);
  status('unable', 'NoNetwork');
}

test('prints the timeline and the totals, and takes times as people type them', async t => {
  const home = createHome(t);
  const running = await startDaemon(t, home);
  assert.equal(
    (await culvert(home, ['history'])).stdout,
    'Nothing was recorded in this time.\n\nThe history is turned off: culvert config set history.enabled true\n',
  );
  await record(running);
  const { stdout } = await culvert(home, ['history', '--since', '2d']);
  const time = String.raw`  \d\d:\d\d:\d\d`;
  assert.match(stdout, /^\d{4}-\d\d-\d\d\n/);
  assert.match(stdout, new RegExp(`^${time}  Connected +0:0\\d +All traffic, via Amsterdam, Recording started$`, 'm'));
  assert.match(stdout, new RegExp(`^${time}  Can’t connect +0:0\\d +You are offline$`, 'm'));
  assert.match(stdout, /^\d{4}-\d\d-\d\d +0:0\d +2\.1 MB +0 B +1$/m);
  assert.match(stdout, /^total +0:0\d +2\.1 MB +0 B +1$/m);
  assert.match(stdout, /^1 × You are offline$/m);
  for (const [words, message] of [
    [['--since', 'yesterday'], /--since takes a duration such as 2d, or a time/],
    [['--resolution', 'day'], /--resolution is one of full, minute, hour, not "day"/],
    [['--csv', '--json'], /can't be used together/],
    [['--since', '2999-01-01'], /--since .* is in the future/],
    [['--since', '1d', '--until', '2d'], /--until must be later than --since/],
    [['--since', '200d', '--until', '150d'], /goes back 90 days at most/],
  ] as const) {
    const { code, stdout: out, stderr } = await culvert(home, ['history', ...words]);
    assert.notEqual(code, 0, words.join(' '));
    assert.match(stderr + out, message);
  }
});

test('prints everything as JSON and as comma-separated values', async t => {
  const home = createHome(t);
  await record(await startDaemon(t, home));
  const history = JSON.parse((await culvert(home, ['history', '--json', '--resolution', 'full'])).stdout);
  assert.deepEqual([history.ok, history.enabled, history.totals.drops], [true, true, { NoNetwork: 1 }]);
  const { stdout } = await culvert(home, ['history', '--csv', '--resolution', 'full']);
  const [header, ...rows] = stdout
    .trimEnd()
    .split('\r\n')
    .map(line => line.split(','));
  assert.ok(header && rows.every(row => row.length === header.length), stdout);
  const column = (name: string, kind: string) =>
    rows.filter(row => row[1] === kind).map(row => row[header.indexOf(name)]);
  assert.deepEqual(column('state', 'state'), ['unable']);
  assert.deepEqual([column('mode', 'start'), column('colo', 'start')], [['warp'], ['AMS']]);
  assert.equal(
    column('received', 'sample').reduce((sum, bytes) => sum + Number(bytes), 0),
    2_097_152,
  );
  assert.deepEqual(new Set(column('latency_ms', 'sample')), new Set(['12']));
});

test('deletes the history, after it asked at a terminal', async t => {
  const home = createHome(t);
  await record(await startDaemon(t, home));
  const child = await startOnTerminal(home, ['history', 'clear']);
  await prints(child, 'stdout', /Delete the history\? \[y\/N\] /);
  child.stdin.write('n\r');
  assert.notEqual((await ended(child)).code, 0);
  const kept = JSON.parse((await culvert(home, ['history', '--json'])).stdout);
  assert.equal(kept.changes.length, 2);
  assert.equal((await culvert(home, ['history', 'clear', '--yes'])).stdout, 'The history is deleted.\n');
  const left = JSON.parse((await culvert(home, ['history', '--json'])).stdout);
  assert.deepEqual(
    left.changes.map(({ kind }: { kind: string }) => kind),
    ['start'],
  );
});
