// The panel as a person uses it, over AT-SPI, against a scripted daemon: one window through all of its states.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Blocked } from '../../daemon/api/schema.ts';
import { type FakeDaemon, problem } from './daemon.ts';
import { type Ask, type Desktop, missing, type Running, until } from './desktop.ts';
import { openStage, type Stage } from './stage.ts';

const SWITCH = 'WARP tunnel';

describe('the panel', { skip: missing('xdotool'), concurrency: false }, () => {
  let stage: Stage;
  let desktop: Desktop;
  let daemon: FakeDaemon;
  let panel: Running;
  let ask: Ask;
  const find = (name: string, ms?: number) => stage.find(name, ms);
  const press = (name: string) => stage.press(name);
  const gone = (name: string) => stage.gone(name);
  const names = () => stage.names();
  const toggle = () => stage.toggle(SWITCH);
  const key = (chord: string) => stage.key(chord);
  const asked = (count: number) => stage.acted(count);
  const block = (blocked: Blocked | null) =>
    daemon.set('status', { state: blocked ? 'unable' : 'disconnected', reason: null, blocked });

  before(async () => {
    stage = await openStage();
    ({ desktop, daemon, panel, ask } = stage);
  });
  /** A panel that has caught up with a given state, whatever was tested before. */
  const given = async (state: 'connected' | 'disconnected') => {
    daemon.onAction = () => {};
    daemon.actions = [];
    daemon.set('tunnelCli', { emulated: false });
    daemon.set('settings', { Mode: 'warp' });
    daemon.set('status', { state, reason: null, blocked: null, raw: state });
    await find(state === 'connected' ? 'Connected' : 'Disconnected');
  };
  after(async () => {
    const said = panel.output();
    await desktop.close();
    await daemon.stop();
    assert.doesNotMatch(
      said,
      /CRITICAL|JS ERROR|WARNING.*(Culvert|Template)/,
      'GTK and GJS had nothing to complain about',
    );
  });

  test('it opened without a daemon, says so, and starts one on request', async () => {
    await find('The Culvert daemon is not running.');
    assert.deepEqual(await toggle().then(({ checked, sensitive }) => [checked, sensitive]), [false, false]);
    // the program of this prefix, as the installed one would be
    const started = join(desktop.directory, 'started');
    mkdirSync(join(desktop.prefix, 'bin'));
    const program = join(desktop.prefix, 'bin', 'culvert');
    writeFileSync(program, `#!/bin/sh\necho "$@" > '${started}'\n`);
    chmodSync(program, 0o755);
    await press('Start');
    await until('the start', () => existsSync(started));
    assert.equal(execFileSync('cat', [started], { encoding: 'utf8' }), '--no-panel --no-tray\n');
    await daemon.listen();
    await gone('The Culvert daemon is not running.');
    await find('Disconnected');
  });

  test('every control has a name', async () => {
    await given('disconnected');
    assert.deepEqual(await ask({ do: 'unnamed' }), []);
    assert.ok((await names()).includes('Main Menu'));
  });

  test('the switch asks, stays where it is, and moves when the event arrives', async () => {
    await given('disconnected');
    await press(SWITCH);
    await asked(1);
    assert.deepEqual(daemon.actions[0], { action: 'connect' });
    assert.deepEqual(await toggle().then(({ checked, sensitive }) => [checked, sensitive]), [false, false]);
    daemon.set('status', { state: 'connecting', reason: { code: 'x', text: 'Performing connectivity checks' } });
    await find('Connecting…');
    await find('Performing connectivity checks');
    assert.deepEqual(await toggle().then(({ checked, sensitive }) => [checked, sensitive]), [true, true]);
    daemon.set('status', { state: 'connected', reason: null, network: 'healthy', since: new Date().toISOString() });
    daemon.set('tunnel', { ...FIGURES, at: new Date().toISOString() });
    await find('Connected');
    await find('162.159.198.2');
    await find('MAD (927f116)');
    await find('142.0 MB');
    await find('11 ms');
    await find('0.02 %');
    await find('Latency over time: from 11 ms to 11 ms, 11 ms on average');
  });

  test('figures are asked for while the window can be seen', async () => {
    await given('connected');
    const before = daemon.reads;
    await until('another read', () => daemon.reads > before, 7000);
  });

  test('the switch works with the keyboard alone', async () => {
    await given('connected');
    key('ctrl+t');
    await asked(1);
    daemon.set('status', { state: 'disconnected', reason: { code: 'Manual', text: 'Manual disconnection' } });
    await find('Disconnected');
    for (let i = 0; i < 20 && !((await ask({ do: 'switch', name: SWITCH })) as { focused: boolean }).focused; i++)
      key('Tab');
    key('space');
    await asked(2);
    assert.deepEqual(daemon.actions, [{ action: 'disconnect' }, { action: 'connect' }]);
    daemon.set('status', { state: 'connected' });
    await find('Connected');
  });

  test('a failure is a toast with the problem, its hint behind a button', async () => {
    await given('connected');
    daemon.onAction = () => {
      throw problem('tunnel-cli-failed', 502, 'warp-cli ended with 1.', {
        hint: 'Look at the log.',
        stderr: 'no route',
      });
    };
    await press(SWITCH);
    await find('warp-cli ended with 1.');
    assert.equal((await toggle()).checked, true, 'still connected');
    await press('Details');
    await find('warp-cli ended with 1.\n\nLook at the log.\n\nno route');
    await press('OK');
    await gone('warp-cli ended with 1.\n\nLook at the log.\n\nno route');
  });

  test('mode and protocol show what is confirmed', async () => {
    await given('connected');
    daemon.set('settings', { Mode: 'proxy' });
    daemon.set('tunnel', { proxyPort: 40000 });
    await find('Apps that use the proxy at 127.0.0.1:40000 are tunnelled.');
    await find('Local proxy');
    daemon.set('settings', { Mode: 'quantum' });
    await find('quantum');
    daemon.set('settings', { Mode: 'warp' });
    await find('WARP');
  });

  test('a broken stream takes the state away until it is back', async () => {
    await given('connected');
    const stopped = daemon.stop();
    await find('The Culvert daemon has stopped.');
    await find('Unavailable');
    await stopped;
    await daemon.listen();
    await find('Connected');
    await gone('Unavailable');
  });

  test('a demo is marked', async () => {
    await given('connected');
    daemon.set('tunnelCli', { emulated: true });
    await find('Demo: emulated tunnel, nothing is protected');
    daemon.set('tunnelCli', { emulated: false });
    await gone('Demo: emulated tunnel, nothing is protected');
  });

  test('a broken configuration file is named with line and reason', async () => {
    await given('disconnected');
    daemon.setConfig({ problems: [{ file: '/home/a/config.json', line: 4, key: null, message: 'Unexpected }' }] });
    await find('/home/a/config.json:4: Unexpected }');
    daemon.setConfig({ problems: [] });
    await gone('/home/a/config.json:4: Unexpected }');
  });

  test('without warp-cli it says how to get it, and what the demo is', async () => {
    await given('disconnected');
    block('cli-missing');
    await find('Cloudflare WARP is not installed');
    await find('Installation Guide');
    await find('culvert stop; culvert --demo');
  });

  test('a stopped service comes with the command that starts it, to copy', async () => {
    await given('disconnected');
    block('service-stopped');
    await find('sudo systemctl start warp-svc');
    await press('Copy “sudo systemctl start warp-svc”');
    await find('Copied to the clipboard');
  });

  test('the terms are agreed to only in a dialog that links to them', async () => {
    await given('disconnected');
    block('terms-not-accepted');
    await press('Accept…');
    await find('Accept the terms of service?');
    await press('Cancel');
    await gone('Accept the terms of service?');
    assert.deepEqual(daemon.actions, [], 'cancelling agrees to nothing');
    await press('Accept…');
    await find('Accept the terms of service?');
    await press('Accept');
    await asked(1);
    assert.deepEqual(daemon.actions, [{ action: 'acceptTerms' }]);
    block('not-registered');
    await find('Terms accepted');
  });

  test('a device that is not registered is registered with one button', async () => {
    await given('disconnected');
    block('not-registered');
    daemon.onAction = () => block(null);
    await press('Register');
    await find('This device is registered');
    await find('Disconnected');
    assert.deepEqual(daemon.actions.at(-1), { action: 'register' });
  });

  test('a lack of authority is explained', async () => {
    await given('disconnected');
    block('not-authorized');
    await find('Not authorised');
    block(null);
    await find('Disconnected');
  });

  test('output that is not understood is shown, with both actions', async () => {
    await given('disconnected');
    daemon.set('status', { state: 'unknown', raw: 'Status update: Frobnicating' });
    await find('Status update: Frobnicating');
    daemon.onAction = () => daemon.set('status', { state: 'disconnected' });
    await press('Disconnect');
    await find('Disconnected');
    assert.deepEqual(daemon.actions.at(-1), { action: 'disconnect' });
  });

  const untranslated = spawnSync('sh', ['-c', 'command -v msgfmt']).status !== 0 && 'needs gettext';
  test('it speaks the language that the configuration sets, at once', { skip: untranslated }, async () => {
    await given('disconnected');
    daemon.setConfig({ ui: { locale: 'de' } });
    await find('Getrennt');
    await find('Modus');
    daemon.setConfig({ ui: { locale: 'en' } });
    await find('Disconnected');
    await gone('Getrennt');
  });

  test('it fits a narrow window', async () => {
    await given('connected');
    const { x, window } = stage;
    x('windowsize', '--sync', window(), '360', '640');
    await until('the width', () =>
      /Width: 360/.test(x('getwindowgeometry', window()).replace(/Geometry: (\d+)x/, 'Width: $1')),
    );
    assert.equal((await toggle()).sensitive, true);
  });

  test('the menu leads to About, a key to the shortcuts', async () => {
    await given('disconnected');
    await press('Main Menu');
    await press('About Culvert');
    await find('0.0.0-test');
    key('Escape');
    await gone('0.0.0-test');
    key('ctrl+question');
    await find('Connect or disconnect');
    key('Escape');
    await gone('Connect or disconnect');
  });

  test('it quits by key', async () => {
    await given('disconnected');
    key('ctrl+q');
    assert.equal(await panel.exited, 0);
  });
});

const FIGURES = {
  protocol: 'MASQUE (HTTPS via UDP)',
  endpoints: ['162.159.198.2', '::'],
  ...{ latencyMs: 11, loss: 0.0002, bytesSent: 586_300, bytesReceived: 142e6, colo: 'MAD (927f116)' },
};
