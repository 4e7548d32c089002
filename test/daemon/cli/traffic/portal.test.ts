// `culvert portal`: WARP is off only while the login page is open, and comes back however that ends.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { createClient } from '../../../../daemon/api/client.ts';
import { signIn, type World } from '../../../../daemon/cli/commands/traffic/portal.ts';
import type { Context } from '../../../../daemon/cli/context.ts';
import { createTransport } from '../../../../daemon/cli/transport.ts';
import type { SignInEnd } from '../../../../daemon/killswitch/report.ts';
import type { Verdict } from '../../../../daemon/networks/portal/probe.ts';
import type { SignInWindow } from '../../../../daemon/networks/portal/sign-in-window.ts';
import { NO_KILL_SWITCH } from '../../../../daemon/state/store.ts';
import { createHome, culvert, startDaemon } from '../../../support/daemon/command.ts';
import { until } from '../../../support/until.ts';

const login: Verdict = { network: 'login', loginPage: 'http://login.example/' };
const open: Verdict = { network: 'open', loginPage: null };

async function stage(
  t: TestContext,
  verdicts: Verdict[],
  browser: 'stays' | 'is closed' | 'is missing' = 'stays',
  ended: SignInEnd = 'closed',
) {
  const home = createHome(t);
  const { daemon, performed } = await startDaemon(t, home, (state, action) => {
    state.set('status', { ...state.snapshot().status, state: action === 'connect' ? 'connecting' : 'disconnected' });
    return null;
  });
  const { state } = daemon;
  state.set('status', { ...state.snapshot().status, state: 'unable' });
  const opened: string[] = [];
  const windows: number[] = [];
  let closed = 0;
  let closeWindow = () => {};
  const closedWindow = new Promise<SignInEnd>(resolve => {
    closeWindow = () => resolve(ended);
  });
  const window: SignInWindow = {
    closed: closedWindow,
    port: 4242,
    connect: () => Promise.reject(new Error('not here')),
    close() {
      closeWindow();
      return closedWindow;
    },
  };
  const world: World = {
    probe: async () => (verdicts.length > 1 ? verdicts.shift()! : verdicts[0]!),
    browse(url, port) {
      opened.push(port === null ? url : `${url} by ${port}`);
      if (browser === 'is missing') return null;
      const ended = browser === 'is closed' ? Promise.resolve() : new Promise<void>(() => {});
      return {
        ended,
        async close() {
          closed += 1;
        },
      };
    },
    async openWindow(seconds) {
      windows.push(seconds);
      return window;
    },
    async prove() {
      if (performed.at(-1)?.[0] !== 'connect') throw new Error('WARP is off');
      return 'Proof: a request came through the tunnel.';
    },
    betweenMs: 1,
    lastMs: 1,
  };
  const said: string[] = [];
  const printed: unknown[] = [];
  const context = {
    client: createClient(createTransport(home.socket)),
    json: ended === 'closed',
    isDemo: () => false,
    signal: new AbortController().signal,
    print: (text: string) => void printed.push(text.startsWith('{') ? JSON.parse(text) : text),
    say: (text: string) => void said.push(text),
  } as unknown as Context;
  const run = (request: { onlyChecks?: true; opens?: true } = {}) =>
    signIn(context, { onlyChecks: false, opens: false, seconds: 300, ...request }, world);
  const block = () => state.set('killSwitch', { ...NO_KILL_SWITCH, enabled: true, active: true });
  return {
    home,
    state,
    run,
    block,
    opened,
    windows,
    closedWindow,
    performed,
    said,
    printed,
    closed: () => closed,
  };
}
const actions = (performed: [string, unknown][]) => performed.map(([action]) => action);

test('opens the page with WARP paused, and brings WARP back once the network lets two tests through', async t => {
  const { run, opened, performed, printed, closed } = await stage(t, [login, login, open, login, open, open]);
  assert.equal(await run(), 0);
  assert.deepEqual([opened, actions(performed), closed()], [['http://login.example/'], ['disconnect', 'connect'], 1]);
  assert.deepEqual(printed, [{ ok: true, network: 'open', signedIn: true, ended: null }]);
});

test('a browser that is closed before the login brings WARP back as well', async t => {
  const { run, performed, printed } = await stage(t, [login], 'is closed');
  assert.equal(await run(), 1);
  assert.deepEqual(actions(performed), ['disconnect', 'connect']);
  assert.deepEqual(printed, [{ ok: false, network: 'login', signedIn: false, ended: null }]);
});

test('names the page where there is no browser, and leaves WARP off where it was off', async t => {
  const { run, state, performed, said } = await stage(t, [login, login, open], 'is missing');
  state.set('status', { ...state.snapshot().status, state: 'disconnected' });
  assert.equal(await run(), 0);
  assert.deepEqual([performed, said], [[], ['Open this page in a browser: http://login.example/']]);
});

