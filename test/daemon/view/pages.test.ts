// The pages of apps, of the console and of updates, without a desktop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type App, type ProblemCode, ProxyMethod, type UpdateCheck } from '../../../daemon/api/schema.ts';
import type { Message } from '../../../daemon/api/values.ts';
import {
  asText,
  commandLine,
  createRing,
  emptyStatus,
  outcome,
  outputOf,
  passes,
  SHOWS,
} from '../../../daemon/view/log.ts';
import { message } from '../../../daemon/view/message.ts';
import {
  appBadge,
  appDetails,
  appMatches,
  commonApps,
  furtherWays,
  launchable,
  launchedText,
  sortApps,
} from '../../../daemon/view/states/apps.ts';
import type { KillSwitchLook } from '../../../daemon/view/states/killswitch.ts';
import { describeProxy } from '../../../daemon/view/states/proxy.ts';
import { describeUpdate } from '../../../daemon/view/states/updates.ts';
import { problem } from '../../support/gnome/daemon.ts';
import { app, initialConfig, logEntry, noUpdate } from '../../support/gnome/initial.ts';
import { clientState, tr } from '../../support/gnome/view/translator.ts';

test('apps can be started only while the mode is the proxy, and the page says why not', () => {
  const proxy = (Mode: string, state: 'connected' | 'disconnected' = 'connected', more = {}) =>
    describeProxy(clientState({ settings: { Mode }, tunnel: { proxyPort: 40001 }, status: { state } }, more), tr);
  const { enable: _enable, ...off } = proxy('warp');
  assert.deepEqual(off, {
    look: 'off',
    sentence: 'Apps that you start here use WARP; everything else then bypasses it. Mode now: All traffic.',
    address: null,
    warning: null,
    failure: null,
    sensitive: true,
    waiting: false,
  });
  assert.match(proxy('proxy').sentence, /127\.0\.0\.1:40001$/);
  assert.deepEqual(
    [proxy('proxy').look, proxy('proxy').address, proxy('proxy').warning],
    ['on', '127.0.0.1:40001', null],
  );
  assert.match(proxy('proxy', 'disconnected').warning!, /not connected/);
  assert.equal(proxy('warp', 'connected', { pending: 'enableLocalProxy' }).waiting, true);
  const lost = proxy('proxy', 'connected', { offline: { code: 'stopped', detail: '' } });
  assert.deepEqual([lost.look, lost.address, lost.sensitive], ['on', '127.0.0.1:40001', false]);
  const locked = describeProxy(clientState({ settings: { Mode: 'warp' }, options: { modeLocked: true } }), tr);
  assert.deepEqual([locked.sensitive, locked.warning], [false, 'Your organization decides the mode.']);
});

test('a proxy that could not be turned on says why, and what helps, until it is on', () => {
  const failure = (code: ProblemCode, Mode = 'warp') =>
    describeProxy(
      clientState({ settings: { Mode } }, { proxyProblem: problem(code, 409, 'Nothing listens on port 40000.') }),
      tr,
    ).failure;
  const restart = { label: 'Restart WARP', command: { ask: { kind: 'client', task: 'restart-service' } } };
  assert.deepEqual(failure('proxy-not-answering'), { text: 'The local proxy does not answer.', remedy: restart });
  assert.deepEqual(failure('tunnel-cli-timeout'), { text: 'WARP did not answer in time.', remedy: restart });
  assert.deepEqual(failure('argument-rejected'), { text: 'WARP refused this value.', remedy: null });
  assert.equal(failure('proxy-not-answering', 'proxy'), null);
});

test('every way to use the proxy has its own words, with packaging and note', () => {
  const says = ProxyMethod.options.map(method => appBadge(app('a', 'A', { method }), tr));
  assert.equal(new Set(says).size, ProxyMethod.options.length);
  assert.equal(
    appDetails(app('a', 'A', { method: 'none', packaging: 'snap', note: 'Install proxychains4.' }), tr),
    'No way is known to send it through the tunnel. Snap Install proxychains4.',
  );
  assert.deepEqual(
    ProxyMethod.options.filter(method => !launchable(app('a', 'A', { method }))),
    ['none'],
  );
});

