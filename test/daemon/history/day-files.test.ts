// The files of the history, one a day: appending, damage, summaries and the size limit.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createDayFiles } from '../../../daemon/history/day-files.ts';
import { MAX_BYTES } from '../../../daemon/history/summarize.ts';
import { temporary } from '../../support/temporary.ts';
import { FULL } from '../../support/thoroughness.ts';

const DAY = '2026-11-21';
const sample = (at: number) => `${Date.parse(DAY) / 1000 + at} 5 1 1000 1000 1000 0 1 2\n`;

function setUp(t: Parameters<typeof temporary>[0]) {
  const directory = join(temporary(t), 'history');
  const files = createDayFiles(directory);
  const lines = (day = DAY) => {
    const found: string[] = [];
    files.read(day, (bytes, start, end) => found.push(bytes.toString('utf8', start, end)));
    return found;
  };
  return { directory, files, lines, path: join(directory, `${DAY}.log`) };
}

test('lines are read as they were appended, and only this user may read them', t => {
  const { files, lines, directory, path } = setUp(t);
  files.append(DAY, 'a\nb\n');
  files.append(DAY, 'c\n');
  assert.deepEqual(lines(), ['a', 'b', 'c']);
  assert.deepEqual([files.days(), files.has(DAY), files.has('2026-11-20')], [[DAY], true, false]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.deepEqual(lines('2026-11-20'), []);
});

test('the half line that a kill leaves is not read, and the next write cuts it off', t => {
  const { files, lines, path } = setUp(t);
  files.append(DAY, 'a\nb\n');
  writeFileSync(path, 'a\nb\nhal');
  assert.deepEqual(lines(), ['a', 'b']);
  files.append(DAY, 'c\n');
  assert.equal(readFileSync(path, 'utf8'), 'a\nb\nc\n');
  writeFileSync(path, 'hal');
  files.append(DAY, 'd\n');
  assert.equal(readFileSync(path, 'utf8'), 'd\n');
});

test('junk of any size is passed over', t => {
  const { files, lines, path } = setUp(t);
  files.append(DAY, 'a\n');
  writeFileSync(path, Buffer.concat([Buffer.from('a\n'), Buffer.alloc(200_000, 0xff), Buffer.from('\nb\n')]));
  assert.deepEqual([lines()[0], lines().at(-1)], ['a', 'b']);
  writeFileSync(path, Buffer.alloc(1_000_000));
  assert.deepEqual(lines(), []);
  files.append(DAY, 'c\n');
  assert.deepEqual(lines(), ['c']);
});

test('the last records of an earlier run are found at the end of the newest file, but not in the future', t => {
  const { files, path } = setUp(t);
  assert.deepEqual(files.left(DAY), { counters: null, lastAt: null });
  files.append(DAY, `= 1 2 3\n${sample(1)}= 4 5 6\n${sample(2)}`);
  files.append('2031-01-01', '= 7 8 9\n');
  utimesSync(path, 1_000, 1_000);
  const expected = { counters: { at: 4, received: 5, sent: 6 }, lastAt: 1_000_000 };
  assert.deepEqual(files.left(DAY), expected);
  writeFileSync(path.replace(DAY, '2026-11-22'), '');
  assert.deepEqual(files.left('2026-11-22'), expected, 'a file that a kill left empty');
});

test('older days are summed up and the oldest deleted, once', t => {
  const { files, directory } = setUp(t);
  const text = sample(1) + sample(2) + sample(61);
  for (const day of [DAY, '2026-11-20', '2026-11-19', '2026-11-10', '2026-08-22']) files.append(day, text);
  writeFileSync(join(directory, '2026-99-99.log'), 'x\n');
  writeFileSync(join(directory, 'note.txt'), 'x\n');
  files.maintain(DAY);
  const linesIn = (name: string) => readFileSync(join(directory, name), 'utf8').split('\n').length - 1;
  const after = readdirSync(directory).map(name => [name, linesIn(name)]);
  const expected = [
    ['2026-11-10.log', 2],
    ['2026-11-19.log', 3],
    ['2026-11-20.log', 3],
    ['2026-11-21.log', 3],
    ['2026-99-99.log', 1],
    ['note.txt', 1],
  ];
  assert.deepEqual(after.sort(), expected);
  const before = statSync(join(directory, '2026-11-19.log')).ino;
  files.maintain(DAY);
  assert.equal(statSync(join(directory, '2026-11-19.log')).ino, before);
});

test('quarters of an hour from earlier versions become hours, without a byte lost', t => {
  const { files, directory } = setUp(t);
  const quarters = (day: string) =>
    [0, 900, 1_800, 3_600].map(at => `${Date.parse(day) / 1000 + at} 900 2 2000 1000 4000 10 100 7\n`).join('');
  mkdirSync(directory);
  const days = ['2026-11-10', '2026-08-24'];
  for (const day of days) writeFileSync(join(directory, `${day}.log`), `# quarter\n${quarters(day)}`);
  writeFileSync(join(directory, `${DAY}.log`), sample(1));
  for (const day of [DAY, ...days]) writeFileSync(join(directory, `${day}.sums`), '@ 1 0 5\n');
  files.maintain(DAY);
  for (const day of days) {
    const start = Date.parse(day) / 1000;
    const hours = `${start} 2700 6 2000 1000 4000 10 300 21\n${start + 3_600} 900 2 2000 1000 4000 10 100 7\n`;
    assert.equal(readFileSync(join(directory, `${day}.log`), 'utf8'), `# hour\n${hours}`);
  }
  assert.deepEqual(readdirSync(directory).sort(), [...days, DAY].map(day => `${day}.log`).sort());
  assert.equal(readFileSync(join(directory, `${DAY}.log`), 'utf8'), sample(1));
});

test('a day that is summed up because it is full keeps the last counters, from which the next start goes on', t => {
  const { files, path } = setUp(t);
  files.append(DAY, Array.from({ length: 40_000 }, (_, i) => sample(i)).join(''));
  files.append(DAY, '= 1 2 3\n');
  const full = Array.from({ length: 20_000 }, (_, i) => sample(40_000 + i)).join('');
  files.append(DAY, `${full}= 100 500 70\n`);
  assert.match(readFileSync(path, 'utf8'), /^# minute\n/);
  assert.deepEqual(files.left(DAY).counters, { at: 100, received: 500, sent: 70 });
});

test('the whole never exceeds its size, however much happens', t => {
  const { files, directory } = setUp(t);
  const flood = `${JSON.stringify({ at: Date.parse(DAY), kind: 'state' })}\n`.repeat(FULL ? 40_000 : 8_000);
  for (let i = 0; i < 100; i++)
    files.append(new Date(Date.parse(DAY) - i * 86_400_000).toISOString().slice(0, 10), flood);
  const total = () => readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  files.maintain(DAY);
  assert.ok(total() <= MAX_BYTES, `${total()}`);
  assert.ok(files.has(DAY));
});

test('deleting removes every file, also after a deletion that was interrupted', t => {
  const { files, directory } = setUp(t);
  files.clear();
  files.append(DAY, 'a\n');
  mkdirSync(`${directory}.cleared`);
  writeFileSync(join(`${directory}.cleared`, 'old'), '');
  files.clear();
  assert.deepEqual([existsSync(directory), existsSync(`${directory}.cleared`)], [false, false]);
  mkdirSync(`${directory}.cleared`);
  createDayFiles(directory);
  assert.equal(existsSync(`${directory}.cleared`), false);
});

test('a link in the place of a file is not followed, and the reason is given', t => {
  const { files, directory, path, lines } = setUp(t);
  mkdirSync(directory);
  writeFileSync(join(directory, 'target'), 'secret\n');
  symlinkSync(join(directory, 'target'), path);
  assert.throws(() => files.append(DAY, 'a\n'), { name: 'FileError', code: 'ELOOP' });
  assert.deepEqual(lines(), []);
  assert.equal(readFileSync(join(directory, 'target'), 'utf8'), 'secret\n');
});
