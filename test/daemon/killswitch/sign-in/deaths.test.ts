// `kill -9` of each process that takes part in a sign-in, as root in network namespaces: the window closes, no matter which one is gone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { createClient } from '../../../../daemon/api/client.ts';
import { signIn } from '../../../../daemon/cli/commands/traffic/portal.ts';
import type { Context } from '../../../../daemon/cli/context.ts';
import { createTransport } from '../../../../daemon/cli/transport.ts';
import { openBrowser } from '../../../../daemon/networks/portal/browser.ts';
import { findLogin } from '../../../../daemon/networks/portal/probe.ts';
import { createHome } from '../../../support/daemon/command.ts';
import { type LoginPageStage, setLoginPage } from '../../../support/killswitch/login-page.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { bundleScript } from '../../../support/script.ts';
import { signal } from '../../../support/signal.ts';
import { temporary } from '../../../support/temporary.ts';
import { until } from '../../../support/until.ts';

/** Five seconds are promised; a busy machine takes some to look. */
const CLOSES = { limitMs: 8_000, pollMs: 100 };

/** Listens at the socket that it is given, and says that the kill switch is on. */
const DAEMON = `
  import { symlinkSync } from 'node:fs';
  import { startListeners } from '${resolve('test/support/daemon/listeners.ts')}';
  import { NO_KILL_SWITCH } from '${resolve('daemon/state/store.ts')}';
  const { daemon, socket } = await startListeners({ after() {} });
  symlinkSync(socket, process.argv[2]);
  daemon.state.set('status', { ...daemon.state.snapshot().status, state: 'disconnected' });
  daemon.state.set('killSwitch', { ...NO_KILL_SWITCH, enabled: true, active: true });
  console.log('ready');`;
const program = bundleScript({ text: DAEMON }, temporary({ after }, 'daemon'));

/** A daemon in a process of its own. */
async function startDaemon(t: TestContext) {
  const home = createHome(t);
  const daemon = spawn(process.execPath, [program, home.socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => daemon.kill('SIGKILL'));
  await once(daemon.stdout, 'data');
  return { home, daemon };
}

/** Signs in as `culvert portal` does, with a browser that shows nothing. */
async function startSignIn(stage: LoginPageStage, t: TestContext) {
  const { home, daemon } = await startDaemon(t);
  const [bin, pidFile] = [join(home.path, 'bin'), join(home.path, 'browser')];
  mkdirSync(bin);
  writeFileSync(join(bin, 'firefox'), `#!/bin/sh\necho $$ >${pidFile}\nexec sleep infinity\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}`, DISPLAY: ':none' };
  const ending = new AbortController();
  const context = {
    client: createClient(createTransport(home.socket)),
    json: false,
    isDemo: () => false,
    signal: ending.signal,
    print() {},
    say() {},
  } as unknown as Context;
  let probes = 0;
  const running = signIn(
    context,
    { onlyChecks: false, opens: false, seconds: 300 },
    {
      probe(connect) {
        probes += 1;
        return findLogin(connect);
      },
      browse: (url, port) => openBrowser(url, home.path, env, port),
      openWindow: stage.open,
      detect: () => Promise.reject(new Error('unused')),
      prove: async () => null,
      betweenMs: 100,
      lastMs: 2_000,
    },
  ).catch(error => error);
  t.after(async () => {
    ending.abort();
    await running;
  });
  const browser = await until(() => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : 0), 'the browser');
  return { daemon, browser, running, probes: () => probes };
}

for (const [what, kill] of [
  ['the helper', stage => signal(stage.helperPid(), 'SIGKILL')],
  ['the root service', stage => stage.kill()],
  ['the daemon', (_, { daemon }) => daemon.kill('SIGKILL')],
  ['the browser', (_, { browser }) => signal(browser, 'SIGKILL')],
  [
    'the browser on a network that swallows packets during a test',
    async (stage, { browser, probes }) => {
      await stage.swallow();
      const before = probes();
      await until(() => probes() > before, 'the next test');
      signal(browser, 'SIGKILL');
    },
  ],
] as [string, (stage: LoginPageStage, parts: Awaited<ReturnType<typeof startSignIn>>) => unknown][])
  test(`the window closes after kill -9 of ${what}`, { skip: missing }, async t => {
    const stage = await setLoginPage('form');
    t.after(stage.end);
    const parts = await startSignIn(stage, t);
    assert.equal(await stage.reaches(), true);
    await kill(stage, parts);
    const killed = performance.now();
    await until(async () => !(await stage.isOpen()), 'the window to close', CLOSES);
    t.diagnostic(`closed after ${Math.round(performance.now() - killed)} ms`);
    assert.equal(await stage.reaches(), false);
    await parts.running;
    assert.equal(await stage.isOpen(), false);
  });