test('apps are found by every word of name, id or category, whatever the case', () => {
  const firefox = app('firefox-esr', 'Firefox ESR', { categories: ['Network', 'WebBrowser'] });
  for (const query of ['', '  ', 'fire', 'ESR fire', 'webbrowser', '.desktop'])
    assert.ok(appMatches(firefox, query), query);
  for (const query of ['chrome', 'fire chrome']) assert.ok(!appMatches(firefox, query), query);
});

test('apps are sorted as people sort, and a list of equals keeps one order', () => {
  const names = (...apps: string[]) => sortApps(apps.map((name, i) => app(`${9 - i}`, name))).map(({ name }) => name);
  assert.deepEqual(names('zebra', 'Émile', 'emacs', 'App 10', 'App 9'), ['App 9', 'App 10', 'emacs', 'Émile', 'zebra']);
  assert.deepEqual(
    sortApps([app('b', 'A'), app('a', 'A')]).map(({ id }) => id),
    ['a.desktop', 'b.desktop'],
  );
});

test('shortcuts are offered for browsers first, never for what has one or can’t use the proxy', () => {
  const offered = commonApps([
    app('calc', 'Calculator', { categories: ['Utility'] }),
    app('mail', 'Mail', { categories: ['Office', 'Email'] }),
    app('web', 'Web', { categories: ['GNOME', 'WebBrowser'] }),
    app('chromium', 'Chromium', { kind: 'chromium' }),
    app('torrent', 'Torrent', { categories: ['P2P'], method: 'none' }),
    app('firefox', 'Firefox', { kind: 'firefox', shortcut: '/x' }),
    ...[...'abcdefgh'].map(name => app(name, `Chat ${name}`, { categories: ['Chat'] })),
  ]).map(({ name }) => name);
  assert.deepEqual(offered, ['Chromium', 'Web', 'Mail', 'Chat a', 'Chat b', 'Chat c']);
});

test('the menu of an app starts it only through the tunnel or outside it, and makes shortcuts for that where it can be placed there', async () => {
  const asked: unknown[] = [];
  const limits: Message[] = [];
  const call = (async (line: string, { body }: { body: unknown }) => {
    asked.push([line, body]);
    return { limits };
  }) as never;
  const entries = (more: Partial<App>, helper: KillSwitchLook = 'off') =>
    furtherWays(app('firefox', 'Firefox', more), { call, helper }, tr);
  const labels = (more: Partial<App>) => entries(more).map(({ label }) => label);
  const [start, add, remove] = [
    'Start Only Through the Tunnel',
    'Add to App Menu, Only Through the Tunnel',
    'Remove from App Menu, Only Through the Tunnel',
  ];
  const [startOutside, addOutside, removeOutside] = [
    'Start Outside the Tunnel',
    'Add to App Menu, Outside the Tunnel',
    'Remove from App Menu, Outside the Tunnel',
  ];
  assert.deepEqual(labels({ method: 'none' }), [start, add, startOutside, addOutside]);
  assert.deepEqual(labels({ tunnelShortcut: '/x', shortcut: '/y' }), [start, remove, startOutside, addOutside]);
  // its start says why it can't be placed there
  assert.deepEqual(labels({ packaging: 'flatpak' }), [start, startOutside]);
  assert.deepEqual(labels({ packaging: 'snap', outsideShortcut: '/x' }), [start, startOutside, removeOutside]);
  for (const { command } of entries({})) if (command.ask.kind === 'work') await command.ask.work();
  assert.deepEqual(asked, [
    ['POST /api/apps/tunnel-launcher', { appId: 'firefox.desktop' }],
    ['POST /api/apps/shortcut', { appId: 'firefox.desktop', present: true, way: 'tunnel-only' }],
    ['POST /api/apps/outside-launcher', { appId: 'firefox.desktop' }],
    ['POST /api/apps/shortcut', { appId: 'firefox.desktop', present: true, way: 'outside' }],
  ]);
  assert.equal(entries({})[0]!.command.done, 'Firefox started. It uses the tunnel only.');
  limits.push(message('It has no %s.', 'IPv6'));
  const { ask } = entries({})[0]!.command;
  assert.equal(ask.kind === 'work' && (await ask.work()), 'Firefox started. It uses the tunnel only. It has no IPv6.');
  assert.equal(entries({})[2]!.command.done, 'Firefox started. It sends nothing through the tunnel.');
  const [kept, , led] = entries({}, 'not-installed').map(({ command }) => command);
  for (const command of [kept!, led!]) assert.deepEqual(command.ask, { kind: 'client', task: 'install-killswitch' });
  assert.match(kept!.confirm!.body, /keeps programs in the tunnel, is not installed/);
  assert.match(led!.confirm!.body, /lets programs bypass the tunnel, is not installed/);
});

