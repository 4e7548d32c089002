// The tray as a host sees it: a scripted watcher on a private bus, and a scripted daemon.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { ConnectionState } from '../../daemon/api/schema.ts';
import { createDaemon, type FakeDaemon, problem } from './daemon.ts';
import { type Ask, type Desktop, missing, openDesktop, type Running, startDriver, until } from './desktop.ts';

interface Entry {
  id: number;
  label?: string;
  type?: string;
  enabled?: boolean;
}
interface Item {
  sizes: [number, number, number][];
  colour: string;
  picture: string;
  title: string;
  text: string;
  properties: string[];
}

describe('the tray', { skip: missing(), concurrency: false }, () => {
  let desktop: Desktop;
  let daemon: FakeDaemon;
  let tray: Running;
  let ask: Ask;
  const item = () => ask({ do: 'item' }) as Promise<Item>;
  const menu = () => ask({ do: 'menu' }) as Promise<Entry[]>;
  const items = () => ask({ do: 'items' }) as Promise<string[]>;
  const title = (text: string) => until(`the tooltip "${text}"`, async () => (await item()).title === text);
  const asked = (count: number) => until(`${count} actions`, () => daemon.actions.length === count);
  const click = async (label: string) => {
    const entry = (await menu()).find(candidate => candidate.label === label);
    assert.ok(entry, `no "${label}" in the menu`);
    await ask({ do: 'click', id: entry.id });
  };
  const startTray = () => desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'tray.js')]);
  const program = (name: string, script: string) => {
    mkdirSync(join(desktop.prefix, 'bin'), { recursive: true });
    const path = join(desktop.prefix, 'bin', name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
  };

  before(async () => {
    desktop = await openDesktop();
    daemon = createDaemon(desktop.socket);
    await daemon.listen();
    ask = startDriver(desktop, 'host.py');
    tray = startTray();
    await until('the stream', () => daemon.streams() === 1);
    await until('the word about the missing host', () => /shows no tray icons/.test(tray.output()));
    await ask({ do: 'appear' });
    await until('the registration', async () => (await items()).length === 1);
  });
  beforeEach(async () => {
    daemon.onAction = () => {};
    daemon.actions = [];
    daemon.set('tunnelCli', { emulated: false });
    daemon.set('status', { state: 'disconnected', reason: null, blocked: null, raw: 'x' });
    if (tray.child.exitCode === null) await title('Disconnected');
  });
  after(async () => {
    await desktop.close();
    await daemon.stop();
  });

  test('the menu has the toggle first, then state, mode, open and quit', async () => {
    assert.deepEqual(
      (await menu()).map(({ label, type, enabled }) => label ?? type ?? enabled),
      ['Connect', 'Disconnected', 'Mode: WARP', 'separator', 'Open Culvert', 'Quit'],
    );
  });

  test('the toggle asks, is not sensitive while that is pending, and follows the event', async () => {
    await click('Connect');
    await asked(1);
    await until('the toggle to wait', async () => (await menu())[0]!.enabled === false);
    daemon.set('status', { state: 'connecting' });
    await until('the toggle to cancel', async () => (await menu())[0]!.label === 'Cancel');
    daemon.set('status', { state: 'connected' });
    await title('Connected');
    assert.deepEqual((await menu())[0], { id: 1, label: 'Disconnect', enabled: true });
    assert.deepEqual(daemon.actions, [{ action: 'connect' }]);
  });

  test('a click on what has become insensitive does nothing', async () => {
    daemon.set('status', { state: 'disconnecting' });
    await title('Disconnecting…');
    await ask({ do: 'click', id: 1 });
    await ask({ do: 'secondary' });
    assert.deepEqual(daemon.actions, []);
  });

  test('a middle click toggles', async () => {
    await ask({ do: 'secondary' });
    await asked(1);
    daemon.set('status', { state: 'connected' });
    await title('Connected');
    await ask({ do: 'secondary' });
    await asked(2);
    assert.deepEqual(daemon.actions, [{ action: 'connect' }, { action: 'disconnect' }]);
  });

  test('each state has a picture of its own, in every size a panel asks for', async () => {
    const pictures = new Set<string>();
    for (const state of ConnectionState.options) {
      await ask({ do: 'signals' });
      daemon.set('status', { state, raw: `Status update: ${state}` });
      await until(`the picture of ${state}`, async () => !pictures.has((await item()).picture));
      const { picture, sizes } = await item();
      pictures.add(picture);
      assert.deepEqual(
        sizes,
        [16, 22, 24, 32, 48].map(size => [size, size, size * size * 4]),
      );
    }
    daemon.set('status', { state: 'unable', blocked: 'not-registered' });
    await until('the picture of a blocked state', async () => !pictures.has((await item()).picture));
    assert.equal((await item()).text, 'This device is not registered.');
    assert.equal(pictures.size, ConnectionState.options.length);
  });

  test('the tooltip says the reason, escaped, and that a demo is one', async () => {
    daemon.set('tunnelCli', { emulated: true });
    daemon.set('status', { state: 'unable', reason: { code: null, text: 'no <route> & no luck' } });
    await title('Demo: Unable to connect');
    assert.match((await item()).text, /no &lt;route&gt; &amp; no luck/);
    assert.equal((await menu())[1]!.label, 'Demo: Unable to connect');
  });

  test('the host is told what changed, and only that', async () => {
    await ask({ do: 'signals' });
    daemon.set('tunnel', { latencyMs: 7, at: new Date().toISOString() });
    daemon.set('settings', { Mode: 'doh' });
    await until('the mode', async () => (await menu()).some(entry => entry.label === 'Mode: DNS over HTTPS only'));
    assert.deepEqual(await ask({ do: 'signals' }), ['ItemsPropertiesUpdated']);
    daemon.set('settings', { Mode: 'warp' });
  });

  test('it answers for every property that a host may ask for', async () => {
    const asked = ['IconPixmap', 'OverlayIconPixmap', 'AttentionIconPixmap', 'ToolTip', 'Menu', 'ItemIsMenu', 'Status'];
    const { properties } = await item();
    for (const name of asked) assert.ok(properties.includes(name), name);
  });

  test('a refusal is told, and nothing stays pending', async () => {
    daemon.onAction = () => {
      throw problem('tunnel-cli-failed', 502, 'warp-cli ended with 1.');
    };
    await click('Connect');
    await until('the word', () => tray.output().includes('warp-cli ended with 1.'));
    assert.equal((await menu())[0]!.enabled, true);
  });

  test('it registers again when the host restarts, and has complained about its absence once', async () => {
    await ask({ do: 'vanish' });
    assert.deepEqual(await items(), []);
    await ask({ do: 'appear' });
    await until('the registration', async () => (await items()).length === 1);
    await title('Disconnected');
    assert.equal(tray.output().match(/shows no tray icons/g)?.length, 1);
  });

  test('it shows the loss of the daemon, offers to start one, and finds it again', async () => {
    const started = join(desktop.directory, 'started');
    program('culvert', `echo "$@" >> '${started}'`);
    await daemon.stop();
    await title('Unavailable');
    assert.equal((await menu())[0]!.enabled, false);
    await click('Start Culvert');
    await until('the start', () => existsSync(started));
    await daemon.listen();
    await title('Disconnected');
    assert.ok(!(await menu()).some(entry => entry.label === 'Start Culvert'));
  });

  test('a second tray leaves at once', async () => {
    const second = startTray();
    assert.equal(await second.exited, 0);
    assert.match(second.output(), /already running/);
  });

  test('a left click opens the panel', async () => {
    const opened = join(desktop.directory, 'opened');
    writeFileSync(
      join(desktop.prefix, 'share', 'culvert', 'panel.js'),
      `imports.gi.GLib.file_set_contents('${opened}', 'yes')`.replace(
        'imports.gi.GLib',
        '(await import("gi://GLib")).default',
      ),
    );
    await ask({ do: 'activate' });
    await until('the panel', () => existsSync(opened));
  });

  test('quit ends the tray and has the daemon stopped', async () => {
    const stopped = join(desktop.directory, 'stopped');
    program('culvert', `echo "$@" > '${stopped}'`);
    await click('Quit');
    assert.equal(await tray.exited, 0);
    await until('the stop', () => existsSync(stopped));
  });
});
