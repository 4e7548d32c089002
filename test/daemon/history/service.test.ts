// The history as the API answers it, across days and restarts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHistoryService } from '../../../daemon/history/history-service.ts';
import { NOON, seen } from '../../support/history/seen.ts';
import { type Ends, temporary } from '../../support/temporary.ts';

const MINUTE = 60_000;

function setUp(t: Ends, directory = join(temporary(t), 'history')) {
  let [minute, steadyMs] = [0, 0];
  const said: string[] = [];
  const boot = () =>
    createHistoryService({
      directory,
      say: line => said.push(line),
      now: () => NOON + minute * MINUTE,
      steady: () => steadyMs,
    });
  const at = (next: number) => {
    steadyMs += Math.max(0, next - minute) * MINUTE;
    minute = next;
  };
  return { directory, said, boot, at };
}

test('recorded changes are answered, with the totals of the period', async t => {
  const { boot, at } = setUp(t);
  const service = boot();
  service.record([seen(0, 'disconnected', 'Manual'), seen(1, 'connected'), seen(2, 'connected', null, 100)]);
  service.record([seen(3, 'connected', null, 400), seen(4, 'unable', 'NoNetwork')]);
  at(10);
  const { totals, changes, samples, next, resolution, enabled } = await service.read({ since: '1h' }, true);
  assert.deepEqual(
    changes.map(({ kind, state, reason, colo }) => [kind, state, reason, colo]),
    [
      ['start', 'disconnected', 'Manual', null],
      ['state', 'connected', null, 'AMS'],
      ['state', 'unable', 'NoNetwork', null],
    ],
  );
  assert.deepEqual(
    samples.map(({ at: time, seconds, latencyMs, received }) => [time, seconds, latencyMs, received]),
    [
      ['2026-11-21T12:02:00.000Z', 0, 10, 0],
      ['2026-11-21T12:03:00.000Z', 60, 10, 300],
    ],
  );
  assert.deepEqual([totals?.connectedSeconds, totals?.received, totals?.drops], [180, 300, { NoNetwork: 1 }]);
  assert.deepEqual([next, resolution, enabled], [null, 'full', true]);
});

test('after a kill the next run goes on, and no byte is counted twice', async t => {
  const { boot, at, directory } = setUp(t);
  boot().record([seen(0, 'connected', null, 100), seen(1, 'connected', null, 400)]);
  const name = join(directory, '2026-11-21.log');
  writeFileSync(name, `${readFileSync(name, 'utf8')}1795262`); // the kill came in the middle of a line
  const service = boot();
  service.record([seen(3, 'connected'), seen(4, 'connected', null, 900)]);
  at(5);
  const { totals, changes } = await service.read({}, true);
  assert.deepEqual([totals?.received, totals?.connectedSeconds], [800, 300]);
  assert.deepEqual(
    changes.map(({ kind }) => kind),
    ['start', 'start'],
  );
});

test('a day that begins without a change knows the state of the day before', async t => {
  const { boot, at } = setUp(t);
  const service = boot();
  service.record([seen(0, 'connected', null, 0)]);
  service.record([seen(12 * 60 + 5, 'connected', null, 50)]);
  at(12 * 60 + 10);
  const { totals, changes } = await service.read({ since: '2026-11-22T00:00:00.000Z' }, true);
  assert.deepEqual([totals?.connectedSeconds, changes, totals?.received], [600, [], 50]);
});

test('pages hold everything once, and the first one the totals', async t => {
  const { boot, at } = setUp(t);
  const service = boot();
  service.record(Array.from({ length: 5_000 }, (_, i) => seen(i / 12, i % 10 ? 'connected' : 'unable', null, i)));
  at(5_000 / 12 + 1);
  const pages = [await service.read({ since: '1d', resolution: 'full' }, true)];
  for (let next = pages[0]!.next; next !== null; next = pages.at(-1)!.next) {
    assert.ok(pages.length < 10);
    pages.push(await service.read({ since: '1d', resolution: 'full', cursor: next }, true));
  }
  const received = pages.flatMap(({ samples }) => samples).reduce((sum, sample) => sum + sample.received, 0);
  assert.deepEqual([pages.length > 2, received, pages[0]!.totals?.received], [true, 4_998, 4_998]);
  assert.ok(pages.slice(1).every(({ totals }) => totals === null));
  const times = pages.flatMap(({ changes }) => changes.map(change => change.at));
  assert.deepEqual(times, [...new Set(times)].sort());
});

test('a time that ends before it begins is refused; more than 90 days are cut', async t => {
  const { boot } = setUp(t);
  const service = boot();
  const rejected = { code: 'invalid-query' };
  await assert.rejects(service.read({ since: '2026-11-22T12:00:00.000Z' }, true), rejected);
  await assert.rejects(service.read({ since: '1h', until: '2h' }, true), rejected);
  assert.equal((await service.read({ since: '999d' }, true)).since, '2026-08-23T12:00:00.000Z');
});

