// The view of each state: words, icon, switch and figures, without a desktop.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Blocked, ConnectionState, type Snapshot, type Status } from '../../../../daemon/api/schema.ts';
import { STATES, type State } from '../../../../daemon/api/states.ts';
import type { ClientState, OfflineReason } from '../../../../daemon/view/client/client-state.ts';
import type { Look } from '../../../../daemon/view/client/labels.ts';
import { goTo } from '../../../../daemon/view/form.ts';
import {
  formatBytes,
  formatDuration,
  formatElapsed,
  formatLatency,
  formatLoss,
} from '../../../../daemon/view/format.ts';
import { setupView } from '../../../../daemon/view/forms/setup.ts';
import { remedyOf } from '../../../../daemon/view/states/causes.ts';
import { stateIcon } from '../../../../daemon/view/states/state-table.ts';
import { configProblemText, describeTunnel as describe, durationText } from '../../../../daemon/view/states/tunnel.ts';
import { figuresOf } from '../../../../daemon/view/states/words.ts';
import { fill } from '../../../../daemon/view/translator.ts';
import { describe as describeAll, describe as describeView } from '../../../../daemon/view/view.ts';
import { createDaemon } from '../../../support/gnome/daemon.ts';
import { change } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';
import { missing } from '../../../support/temporary.ts';

const ICONS = new URL('../../../../data/icons/', import.meta.url);
const states = ConnectionState.options;

const facts = (status: Partial<Snapshot['status']> = {}, more: Partial<ClientState> = {}) =>
  clientState({ status }, more);

test('each state has its own label and icon', () => {
  const shown = states.map(state => describe(facts({ state }), tr));
  assert.equal(new Set(shown.map(view => view.label)).size, states.length);
  assert.equal(new Set(shown.map(view => view.icon)).size, states.length);
});

test('every icon that is named exists', () => {
  // the index of hicolor 0.17 has no symbolic/status, so that no desktop would find them there by name
  const icons = readdirSync(new URL('hicolor/scalable/status/', ICONS));
  assert.deepEqual(icons.sort(), STATES.map(state => `${stateIcon(state)}.svg`).sort());
  for (const blocked of Blocked.options)
    assert.ok(existsSync(new URL(`panel/${setupView(blocked, tr).icon}.svg`, ICONS)), blocked);
});

const toggles: [Snapshot['status']['state'], boolean, boolean, string | null, string][] = [
  ['connected', true, true, 'disconnect', 'Disconnect'],
  ['connecting', true, true, 'disconnect', 'Cancel'],
  ['disconnecting', false, false, 'connect', 'Connect'],
  ['disconnected', false, true, 'connect', 'Connect'],
  ['unable', true, true, 'disconnect', 'Stop Trying'],
  ['unknown', false, false, null, 'Connect'],
];
for (const [state, on, sensitive, action, label] of toggles)
  test(`the switch of "${state}" is ${on ? 'on' : 'off'} and ${sensitive ? `asks to ${action}` : 'not sensitive'}`, () => {
    assert.deepEqual(describe(facts({ state }), tr).toggle, { on, sensitive, locked: false, action, label });
  });

test('while an action is pending nothing can be asked for, and the switch stays where it is', () => {
  const view = describe(facts({ state: 'disconnected' }, { pending: 'connect' }), tr);
  assert.equal(view.toggle.sensitive, false);
  assert.equal(view.toggle.on, false);
  assert.equal(view.settable, false);
});

test('a lost stream shows "unavailable" and why, never the last state', () => {
  const codes: OfflineReason['code'][] = ['not-running', 'stopped', 'not-responding', 'refused'];
  for (const code of codes) {
    const view = describe(facts({ state: 'connected' }, { offline: { code, detail: 'busy' } }), tr);
    assert.equal(view.look, 'unavailable');
    assert.equal(view.toggle.on, false);
    assert.equal(view.toggle.sensitive, false);
    assert.equal(view.live, false);
  }
});

test('output that is not understood is shown as it is, without a switch', () => {
  const given = facts({ state: 'unknown', raw: 'Status update: Frobnicating' });
  const view = describe(given, tr);
  assert.equal(view.details, 'Status update: Frobnicating');
  assert.equal(view.toggle.sensitive, false);
  assert.equal(view.settable, true);
});

