// The notifications of the tray, as a notification server sees them.
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { NetworksState } from '../../../daemon/api/networks.ts';
import { problem } from '../../support/gnome/daemon.ts';
import { missing } from '../../support/gnome/desktop.ts';
import { initialConfig } from '../../support/gnome/initial.ts';
import { ask, asked, click, daemon, desktop, item, items, menu, title, useTray } from '../../support/gnome/tray.ts';
import { link } from '../../support/networks/mocks.ts';
import { until } from '../../support/until.ts';

describe('a notification of the tray', { skip: missing(), concurrency: false }, () => {
  useTray();

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
    for (const times of [1, 2, 3]) {
      await click('Connect');
      const body = async () => (await noted('WARP could not be connected')).body;
      await until(async () => (await body()) === `It failed ${times} times.`, 'the failure');
      await until(async () => (await menu())[0]!.enabled, 'the end of the action');
    }
    const failures = (await notes()).filter(({ summary }) => summary === 'WARP could not be connected');
    assert.equal(failures.length, 1);
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