test('no file is deleted by a clock that is wrong for a moment', async t => {
  const { boot, at, directory } = setUp(t);
  const service = boot();
  service.record([seen(0, 'connected', null, 0)]);
  const year = 365 * 24 * 60;
  const later = createHistoryService({ directory, say() {}, now: () => NOON + year * MINUTE, steady: () => 0 });
  later.record([seen(year, 'connected', null, 5)]);
  assert.deepEqual(readdirSync(directory), ['2026-11-21.log', '2027-11-21.log']);
  at(5);
  service.record([seen(5, 'connected', null, 30)]);
  at(20);
  service.record([seen(20, 'connected', null, 40)]);
  at(21);
  const { totals } = await service.read({}, true);
  assert.deepEqual([totals?.received, totals?.connectedSeconds], [40, 21 * 60], 'what is in the future is left out');
  assert.equal(readdirSync(directory).filter(name => name.endsWith('.log')).length, 2);
});

/** Reads changes with their minutes, the connected seconds, and the problem without its path. */
async function summaryOf(service: ReturnType<typeof createHistoryService>, enabled = true) {
  const { changes, totals, problem } = await service.read({}, enabled);
  const rows = changes.map(({ kind, state, at }) => `${kind} ${state} ${(Date.parse(at) - NOON) / MINUTE}`);
  return [rows, totals?.connectedSeconds, problem?.replace(/^\S+ can't be written: /, '')];
}

test('the time for which nothing could be written is a gap, before and after the next record', async t => {
  const { boot, at, said, directory } = setUp(t);
  const service = boot();
  service.record([seen(0, 'connected', null, 0), seen(1, 'connected', null, 10)]);
  const aside = `${directory}.aside`;
  const block = () => {
    renameSync(directory, aside);
    writeFileSync(directory, 'in the way');
  };
  block();
  at(10);
  for (const minute of [2, 3]) service.record([seen(minute, 'unable', 'NoNetwork')]);
  service.touch();
  rmSync(directory);
  renameSync(aside, directory);
  const gap = ['start connected 0', 'stop connected 2'];
  assert.deepEqual(await summaryOf(service), [gap, 120, 'A file is in its place.']);
  service.record([seen(8, 'disconnected', 'Manual')]);
  assert.deepEqual(await summaryOf(service), [[...gap, 'start disconnected 8'], 120, undefined]);
  block();
  service.record([seen(9, 'connected')]);
  rmSync(directory);
  renameSync(aside, directory);
  service.end();
  const rows = [...gap, 'start disconnected 8', 'stop disconnected 9'];
  assert.deepEqual(await summaryOf(service), [rows, 120, undefined]);
  assert.equal(said.length, 2, 'each failure is reported once');
  assert.match(said[0]!, /^The history is not recorded: ./);
});

for (const isKilled of [true, false])
  test(`a restart on a full disk counts no time without records, ${isKilled ? 'after a kill' : 'after an end'}`, async t => {
    const { boot, at, directory } = setUp(t);
    const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`]);
    t.after(() => limit('unlimited'));
    const first = boot();
    first.record([seen(0, 'connected', null, 0), seen(1, 'connected', null, 10)]);
    const lastAt = (NOON + MINUTE) / 1000;
    utimesSync(join(directory, '2026-11-21.log'), lastAt, lastAt);
    limit('0');
    at(2);
    first.record([seen(2, 'connected', null, 20)]);
    if (!isKilled) first.end();
    const second = boot();
    at(300);
    second.record([seen(300, 'connected')]);
    const rows = ['start connected 0', 'stop connected 1'];
    assert.deepEqual(await summaryOf(second), [rows, 60, 'File too large.']);
    assert.deepEqual(await summaryOf(second, false), [rows, 60, undefined]);
    limit('unlimited');
    second.record([seen(301, 'connected')]);
    at(302);
    assert.deepEqual(await summaryOf(second), [['start connected 0', 'start connected 301'], 120, undefined]);
  });

test('recording ends with a mark, and begins again after everything was deleted', async t => {
  const { boot, at, directory } = setUp(t);
  const service = boot();
  service.record([seen(0, 'connected', null, 7)]);
  at(5);
  service.end();
  at(9);
  assert.equal((await service.read({}, false)).totals?.connectedSeconds, 300);
  service.record([seen(9, 'connected')]);
  service.clear();
  assert.equal(existsSync(directory), false);
  assert.deepEqual((await service.read({}, true)).changes, []);
  service.record([seen(10, 'connected', null, 9)]);
  at(11);
  const { changes, totals } = await service.read({}, true);
  assert.deepEqual(
    changes.map(({ kind }) => kind),
    ['start'],
  );
  assert.equal(totals?.connectedSeconds, 60);
});