test('says that a tunnel CLI crashes or prints nothing, and offers to restart the service', () => {
  for (const [raw, details] of [
    ['', null],
    ['Segmentation fault', 'Segmentation fault'],
  ] as const) {
    const failed = describe(facts({ state: 'unknown', raw, reason: { code: 'ProgramFailed', text: '' } }), tr);
    assert.equal(failed.label, 'WARP’s program failed');
    assert.match(failed.sentence, /restart WARP’s service, or install WARP again/);
    assert.deepEqual(failed.remedy?.command, { ask: { kind: 'client', task: 'restart-service' } });
    assert.deepEqual([failed.settable, failed.details], [true, details]);
  }
});

test('before the first word of the tunnel CLI nothing is claimed and nothing can be asked for', () => {
  const view = describe(facts({ state: 'unknown', raw: null }), tr);
  assert.match(view.label, /Reading/);
  assert.equal(view.settable, false);
});

test('a lack of authority has a banner where the state does not name it, and no second one where it does', () => {
  const refused = { isRefused: true };
  const bannerOf = (status: Partial<Snapshot['status']>) =>
    describeAll(facts(status, refused), '1', tr).banners.refusal;
  assert.equal(bannerOf({ state: 'connected' })?.title, 'You can’t change WARP here');
  assert.equal(bannerOf({ blocked: 'not-authorized' }), null);
});

test('settings that could not be read again have a banner, unless the state says that nothing can be read', () => {
  const bannerOf = (
    old: ClientState['old'],
    status: Partial<Snapshot['status']> = {},
    more: Partial<ClientState> = {},
  ) => describeAll({ ...facts({ state: 'connected', ...status }, more), old }, '1', tr).banners.old;
  assert.match(bannerOf(['settings'])!.title, /settings could not be read again/);
  assert.ok(bannerOf(['splitTunnel']));
  assert.equal(bannerOf([]), null);
  assert.equal(bannerOf(['tunnel', 'account']), null);
  assert.equal(bannerOf(['settings'], { blocked: 'service-hangs' }), null);
  assert.equal(bannerOf(['settings'], { lastKnown: { at: '2020-02-29T12:00:00.000Z', said: null } }), null);
  assert.equal(bannerOf(['settings'], {}, { offline: { code: 'stopped', detail: '' } }), null);
});

test('a demo never says that traffic is protected', () => {
  const demo = facts({ state: 'connected' });
  demo.snapshot!.tunnelCli.emulated = true;
  assert.match(describeAll(demo, '1', tr).banners.demo!.title, /nothing is tunneled/);
});

test('lost changes have a banner until they are acknowledged, without the button where it would confirm another change', () => {
  const lostChanges = { file: '/state/changes.json.broken' };
  const bannerOf = (more: Partial<Snapshot>) => {
    const client = clientState();
    return describeAll({ ...client, snapshot: { ...client.snapshot!, ...more } }, '1', tr).banners['lost-changes'];
  };
  assert.equal(bannerOf({}), null);
  assert.deepEqual(bannerOf({ lostChanges })?.button?.command.ask, { kind: 'acknowledge' });
  const unconfirmed = change('mode', { confirmBy: '2026-01-01T10:00:30.000Z' });
  assert.equal(bannerOf({ lostChanges, changes: [unconfirmed] })?.button, null);
});

test('a certificate that is gone while tools still trust it has a banner, whose button opens the page', () => {
  const bannerOf = (removalDue: boolean) => {
    const client = clientState();
    return describeAll({ ...client, snapshot: { ...client.snapshot!, trust: { offered: true, removalDue } } }, '1', tr)
      .banners.certificate;
  };
  assert.equal(bannerOf(false), null);
  assert.equal(bannerOf(true)?.title, 'Tools still trust a certificate that is no longer valid');
  assert.deepEqual(bannerOf(true)?.button?.command, goTo('certificate'));
});

test('a disconnected tunnel never says that traffic goes out while the kill switch blocks it', () => {
  const sentence = (killSwitch: object) =>
    describe(clientState({ status: { state: 'disconnected' }, killSwitch }), tr).sentence;
  assert.match(sentence({ active: false }), /bypasses/);
  assert.match(sentence({ active: true }), /kill switch waits/);
  assert.match(sentence({ active: true, pausedUntil: '2026-11-21T10:00:00.000Z' }), /bypasses/);
});

