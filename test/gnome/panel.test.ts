// The panel's window as a person uses it, against a scripted daemon: one window through all of its states.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PAGE_NAMES } from '../../daemon/view/page-list.ts';
import { type FakeDaemon, problem } from '../support/gnome/daemon.ts';
import { type Desktop, missing, type Running } from '../support/gnome/desktop.ts';
import { closeStage, openStage, type Stage } from '../support/gnome/stage.ts';
import { until } from '../support/until.ts';

const TABS = ['Apps', 'Connection', 'Settings'];
/** A large button, with its left, top, width and height. */
interface Pill {
  name: string;
  suggested: boolean;
  place: number[];
}
const NOT_RUNNING = 'Culvert’s background service isn’t running.';

describe('the panel', { skip: missing('xdotool'), concurrency: false }, () => {
  let stage: Stage;
  let desktop: Desktop;
  let daemon: FakeDaemon;
  let panel: Running;
  const find = (name: string) => stage.find(name);
  const press = (name: string) => stage.press(name);
  const gone = (name: string) => stage.gone(name);
  const key = (chord: string) => stage.key(chord);
  const acted = (count: number) => stage.acted(count);

  before(async () => {
    stage = await openStage();
    ({ desktop, daemon, panel } = stage);
  });
  /** A panel that has caught up with a given state, whatever was tested before. */
  const given = async (state: 'connected' | 'disconnected') => {
    daemon.onAction = () => {};
    daemon.actions = [];
    daemon.set('tunnelCli', { emulated: false });
    daemon.set('settings', { Mode: 'warp' });
    daemon.set('options', { switchLocked: false });
    daemon.set('status', { state, reason: null, blocked: null, raw: state });
    await stage.settled();
    await find(state === 'connected' ? 'Connected' : 'Disconnected');
  };
  after(() => closeStage({ desktop, daemon, panel }, /did not receive a focus-out event/));

  test('it opens without a daemon, says so, and starts one on request', async () => {
    await find(NOT_RUNNING);
    await until(async () => (await stage.ask({ do: 'focused' })) === 'Start', 'the keyboard on the button that helps');
    // the program of this prefix, as the installed one would be
    const started = join(desktop.directory, 'started');
    mkdirSync(join(desktop.prefix, 'bin'));
    const program = join(desktop.prefix, 'bin', 'culvert');
    writeFileSync(program, `#!/bin/sh\necho "$@" > '${started}'\n`);
    chmodSync(program, 0o755);
    const pressed = async () => {
      rmSync(started, { force: true });
      await press('Start');
      await until(() => existsSync(started) && readFileSync(started, 'utf8').endsWith('\n'), 'the start');
      return readFileSync(started, 'utf8');
    };
    assert.equal(await pressed(), '--no-panel --no-tray\n');
    // as a demo leaves it that was killed
    const record = join(desktop.env.XDG_RUNTIME_DIR!, 'culvert', 'daemon.json');
    mkdirSync(dirname(record), { recursive: true });
    writeFileSync(record, JSON.stringify({ pid: 1, port: 4123, version: '0', demo: true }));
    assert.equal(await pressed(), '--no-panel --no-tray --demo --port 4123\n');
    rmSync(record);
    await daemon.listen();
    await gone(NOT_RUNNING);
    await find('Disconnected');
    await until(async () => (await find('Connect')).focused, 'the focus');
  });

  test('connecting moves nothing: each control and the statistics keep their places', async () => {
    const places = async () => {
      await stage.settled();
      const tops: Record<string, number> = {};
      for (const name of ['Mode', 'Kill Switch', 'Open the history'])
        tops[name] = ((await stage.ask({ do: 'place', name })) as number[])[1]!;
      return tops;
    };
    await given('disconnected');
    const before = await places();
    const reason = { code: 'x', text: 'Performing connectivity checks' };
    daemon.set('status', { state: 'connecting', reason, since: new Date().toISOString() });
    await find('Testing the connection…');
    assert.deepEqual(await places(), before);
    // its details take the place of what the page waits for
    const stuck = { reason: { code: 'PerformingHappyEyeballs', text: 'vendor' }, since: new Date(0).toISOString() };
    daemon.set('status', { state: 'connecting', ...stuck });
    await find('Technical details');
    assert.deepEqual(await places(), before);
    daemon.set('status', { state: 'connected', reason: null, network: 'healthy', since: new Date().toISOString() });
    await find('Connected');
    assert.deepEqual(await places(), before);
    daemon.set('tunnel', { ...FIGURES, at: new Date().toISOString() });
    await find('Connection details');
    assert.deepEqual(await places(), before);
    await given('disconnected');
  });

  test('the button asks, stays as it is, and changes when the event arrives', async () => {
    await given('disconnected');
    await press('Connect');
    await acted(1);
    assert.deepEqual(daemon.actions[0], { action: 'connect' });
    assert.equal((await find('Connect')).sensitive, false, 'no optimistic state');
    const reason = { code: 'x', text: 'Performing connectivity checks' };
    daemon.set('status', { state: 'connecting', reason, since: new Date().toISOString() });
    await find('Connecting…');
    await find('Testing the connection…');
    assert.equal((await find('Cancel')).sensitive, true);
    daemon.set('status', { state: 'connected', reason: null, network: 'healthy', since: new Date().toISOString() });
    daemon.set('tunnel', { ...FIGURES, at: new Date().toISOString() });
    await find('Connected');
    for (const text of ['11 ms', '0.02 %', 'Latency over time: from 11 ms to 11 ms, 11 ms on average'])
      await find(text);
    assert.ok(!(await stage.names()).includes('162.159.198.2'), 'facts are folded');
    await press('Connection details');
    for (const text of ['162.159.198.2', 'MAD (927f116)', '142.0 MB']) await find(text);
  });

  test('says that it waits for a tunnel CLI that hangs', async () => {
    await given('disconnected');
    let answer = () => {};
    daemon.onAction = () =>
      new Promise<void>(resolve => {
        answer = resolve;
      });
    await press('Connect');
    await find('Waiting for WARP…');
    answer();
    daemon.set('status', { state: 'connected' });
    await gone('Waiting for WARP…');
  });

  test('figures are asked for while the window can be seen', async () => {
    await given('connected');
    const before = daemon.reads;
    await until(() => daemon.reads > before, 'another read');
  });

  test('the keyboard starts on the button, and one key toggles', async () => {
    await given('connected');
    key('ctrl+t');
    await acted(1);
    daemon.set('status', { state: 'disconnected', reason: { code: 'Manual', text: 'Manual disconnection' } });
    await find('Disconnected');
    await stage.settled();
    key('ctrl+1');
    for (let i = 0; i < 8 && !(await find('Connect')).focused; i++) key('Tab');
    key('space');
    await acted(2);
    assert.deepEqual(daemon.actions, [{ action: 'disconnect' }, { action: 'connect' }]);
    daemon.set('status', { state: 'connected' });
    await find('Connected');
  });

  test('a search key on a page without a search leads to the search of the settings', async () => {
    await given('connected');
    key('ctrl+1');
    key('ctrl+f');
    await find('Search settings');
    key('ctrl+1');
    await find('Connected');
  });

  test('a failure is a toast that fits, with the details behind a button', async () => {
    await given('connected');
    daemon.onAction = () => {
      throw problem('tunnel-cli-failed', 502, 'warp-cli ended with 1 and said what nobody can read.', {
        hint: 'Look at the log.',
        stderr: 'no route',
      });
    };
    await press('Disconnect');
    await find('WARP could not do that.');
    await press('Details');
    await find('warp-cli ended with 1 and said what nobody can read.\n\nLook at the log.\n\nno route');
    await press('OK');
    await gone('OK');
    await find('Connected');
  });

  test('a lack of authority stays on the page until something is allowed', async () => {
    const refused = 'You can’t change WARP here';
    await given('connected');
    daemon.onAction = () => {
      throw problem('not-authorized', 403, 'The tunnel service does not allow this.');
    };
    await press('Disconnect');
    await find(refused);
    daemon.onAction = () => daemon.set('status', { state: 'disconnected' });
    await press('Disconnect');
    await gone(refused);
  });

  test('an organization’s lock is shown, and what it locks can’t be pressed', async () => {
    await given('connected');
    daemon.set('options', { switchLocked: true });
    daemon.set('account', { organization: 'Example' });
    await find('Managed by Example · WARP can’t be turned off here.');
    assert.equal((await find('Disconnect')).sensitive, false);
    daemon.set('account', { organization: null });
  });

  test('a failure comes with one button, such as HTTP/2 where UDP is blocked', async () => {
    await given('disconnected');
    const vendor = 'HappyEyeballsFailed: Vendor says it';
    daemon.set('status', { state: 'unable', reason: { code: 'HappyEyeballsFailed', text: 'Vendor says it' } });
    await find('No Cloudflare server could be reached');
    await find('Use HTTP/2');
    await stage.settled();
    const [remedy, toggle, ...others] = (await stage.ask({ do: 'pills' })) as Pill[];
    assert.deepEqual([remedy?.name, remedy?.suggested, toggle?.suggested, others], ['Use HTTP/2', true, false, []]);
    const [from, to] = [remedy!.place, toggle!.place] as [number[], number[]];
    const gap = Math.max(to[0]! - from[0]! - from[2]!, to[1]! - from[1]! - from[3]!);
    assert.ok(gap >= 12, `a finger tells them apart: ${gap} pixels`);
    assert.ok(!(await stage.names()).includes(vendor), 'folded');
    await press('Technical details');
    await find(vendor);
    await press('Technical details');
    await press('Use HTTP/2');
    await acted(1);
    assert.deepEqual(daemon.actions[0], { action: 'setMasqueOptions', value: 'h2-only' });
    daemon.set('settings', { 'WARP tunnel protocol': 'WireGuard' });
    await find('Try MASQUE');
    daemon.set('settings', { 'WARP tunnel protocol': 'MASQUE' });
  });

  test('the mode is shown as confirmed, and leads to all modes', async () => {
    await given('connected');
    daemon.set('settings', { Mode: 'proxy' });
    daemon.set('tunnel', { proxyPort: 40000 });
    await find('Apps that use the proxy at 127.0.0.1:40000 are tunneled.');
    daemon.set('settings', { Mode: 'quantum' });
    await find('quantum');
    await press('Mode');
    await find('MASQUE');
    daemon.set('settings', { Mode: 'warp' });
    await until(async () => (await stage.toggle('All traffic')).checked, 'the confirmed mode');
    await stage.ask({ do: 'focus', name: 'All traffic' });
    key('Down');
    stage.x('key', 'space');
    await find('Tunnel less than now?');
    assert.deepEqual(daemon.actions, [], 'it asks first');
    await press('Change Mode');
    await acted(1);
    assert.deepEqual(daemon.actions, [{ action: 'setMode', value: 'doh', confirmWithin: 30 }]);
    await press('Back');
    await find('Connected');
  });

  test('a broken stream takes the state away until it is back', async () => {
    await given('connected');
    const stopped = daemon.stop();
    await find(NOT_RUNNING);
    await find('Unavailable');
    await stopped;
    await daemon.listen();
    await find('Connected');
    await gone('Unavailable');
  });

  test('without a daemon every page says so, offers to start it, and keeps the last values', async () => {
    await given('connected');
    daemon.set('options', { wifiTrusted: true });
    for (const page of PAGE_NAMES) await stage.turn(page);
    const stopped = daemon.stop();
    await find(NOT_RUNNING);
    for (const page of PAGE_NAMES) {
      await stage.ask({ do: 'turn', name: page });
      assert.equal((await find('Start')).sensitive, true, page);
      assert.ok((await stage.names()).includes(NOT_RUNNING), page);
    }
    await stage.ask({ do: 'turn', name: 'routes' });
    const question = (await stage.ask({ do: 'focusable', name: 'Does this site use WARP?' })) as { sensitive: boolean };
    assert.equal(question.sensitive, false, 'a question to the daemon');
    await stage.ask({ do: 'turn', name: 'networks' });
    await find('All wired networks');
    const { checked, sensitive } = await stage.toggle('All Wi-Fi networks');
    assert.deepEqual([checked, sensitive], [true, false]);
    await stopped;
    await daemon.listen();
    await gone(NOT_RUNNING);
    daemon.set('options', { wifiTrusted: false });
    await stage.turn('connection');
  });

  test('a long id is below its title, and gives way in the middle', async () => {
    await given('connected');
    const id = 'f3a1c7d2-9b64-4e0f-8a55-0c1d2e3f4a5b';
    daemon.answers['GET /api/account'] = {
      ok: true,
      ...daemon.snapshot.account,
      deviceId: id,
      accountId: 'a',
      license: null,
      devices: [],
    };
    await stage.turn('account');
    await find(id);
    const rows = (await stage.ask({ do: 'rows' })) as { title: string; subtitle: string }[];
    assert.equal(rows.find(({ title }) => title === 'Device ID')!.subtitle, id);
    const texts = (await stage.ask({ do: 'texts' })) as { text: string; outside: boolean }[];
    assert.deepEqual(
      texts.filter(({ text, outside }) => text === id && outside),
      [],
    );
    await stage.turn('connection');
  });

  test('a demo is marked by its banner, and by the words of the state and of the kill switch', async () => {
    await given('connected');
    daemon.set('tunnelCli', { emulated: true });
    await find('Demo: nothing is tunneled');
    assert.deepEqual((await stage.names()).filter(name => /demo/i.test(name)).sort(), [
      'Demo: Connected',
      'Demo: nothing is tunneled',
      'Demo: your real traffic is not protected.',
      'The kill switch is not part of the demo.',
    ]);
    assert.ok(!(await stage.names()).some(name => /goes through Cloudflare/.test(name)));
    daemon.set('tunnelCli', { emulated: false });
    await gone('Demo: nothing is tunneled');
  });

  test('a broken configuration file is named with line and reason', async () => {
    await given('disconnected');
    daemon.setConfig({ problems: [{ file: '/home/a/config.json', line: 4, key: null, message: 'Unexpected }' }] });
    await find('/home/a/config.json:4: Unexpected }');
    daemon.setConfig({ problems: [] });
    await gone('/home/a/config.json:4: Unexpected }');
  });

  test('output that is not understood is shown, with both actions', async () => {
    await given('disconnected');
    daemon.set('status', { state: 'unknown', raw: 'Status update: Frobnicating' });
    await find('State not known');
    daemon.onAction = () => daemon.set('status', { state: 'disconnected' });
    await press('Disconnect');
    await find('Disconnected');
    assert.deepEqual(daemon.actions.at(-1), { action: 'disconnect' });
  });

  test('the window shows the report of a problem, and what was replaced in it, before saving', async () => {
    await given('disconnected');
    await press('Main Menu');
    await press('Report a Problem…');
    await find('Report a problem');
    await press('doctor.json · Results of the checks · 26 B');
    await find('["<host-1> is reachable"]\n');
    await press('Close');
    await gone('Report a problem');
  });

  test('a name that is too long for a line wraps in its toast', async () => {
    await given('connected');
    const host = `${'a-long-label-'.repeat(4)}x.${'another-label-'.repeat(4)}x.example.com`;
    await stage.turn('routes');
    await stage.enter('Address, range or host to add', host);
    await press('Add a route');
    await find(`${host} bypasses WARP`);
    const texts = (await stage.ask({ do: 'texts' })) as { text: string; cut: boolean; overflows: boolean }[];
    assert.deepEqual(
      texts.filter(({ cut, overflows }) => cut || overflows),
      [],
    );
    await stage.turn('connection');
  });

  const untranslated = spawnSync('sh', ['-c', 'command -v msgfmt']).status !== 0 && 'needs gettext';
  test('it switches to the language of the configuration immediately', { skip: untranslated }, async () => {
    await given('disconnected');
    daemon.setConfig({ ui: { locale: 'de' } });
    await find('Getrennt');
    await find('Modus');
    daemon.setConfig({ ui: { locale: 'en' } });
    await find('Disconnected');
    await gone('Getrennt');
  });

  test('the window keeps its size when the language changes', { skip: untranslated }, async () => {
    await given('disconnected');
    const size = () => stage.ask({ do: 'size' });
    const before = await size();
    for (const [locale, word] of [
      ['de', 'Getrennt'],
      ['en', 'Disconnected'],
      ['de', 'Getrennt'],
      ['en', 'Disconnected'],
    ] as const) {
      daemon.setConfig({ ui: { locale } });
      await find(word);
      await stage.settled();
      assert.deepEqual(await size(), before, locale);
    }
  });

  test('a tab is as wide as its word, also after it was turned to', async () => {
    for (const page of ['apps', 'settings', 'connection'] as const) {
      await stage.turn(page);
      await stage.settled();
      const texts = (await stage.ask({ do: 'texts' })) as { text: string; type: string; narrow: boolean }[];
      const words = texts.filter(({ text, type }) => type === 'GtkLabel' && TABS.includes(text));
      assert.deepEqual([...new Set(words.map(({ text }) => text))].sort(), TABS);
      assert.deepEqual(
        words.filter(({ narrow }) => narrow),
        [],
      );
    }
  });

  test('the switcher is above where there is room, and below where not', async () => {
    await given('connected');
    const { x, window } = stage;
    const width = async (size: number) => {
      x('windowsize', '--sync', window(), String(size), '640');
      // a shadow around the window is part of what X measures
      await until(async () => {
        const [, , width] = (await stage.ask({ do: 'place', name: 'Culvert' })) as number[];
        return width! <= size && width! > size - 60;
      }, `${size} pixels`);
    };
    const top = async () => ((await stage.ask({ do: 'place', name: 'Apps' })) as number[])[1]!;
    await width(360);
    await until(async () => (await top()) > 500, 'the bar below');
    await width(680);
    await until(async () => (await top()) < 100, 'the bar above');
    await width(440);
    assert.equal((await stage.names()).filter(name => name === 'Pages').length, 1, 'one switcher');
  });

  test('the menu leads to About, a key to the shortcuts', async () => {
    await given('disconnected');
    await press('Main Menu');
    await press('About Culvert');
    await find('0.0.0-test');
    stage.x('key', 'Escape');
    await gone('0.0.0-test');
    key('ctrl+question');
    await find('Connect or disconnect');
    stage.x('key', 'Escape');
    await gone('Connect or disconnect');
  });

  test('it closes by key, and keeps its size', async () => {
    await given('disconnected');
    key('ctrl+w');
    assert.equal(await panel.exited, 0);
    const saved = readFileSync(join(desktop.env.HOME!, '.local', 'state', 'culvert', 'window.ini'), 'utf8');
    assert.match(saved, /width=\d+\nheight=\d+/);
  });
});

const FIGURES = {
  protocol: 'MASQUE (HTTPS via UDP)',
  endpoints: ['162.159.198.2', '::'],
  latencyMs: 11,
  loss: 0.0002,
  bytesSent: 586_300,
  bytesReceived: 142e6,
  colo: 'MAD (927f116)',
};
