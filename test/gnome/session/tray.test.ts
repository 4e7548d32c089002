// The tray as a host sees it: a scripted watcher on a private bus, and a scripted daemon.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { NetworksState } from '../../../daemon/api/networks.ts';
import { ConnectionState } from '../../../daemon/api/schema.ts';
import { FRUGAL } from '../../../daemon/launcher.ts';
import { createDaemon, type FakeDaemon, problem } from '../../support/gnome/daemon.ts';
import {
  type Ask,
  type Desktop,
  missing,
  openDesktop,
  type Running,
  startDriver,
  talk,
} from '../../support/gnome/desktop.ts';
import { change, initialConfig } from '../../support/gnome/initial.ts';
import { link } from '../../support/networks/mocks.ts';
import { until } from '../../support/until.ts';

interface Entry {
  id: number;
  label?: string;
  type?: string;
  enabled?: boolean;
}
interface Item {
  sizes: [number, number, number][];
  color: string;
  picture: string;
  title: string;
  text: string;
  properties: string[];
}

const skip = spawnSync('sh', ['-c', 'command -v msgfmt']).status !== 0 && 'needs gettext';

describe('the tray', { skip: missing(), concurrency: false }, () => {
  let desktop: Desktop;
  let daemon: FakeDaemon;
  let tray: Running;
  let ask: Ask;
  const item = () => ask({ do: 'item' }) as Promise<Item>;
  const menu = () => ask({ do: 'menu' }) as Promise<Entry[]>;
  const items = () => ask({ do: 'items' }) as Promise<string[]>;
  const title = (text: string) => until(async () => (await item()).title === text, `the tooltip "${text}"`);
  const asked = (count: number) => until(() => daemon.actions.length === count, `${count} actions`);
  const click = async (label: string) => {
    const entry = (await menu()).find(candidate => candidate.label === label);
    assert.ok(entry, `no "${label}" in the menu`);
    await ask({ do: 'click', id: entry.id });
  };
  const startTray = (env: NodeJS.ProcessEnv = {}) =>
    desktop.start('gjs', ['-m', join(desktop.prefix, 'share', 'culvert', 'tray.js')], env);
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
    tray = startTray(FRUGAL);
    await until(() => daemon.streams() === 1, 'the stream');
    await until(() => /shows no tray icons/.test(tray.output()), 'the word about the missing host');
    await ask({ do: 'appear' });
    await until(async () => (await items()).length === 1, 'the registration');
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
      [
        'Connect',
        'Disconnected',
        'Mode: All traffic',
        'separator',
        'Kill Switch: install it in Culvert…',
        'separator',
        'Open Culvert',
        'Settings',
        'Quit Culvert',
      ],
    );
  });

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
  });

  test('a refusal is shown, and nothing stays pending', async () => {
    daemon.onAction = () => {
      throw problem('tunnel-cli-failed', 502, 'warp-cli ended with 1.');
    };
    await click('Connect');
    await until(() => tray.output().includes('warp-cli ended with 1.'), 'the word');
    assert.equal((await menu())[0]!.enabled, true);
  });

  describe('a notification', () => {
    interface Note {
      id: number;
      summary: string;
      body: string;
      actions: string[];
      closed: boolean;
      picture: string;
    }
    const notes = () => ask({ do: 'notes' }) as Promise<Note[]>;
    const noted = async (summary: string) => {
      let found: Note | undefined;
      await until(async () => {
        found = (await notes()).find(note => note.summary === summary && !note.closed);
        return found !== undefined;
      }, `the notification "${summary}"`);
      return found!;
    };
    const setLevel = (level: 'everything' | 'needs-me' | 'nothing') => {
      const { config } = initialConfig();
      daemon.config = { ...daemon.config, config: { ...config, notifications: { level } } };
      daemon.send('config', daemon.config);
    };
    const lose = async (code: string, text = '') => {
      daemon.set('status', { state: 'connected', reason: null });
      await title('Connected');
      daemon.set('status', { state: 'unable', reason: { code, text } });
    };

    test('a connection problem replaces the previous one, has one button that helps, and disappears with its cause', async () => {
      await ask({ do: 'notify', capabilities: ['actions', 'body', 'body-markup'] });
      daemon.set('settings', { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE' });
      daemon.onAction = ({ action }) => {
        if (action === 'setProtocol') daemon.set('settings', { Mode: 'warp', 'WARP tunnel protocol': 'WireGuard' });
      };
      await lose('HappyEyeballsFailed');
      const first = await noted('No Cloudflare server could be reached');
      assert.deepEqual(first.actions, ['default', 'Open Culvert', 'act', 'Use HTTP/2']);
      await ask({ do: 'invoke', id: first.id, key: 'act' });
      await asked(1);
      assert.deepEqual(daemon.actions, [{ action: 'setMasqueOptions', value: 'h2-only' }]);
      daemon.set('status', { state: 'connected', reason: null });
      const back = await noted('Connected');
      assert.deepEqual([back.id, back.actions], [first.id, ['default', 'Open Culvert']]);
      assert.equal(back.picture, (await item()).picture, 'the shape is that of the state');
      assert.notEqual(back.picture, first.picture);
      setLevel('needs-me');
      await until(async () => (await notes()).every(({ closed }) => closed), 'its end');
      daemon.set('status', { state: 'disconnected', reason: { code: 'x', text: '' } });
      const second = await noted('Disconnected');
      assert.deepEqual(second.actions, ['default', 'Open Culvert', 'act', 'Reconnect']);
      const opened = join(desktop.directory, 'opened-by-notification');
      writeFileSync(
        join(desktop.prefix, 'share', 'culvert', 'panel.js'),
        `import GLib from 'gi://GLib'; GLib.file_set_contents('${opened}', '')`,
      );
      await ask({ do: 'invoke', id: second.id, key: 'default' });
      await until(() => existsSync(opened), 'the window');
      assert.equal(daemon.actions.length, 1, 'a click on the text changes nothing');
      await ask({ do: 'invoke', id: second.id, key: 'act' });
      await asked(2);
      assert.deepEqual(daemon.actions[1], { action: 'connect' });
    });

    test('at its level, a problem that needs the user is shown, and follows the state', async () => {
      await ask({ do: 'notify', capabilities: ['actions', 'body', 'body-markup'] });
      setLevel('needs-me');
      const before = (await notes()).length;
      const open = async () => (await notes()).filter(({ closed }) => !closed).map(({ summary }) => summary);
      await lose('HappyEyeballsFailed');
      await title('No Cloudflare server could be reached');
      assert.equal((await notes()).length, before, 'WARP still tries');
      await lose('CaptivePortalTimedOut');
      const { id, actions } = await noted('This network wants you to sign in');
      assert.deepEqual(actions, ['default', 'Open Culvert', 'act', 'Open Sign-in Page']);
      daemon.set('status', { state: 'disconnected', reason: { code: 'x', text: '' } });
      assert.equal((await noted('Disconnected')).id, id, 'it is replaced');
      setLevel('nothing');
      await until(async () => (await open()).length === 0, 'its end');
      await lose('CaptivePortalTimedOut');
      await title('This network wants you to sign in');
      assert.deepEqual(await open(), []);
      setLevel('everything');
    });

    test('about a login page leads to the window, which says what a sign-in does, and another reverts what a rule did', async () => {
      await ask({ do: 'notify', capabilities: ['actions', 'body', 'body-markup'] });
      setLevel('everything');
      const networks = {
        service: 'NetworkManager' as const,
        links: [link('wlan0', { name: 'Café', connectivity: 'portal' })],
        rules: [],
        decision: { links: [{ device: 'wlan0', rule: null }], effects: [] },
        acted: null,
        reverted: false,
        problem: null,
      };
      const show = (state: NetworksState | null) => {
        daemon.snapshot = { ...daemon.snapshot, networks: state };
        daemon.send('networks', state);
      };
      show(networks);
      const login = await noted('This network has a login page');
      assert.deepEqual([login.body, login.actions.at(-1)], ['Wi-Fi “Café”', 'Sign In…']);
      const opened = join(desktop.directory, 'opened-for-sign-in');
      writeFileSync(
        join(desktop.prefix, 'share', 'culvert', 'panel.js'),
        `import GLib from 'gi://GLib'; GLib.file_set_contents('${opened}', ARGV.join(' '))`,
      );
      await ask({ do: 'invoke', id: login.id, key: 'act' });
      await until(() => existsSync(opened), 'the window');
      show({
        ...networks,
        links: [link('wlan0', { name: 'Home' })],
        acted: { rule: 'home', at: '2026-01-01T00:00:00.000Z' },
      });
      const acted = await noted('The rule “home” changed settings here');
      await ask({ do: 'invoke', id: acted.id, key: 'act' });
      await until(() => daemon.asked.some(({ line }) => line === 'POST /api/networks/revert'), 'the request');
      show(null);
    });

    test('another one of its kind takes the place of the last one', async () => {
      daemon.onAction = () => {
        throw problem('tunnel-cli-failed', 502, `It failed ${daemon.actions.length} times.`);
      };
      const before = (await notes()).length;
      for (const times of [1, 2, 3]) {
        await click('Connect');
        const body = async () => (await noted('WARP could not be connected')).body;
        await until(async () => (await body()) === `It failed ${times} times.`, 'the failure');
        await until(async () => (await menu())[0]!.enabled, 'the end of the action');
      }
      assert.equal((await notes()).length, before + 1);
    });

    test('says what WARP says as text, and not as markup', async () => {
      daemon.onAction = () => {
        throw problem('tunnel-cli-failed', 502, 'Error: <b>a & b</b>');
      };
      await click('Connect');
      const body = async () => (await noted('WARP could not be connected')).body;
      await until(async () => (await body()).includes('&lt;b&gt;a &amp; b&lt;/b&gt;'), 'the text');
      // one that shows text as it is, and no buttons
      await ask({ do: 'notify', capabilities: ['body'] });
      await click('Connect');
      await until(async () => (await body()).includes('<b>a & b</b>'), 'the text');
      await lose('HappyEyeballsFailed');
      assert.deepEqual((await noted('No Cloudflare server could be reached')).actions, []);
    });

    test('a window that fails at its start is reported, with the command that says why', async () => {
      const panel = join(desktop.prefix, 'share', 'culvert', 'panel.js');
      rmSync(panel);
      await ask({ do: 'activate' });
      const missing = await noted('The window could not be opened');
      assert.ok(missing.body.includes(`-m ${panel}`), missing.body);
      assert.equal((await items()).length, 1, 'the tray goes on');
    });
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