test('a connection says what its mode covers', () => {
  const says = (Mode: string, proxyPort: number | null = null) => {
    const given = facts({ state: 'connected' });
    given.snapshot!.settings = { Mode };
    given.snapshot!.tunnel.proxyPort = proxyPort;
    return describe(given, tr).sentence;
  };
  assert.match(says('doh'), /other traffic is not tunneled/);
  assert.match(says('tunnel_only'), /DNS is not/);
  assert.match(says('proxy', 40001), /127\.0\.0\.1:40001/);
  assert.match(says('warp'), /goes through Cloudflare/);
});

test('the protocol is found in text and JSON settings of any spelling, else in the tunnel itself', () => {
  const protocol = (settings: Snapshot['settings'], running: string | null = null) => {
    const given = facts();
    given.snapshot!.settings = settings;
    given.snapshot!.tunnel.protocol = running;
    return describe(given, tr).protocol;
  };
  assert.equal(protocol({ 'WARP tunnel protocol': 'WireGuard' }), 'WireGuard');
  assert.equal(protocol({ warp_tunnel_protocol: 'masque' }), 'MASQUE');
  assert.equal(protocol({}, 'MASQUE (HTTPS via UDP)'), 'MASQUE');
  assert.equal(protocol({ 'MASQUE Protocol Settings': '' }), null);
});

test('without systemd no page, button or remedy starts the service by it, and the command is that of the program', () => {
  const serviceManager = { kind: 'none', startsWarp: false } as const;
  const without = { version: null, serviceManager };
  for (const blocked of Blocked.options) {
    const usual = setupView(blocked, tr, null, { version: null });
    const { buttons, commands } = setupView(blocked, tr, null, without);
    const tasks = buttons.map(({ command: { ask } }) => (ask.kind === 'client' ? ask.task : ''));
    assert.deepEqual(
      tasks.filter(task => task.endsWith('-service')),
      [],
      blocked,
    );
    assert.doesNotMatch(JSON.stringify(commands), /systemctl/, blocked);
    if (!/systemctl/.test(JSON.stringify(usual.commands)))
      assert.deepEqual([buttons, commands], [usual.buttons, usual.commands]);
    else assert.match(commands[0]!.purpose, /systemd does not run here/);
  }
  const snapshot = facts().snapshot!;
  for (const remedy of ['start', 'restart'] as const) {
    const offered = remedyOf(remedy, { ...snapshot, tunnelCli: { ...snapshot.tunnelCli, serviceManager } }, tr);
    assert.deepEqual(offered?.command, goTo('checks'), remedy);
  }
});

test('each set-up step has a page with a first button that leads on', () => {
  const first = (blocked: Blocked) => setupView(blocked, tr).buttons[0]!.command.ask;
  for (const blocked of Blocked.options) {
    assert.ok(first(blocked), blocked);
    assert.equal(describe(facts({ state: 'unable', blocked }), tr).toggle.sensitive, false, blocked);
  }
  assert.deepEqual(first('not-registered'), { kind: 'action', request: { action: 'register' } });
  assert.deepEqual(first('terms-not-accepted'), { kind: 'action', request: { action: 'acceptTerms' } });
  const { links } = setupView('terms-not-accepted', tr);
  assert.ok(links.length === 2 && links.every(({ uri }) => uri.startsWith('https://www.cloudflare.com/')));
});

test('a client that is too old is named with its version and the oldest that works', () => {
  const given = facts({ state: 'unknown', blocked: 'cli-too-old' });
  given.snapshot!.tunnelCli.version = '2023.7.159';
  const sentence = /2023\.7\.159 is too old: install version 2024\.9\.346 or newer/;
  assert.match(describe(given, tr).sentence, sentence);
  assert.match(setupView('cli-too-old', tr, null, { version: '2023.7.159' }).description, sentence);
});

test('without WARP, the first button copies the command of this system, and the last starts the demo', () => {
  const { buttons, commands } = setupView('cli-missing', tr, null, { version: null, installCommand: 'sudo x' });
  assert.deepEqual(
    commands.map(({ command }) => command),
    ['sudo x'],
  );
  assert.deepEqual(buttons[0]?.command.ask, { kind: 'copy', text: 'sudo x' });
  assert.deepEqual(buttons.at(-1)?.command.ask, { kind: 'restart', demo: true });
  assert.equal(setupView('cli-missing', tr).buttons[0]?.command.ask.kind, 'open');
});

