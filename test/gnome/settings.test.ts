// The panel's settings, updates, checks, set-up and accounts of tools as a person uses them.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Blocked } from '../../daemon/api/schema.ts';
import { missing } from '../support/gnome/desktop.ts';
import { checkResult, MODE_FIX, noUpdate, richTool, tool, toolAccount } from '../support/gnome/initial.ts';
import { daemon, stage, succeed, usePages } from '../support/gnome/pages.ts';
import { until } from '../support/until.ts';

describe('the settings', { skip: missing('xdotool'), concurrency: false }, () => {
  const { find, press, gone, type } = usePages();

  describe('updates', () => {
    const NEWER = { updateAvailable: true, latest: '0.3.0' };

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
      await find('Downloading: 1.0 MB of 4.0 MB');
      assert.equal((await find('Check')).sensitive, false);
      daemon.setUpdate({ ...noUpdate(), current: '0.3.0', latest: '0.3.0', previous: '0.2.7' });
      finish();
      await find('Close and open this window to use it');
    });

    test('that a package brings come with the command', async () => {
      daemon.setUpdate({ ...NEWER, command: 'sudo apt install culvert' });
      await press('How');
      await press('Copy “sudo apt install culvert”');
      await press('OK');
      await gone('OK');
    });

    const open = async () => {
      await stage.turn('updates');
      await find('Installed version');
    };

    test('are looked for on request', async () => {
      await open();
      await find('This is the newest version');
      await press('Check');
      await stage.asked(1);
      assert.deepEqual(daemon.asked, [{ line: 'GET /api/update/check', body: null }]);
    });

    test('are undone only after a question', async () => {
      daemon.setUpdate({ previous: '0.2.6' });
      await open();
      await press('Roll back to Culvert 0.2.6: Roll Back…');
      await press('Cancel');
      await gone('Roll back to Culvert 0.2.6?');
      assert.deepEqual(daemon.asked, []);
      await press('Roll back to Culvert 0.2.6: Roll Back…');
      await press('Roll Back');
      await find('Close and open this window to use it');
      assert.deepEqual(daemon.asked, [{ line: 'POST /api/update/rollback', body: {} }]);
    });

    test('that cannot reach this computer are warned of across the window', async () => {
      const warnings = {
        expired: 'The newest release has expired, so updates may be held back',
        refused: 'The release at the update source was refused',
        unreachable: 'The update source has not answered for a week',
      };
      for (const [state, warning] of Object.entries(warnings)) {
        daemon.setUpdate({ source: { state: state as 'expired', lastAnswerAt: null } });
        await find(warning);
      }
      daemon.setUpdate(noUpdate());
      await gone(warnings.unreachable);
    });
  });

  describe('the settings', () => {
    test('show the mode as confirmed, and ask before most traffic goes outside the tunnel', async () => {
      daemon.set('status', { state: 'connected' });
      await stage.turn('mode');
      assert.equal((await stage.toggle('All traffic')).checked, true);
      await press('DNS only');
      await find('Tunnel less than now?');
      assert.equal((await stage.toggle('DNS only')).checked, false, 'no optimistic state');
      await press('Cancel');
      await gone('Tunnel less than now?');
      await press('All traffic, your own DNS');
      await stage.acted(1);
      assert.deepEqual(daemon.actions[0], { action: 'setMode', value: 'tunnel_only', confirmWithin: 30 });
      assert.equal((await stage.toggle('All traffic')).checked, true);
      daemon.set('settings', { Mode: 'tunnel_only' });
      await until(async () => (await stage.toggle('All traffic, your own DNS')).checked, 'the mode');
      await find('Mode changed');
    });

    test('are searched, and a result leads to its page', async () => {
      await stage.turn('settings');
      stage.key('ctrl+f');
      await stage.enter('Search settings', 'fallback');
      await press('Add a domain');
      await stage.enter('Add a domain', 'corp.example');
      daemon.onAction = () => daemon.set('options', { fallbackDomains: [{ domain: 'corp.example', note: null }] });
      await press('Add a domain: Add');
      await find('Remove corp.example');
      assert.deepEqual(daemon.actions, [{ action: 'addFallbackDomain', value: 'corp.example' }]);
      await press('Back');
      await gone('fallback');
    });

    test('are searched for an entry of a list as well, which its page then shows', async () => {
      const ips = [
        { value: '172.17.0.0/16', description: 'docker0' },
        { value: '10.0.0.0/8', description: null },
      ];
      daemon.setRoutes({ mode: 'exclude', ips, hosts: [] });
      await stage.turn('settings');
      stage.key('ctrl+f');
      await stage.enter('Search settings', 'docker0');
      await find('1 result');
      await press('172.17.0.0/16');
      await find('Remove 172.17.0.0/16');
      await gone('Remove 10.0.0.0/8');
    });

    test('are searched by words of everyday speech, and the row that was meant has the keyboard', async () => {
      const searched = async (word: string, hit: string, row: string) => {
        await stage.turn('settings');
        stage.key('ctrl+f');
        await stage.enter('Search settings', word);
        await press(hit);
        await until(async () => (await stage.ask({ do: 'focused' })) === row, `the focus on ${row}`);
        await stage.turn('settings');
        await stage.enter('Search settings', '');
      };
      await searched('wlan', 'All Wi-Fi networks', 'All Wi-Fi networks');
      await searched('dark mode', 'Theme', 'Theme');
      await searched('reset-all', 'Reset all settings of WARP', 'Reset all settings of WARP: Reset…');
    });

    test('are searched for the keyboard shortcuts as well, which open in their window', async () => {
      await stage.turn('settings');
      stage.key('ctrl+f');
      await stage.enter('Search settings', 'hotkey');
      await press('Keyboard Shortcuts');
      await find('Connect or disconnect');
      stage.x('key', 'Escape');
      await gone('Connect or disconnect');
      await stage.turn('settings');
      await stage.enter('Search settings', '');
    });

    test('that few people need are behind one row, which a search opens', async () => {
      await stage.turn('mode');
      await gone('FedRAMP High environment: Use');
      await press('Advanced');
      await find('FedRAMP High environment: Use');
      await find('HTTP/2 only');
      await press('Advanced');
      await gone('FedRAMP High environment: Use');
      await stage.turn('settings');
      stage.key('ctrl+f');
      await stage.enter('Search settings', 'fedramp');
      await press('FedRAMP High environment');
      await find('FedRAMP High environment: Use');
      await press('Advanced');
    });

    test('are searched until Escape, which empties the search first and then goes back', async () => {
      await stage.turn('settings');
      stage.key('ctrl+f');
      type('theme');
      await find('App · Appearance');
      stage.x('key', 'Escape');
      await find('Search settings');
      await gone('theme');
      stage.x('key', 'Escape');
      await gone('Search settings');
    });

    test('Culvert’s own are written to the user’s file, and move when the event arrives', async () => {
      stage.key('ctrl+comma');
      await press('Start at login');
      await stage.asked(1);
      assert.deepEqual(daemon.asked[0], { line: 'POST /api/config/user', body: { tray: { autostart: true } } });
      assert.equal((await stage.toggle('Start at login')).checked, false, 'the entry is not there yet');
      const autostart = join(stage.desktop.env.XDG_CONFIG_HOME!, 'autostart');
      mkdirSync(autostart, { recursive: true });
      writeFileSync(join(autostart, 'org.culvert.Culvert.desktop'), '[Desktop Entry]\nExec=culvert\n');
      await until(async () => (await stage.toggle('Start at login')).checked, 'the switch');
      assert.ok(!(await stage.names()).includes('Start hidden'), 'this desktop has no tray');
      writeFileSync(join(autostart, 'org.culvert.Culvert.desktop'), '[Desktop Entry]\nHidden=true\n');
      await until(async () => !(await stage.toggle('Start at login')).checked, 'the switch');
    });

    test('delete a registration only after a question', async () => {
      await stage.turn('account');
      await press('Remove this device: Remove…');
      await press('Cancel');
      await gone('Remove this device?');
      assert.deepEqual(daemon.actions, []);
    });
  });

  describe('the checks', () => {
    const broken = checkResult('mode', 'problem', { explanation: 'Why.', fix: MODE_FIX, fixId: 'as shown' });

    test('come as they end, problems first, and a fix is read, applied, and undone', async () => {
      daemon.checks = [checkResult('service', 'ok'), broken];
      await stage.turn('checks');
      await find('1 thing to look at');
      await find('Why.');
      const names = await stage.names();
      assert.ok(names.indexOf('Why.') < names.indexOf('1 check is fine'));
      daemon.onAsked = asked => {
        const undo = asked.line.endsWith('fix')
          ? [{ id: 'mode', label: 'Use another mode', at: new Date().toISOString() }]
          : [];
        const result = undo.length ? checkResult('mode', 'ok') : broken;
        daemon.send('doctor', { running: false, completed: 1, total: 1, result, undo });
        return succeed(asked);
      };
      await press('Fix: Why.');
      await find('culvert action setMode warp+doh');
      await press('Apply');
      await find('Everything is fine');
      await gone('Fix: Why.');
      await press('Undo last fix: Undo');
      await find('1 thing to look at');
      assert.deepEqual(daemon.asked, [
        { line: 'POST /api/doctor/fix', body: { id: 'mode', fixId: 'as shown' } },
        { line: 'POST /api/doctor/undo', body: {} },
      ]);
    });
  });
  describe('the set-up', () => {
    const block = (blocked: Blocked | null) =>
      daemon.set('status', { state: blocked ? 'unable' : 'disconnected', reason: null, blocked });

    test('without warp-cli it says how to get it, and what the demo is', async () => {
      block('cli-missing');
      await find('Cloudflare WARP is not installed');
      await find('Installation Guide');
      await find('Try the Demo');
    });

    test('a stopped service can be started by a button, or by a command to copy', async () => {
      block('service-stopped');
      await find('Start the Service');
      await press('Copy “sudo systemctl enable --now warp-svc”');
      await find('Copied');
    });

    test('terms and registration are one step', async () => {
      block('terms-not-accepted');
      await find('Terms of Service');
      daemon.onAction = ({ action }) => block(action === 'acceptTerms' ? 'not-registered' : null);
      await press('Agree and Set Up');
      await stage.acted(2);
      assert.deepEqual(daemon.actions, [{ action: 'acceptTerms' }, { action: 'register' }]);
      await find('Disconnected');
    });

    test('a device that is not registered is set up with one button, or joins an organization', async () => {
      block('not-registered');
      await press('Join an Organization…');
      await find('Join an organization: Sign In…');
      await press('Back');
      daemon.onAction = () => block(null);
      await press('Set Up');
      await find('WARP is set up');
      await find('Disconnected');
      assert.deepEqual(daemon.actions, [{ action: 'register' }]);
    });

    test('a user who may not change WARP sees why', async () => {
      block('not-authorized');
      await find('You can’t change WARP here');
      block(null);
      await find('Disconnected');
    });
  });

  test('the accounts of tools are shown, changed and added, and nothing keeps the key', async () => {
    daemon.tools = [richTool(Date.now()), tool('netlify')];
    await stage.turn('tools');
    await find('team-a');
    await find('Empty, back in 12 minutes');
    await press('team-b: Use Now');
    await press('netlify: Set Up…');
    await press('Install');
    await stage.asked(2);
    await press('New account for firecrawl: Add…');
    await stage.enter('Name', 'team-e');
    await stage.enter('FIRECRAWL_KEY', 'fc-canary');
    await press('Add');
    await stage.asked(3);
    await find('Added');
    const at = { cli: 'firecrawl', name: 'team-e', credentials: ['fc-canary'], store: 'keyring' };
    assert.deepEqual(
      daemon.asked.map(({ body }) => body),
      [
        { change: 'wake', cli: 'firecrawl', name: 'team-b' },
        { change: 'install', cli: 'netlify' },
        { change: 'add', ...at },
      ],
    );
    daemon.tools = [tool('firecrawl', { accounts: [toolAccount('another', { default: true })] })];
    daemon.send('accounts', { ok: true, tools: daemon.tools, refreshing: false, problem: null });
    await find('another');
    await gone('team-a');
    assert.equal((await stage.names()).join().includes('fc-canary'), false);
  });
});
