// Sums of quarters of an hour answer as the day's file does, whatever became of either.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { HistoryQuery } from '../../../daemon/api/schema/history.ts';
import { createDayFiles } from '../../../daemon/history/day-files.ts';
import { sumQuarters, walkSections } from '../../../daemon/history/quarter-sums.ts';
import { readPage } from '../../../daemon/history/read-page.ts';
import { formatChange, formatSample, type Sample } from '../../../daemon/history/records.ts';
import { temporary } from '../../support/temporary.ts';

const DAY = '2026-11-21';
const START = Date.parse(DAY) / 1000;
const SAMPLE: Sample = {
  at: 0,
  span: 5,
  count: 1,
  latency: 10_000,
  least: 10_000,
  greatest: 10_000,
  loss: 200,
  received: 7,
  sent: 3,
};

/** Numbers that are the same in each run. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor(state / 65_536) % below;
  };
}

/** Lines as a day brings them: samples, changes, counters, some junk, and a clock that is set back now and then. */
function dayOf(seed: number): string[] {
  const next = random(seed);
  const lines: string[] = [];
  let at = START;
  while (lines.length < 400) {
    at += next(20) === 0 ? -next(4_000) : next(400);
    if (at < START || at >= START + 86_400) at = START;
    const kind = next(12);
    const latency = next(90_000);
    if (kind === 0) lines.push(`= ${at} ${next(1_000)} ${next(1_000)}\n`);
    else if (kind === 1) lines.push(next(2) ? 'junk\n' : '{"at":x}\n');
    else if (kind < 4)
      lines.push(
        formatChange({
          at: at * 1000 + next(1_000),
          kind: 'state',
          state: next(2) ? 'connected' : 'unable',
          reason: 'NoNetwork',
          blocked: null,
          network: null,
          mode: 'warp',
          colo: null,
        }),
      );
    else
      lines.push(
        formatSample({
          ...SAMPLE,
          at,
          latency,
          least: latency,
          greatest: latency,
          received: next(9_999),
          sent: next(99),
        }),
      );
  }
  return lines;
}

function filesIn(t: TestContext) {
  const directory = join(temporary(t, 'sums'), 'history');
  const [log, sums] = [join(directory, `${DAY}.log`), join(directory, `${DAY}.sums`)];
  return { directory, log, sums, files: createDayFiles(directory) };
}

/** Means that were rounded in other steps differ by some microseconds; nothing else differs. */
function assertSame(found: ReturnType<typeof ask>, expected: ReturnType<typeof ask>, what: string): void {
  const without = ({ samples, ...rest }: typeof found) => ({
    ...rest,
    samples: samples.map(({ latencyMs: _, loss: __, ...sample }) => sample),
  });
  assert.deepEqual(without(found), without(expected), what);
  for (const [i, { latencyMs, loss }] of expected.samples.entries()) {
    assert.ok(Math.abs(latencyMs! - found.samples[i]!.latencyMs!) < 0.05, `${what}: ${latencyMs}`);
    assert.equal(found.samples[i]!.loss, loss);
  }
}

function ask(files: ReturnType<typeof createDayFiles>, from: number, until: number, query: HistoryQuery = {}) {
  const range = { since: (START + from) * 1000, until: (START + until) * 1000 };
  return readPage({ files, query: { resolution: 'quarter', ...query }, ...range, now: null });
}

test('sums answer as all samples do, for any time, however the day was written', t => {
  const { directory, sums, files } = filesIn(t);
  for (let seed = 1; seed <= 25; seed++) {
    const next = random(seed * 77);
    for (const line of dayOf(seed)) {
      files.append(DAY, line);
      if (next(40) === 0) files.sumUp(DAY);
    }
    files.sumUp(DAY);
    assert.ok(statSync(sums).size > 0);
    const plain = createDayFiles(directory);
    const raw = {
      ...plain,
      readSums: (day: string, _: unknown, onLine: Parameters<typeof plain.read>[1]) => plain.read(day, onLine),
    };
    for (let i = 0; i < 12; i++) {
      const from = i === 0 ? 0 : next(86_000);
      const until = i === 0 ? 86_400 : from + 1 + next(86_400 - from);
      const query = i % 3 === 2 ? { cursor: String((START + from + next(900)) * 1000) } : {};
      assertSame(ask(files, from, until, query), ask(raw, from, until, query), `seed ${seed}, ${from} to ${until}`);
    }
    const [hours, rawHours] = [files, raw].map(each => ask(each, 0, 86_400, { resolution: 'hour' }));
    assert.deepEqual(hours!.totals, rawHours!.totals);
    files.clear();
  }
});