test('a launch is reported by the name of the app', () => {
  assert.equal(launchedText('A', tr), 'A started in the tunnel');
});

test('the console keeps as many entries as the daemon’s ring, in order and each once', () => {
  const ring = createRing(3);
  const ids = () => ring.entries().map(({ id }) => id);
  assert.deepEqual(ring.add([1, 2].map(id => logEntry(id, 'x')))!.added.length, 2);
  const change = ring.add([2, 3, 4].map(id => logEntry(id, 'x')))!;
  assert.deepEqual([change.added.map(({ id }) => id), change.dropped, ids()], [[3, 4], 1, [2, 3, 4]]);
  assert.equal(ring.add([logEntry(1, 'late')]), null, 'the order changed');
  assert.deepEqual(ids(), [2, 3, 4]);
  ring.reset(
    2,
    [1, 2, 3].map(id => logEntry(id, 'x')),
  );
  assert.deepEqual(ids(), [2, 3], 'ids of another daemon start over');
  assert.equal(ring.add(Array.from({ length: 9 }, (_, i) => logEntry(10 + i, 'x')))!.added.length, 2);
  assert.deepEqual(ids(), [17, 18]);
});

test('the console drops its oldest entries together, so that its list moves seldom', () => {
  const ring = createRing(10, 5);
  const dropped = Array.from({ length: 40 }, (_, i) => ring.add([logEntry(i + 1, 'x')])!.dropped);
  assert.deepEqual(dropped.filter(Boolean), [6, 6, 6, 6, 6]);
  assert.ok(ring.entries().length >= 10 && ring.entries().length <= 15);
});

test('the filter keeps failures and actions, leaves routine reads out, and searches commands and output', () => {
  const read = logEntry(1, 'warp-cli tunnel stats', { source: 'read', stdout: 'Latency: 11ms' });
  const failed = logEntry(2, 'warp-cli settings', { source: 'read', ok: false, exitCode: 1, stderr: 'No Daemon' });
  const action = logEntry(3, 'warp-cli connect');
  const kept = (shows: (typeof SHOWS)[number], query = '') =>
    [read, failed, action].filter(entry => passes(entry, shows, query)).map(({ id }) => id);
  assert.deepEqual(
    SHOWS.map(shows => kept(shows)),
    [[2, 3], [1, 2, 3], [2]],
  );
  assert.deepEqual([kept('all', ' LATENCY '), kept('all', 'no daemon'), kept('notable', 'latency')], [[1], [2], []]);
});

