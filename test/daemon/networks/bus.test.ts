// Networks are followed again after gdbus has ended; a gdbus that is missing, or always ends, is reported once.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readText } from '../../../daemon/core/files.ts';
import { monitorNetworks } from '../../../daemon/networks/bus.ts';
import { signal } from '../../support/signal.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

test('says once that gdbus is missing', async t => {
  const reasons: string[] = [];
  const monitor = monitorNetworks(
    { PATH: temporary(t, 'empty') },
    () => {},
    reason => void reasons.push(reason),
  );
  t.after(() => monitor.stop());
  await until(() => reasons.length > 0);
  const other = monitorNetworks(
    { PATH: temporary(t, 'empty') },
    () => {},
    () => reasons.push('again'),
  );
  other.stop();
  assert.equal(reasons.length, 1);
});

/** A directory with a gdbus, which appends its process to a file. */
function gdbus(t: TestContext, script: string): { path: string; pids(): number[] } {
  const path = temporary(t, 'gdbus');
  writeFileSync(join(path, 'gdbus'), `#!/bin/sh\necho $$ >>${path}/pids\n${script}\n`, { mode: 0o755 });
  const pids = () => readText(join(path, 'pids'))?.trim().split('\n').map(Number) ?? [];
  return { path: `${path}:${process.env.PATH}`, pids };
}

test('a gdbus that was killed is started again, and what it did not see is read', async t => {
  const { path, pids } = gdbus(t, 'exec sleep 1000');
  let changes = 0;
  const monitor = monitorNetworks({ PATH: path }, () => void changes++, assert.fail, 1);
  t.after(() => monitor.stop());
  await until(() => pids().length === 3);
  assert.equal(changes, 0);
  signal(pids()[1]!, 'SIGKILL');
  await until(() => pids().length === 4 && changes === 1);
});

test('a gdbus that always ends is reported once', async t => {
  const { path, pids } = gdbus(t, 'exit 1');
  const reasons: string[] = [];
  const monitor = monitorNetworks(
    { PATH: path },
    () => {},
    reason => void reasons.push(reason),
    1,
  );
  t.after(() => monitor.stop());
  await until(() => pids().length >= 12);
  assert.deepEqual(reasons, ['gdbus ends each time that it is started']);
});
