// The panel's kill switch, apps, log and history as a person uses them.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { missing } from '../support/gnome/desktop.ts';
import { app, logEntry, recorded } from '../support/gnome/initial.ts';
import { daemon, stage, succeed, usePages } from '../support/gnome/pages.ts';
import { until } from '../support/until.ts';

const SWITCH = 'Kill Switch';
const BLOCKED = 'Internet is blocked';

describe('the pages', { skip: missing('xdotool'), concurrency: false }, () => {
  const { find, press, gone, type, positions } = usePages();

  describe('the kill switch', () => {
    test('asks, waits, and moves when the event arrives', async () => {
      await find('Off: if the tunnel drops, traffic continues unprotected.');
      let answer = () => {};
      daemon.onAsked = async asked => {
        await new Promise<void>(resolve => {
          answer = resolve;
        });
        return succeed(asked);
      };
      await press(SWITCH);
      await stage.asked(1);
      assert.deepEqual(daemon.asked[0], { line: 'POST /api/killswitch', body: { enabled: true, allowLan: false } });
      assert.deepEqual(await positions(SWITCH), [false, false], 'no optimistic state');
      answer();
      await find('On: traffic outside the tunnel is blocked.');
      await until(async () => (await stage.toggle(SWITCH)).sensitive, 'the switch');
      assert.deepEqual(await positions(SWITCH), [true, true]);
      await stage.turn('killswitch');
      await find('Other programs can’t turn it off');
      await find('Traffic is blocked before the network is up');
    });

    test('that blocks while the tunnel is down says so across the window, and offers a pause', async () => {
      daemon.set('killSwitch', { enabled: true, active: true });
      await find(BLOCKED);
      const said = async () => (await stage.names()).filter(name => name === BLOCKED).length;
      assert.equal(await said(), 1, 'the page of the connection says it once');
      await stage.turn('mode');
      await find(BLOCKED);
      await press('Pause Kill Switch 5 min');
      await stage.asked(1);
      assert.deepEqual(daemon.asked[0]!.body, { seconds: 300 });
      daemon.set('status', { state: 'connected' });
      await gone(BLOCKED);
    });
  });

  describe('the apps', () => {
    const proxy = async () => {
      daemon.set('settings', { Mode: 'proxy' });
      daemon.set('tunnel', { proxyPort: 40000 });
      daemon.set('status', { state: 'connected' });
      await stage.turn('apps');
      stage.key('ctrl+r');
      await find(
        'Apps that you start here use WARP; everything else bypasses it. Proxy for other apps: 127.0.0.1:40000',
      );
    };
    beforeEach(() => {
      daemon.apps = [
        app('firefox', 'Firefox', { kind: 'firefox', method: 'profile' }),
        app('calc', 'Calculator', { method: 'none', note: 'Install proxychains4.' }),
        app('mail', 'Mail', { categories: ['Email'] }),
      ];
    });

    test('are offered while everything is tunneled, and starting one explains what changes', async () => {
      await stage.turn('apps');
      stage.key('ctrl+r');
      daemon.onAction = () => {
        daemon.set('settings', { Mode: 'proxy' });
        daemon.set('tunnel', { proxyPort: 40000 });
      };
      await press('Start Firefox');
      await find('Tunnel only chosen apps?');
      await press('Cancel');
      await gone('Tunnel only chosen apps?');
      assert.deepEqual([daemon.actions, daemon.asked], [[], []], 'declining changes nothing');
      await press('Start Firefox');
      await press('Tunnel Chosen Apps');
      await find('Firefox started in the tunnel');
      assert.deepEqual(daemon.actions, [{ action: 'enableLocalProxy' }]);
      assert.deepEqual(daemon.asked.at(-1)!.body, { appId: 'firefox.desktop' });
    });

    test('are offered shortcuts once the mode was changed for them', async () => {
      await stage.turn('apps');
      stage.key('ctrl+r');
      daemon.onAction = () => daemon.set('settings', { Mode: 'proxy' });
      await press('Tunnel Only Chosen Apps');
      await press('Tunnel Chosen Apps');
      await find('Add these to the app menu, started in the tunnel?');
      await press('Mail');
      await press('Add');
      await find('1 app added');
      assert.deepEqual(daemon.asked, [
        { line: 'POST /api/apps/shortcut', body: { appId: 'firefox.desktop', present: true } },
      ]);
    });

    test('are started, with a test of the tunnel first where that is wanted', async () => {
      await proxy();
      await press('Start Firefox');
      await find('Firefox started in the tunnel');
      await press('Check the tunnel first');
      await press('Start Mail');
      await stage.asked(2);
      assert.deepEqual(
        daemon.asked.map(({ body }) => body),
        [{ appId: 'firefox.desktop' }, { appId: 'mail.desktop', verify: true }],
      );
      await press('Check the tunnel first');
    });

    test('are started only through the tunnel, without the proxy, and get a shortcut that does so', async () => {
      daemon.set('settings', { Mode: 'warp' });
      daemon.set('killSwitch', { installed: true });
      await stage.turn('apps');
      stage.key('ctrl+r');
      await press('Firefox: More');
      await press('Start Only Through the Tunnel');
      await find('Firefox started. It uses the tunnel only.');
      await press('Firefox: More');
      await press('Add to App Menu, Only Through the Tunnel');
      await find('Firefox is in the app menu');
      await press('Firefox: More');
      await press('Remove from App Menu, Only Through the Tunnel');
      await find('Firefox removed from the app menu');
      const shortcut = (present: boolean) => ({ appId: 'firefox.desktop', present, way: 'tunnel-only' });
      assert.deepEqual(daemon.asked, [
        { line: 'POST /api/apps/tunnel-launcher', body: { appId: 'firefox.desktop' } },
        { line: 'POST /api/apps/shortcut', body: shortcut(true) },
        { line: 'POST /api/apps/shortcut', body: shortcut(false) },
      ]);
    });
  });

  describe('the log', () => {
    const log = async (...entries: ReturnType<typeof logEntry>[]) => {
      daemon.entries = entries;
      await stage.turn('log');
      stage.key('ctrl+r');
    };

    test('says when there is nothing yet, and shows what comes', async () => {
      await log();
      await find('No commands yet');
      daemon.log(logEntry(1, 'warp-cli connect'));
      await find('warp-cli connect, OK');
    });

    test('shows failures, and unfolds their output', async () => {
      await log(
        logEntry(1, 'warp-cli mode moon', { ok: false, exitCode: 2, stdout: '', stderr: 'invalid value: moon' }),
      );
      await press('warp-cli mode moon, exit 2');
      await find('invalid value: moon');
      await press('Copy this command and its output');
      await find('Copied');
    });

    test('leaves out routine reads until they are asked for', async () => {
      await stage.turn('log');
      await find('Hide status checks');
      await log(logEntry(1, 'warp-cli tunnel stats', { source: 'read' }));
      await find('Only status checks so far');
      daemon.log(logEntry(2, 'warp-cli settings', { source: 'read', ok: false, exitCode: 1 }));
      await find('warp-cli settings, exit 1');
      assert.ok(!(await stage.names()).includes('warp-cli tunnel stats, OK'));
    });

    test('is searched in commands and their output', async () => {
      await log(logEntry(1, 'warp-cli connect'), logEntry(2, 'warp-cli dns log', { stdout: 'needle' }));
      await find('warp-cli connect, OK');
      stage.key('ctrl+f');
      type('needle');
      await gone('warp-cli connect, OK');
      await find('warp-cli dns log, OK');
      stage.key('ctrl+a');
      stage.x('key', 'BackSpace');
      await find('warp-cli connect, OK');
    });

    test('starts over with another daemon', async () => {
      await log(logEntry(7, 'warp-cli old'));
      await find('warp-cli old, OK');
      const stopped = daemon.stop();
      await stopped;
      daemon.entries = [logEntry(1, 'warp-cli new')];
      await daemon.listen();
      await find('warp-cli new, OK');
      await gone('warp-cli old, OK');
    });
  });

  describe('the history', () => {
    test('shows a sentence, the strip, the newest events, and more of them when asked', async () => {
      daemon.history = recorded(60);
      await stage.turn('history');
      stage.key('ctrl+r');
      await stage.shows('Today: connected');
      await stage.shows('. Connected from ');
      await find('Latency: from 12 ms to 12 ms, 12 ms on average');
      await find('All traffic, via Amsterdam');
      await press('Show More');
      await gone('Show More');
    });

    test('shows the chart that a tab or a search chooses, and folds tables', async () => {
      daemon.history = recorded();
      await stage.turn('history');
      stage.key('ctrl+r');
      await press('Packet loss');
      await find('Packet loss: from 1 % to 1 %, 1 % on average');
      await gone('Latency: from 12 ms to 12 ms, 12 ms on average');
      await press('Speed');
      await find('Speed: received (solid), sent (dashed)');
      await gone('4 × You are offline');
      await press('Totals');
      await find('4 × You are offline');
      await press('Totals');
      await stage.turn('settings');
      await stage.enter('Search settings', 'packet loss');
      stage.key('Return');
      await find('Packet loss: from 1 % to 1 %, 1 % on average');
      assert.equal(await stage.ask({ do: 'focused' }), 'Packet loss');
    });

    test('is deleted after a question, and then shows that there is nothing', async () => {
      await stage.turn('preferences');
      await press('Delete the history: Delete…');
      await find('Delete the history?');
      await press('Delete');
      await stage.asked(1);
      assert.deepEqual(daemon.asked[0], { line: 'POST /api/history/clear', body: {} });
      await stage.turn('history');
      await find('Nothing recorded');
    });
  });

  test('says across the window that other machines have access, and what is not encrypted', async () => {
    const title = 'Remote access is on. Culvert does not encrypt these connections.';
    daemon.send('remoteAccess', { address: null });
    await find(title);
    daemon.send('remoteAccess', null);
    await gone(title);
  });
});
