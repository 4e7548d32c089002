// The command log: a ring of the latest commands.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { LogEntry } from '../../../daemon/api/schema.ts';
import { createLog } from '../../../daemon/state/store.ts';

const entry = (stdout = ''): Omit<LogEntry, 'id'> => ({
  at: '2026-01-01T00:00:00.000Z',
  source: 'read',
  argv: ['warp-cli', 'status'],
  ok: true,
  exitCode: 0,
  durationMs: 1,
  stdout,
  stderr: '',
});

test('entries get rising ids, come oldest first, and the ring forgets the oldest', () => {
  const told: number[] = [];
  const log = createLog({ capacity: 3, onEntry: ({ id }) => told.push(id) });
  assert.equal(log.lastId, 0);
  for (let count = 0; count < 5; count++) log.append(entry(String(count)));
  assert.deepEqual(told, [1, 2, 3, 4, 5]);
  assert.deepEqual(
    log.since(0, 10).map(({ id, stdout }) => [id, stdout]),
    [
      [3, '2'],
      [4, '3'],
      [5, '4'],
    ],
  );
  assert.deepEqual(
    log.since(4, 10).map(({ id }) => id),
    [5],
  );
  assert.deepEqual(
    log.since(0, 1).map(({ id }) => id),
    [3],
  );
  assert.deepEqual(log.since(5, 10), []);
  assert.equal(log.lastId, 5);
  assert.equal(log.capacity, 3);
});

test('a long output is cut in the log', () => {
  const stored = createLog({ capacity: 1 }).append(entry('x'.repeat(1_000_000)));
  assert.ok(stored.stdout.length < 20_000);
  assert.match(stored.stdout, /\[cut in the log\]$/);
});
