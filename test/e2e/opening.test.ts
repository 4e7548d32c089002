// The browser page is opened at start, by a second start and by `culvert web`, and not otherwise.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createHome, culvert, program } from '../support/e2e/culvert.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

/** A home with an unused display, and a browser that writes down its arguments. */
function createDesktop(t: TestContext, environment: Record<string, string>) {
  const home = createHome(t);
  const bin = join(home.directory, 'bin');
  const record = join(home.directory, 'opened');
  mkdirSync(bin);
  writeFileSync(record, '');
  writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\necho "$1" >>'${record}'\n`, { mode: 0o755 });
  Object.assign(home.env, { PATH: `${bin}:${home.env.PATH}`, DISPLAY: ':4173' }, environment);
  const port = freePort();
  const address = `http://127.0.0.1:${port}/`;
  const opened = () => readFileSync(record, 'utf8').split('\n').filter(Boolean);

  /** Starts the daemon without tray and panel, and waits until it answers, or ends because another one runs. */
  async function start(...flags: string[]) {
    const words = ['--demo', '--no-tray', '--no-panel', '--port', String(port), ...flags];
    const child = spawn(program, words, { env: home.env, stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(child, 'exit');
    home.defer(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece));
    await until(() => said.includes('answers on') || child.exitCode !== null, 'the daemon answers');
    return { ended };
  }
  /** The pages opened so far; a page that `culvert web` opens shows that no other is on its way. */
  async function openedBefore() {
    const before = opened().length;
    await culvert(home, 'web');
    await until(() => opened().length > before, '"culvert web" opens the page');
    return opened().slice(0, -1);
  }
  return { home, address, opened, openedBefore, start };
}

test('a start opens the page where it is on, and so does a second start', async t => {
  const { home, address, opened, start } = createDesktop(t, { CULVERT_WEBUI: '1' });
  await start();
  await until(() => opened().length === 1);
  await (await start()).ended;
  await until(() => opened().length === 2);
  const { stdout } = await culvert(home, 'web');
  assert.equal(stdout, `${address}\n`);
  await until(() => opened().length === 3);
  assert.deepEqual(opened(), [address, address, address]);
});

test('with --no-open neither the first nor a second start nor "culvert web" opens it', async t => {
  const { home, address, openedBefore, start } = createDesktop(t, { CULVERT_WEBUI: '1' });
  await start('--no-open');
  await (await start('--no-open')).ended;
  const { code, stdout } = await culvert(home, 'web', '--no-open');
  assert.deepEqual([code, stdout], [0, `${address}\n`]);
  assert.deepEqual(await openedBefore(), []);
});

test('a page that is off is not opened before "culvert web" turns it on', async t => {
  const { openedBefore, start } = createDesktop(t, {});
  await start();
  assert.deepEqual(await openedBefore(), []);
});

test('with ui.openBrowser off nothing opens the page', async t => {
  const { home, opened, openedBefore, start } = createDesktop(t, { CULVERT_WEBUI: '1', CULVERT_UI_OPEN_BROWSER: '0' });
  await start();
  assert.equal((await culvert(home, 'web')).code, 0);
  delete home.env.CULVERT_UI_OPEN_BROWSER;
  await culvert(home, 'stop');
  await start('--no-open');
  assert.deepEqual([await openedBefore(), opened().length], [[], 1]);
});

test('the systemd unit neither turns the page on nor opens it', () => {
  const unit = readFileSync('data/culvert.service.in', 'utf8');
  assert.match(unit, /^ExecStart=\S+ --no-open --no-tray --no-panel$/m);
  assert.doesNotMatch(unit, /webui|^Environment/im);
});
