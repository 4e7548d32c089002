// A daemon whose runtime directory goes away makes it again, and no second daemon starts on the same state.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, rmdirSync, rmSync, watch, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { keepRuntime } from '../../daemon/runtime-files.ts';
import { paths as pathsOf } from '../../daemon/system/paths.ts';
import { bundledOnce } from '../support/built.ts';
import { createHome, culvert, type Home } from '../support/daemon/command.ts';
import { raw, request } from '../support/daemon/listeners.ts';
import { freePort } from '../support/ports.ts';
import { temporary } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const program = join(bundledOnce('daemon'), 'main.cjs');

function start(t: TestContext, home: Home, env: NodeJS.ProcessEnv = {}): ChildProcess & { said: string } {
  const words = ['--no-open', '--no-tray', '--no-panel', '--port', String(freePort())];
  const child = spawn(process.execPath, [program, ...words], { env: { ...home.env, ...env } });
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

test('notices a second loss after a directory that vanished file by file', async t => {
  const paths = pathsOf({ HOME: temporary(t, 'home'), XDG_RUNTIME_DIR: temporary(t, 'run') });
  const files = [paths.socket, paths.record, paths.statusFile, paths.lock];
  const servers: Server[] = [];
  const make = async () => {
    mkdirSync(paths.runtime, { recursive: true });
    for (const file of files.slice(1)) writeFileSync(file, '');
    const server = createServer().listen(paths.socket);
    servers.push(server);
    await once(server, 'listening');
  };
  await make();
  const end = keepRuntime(paths, make, () => {});
  t.after(() => {
    end();
    for (const server of servers) server.close();
  });
  for (let loss = 0; loss < 2; loss++) {
    const directory = watch(paths.runtime, { persistent: false });
    for (const file of files) {
      rmSync(file);
      await once(directory, 'change');
    }
    rmdirSync(paths.runtime);
    directory.close();
    await until(() => files.every(file => existsSync(file)));
  }
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
