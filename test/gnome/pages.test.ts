// The panel's further pages as a person uses them, over AT-SPI: kill switch, apps, console, updates.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type FakeDaemon, problem } from './daemon.ts';
import { missing, until } from './desktop.ts';
import { app, KILL_SWITCH, logEntry, NO_KILL_SWITCH, noUpdate } from './initial.ts';
import { openStage, type Stage } from './stage.ts';

const SWITCH = 'Block traffic outside the tunnel';
const BLOCKED = 'Traffic is blocked by the kill switch';

describe('the pages', { skip: missing('xdotool'), concurrency: false }, () => {
  let stage: Stage;
  let daemon: FakeDaemon;
  const find = (name: string, ms?: number) => stage.find(name, ms);
  const press = (name: string) => stage.press(name);
  const gone = (name: string) => stage.gone(name);
  const positions = async (name: string) => {
    const { checked, sensitive } = await stage.toggle(name);
    return [checked, sensitive];
  };
  const type = (text: string) => stage.x('type', '--delay', '20', text);

  before(async () => {
    stage = await openStage();
    daemon = stage.daemon;
    await daemon.listen();
    await find('Disconnected');
  });
  let succeed: FakeDaemon['onAsked'];
  before(() => {
    succeed = daemon.onAsked;
  });
  beforeEach(async () => {
    Object.assign(daemon, { onAsked: succeed, onAction: () => {}, asked: [], actions: [] });
    daemon.set('killSwitch', KILL_SWITCH);
    daemon.set('settings', { Mode: 'warp' });
    daemon.set('tunnel', { proxyPort: null });
    daemon.set('status', { state: 'disconnected', reason: null, blocked: null });
    daemon.setUpdate(noUpdate());
    stage.key('ctrl+1');
    await find('Disconnected');
  });
  after(async () => {
    const said = stage.panel.output();
    await stage.desktop.close();
    await daemon.stop();
    assert.doesNotMatch(said, /CRITICAL|JS ERROR|WARNING/, 'GTK and GJS had nothing to complain about');
  });

  describe('the kill switch', () => {
    test('asks, waits, and moves when the event arrives', async () => {
      await find('Off: without the tunnel, traffic takes the ordinary way.');
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
      assert.deepEqual(await positions(SWITCH), [true, true]);
      await find('The kernel lets no other program remove the rules');
      await find('The rules are in place before the network is');
    });

    test('has a switch for the local network of its own', async () => {
      daemon.set('killSwitch', { enabled: true, active: true });
      await find('On: traffic outside the tunnel is blocked.');
      await press('Allow local network');
      await stage.asked(1);
      assert.deepEqual(daemon.asked[0]!.body, { enabled: true, allowLan: true });
      await until('the switch', async () => (await stage.toggle('Allow local network')).checked);
    });

    test('pauses from its menu, counts down while it is seen, and resumes', async () => {
      daemon.set('killSwitch', { enabled: true, active: true });
      await press('Pause');
      await press('15 minutes');
      await stage.asked(1);
      assert.deepEqual(daemon.asked[0], { line: 'POST /api/killswitch/pause', body: { seconds: 900 } });
      await find('Paused: nothing is blocked until the pause ends.');
      await until('the clock', async () => (await stage.names()).some(name => /^14:5\d left$/.test(name)));
      await press('Resume');
      await find('On: traffic outside the tunnel is blocked.');
      assert.deepEqual(daemon.asked[1]!.body, { seconds: 0 });
    });

    test('that blocks while the tunnel is down says so across the window, and offers to connect', async () => {
      daemon.set('killSwitch', { enabled: true, active: true });
      await find(BLOCKED);
      await press('Connect');
      await stage.acted(1);
      assert.deepEqual(daemon.actions[0], { action: 'connect' });
      daemon.set('status', { state: 'connected' });
      await gone(BLOCKED);
    });

    test('can be turned off where the tunnel cannot come up', async () => {
      daemon.set('killSwitch', { enabled: true, active: true });
      daemon.set('status', { state: 'unable', blocked: 'cli-missing' });
      await find(BLOCKED);
      await press('Turn Off');
      await stage.asked(1);
      assert.deepEqual(daemon.asked[0]!.body, { enabled: false, allowLan: false });
      await gone(BLOCKED);
    });

    test('that is wanted but not measured, or measured not to be there, says so', async () => {
      daemon.set('killSwitch', { enabled: true, active: null, detail: 'The service does not answer.' });
      await find('On, but whether it blocks could not be measured.');
      await find('The service does not answer.');
      daemon.set('killSwitch', { active: false });
      await find('On, but its rules are not in place: nothing is blocked.');
      await gone(BLOCKED);
    });

    test('that is not installed comes with the command that installs it, to copy', async () => {
      daemon.set('killSwitch', { ...NO_KILL_SWITCH, command: 'sudo install-it' });
      await find('Install it once, in a terminal:');
      assert.deepEqual(await positions(SWITCH), [false, false]);
      await press('Copy “sudo install-it”');
      await find('Copied to the clipboard');
    });

    test('that was denied stays where it is, and tells why', async () => {
      daemon.onAsked = () => {
        throw problem('killswitch-denied', 403, 'An administrator has to allow this.', { hint: 'Ask one.' });
      };
      await press(SWITCH);
      await find('An administrator has to allow this.');
      await press('Details');
      await find('An administrator has to allow this.\n\nAsk one.');
      await press('OK');
      await until('the switch', async () => (await stage.toggle(SWITCH)).sensitive);
      assert.equal((await stage.toggle(SWITCH)).checked, false);
    });
  });

  describe('the apps', () => {
    const proxy = async () => {
      daemon.set('settings', { Mode: 'proxy' });
      daemon.set('tunnel', { proxyPort: 40000 });
      daemon.set('status', { state: 'connected' });
      stage.key('ctrl+2');
      stage.key('ctrl+r');
      await find('The proxy listens on 127.0.0.1:40000');
    };
    beforeEach(() => {
      daemon.apps = [
        app('firefox', 'Firefox', { kind: 'firefox', method: 'profile' }),
        app('calc', 'Calculator', { method: 'none', note: 'Install proxychains4.' }),
        app('mail', 'Mail', { categories: ['Email'] }),
      ];
    });

    test('wait for the proxy, which one button turns on; then the console opens and shortcuts are offered', async () => {
      stage.key('alt+2');
      await find('The local proxy is off');
      daemon.onAction = () => {
        daemon.log(logEntry(900, 'warp-cli mode proxy'));
        daemon.set('settings', { Mode: 'proxy' });
      };
      await press('Turn On the Local Proxy');
      await find('warp-cli mode proxy, OK');
      await find('Make shortcuts in the menu of apps that start these through it?');
      assert.deepEqual(daemon.actions, [{ action: 'enableLocalProxy' }]);
      await stage.click('Mail');
      await press('Make Shortcuts');
      await find('1 shortcut made');
      assert.deepEqual(daemon.asked, [
        { line: 'POST /api/apps/shortcut', body: { appId: 'firefox.desktop', present: true } },
      ]);
    });

    test('are listed with how they take the proxy, and those that can’t are not to be started', async () => {
      await proxy();
      await find('Gets a profile of its own with the proxy set');
      await find('No way is known to send it through the proxy. Install proxychains4.');
      assert.equal((await find('Start Calculator')).sensitive, false);
      assert.deepEqual(await stage.ask({ do: 'unnamed' }), []);
    });

    test('are started, and the toast tells through which proxy', async () => {
      await proxy();
      await press('Start Firefox');
      await find('Firefox started through 127.0.0.1:40000, process 4321');
      await stage.click('Start only what is seen to use the tunnel');
      await press('Start Mail');
      await stage.asked(2);
      assert.deepEqual(
        daemon.asked.map(({ body }) => body),
        [{ appId: 'firefox.desktop' }, { appId: 'mail.desktop', verify: true }],
      );
      await stage.click('Start only what is seen to use the tunnel');
    });

    test('get and lose a shortcut', async () => {
      await proxy();
      await press('Make a shortcut for Mail');
      await find('Mail with the proxy is in the menu of apps');
      await press('Remove the shortcut of Mail');
      await find('Make a shortcut for Mail');
      assert.deepEqual(
        daemon.asked.map(({ body }) => body),
        [true, false].map(present => ({ appId: 'mail.desktop', present })),
      );
    });

    test('that fail to start say why', async () => {
      await proxy();
      daemon.onAsked = () => {
        throw problem('proxy-not-answering', 409, 'Nothing answers on port 40000.');
      };
      await press('Start Mail');
      await find('Nothing answers on port 40000.');
      assert.equal((await find('Start Mail')).sensitive, true);
    });

    test('are warned about while the tunnel is down', async () => {
      await proxy();
      daemon.set('status', { state: 'disconnected' });
      await find('The tunnel is not connected: apps started now can’t reach anything.');
    });

    test('are searched from the keyboard, a thousand of them as they are typed', async () => {
      daemon.apps = Array.from({ length: 1000 }, (_, i) => app(`app-${i}`, `Application ${i}`));
      await proxy();
      await find('Application 0');
      stage.key('ctrl+f');
      type('tion 777');
      await find('Start Application 777', 2000);
      await gone('Start Application 0');
      stage.key('ctrl+a');
      type('nothing like it');
      await find('No app matches the search.');
      stage.key('ctrl+a');
      stage.x('key', 'BackSpace');
      await find('Start Application 0');
    });
  });

  describe('the console', () => {
    const log = (...entries: ReturnType<typeof logEntry>[]) => {
      daemon.entries = entries;
      stage.key('ctrl+3');
      stage.key('ctrl+r');
    };

    test('says when there is nothing yet, and shows what comes', async () => {
      log();
      await find('No commands yet');
      daemon.log(logEntry(1, 'warp-cli connect'));
      await find('warp-cli connect, OK');
    });

    test('shows failures as such, and unfolds what was printed', async () => {
      log(logEntry(1, 'warp-cli mode moon', { ok: false, exitCode: 2, stdout: '', stderr: 'invalid value: moon' }));
      await find('exit 2');
      await press('warp-cli mode moon, exit 2');
      await find('invalid value: moon');
      await press('Copy this command and its output');
      await find('Copied to the clipboard');
      assert.deepEqual(await stage.ask({ do: 'unnamed' }), []);
    });

    test('leaves out routine reads until they are asked for', async () => {
      log(logEntry(1, 'warp-cli tunnel stats', { source: 'read' }));
      await find('There were only routine reads, which succeeded.');
      daemon.log(logEntry(2, 'warp-cli settings', { source: 'read', ok: false, exitCode: 1 }));
      await find('warp-cli settings, exit 1');
      assert.ok(!(await stage.names()).includes('warp-cli tunnel stats, OK'));
    });

    test('is searched in commands and their output', async () => {
      log(logEntry(1, 'warp-cli connect'), logEntry(2, 'warp-cli dns log', { stdout: 'needle' }));
      await find('warp-cli connect, OK');
      stage.key('ctrl+f');
      type('needle');
      await gone('warp-cli connect, OK');
      await find('warp-cli dns log, OK');
      stage.key('ctrl+a');
      stage.x('key', 'BackSpace');
      await find('warp-cli connect, OK');
    });

    test('follows the newest until the user scrolls up, and again at the end', async () => {
      log(...Array.from({ length: 500 }, (_, i) => logEntry(i + 1, `warp-cli number ${i + 1}`)));
      await find('warp-cli number 500, OK');
      daemon.log(logEntry(501, 'warp-cli number 501'));
      await until('the newest', () => seen('warp-cli number 501, OK'));
      const id = stage.window();
      stage.x('mousemove', '--window', id, '200', '400', 'click', '--repeat', '15', '4');
      await find('Go to the newest');
      daemon.log(logEntry(502, 'warp-cli number 502'));
      daemon.log(logEntry(503, 'warp-cli number 503'));
      await until('the entry to stay out of sight', async () => !(await seen('warp-cli number 503, OK')));
      await press('Go to the newest');
      await gone('Go to the newest');
      await until('the newest', () => seen('warp-cli number 503, OK'));
    });

    test('starts over with another daemon', async () => {
      log(logEntry(7, 'warp-cli old'));
      await find('warp-cli old, OK');
      const stopped = daemon.stop();
      await find('The Culvert daemon has stopped.');
      await stopped;
      daemon.entries = [logEntry(1, 'warp-cli new')];
      await daemon.listen();
      await find('warp-cli new, OK');
      await gone('warp-cli old, OK');
    });

    /** Whether it is within the window, and not only in the part of a list that is kept beyond its edge. */
    const seen = async (name: string) => {
      const place = (of: string) => stage.ask({ do: 'place', name: of, ms: 300 }).catch(() => null);
      const [window, row] = (await Promise.all([place('Culvert'), place(name)])) as (number[] | null)[];
      return Boolean(window && row && row[1]! >= 0 && row[1]! < window[3]!);
    };
  });

  describe('updates', () => {
    const NEWER = { updateAvailable: true, latest: '0.3.0' };
    const open = async () => {
      await press('Main Menu');
      await press('Updates');
      await find('Installed version');
    };
    const close = async () => {
      execFileSync('xdotool', ['key', 'Escape'], { env: stage.desktop.env });
      await gone('Installed version');
    };

    test('are offered across the window, and installed with their progress shown', async () => {
      daemon.setUpdate({ ...NEWER, applicable: true });
      await find('Culvert 0.3.0 is available');
      let finish = () => {};
      daemon.onAsked = async asked => {
        await new Promise<void>(resolve => {
          finish = resolve;
        });
        return succeed(asked);
      };
      await press('Update');
      await stage.asked(1);
      assert.deepEqual(daemon.asked[0], { line: 'POST /api/update/apply', body: {} });
      daemon.setUpdate({ progress: { phase: 'downloading', received: 1e6, total: 4e6 } });
      await find('Culvert 0.3.0 is being installed');
      await find('Progress of the update');
      assert.equal((await find('Check for updates')).sensitive, false);
      daemon.setUpdate({ ...noUpdate(), current: '0.3.0', latest: '0.3.0', previous: '0.2.7' });
      finish();
      await find('Culvert 0.3.0 is installed. Quit this window and open it again to use it.');
      await close();
    });

    test('that a package brings come with the command', async () => {
      daemon.setUpdate({ ...NEWER, command: 'sudo apt install culvert' });
      await press('How');
      await press('Copy “sudo apt install culvert”');
      await press('OK');
      await gone('Run this in a terminal:');
    });

    test('are looked for on request, and a failed check says why', async () => {
      await open();
      daemon.onAsked = () => ({ ...noUpdate(), problem: { code: 'expired', detail: 'The manifest has expired.' } });
      await press('Check for updates');
      await find('Could not find out');
      await find('The manifest has expired.');
      assert.deepEqual(daemon.asked, [{ line: 'GET /api/update/check', body: null }]);
      await close();
    });

    test('are taken back only after a question', async () => {
      daemon.setUpdate({ previous: '0.2.6' });
      await open();
      await press('Go Back…');
      await press('Cancel');
      await gone('Go back to Culvert 0.2.6?');
      assert.deepEqual(daemon.asked, []);
      await press('Go Back…');
      await press('Go Back');
      await find('Culvert 0.2.6 is installed. Quit this window and open it again to use it.');
      assert.deepEqual(daemon.asked, [{ line: 'POST /api/update/rollback', body: {} }]);
      await close();
    });

    test('that were refused say why', async () => {
      daemon.setUpdate({ ...NEWER, applicable: true });
      daemon.onAsked = () => {
        throw problem('update-refused', 409, 'The signature is wrong.');
      };
      await press('Update');
      await find('The signature is wrong.');
      await close();
    });
  });

  test('the proxy’s address is on the connection page while the mode is the proxy, to copy', async () => {
    daemon.set('settings', { Mode: 'proxy' });
    daemon.set('tunnel', { proxyPort: 40007 });
    await find('127.0.0.1:40007');
    await press('Copy the proxy’s address');
    await find('Copied to the clipboard');
    daemon.set('settings', { Mode: 'warp' });
    await gone('127.0.0.1:40007');
  });
});