test('an entry is text that a shell would take, with its outcome', () => {
  const entry = logEntry(1, 'x', {
    argv: ['warp-cli', 'add', "it's", ''],
    at: '2026-11-21T09:00:00.000Z',
    durationMs: 9.6,
    ok: false,
    exitCode: 3,
    stdout: 'one\n\n',
    stderr: 'two\n',
  });
  assert.equal(commandLine(entry), `warp-cli add 'it'\\''s' ''`);
  assert.equal(asText(entry, tr), `2026-11-21T09:00:00.000Z $ ${commandLine(entry)}  # exit 3, 10 ms\none\ntwo`);
  assert.equal(outputOf(logEntry(1, 'x', { stdout: ' \n' })), null);
  assert.equal(outcome({ ...entry, exitCode: null }, tr), 'killed');
  assert.equal(outcome({ ...entry, exitCode: null, source: 'watch' }, tr), 'ended');
  assert.equal(outcome(logEntry(1, 'x'), tr), 'OK');
  assert.equal(outcome({ ...entry, exitCode: 0 }, tr), 'failed', 'an error that the program only printed');
});

test('an empty console says why', () => {
  const shown = (total: number, filtered: boolean) => {
    const { title, buttons } = emptyStatus({ total, filtered, showAll() {} }, tr);
    return [title, ...buttons.map(({ label }) => label)];
  };
  assert.deepEqual(shown(0, true), ['No commands yet']);
  assert.deepEqual(shown(3, true), ['Nothing found', 'Show all']);
  assert.deepEqual(shown(3, false), ['Nothing to show', 'Show all']);
});

const update = (change: Partial<UpdateCheck> | null) =>
  describeUpdate(change && { ...noUpdate(), ...change }, initialConfig(), '0.2.7', tr);
const NEWER = { updateAvailable: true, latest: '0.3.0' };

test('before the first check only what is installed is known', () => {
  const { banner, current, channel, checkedAt, outcome: said, applicable } = update(null);
  assert.deepEqual(
    [banner, current, channel, checkedAt, said, applicable],
    [null, '0.2.7', 'Stable', null, null, false],
  );
});

test('a newer version is named, with the one way that this installation can take', () => {
  assert.deepEqual(update({ ...NEWER, applicable: true }).banner, {
    title: 'Culvert 0.3.0 is available',
    button: 'apply',
  });
  const by = update({ ...NEWER, command: 'apt install culvert' });
  assert.deepEqual([by.banner!.button, by.command, by.applicable], ['how', 'apt install culvert', false]);
  assert.equal(update(NEWER).banner!.button, null);
  assert.equal(update({}).banner, null);
  for (const state of ['expired', 'refused', 'unreachable'] as const) {
    const { banner } = update({ ...NEWER, applicable: true, source: { state, lastAnswerAt: null } });
    assert.ok(banner?.title && banner.button === null, state);
  }
  assert.equal(update({}).outcome, 'This is the newest version');
});

test('a check that failed says why, and claims nothing', () => {
  const { outcome: said, problem, banner } = update({ problem: { code: 'expired', detail: 'The manifest expired.' } });
  assert.deepEqual([said, problem, banner], ['Couldn’t check for updates', 'The manifest expired.', null]);
});

test('a build without a source of updates is not called a failed check', () => {
  const { outcome: said, problem, hasSource } = update({ problem: { code: 'no-source', detail: 'No source.' } });
  assert.deepEqual([said, problem, hasSource], ['Updates come with git or your packages', null, false]);
});

test('progress is shown in sizes, and no other update can start until it ends', () => {
  const progress = (phase: 'downloading' | 'verifying' | 'installing', received: number, total = 4e6) =>
    update({ ...NEWER, applicable: true, progress: { phase, received, total } });
  assert.deepEqual(progress('downloading', 1e6).progress, 'Downloading: 1.0 MB of 4.0 MB');
  assert.deepEqual(progress('installing', 4e6).progress, 'Installing…');
  assert.deepEqual([progress('installing', 0).applicable, progress('installing', 0).banner!.button], [false, null]);
});
