// `culvert logs`: the last entries, and those that come, each once.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import type { LogEntry } from '../../../../daemon/api/schema.ts';
import { createHome, culvert, ended, prints, start, startDaemon, startHome } from '../../../support/daemon/command.ts';

const entry = (name: string, more: Partial<LogEntry> = {}): Omit<LogEntry, 'id'> => ({
  at: '2026-01-01T10:00:00.000Z',
  source: 'action',
  argv: ['warp-cli', name],
  ok: true,
  exitCode: 0,
  durationMs: 12.4,
  stdout: 'Success\n',
  stderr: '',
  ...more,
});

test('logs shows the last entries, oldest first, and why one failed', async t => {
  const { home, daemon } = await startHome(t);
  assert.equal((await culvert(home, ['logs'])).stdout, 'No command was run yet.\n');
  daemon.log.append(entry('connect'));
  daemon.log.append(entry('mode', { argv: ['warp-cli', 'mode', 'a b\x1b[0m'] }));
  daemon.log.append(entry('disconnect', { ok: false, exitCode: 1, stderr: 'Error: no\nmore\n' }));
  daemon.log.append(entry('status', { ok: false, exitCode: null, stdout: '' }));
  assert.equal(
    (await culvert(home, ['logs'])).stdout,
    '10:00:00 ✓ warp-cli connect  12 ms\n' +
      "10:00:00 ✓ warp-cli mode 'a b [0m'  12 ms\n" +
      '10:00:00 ✗ warp-cli disconnect  12 ms\n         exit 1: Error: no\n' +
      '10:00:00 ✗ warp-cli status  12 ms\n         killed\n',
  );
  const { entries } = JSON.parse((await culvert(home, ['logs', '--limit', '2', '--json'])).stdout);
  assert.deepEqual(
    entries.map((e: LogEntry) => e.argv[1]),
    ['disconnect', 'status'],
  );
  assert.equal((await culvert(home, ['logs', '-n', 'all'])).code, 2);
});

test('logs --follow goes on with what comes, once each, also after the daemon was restarted', async t => {
  const home = createHome(t);
  const first = await startDaemon(t, home);
  for (const name of ['one', 'two', 'three']) first.daemon.log.append(entry(name));
  const child = await start(home, ['logs', '--follow', '--limit', '2', '--json']);
  await prints(child, 'stdout', /three/);
  first.daemon.log.append(entry('four'));
  await prints(child, 'stdout', /four/);
  rmSync(home.socket);
  await first.listeners.close('restart', 0);
  const second = await startDaemon(t, home);
  second.daemon.log.append(entry('five'));
  await prints(child, 'stdout', /five/);
  second.daemon.log.append(entry('six'));
  await prints(child, 'stdout', /six/);
  child.kill('SIGINT');
  const { code, stdout } = await ended(child);
  assert.equal(code, 0);
  const names = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).argv[1]);
  assert.deepEqual(names, ['two', 'three', 'four', 'five', 'six']);
});