test('only whole sections that go on where the one before ended count', t => {
  const { directory, sums, files } = filesIn(t);
  for (const line of dayOf(3)) files.append(DAY, line);
  files.sumUp(DAY);
  const whole = readFileSync(sums);
  const expected = ask(files, 0, 86_400);
  assert.ok(expected.changes.length > 10 && expected.samples.length > 40);
  const next = random(9);
  for (let i = 0; i < 60; i++) {
    writeFileSync(sums, whole.subarray(0, next(whole.length)));
    assertSame(ask(files, 0, 86_400), expected, 'torn, as a kill leaves it');
    files.append(DAY, `= ${START} ${i} 0\n`);
    files.sumUp(DAY);
    assertSame(ask(files, 0, 86_400), expected, 'and gone on with');
  }
  for (const junk of [
    '',
    '@ 1 0 5\n',
    '@ 1 5 9\n',
    '@ x\n',
    `@ ${START} 0 99999999\n`,
    '\0\0\n',
    'x'.repeat(2_000_000),
  ]) {
    writeFileSync(sums, junk);
    if (junk !== '@ 1 0 5\n') assertSame(ask(files, 0, 86_400), expected, junk.slice(0, 20));
  }
  rmSync(sums);
  symlinkSync('/etc/passwd', sums);
  assertSame(ask(files, 0, 86_400), expected, 'a link is not followed');
  assert.throws(() => files.sumUp(DAY), { code: 'ELOOP' });
  assert.equal(existsSync(directory), true);
});

test('sums do not outlive the lines that they were made from', t => {
  const { log, sums, files } = filesIn(t);
  const fill = () => {
    for (let i = 0; i < 300; i++) files.append(DAY, formatSample({ ...SAMPLE, at: START + i * 60 }));
    files.sumUp(DAY);
    assert.ok(statSync(sums).size > 0);
  };
  fill();
  truncateSync(log, 100);
  assert.equal(ask(files, 0, 86_400).totals?.received, 14, 'two whole lines are left');
  rmSync(log);
  files.append(DAY, formatSample({ ...SAMPLE, at: START }));
  assert.equal(existsSync(sums), false, 'the file was started over');
  fill();
  files.maintain('2026-11-25');
  assert.equal(existsSync(sums), false, 'the day is kept in minutes now');
  assert.equal(ask(files, 0, 86_400).totals?.received, 7 * 301);
  files.sumUp(DAY);
  assert.equal(existsSync(sums), false);
});

test('a long day is summed up in turns, and the quarter that goes on is left out', t => {
  const { log, sums, files } = filesIn(t);
  files.append(DAY, '');
  for (let at = START; at < START + 40_000; at += 5) appendFileSync(log, formatSample({ ...SAMPLE, at }));
  let turns = 1;
  while (files.sumUp(DAY)) turns++;
  assert.ok(turns > 2, `${turns} turns`);
  const sections: number[] = [];
  const { covered } = walkSections(
    readFileSync(sums),
    statSync(log).size,
    ({ at }) => void sections.push((at - START) / 900),
  );
  assert.deepEqual(
    sections,
    Array.from({ length: 44 }, (_, i) => i),
  );
  assert.equal(sumQuarters(readFileSync(log).subarray(covered), covered), '', 'nothing is over that is not summed up');
  const lines: string[] = [];
  files.readSums(
    DAY,
    { from: START, until: START + 86_400 },
    (bytes, start, end) => void lines.push(bytes.toString('latin1', start, end)),
  );
  assert.equal(lines.length, 44 + (40_000 - 44 * 900) / 5);
});