test('opens nothing where there is no login page, or only to check', async t => {
  const free = await stage(t, [open]);
  assert.equal(await free.run(), 0);
  const checking = await stage(t, [login]);
  assert.equal(await checking.run({ onlyChecks: true }), 1, 'a script can tell by the exit status');
  const broken = await stage(t, [{ network: 'unreachable', loginPage: null }]);
  assert.equal(await broken.run(), 1);
  for (const { opened, performed } of [free, checking, broken]) assert.deepEqual([opened, performed], [[], []]);
});

test('opens a page by hand where no login page is found, until the browser is closed', async t => {
  const missed = await stage(t, [open], 'is closed');
  assert.equal(await missed.run({ opens: true }), 0);
  assert.deepEqual([missed.opened, actions(missed.performed)], [['http://example.com/'], ['disconnect', 'connect']]);
  const blocked = await stage(t, [open], 'is closed');
  blocked.block();
  assert.equal(await blocked.run({ opens: true }), 0);
  assert.deepEqual(blocked.opened, ['http://example.com/ by 4242']);
  // a network that answers nothing yet is waited for as one with a login page
  const silent = await stage(t, [{ network: 'unreachable', loginPage: null }, login, open, open]);
  assert.equal(await silent.run({ opens: true }), 0);
  assert.equal(silent.closed(), 1);
});

test('contacts nothing while WARP is connected', async t => {
  const { home, state } = await stage(t, [login]);
  state.set('status', { ...state.snapshot().status, state: 'connected' });
  const through = await culvert(home, ['portal']);
  assert.equal(through.stdout, 'WARP is connected: no sign-in needed here.\n');
  const wrong = await culvert(home, ['portal', '--minutes', '16']);
  assert.match(wrong.stderr, /--minutes takes a number from 1 to 15/);
});

test('with the kill switch on, the browser goes through the window, and WARP comes back', async t => {
  const { run, block, opened, windows, closedWindow, performed, said } = await stage(t, [login, login, open, open]);
  block();
  assert.equal(await run(), 0);
  await closedWindow;
  assert.deepEqual([opened, windows], [['http://login.example/ by 4242'], [300]]);
  assert.deepEqual(actions(performed), ['disconnect', 'connect']);
  assert.equal(said.at(-1), 'Proof: a request came through the tunnel.');
});

test('with the kill switch on, a browser that is killed closes the window, and so does a daemon that dies', async t => {
  const killed = await stage(t, [login], 'is closed');
  killed.block();
  assert.equal(await killed.run(), 1);
  await killed.closedWindow;
  assert.ok(!killed.said.some(line => line.startsWith('Proof')), 'nothing to prove');
  const alone = await stage(t, [login]);
  alone.block();
  const running = alone.run().catch(error => error);
  await until(() => alone.opened.length > 0);
  rmSync(alone.home.socket);
  await alone.closedWindow;
  await running;
});

test('with the kill switch on, the end of a sign-in from outside is named, and the last test in JSON', async t => {
  const unreachable: Verdict = { network: 'unreachable', loginPage: null };
  const ends: [SignInEnd, RegExp][] = [
    ['time', /^The time for the sign-in is over/],
    ['network', /another network/],
    ['tunnel', /WARP connected/],
    ['unblocked', /turned off or paused/],
    ['away', /locked/],
    ['logout', /logged out/],
    ['sleep', /sleep/],
    ['helper', /-u culvert-killswitch-sign-in$/],
    ['service', /-u culvert-killswitch$/],
  ];
  for (const [ended, words] of ends) {
    const { run, block, printed } = await stage(t, [login, unreachable], 'is closed', ended);
    block();
    assert.equal(await run(), 1);
    assert.match(String(printed), words);
  }
  const { run, block, printed } = await stage(t, [login, unreachable], 'is closed');
  block();
  await run();
  assert.deepEqual(printed, [{ ok: false, network: 'unreachable', signedIn: false, ended: 'closed' }]);
});

test('with the kill switch on, a test alone opens the window for two minutes, with WARP off and no page', async t => {
  const { run, block, opened, windows, closedWindow, performed, printed } = await stage(t, [login]);
  block();
  assert.equal(await run({ onlyChecks: true }), 1);
  await closedWindow;
  assert.deepEqual([opened, windows], [[], [120]]);
  assert.deepEqual(actions(performed), ['disconnect', 'connect']);
  assert.deepEqual(printed, [{ ok: true, network: 'login', loginPage: 'http://login.example/', signedIn: false }]);
});