test('the banner of the demo leads to the real client', () => {
  const demo = facts({ state: 'connected' });
  demo.snapshot!.tunnelCli.emulated = true;
  const { banners } = describeView(demo, '1.0.0', tr);
  assert.deepEqual(banners.demo?.button?.command.ask, { kind: 'restart', demo: false });
});

test('an organization’s lock is named, and the tunnel can be turned on but not off', () => {
  const locked = facts({ state: 'connected' });
  locked.snapshot!.options = { ...locked.snapshot!.options, switchLocked: true };
  locked.snapshot!.account.organization = 'Example';
  const view = describe(locked, tr);
  assert.match(view.lock!, /^Managed by Example/);
  assert.equal(view.toggle.sensitive, false);
  locked.snapshot!.status = { ...locked.snapshot!.status, state: 'disconnected' };
  assert.equal(describe(locked, tr).toggle.sensitive, true);
});

test('says that it waits for a slow tunnel CLI', () => {
  assert.equal(describe(facts({}, { pending: 'connect', slow: true }), tr).waiting, 'Waiting for WARP…');
  assert.equal(describe(facts({}, { pending: 'connect' }), tr).waiting, null);
});

test('a configuration problem names file, line, key and reason', t => {
  const { config } = createDaemon(missing(t));
  const problem = { file: '/etc/culvert/config.json', line: 3, key: 'server.port', message: 'is not a port' };
  const says = (...problems: (typeof problem)[]) => configProblemText({ ...config, problems }, tr);
  assert.equal(says(), null);
  assert.equal(says(problem), '/etc/culvert/config.json:3: server.port: is not a port');
  assert.equal(says(problem, problem), '/etc/culvert/config.json:3: server.port: is not a port (and 1 more)');
});

test('figures read as people write them', () => {
  const bytes = (n: number) => formatBytes(n, tr);
  assert.deepEqual([0, 999, 1000, 1_234_567, 999_949, 999_950, 5e15].map(bytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '1.2 MB',
    '999.9 kB',
    '1.0 MB',
    '5.0 PB',
  ]);
  const clock = (n: number) => formatDuration(n, tr);
  assert.deepEqual([-3, 0, 42, 725, 3723, 86_400, 180_000].map(clock), [
    '0:00',
    '0:00',
    '0:42',
    '12:05',
    '1:02:03',
    '1 day, 0:00:00',
    '2 days, 2:00:00',
  ]);
  assert.deepEqual(
    [-3, 2.9, 59, 60, 3599, 3600, 86_399, 180_000].map(n => formatElapsed(n, tr)),
    ['0 s', '2 s', '59 s', '1 min', '59 min', '1 h 0 min', '23 h 59 min', '2 days, 2 h'],
  );
  assert.deepEqual(
    [0.5, 9.96, 11.4, 212].map(ms => formatLatency(ms, tr)),
    ['0.5 ms', '10 ms', '11 ms', '212 ms'],
  );
  assert.deepEqual(
    [0, 0.0002, 0.08, 1].map(loss => formatLoss(loss, tr)),
    ['0 %', '0.02 %', '8 %', '100 %'],
  );
});

test('placeholders are filled in order, and a missing value stays visible', () => {
  assert.equal(fill('%d of %s', 1, 'two'), '1 of two');
  assert.equal(fill('%s and %s', 'one'), 'one and %s');
});

test('a connection is shown as good unless the network is unstable or a check found something', () => {
  const view = (status: Partial<Snapshot['status']>, diagnosis: Snapshot['diagnosis'] = null) => {
    const given = facts(status);
    given.snapshot!.diagnosis = diagnosis;
    return describe(given, tr);
  };
  const found: Snapshot['diagnosis'] = {
    id: 'dns',
    title: 'DNS fails',
    evidence: ['no reply'],
    explanation: null,
    fix: null,
    fixId: null,
    source: null,
    at: '2026-11-21T10:00:00.000Z',
  };
  assert.equal(view({ state: 'connected', network: 'healthy' }).tone, 'success');
  assert.equal(view({ state: 'connected', network: 'unstable' }).tone, 'warning');
  assert.equal(view({ state: 'connected', network: null }, found).tone, 'warning');
  assert.notEqual(view({ state: 'disconnected', network: 'unstable' }).tone, 'warning');
});

