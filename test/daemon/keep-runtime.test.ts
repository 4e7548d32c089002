// A daemon whose runtime directory goes away makes it again, and no second daemon starts on the same state.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { paths as pathsOf } from '../../daemon/system/paths.ts';
import { bundleProgram } from '../../data/build/bundle.mjs';
import { createHome, culvert, type Home } from '../support/daemon/command.ts';
import { raw, request } from '../support/daemon/listeners.ts';
import { freePort } from '../support/ports.ts';
import { temporary } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const built = temporary({ after });
bundleProgram('daemon', join(built, 'daemon'));

function start(t: TestContext, home: Home, env: NodeJS.ProcessEnv = {}): ChildProcess & { said: string } {
  const words = ['--no-open', '--no-tray', '--no-panel', '--port', String(freePort())];
  const child = spawn(process.execPath, [join(built, 'daemon/main.cjs'), ...words], { env: { ...home.env, ...env } });
  t.after(() => child.kill('SIGKILL'));
  const daemon = Object.assign(child, { said: '' });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    daemon.said += text;
  });
  return daemon;
}

const answers = (socket: string) =>
  raw({ path: socket }, request('GET /api/health', 'localhost')).then(
    ({ status }) => status === 200,
    () => false,
  );

test('the runtime directory and its files are made again when they are removed', async t => {
  const home = createHome(t);
  const paths = pathsOf(home.env);
  const daemon = start(t, home);
  await until(
    () => answers(paths.socket),
    () => daemon.said,
  );
  const files = [paths.socket, paths.record, paths.statusFile, paths.lock];
  for (const gone of [...files, paths.runtime, join(home.path, 'run')]) {
    rmSync(gone, { recursive: true });
    await until(
      async () => files.every(file => existsSync(file)) && (await answers(paths.socket)),
      () => `${gone}: ${daemon.said}`,
    );
    assert.equal(lstatSync(paths.runtime).mode & 0o777, 0o700);
  }
  assert.equal((await culvert(home, ['stop'])).code, 0);
  assert.ok(files.every(file => !existsSync(file)));
});

test('a second daemon with another runtime directory does not start on the same state', async t => {
  const home = createHome(t);
  const first = start(t, home);
  await until(
    () => answers(home.socket),
    () => first.said,
  );
  const second = start(t, home, { XDG_RUNTIME_DIR: temporary(t, 'runtime') });
  await once(second, 'close');
  assert.match(second.said, new RegExp(`already running.*process ${first.pid}`));
  assert.match(second.said, new RegExp(`kill ${first.pid}`));
  // and stop finds the first one from there
  const stopped = await culvert(home, ['stop'], '', { XDG_RUNTIME_DIR: temporary(t, 'runtime') });
  assert.deepEqual([stopped.code, stopped.stdout], [0, `Stopped the daemon (pid ${first.pid}).\n`]);
});
