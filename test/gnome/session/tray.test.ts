// The tray as a host sees it: its menu, pictures, start and end.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ConnectionState } from '../../../daemon/api/schema.ts';
import { FRUGAL } from '../../../daemon/launcher.ts';
import { problem } from '../../support/gnome/daemon.ts';
import { missing, talk } from '../../support/gnome/desktop.ts';
import { change } from '../../support/gnome/initial.ts';
import {
  ask,
  asked,
  click,
  daemon,
  desktop,
  item,
  items,
  menu,
  program,
  startTray,
  title,
  tray,
  useTray,
} from '../../support/gnome/tray.ts';
import { until } from '../../support/until.ts';

const skip = spawnSync('sh', ['-c', 'command -v msgfmt']).status !== 0 && 'needs gettext';

describe('the tray', { skip: missing(), concurrency: false }, () => {
  useTray();

  test('the toggle asks, is not sensitive while that is pending, and follows the event', async () => {
    await click('Connect');
    await asked(1);
    await until(async () => (await menu())[0]!.enabled === false, 'the toggle to wait');
    daemon.set('status', { state: 'connecting' });
    await until(async () => (await menu())[0]!.label === 'Cancel', 'the toggle to cancel');
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

  test('each state has its own picture, in every size a panel asks for', async () => {
    const pictures = new Set<string>();
    for (const state of ConnectionState.options) {
      await ask({ do: 'signals' });
      daemon.set('status', { state, raw: `Status update: ${state}` });
      await until(async () => !pictures.has((await item()).picture), `the picture of ${state}`);
      const { picture, sizes } = await item();
      pictures.add(picture);
      assert.deepEqual(
        sizes,
        [16, 22, 24, 32, 48].map(size => [size, size, size * size * 4]),
      );
    }
    daemon.set('status', { state: 'unable', blocked: 'not-registered' });
    await until(async () => !pictures.has((await item()).picture), 'the picture of a blocked state');
    assert.equal((await item()).text, 'This device is not set up.');
    assert.equal(pictures.size, ConnectionState.options.length);
  });

  test('the host is notified of changes only', async () => {
    await ask({ do: 'signals' });
    daemon.set('tunnel', { latencyMs: 7, at: new Date().toISOString() });
    daemon.set('settings', { Mode: 'doh' });
    await until(async () => (await menu()).some(entry => entry.label === 'Mode: DNS only'), 'the mode');
    const heard: unknown[] = [];
    await until(async () => heard.push(...((await ask({ do: 'signals' })) as unknown[])) > 0, 'a signal');
    assert.deepEqual(heard, ['ItemsPropertiesUpdated']);
    daemon.set('settings', { Mode: 'warp' });
  });

  test('a state that ends is shown, extended and ended, and its last minute is notified of', async () => {
    daemon.onAsked = () => ({ ok: true, changes: [] });
    const off = change('connection', { value: 'off', endsAt: new Date(Date.now() + 900_000).toISOString() });
    daemon.setChanges([off]);
    const shown = async () => (await menu()).map(({ label }) => label ?? '');
    await until(async () => (await shown()).some(label => /^Back on at .*\d\d:\d\d$/.test(label)), 'the end');
    daemon.setChanges([{ ...off, endingSoon: true }]);
    await until(() => tray.output().includes('WARP is back on in a minute: Back on at'), 'the notification');
    await click('15 Minutes More');
    await click('Connect Now');
    await until(() => daemon.actions.length === 1, 'the action');
    assert.equal(daemon.asked[0]?.line, 'POST /api/changes/extend');
    assert.deepEqual(daemon.actions, [{ action: 'connect' }]);
    daemon.setChanges([]);
    daemon.set('status', { state: 'connected' });
    await until(async () => !(await shown()).includes('Connect Now'), 'the end of it');
  });

  test('the tunnel is turned off for a while from the menu', async () => {
    daemon.set('status', { state: 'connected' });
    await title('Connected');
    assert.ok((await menu()).some(({ label }) => label === 'Pause WARP'));
    await ask({ do: 'click', id: 25 }); // the first entry of its submenu
    await asked(1);
    assert.deepEqual(daemon.actions, [{ action: 'disconnect', forSeconds: 900 }]);
    // then the length that was used last comes first
    daemon.setLastPause(1800);
    const offered = async () => JSON.stringify(await ask({ do: 'tree' })).match(/Pause for [\w ]+/g)?.[0];
    await until(async () => (await offered()) === 'Pause for 30 minutes', 'the last length');
  });

  test('a mode that is chosen in the menu reverts unless it is kept, and a notification asks for that', async () => {
    daemon.set('status', { state: 'connected' });
    await title('Connected');
    const doh = change('mode', { value: 'doh', confirmBy: new Date(Date.now() + 600_000).toISOString() });
    daemon.onAction = () => {
      daemon.set('settings', { Mode: 'doh' });
      daemon.setChanges([doh]);
    };
    daemon.onAsked = () => ({ ok: true, changes: [] });
    await ask({ do: 'click', id: 102 });
    await until(() => tray.output().includes('Keep this change?: Mode: DNS only. Reverts at '), 'the question');
    assert.deepEqual(daemon.actions, [{ action: 'setMode', value: 'doh', confirmWithin: 30 }]);
    await click('Keep');
    await until(() => daemon.asked.some(({ line }) => line === 'POST /api/changes/confirm'), 'the confirmation');
    daemon.setChanges([]);
    daemon.set('settings', { Mode: 'warp' });
    daemon.onAction = () => {};
  });

  test('it answers for every property that a host may ask for', async () => {
    const asked = ['IconPixmap', 'OverlayIconPixmap', 'AttentionIconPixmap', 'ToolTip', 'Menu', 'ItemIsMenu', 'Status'];
    const { properties } = await item();
    for (const name of asked) assert.ok(properties.includes(name), name);
    assert.ok((await menu()).some(({ type }) => type === 'separator'));
  });

  test('a refusal is shown, and nothing stays pending', async () => {
    daemon.onAction = () => {
      throw problem('tunnel-cli-failed', 502, 'warp-cli ended with 1.');
    };
    await click('Connect');
    await until(() => tray.output().includes('warp-cli ended with 1.'), 'the word');
    assert.equal((await menu())[0]!.enabled, true);
  });

  test('it registers again when the host restarts, and has complained about its absence once', async () => {
    await ask({ do: 'vanish' });
    assert.deepEqual(await items(), []);
    await ask({ do: 'appear' });
    await until(async () => (await items()).length === 1, 'the registration');
    await title('Disconnected');
    assert.equal(tray.output().match(/shows no tray icons/g)?.length, 1);
  });

  test('it shows the loss of the daemon, offers to start one, and finds it again', async () => {
    const started = join(desktop.directory, 'started');
    program('culvert', `env > '${started}.new'; mv '${started}.new' '${started}'`);
    await daemon.stop();
    await title('Unavailable');
    assert.equal((await menu())[0]!.enabled, false);
    await click('Start Culvert');
    await until(() => existsSync(started), 'the start');
    assert.doesNotMatch(
      readFileSync(started, 'utf8'),
      /^(MALLOC_|GJS_DISABLE_JIT=)/m,
      'what is meant for the tray alone',
    );
    await daemon.listen();
    await title('Disconnected');
    assert.ok(!(await menu()).some(entry => entry.label === 'Start Culvert'));
  });

  test('a second tray exits immediately', async () => {
    const second = startTray();
    assert.equal(await second.exited, 0);
    assert.match(second.output(), /already running/);
  });

  test('a left click opens the panel', async () => {
    const opened = join(desktop.directory, 'opened');
    const found = `${JSON.stringify(Object.keys(FRUGAL))}.map(name => [name, GLib.getenv(name)])`;
    writeFileSync(
      join(desktop.prefix, 'share', 'culvert', 'panel.js'),
      `import GLib from 'gi://GLib';
      GLib.file_set_contents('${opened}', JSON.stringify(Object.fromEntries(${found})))`,
    );
    await ask({ do: 'activate' });
    await until(() => existsSync(opened), 'the panel');
    assert.deepEqual(JSON.parse(readFileSync(opened, 'utf8')), FRUGAL);
  });

  test('quit ends the tray and has the daemon stopped', async () => {
    const stopped = join(desktop.directory, 'stopped');
    program('culvert', `echo "$@" > '${stopped}'`);
    await click('Quit Culvert');
    assert.equal(await tray.exited, 0);
    await until(() => existsSync(stopped), 'the stop');
  });

  test('the window’s entry to quit ends the tray as well', { skip: missing('xdotool') }, async () => {
    const stopped = join(desktop.directory, 'stopped-again');
    program('culvert', `echo "$@" > '${stopped}'`);
    const before = (await items()).length;
    const again = startTray();
    await until(async () => (await items()).length > before, 'its registration');
    const panel = desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'inside.js')]);
    const window = talk(panel);
    await window({ do: 'press', name: 'Main Menu' });
    await window({ do: 'press', name: 'Quit Culvert' });
    assert.deepEqual(await Promise.all([again.exited, panel.exited]), [0, 0]);
    await until(() => existsSync(stopped) && readFileSync(stopped, 'utf8') === 'stop\n', 'the stop');
  });

  test('its menu runs from right to left in Arabic', { skip }, async () => {
    daemon.setConfig({ ui: { locale: 'ar' } });
    const before = (await items()).length;
    const translated = startTray();
    await until(async () => (await items()).length > before, 'its registration');
    await until(async () => (await ask({ do: 'direction' })) === 'rtl', 'the direction');
    daemon.setConfig({ ui: { locale: 'en' } });
    await title('Disconnected');
    assert.equal(await ask({ do: 'direction' }), 'ltr');
    await click('Quit Culvert');
    assert.equal(await translated.exited, 0);
  });

  for (const locale of ['C', 'C.UTF-8'])
    test(`it speaks the language that is chosen where the desktop has the locale ${locale}`, { skip }, async () => {
      daemon.setConfig({ ui: { locale: 'ru' } });
      const before = (await items()).length;
      const translated = startTray({ LANG: locale });
      await until(async () => (await items()).length > before, 'its registration');
      await title('Отключено');
      daemon.setConfig({ ui: { locale: 'en' } });
      await title('Disconnected');
      await click('Quit Culvert');
      assert.equal(await translated.exited, 0);
    });
});