test('an unstable network is described by the figures of its reason, not by the figures of the tunnel', () => {
  const sentence = (text: string) => {
    const reason = { code: 'NetworkDegraded', text };
    const status = { state: 'connected', network: 'unstable', reason } as const;
    return describe(clientState({ status, tunnel: { loss: 0.0007, latencyMs: 16 } }), tr).sentence;
  };
  assert.equal(sentence('Network degraded: 8 % loss, 400 ms round trip'), 'Slow connection: 8 % lost, 400 ms');
  assert.equal(sentence('Network degraded: 8 % loss'), 'Slow connection');
  assert.equal(sentence('Network degraded'), 'Slow connection');
});

test('the figures come from the reason where the network is unstable, otherwise from the tunnel', () => {
  const reason = { code: 'NetworkDegraded', text: 'Network degraded: 8 % loss, 400 ms round trip' };
  const figures = (status: Partial<Status>) => {
    const { latencyMs, loss } = figuresOf(clientState({ status, tunnel: { loss: 0.0007, latencyMs: 16 } }).snapshot!);
    return [latencyMs, loss];
  };
  assert.deepEqual(figures({ state: 'connected', network: 'unstable', reason }), [400, 0.08]);
  assert.deepEqual(figures({ state: 'connected', network: 'unstable', reason: null }), [16, 0.0007]);
  assert.deepEqual(figures({ state: 'connected', network: 'healthy', reason }), [16, 0.0007]);
});

test('a registration that was removed on the server does not look like a first start', () => {
  const titles = (text: string) => {
    const given = facts({ state: 'unable', blocked: 'not-registered', reason: { code: 'RegistrationMissing', text } });
    const view = describe(given, tr);
    return [setupView('not-registered', tr, view.lost).title, view.sentence];
  };
  const lost = 'Cloudflare does not know this registration';
  assert.deepEqual(titles('Registration Missing due to: Does not exist in API'), [lost, lost]);
  assert.equal(titles('Registration Missing due to: Revoked')[0], 'Your organization removed this device');
  for (const text of ['Registration Missing due to: Daemon Startup', 'Registration Missing'])
    assert.deepEqual(titles(text), ['Set up WARP', 'This device is not set up.']);
  assert.equal(titles('Registration Missing due to: Invalidated (Manual Deletion)')[0], 'Set up WARP');
});

test('the text of the tunnel CLI is among the details of a failure only', () => {
  const details = (state: Snapshot['status']['state'], reason: Snapshot['status']['reason']) =>
    describe(facts({ state, reason }), tr).details;
  const known = { code: 'CF_NO_NETWORK', text: 'No Network' };
  const unknown = { code: 'Frobnicating', text: 'Frobnicating' };
  assert.equal(details('unable', known), 'CF_NO_NETWORK: No Network');
  assert.equal(details('unable', { code: null, text: 'The moon is full' }), 'The moon is full');
  assert.equal(details('unable', null), null);
  assert.equal(details('connecting', known), 'CF_NO_NETWORK: No Network');
  assert.equal(details('connecting', unknown), null);
});

test('without a snapshot the view says nothing about the tunnel', () => {
  const view = describe({ ...facts(), snapshot: null }, tr);
  assert.deepEqual(
    [view.look, view.emulated, view.mode, view.protocol, view.lock],
    ['unavailable', false, null, null, null],
  );
});

test('the locks of an organization are named', () => {
  const lock = (options: Partial<Snapshot['options']>) => describe(clientState({ options }), tr).lock;
  assert.equal(lock({ modeLocked: false, switchLocked: false }), null);
  assert.equal(lock({ switchLocked: true }), 'Managed by your organization · WARP can’t be turned off here.');
  assert.equal(lock({ modeLocked: true }), 'Managed by your organization · The mode can’t be changed here.');
});

test('a clock runs with the states that last, and the others say since when', () => {
  const [since, now] = ['2026-11-21T15:06:00', Date.parse('2026-11-21T15:07:31')];
  const looks: Look[] = [...states, 'setup', 'unavailable'];
  const text = (look: Look, state: State = 'unknown') => durationText({ look, state }, since, now, tr);
  assert.deepEqual(Object.fromEntries(looks.map(look => [look, text(look)])), {
    connected: 'Connected for 1 min',
    connecting: 'Trying for 1 min',
    unable: 'Trying for 1 min',
    disconnected: 'Since 15:06',
    disconnecting: null,
    unknown: null,
    setup: null,
    unavailable: null,
  });
  assert.equal(text('disconnected', 'paused'), null, 'its end is counted down');
});
