// Global shortcuts of the tray, with a portal that a test scripts, over a real bus.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createDaemon, type FakeDaemon } from '../../support/gnome/daemon.ts';
import {
  type Ask,
  type Desktop,
  missing,
  openDesktop,
  type Running,
  startDriver,
  talk,
} from '../../support/gnome/desktop.ts';
import { change } from '../../support/gnome/initial.ts';
import { until } from '../../support/until.ts';

type Call = [method: string, ...args: unknown[]];

describe('global shortcuts', { skip: missing(), concurrency: false }, () => {
  let desktop: Desktop;
  let daemon: FakeDaemon;
  let portal: Running;
  let ask: Ask;
  let host: Ask;
  let tray: Running;
  const calls = async () => (await ask({ do: 'calls' })) as Call[];
  const names = async () => (await calls()).map(([method]) => method);
  const counted = async (name: string) => (await names()).filter(each => each === name).length;
  const bound = (times = 1) => until(async () => (await counted('BindShortcuts')) === times, 'the shortcuts');
  const turn = (shortcuts: boolean) => {
    daemon.config.config.tray.shortcuts = shortcuts;
    daemon.setConfig({});
  };
  const startPortal = () => {
    portal = desktop.start('/usr/bin/python3', ['-W', 'ignore', 'test/support/gnome/portal.py']);
    ask = talk(portal);
  };
  /** Once: a second press would end what the first began, and one before the tray shows the state is ignored. */
  const press = async (id: string, toggle: string, done: () => boolean) => {
    const isShown = async () => {
      const [first] = (await host({ do: 'menu' })) as { label: string; enabled: boolean }[];
      return first!.enabled && first!.label === toggle;
    };
    await until(isShown, `"${toggle}" in the menu`);
    await ask({ do: 'press', id });
    await until(done, () => `what ${id} does; the tray said: ${tray.output()}`);
  };
  const acted = async (id: string, toggle: string, action: unknown) => {
    const before = daemon.actions.length;
    await press(id, toggle, () => daemon.actions.length > before);
    assert.deepEqual(daemon.actions.slice(before), [action]);
  };

  beforeEach(async () => {
    desktop = await openDesktop('100x100');
    daemon = createDaemon(desktop.socket);
    await daemon.listen();
    daemon.set('tunnelCli', { emulated: false });
    startPortal();
    await ask({ do: 'calls' });
    host = startDriver(desktop, 'host.py');
    await host({ do: 'appear' });
    tray = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'tray.js')]);
    await until(() => daemon.streams() === 1, 'the stream');
    await until(async () => ((await host({ do: 'items' })) as string[]).length === 1, 'the registration');
  });
  afterEach(async () => {
    await desktop.close();
    await daemon.stop();
  });

  test('nothing is asked of the desktop until the user turns them on', async () => {
    daemon.set('status', { state: 'connected', reason: null, blocked: null, raw: 'x' });
    turn(true);
    await bound();
    assert.deepEqual(await names(), ['Register', 'CreateSession', 'BindShortcuts']);
    const [[, app], , [, , shortcuts]] = (await calls()) as [Call, Call, Call];
    assert.equal(app, 'org.culvert.Culvert');
    assert.deepEqual(
      (shortcuts as [string, { description: string }][]).map(([id]) => id),
      ['toggle', 'pause'],
    );
  });

  test('a key toggles the tunnel, and another one pauses it and ends the pause', async () => {
    daemon.set('status', { state: 'disconnected', reason: null, blocked: null, raw: 'x' });
    turn(true);
    await bound();
    await acted('toggle', 'Connect', { action: 'connect' });
    daemon.set('status', { state: 'connected' });
    await acted('pause', 'Disconnect', { action: 'disconnect', forSeconds: 900 });
    daemon.setChanges([change('connection', { value: 'off', endsAt: new Date(Date.now() + 60_000).toISOString() })]);
    daemon.set('status', { state: 'disconnected' });
    const before = daemon.asked.length;
    await press('pause', 'Connect Now', () => daemon.asked.length > before);
    assert.match(daemon.asked.at(-1)!.line, /changes/);
  });

  test('turned off, the session is closed', async () => {
    turn(true);
    await bound();
    turn(false);
    await until(async () => (await names()).at(-1) === 'Close', 'the end of the session');
  });

  test('they are bound again when the portal restarts, in a session of another name', async () => {
    const session = async () => (await calls()).find(([method]) => method === 'BindShortcuts')?.[1];
    turn(true);
    await bound();
    const first = await session();
    await portal.kill('SIGKILL');
    startPortal();
    await bound();
    assert.deepEqual(await names(), ['Register', 'CreateSession', 'BindShortcuts']);
    assert.notEqual(await session(), first);
  });

  for (const [what, prepare] of [
    ['a user who sets no keys', () => ask({ do: 'refuse' })],
    ['a desktop without the portal', () => portal.kill()],
  ] as const)
    test(`${what} has them off`, async () => {
      await prepare();
      turn(true);
      await until(() => daemon.asked.length > 0, 'the setting');
      assert.deepEqual(daemon.asked.at(-1)?.body, { tray: { shortcuts: false } });
    });
});
