// A process is identified by pid and start time.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { isRunning, startTime } from '../../../daemon/core/process.ts';

test('a process runs under its own start time alone', () => {
  const started = startTime(process.pid);
  assert.match(started ?? '', /^\d+$/);
  assert.equal(isRunning(process.pid, started!), true);
  assert.equal(isRunning(process.pid, '1'), false);
  assert.equal(startTime(4_000_000_000), null);
});

test('a killed process that has not been reaped counts as gone', async () => {
  const script =
    'import os, time; pid = os.fork(); pid or os.kill(os.getpid(), 9); print(pid, flush=True); time.sleep(60)';
  const parent = spawn('python3', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  const zombie = Number(String((await once(parent.stdout, 'data'))[0]).trim());
  const deadline = Date.now() + 5_000;
  while (startTime(zombie) !== null && Date.now() < deadline) await new Promise(resolve => setImmediate(resolve));
  assert.ok(existsSync(`/proc/${zombie}/stat`), 'still in the process table');
  assert.equal(startTime(zombie), null);
  parent.kill('SIGKILL');
});
