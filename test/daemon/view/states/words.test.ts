// The words of every state on every surface: the product of all that makes a state, and what each surface says of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../../daemon/api/changes.ts';
import type { Diagnosis } from '../../../../daemon/api/doctor.ts';
import {
  Blocked,
  ConnectionState,
  type KillSwitch,
  type Snapshot,
  type Status,
} from '../../../../daemon/api/schema.ts';
import { STATES } from '../../../../daemon/api/states.ts';
import { createStyle } from '../../../../daemon/core/terminal.ts';
import { statusJson, statusLine, statusParts } from '../../../../daemon/state/status-line.ts';
import { barLine } from '../../../../daemon/view/bars.ts';
import { type ClientState, shownState } from '../../../../daemon/view/client/client-state.ts';
import { formatStatusFile, stateInStatusFile } from '../../../../daemon/view/client/status-file.ts';
import { coverageOf, leavesTraffic } from '../../../../daemon/view/states/coverage.ts';
import { presentNotification } from '../../../../daemon/view/states/notification.ts';
import { isOffline, isOld } from '../../../../daemon/view/states/summary.ts';
import { describeTimed } from '../../../../daemon/view/states/timed.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { type Entry, menuOf, tooltipOf } from '../../../../gnome/session/menu.ts';
import { propertiesOf } from '../../../../gnome/session/properties.ts';
import { lookOf, type Properties } from '../../../../gnome/shell/look.ts';
import { change, KILL_SWITCH } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const NOW = Date.parse('2026-11-21T15:21:00.000Z');
const at = (seconds: number) => new Date(NOW + 1000 * seconds).toISOString();
const reason = (code: string) => ({ code, text: '' });

const STATUSES: Partial<Status>[] = [
  ...ConnectionState.options.flatMap(state => [
    { state, reason: null },
    ...['Manual', 'NoNetwork', 'Unheard', 'CaptivePortalTimedOut'].map(code => ({ state, reason: reason(code) })),
  ]),
  ...['ConnectAccepted', 'ConnectIgnored'].map(code => ({ state: 'disconnected', reason: reason(code) }) as const),
  { state: 'connected', network: 'unstable' },
  ...(['connected', 'connecting', 'disconnected', 'unable'] as const).map(state => ({
    state,
    lastKnown: { at: at(-60), said: null },
  })),
  { state: 'unknown', raw: null },
  { state: 'unknown', raw: '' },
  { state: 'unknown', raw: '{"status":"Hibernating"}', unknown: [{ name: 'status', value: 'Hibernating' }] },
  ...Blocked.options.map(blocked => ({ state: 'unknown', blocked }) as const),
];
const FINDING: Diagnosis = {
  id: 'no-traffic',
  title: 'Traffic through the tunnel',
  evidence: ['0 bytes received'],
  explanation: 'The firewall drops the answers.',
  fix: null,
  fixId: null,
  source: null,
  at: at(-30),
};
/** The diagnoses with which a state occurs. */
const diagnosesOf = ({ state, reason, lastKnown }: Partial<Status>, set: string) =>
  !lastKnown && (state === 'unable' || (state === 'connected' && set === 'warp') || reason?.code === 'ConnectIgnored')
    ? [null, FINDING]
    : [null];
const ON = { ...KILL_SWITCH, enabled: true, active: true };
const KILL_SWITCHES: Record<string, KillSwitch> = {
  off: KILL_SWITCH,
  on: ON,
  paused: { ...ON, pausedUntil: at(300) },
  stuck: { ...ON, enabled: false },
  unmeasured: { ...ON, active: null },
  missing: { ...KILL_SWITCH, installed: false, active: false },
};
const CHANGES: Record<string, Change[]> = {
  none: [],
  pause: [change('connection', { value: 'off', endsAt: at(840) })],
  late: [change('connection', { value: 'off', endsAt: at(-1), problem: 'WARP did not answer.' })],
  trial: [change('connection', { value: 'off', confirmBy: at(30) })],
  'trial of a mode': [change('mode', { value: 'doh', confirmBy: at(30) })],
};
/** Settings, and whether a connection is known to cover all that the mode names. */
type Known = Pick<Snapshot, 'settings' | 'splitTunnel'> & { covers: boolean };
const listed = (mode: 'exclude' | 'include' | null, ...values: string[]) => ({
  mode,
  ips: values.map(value => ({ value, description: null })),
  hosts: [],
});
const NONE = listed('exclude');
const SETTINGS: Record<string, Known> = {
  ...Object.fromEntries(
    ['warp', 'doh', 'proxy', 'tunnel_only'].map(Mode => [
      Mode,
      { settings: { Mode }, splitTunnel: NONE, covers: true },
    ]),
  ),
  'some routes excluded': { settings: { Mode: 'warp' }, splitTunnel: listed('exclude', '10.0.0.0/8'), covers: true },
  'never read': { settings: {}, splitTunnel: listed(null), covers: false },
  'list never read': { settings: { Mode: 'warp' }, splitTunnel: listed(null), covers: false },
  'new mode': { settings: { Mode: 'warp_plus_new' }, splitTunnel: NONE, covers: false },
  'only listed': { settings: { Mode: 'warp' }, splitTunnel: listed('include', '10.0.0.0/8'), covers: false },
  'only listed, no DNS': { settings: { Mode: 'tunnel_only' }, splitTunnel: listed('include'), covers: false },
  'all excluded': { settings: { Mode: 'warp' }, splitTunnel: listed('exclude', '0.0.0.0/0'), covers: false },
  'all IPv6 excluded': { settings: { Mode: 'warp+doh' }, splitTunnel: listed('exclude', '::/0'), covers: false },
  'all excluded in two halves': {
    settings: { Mode: 'warp' },
    splitTunnel: listed('exclude', '0.0.0.0/1', '128.0.0.0/1'),
    covers: false,
  },
  'half excluded': { settings: { Mode: 'warp' }, splitTunnel: listed('exclude', '0.0.0.0/1'), covers: true },
  'all listed': { settings: { Mode: 'warp' }, splitTunnel: listed('include', '0.0.0.0/0', '::/0'), covers: true },
  'all IPv4 listed': { settings: { Mode: 'warp' }, splitTunnel: listed('include', '0.0.0.0/0'), covers: false },
};

interface Case {
  name: string;
  client: ClientState;
  covers: boolean;
}

function* everyCase(): Iterable<Case> {
  for (const part of STATUSES)
    for (const [guard, killSwitch] of Object.entries(KILL_SWITCHES))
      for (const [pending, changes] of Object.entries(CHANGES))
        for (const set of part.state === 'connected' ? Object.keys(SETTINGS) : ['warp'])
          for (const diagnosis of diagnosesOf(part, set))
            for (const emulated of [false, true])
              for (const isLong of part.state === 'connecting' ? [false, true] : [false]) {
                const status = { since: at(isLong ? -15 : -14), ...part };
                const { snapshot, ...rest } = clientState({ status, tunnelCli: { emulated } });
                const { settings, splitTunnel, covers } = SETTINGS[set]!;
                const known = { settings: { 'WARP tunnel protocol': 'MASQUE', ...settings }, splitTunnel };
                const whole: Snapshot = { ...snapshot!, killSwitch, changes, diagnosis, ...known };
                const client = { ...rest, ...shownState(whole, NOW), config: rest.config };
                const facts = { ...part, guard, pending, set, emulated, isLong, isDiagnosed: diagnosis !== null };
                yield { name: JSON.stringify(facts), client, covers };
              }
}

const CASES = [...everyCase()];

/** Words of each surface: `name` the state alone, in a few words; `all` with everything around it. */
function surfaces(client: ClientState): Record<string, { name: string; all: string }> {
  const snapshot = client.snapshot!;
  const { tunnel, killSwitch, unconfirmed, banners } = describe(client, '1', tr);
  const tray = {
    tunnel,
    killSwitch,
    unconfirmed,
    timed: describeTimed(client, tr),
    now: NOW,
    proxy: null,
    recent: [],
    update: null,
    network: null,
    remote: null,
    stopped: false,
  };
  const flat = (entries: Entry[]): string[] =>
    entries.flatMap(({ label, children = [] }) => [label ?? '', ...flat(children)]);
  const menu = menuOf(tray, tr);
  const tooltip = tooltipOf(tray, tr);
  const bar = (format: 'waybar' | 'plain') => barLine(client, format, false, tr);
  const bridge = propertiesOf(client, '1', tr);
  const tile = lookOf({ ...bridge, Pending: bridge.Pending ?? {} } as Properties, NOW, tr);
  const line = statusLine(snapshot, undefined, NOW);
  const file = { owner: '1 1', port: null, state: snapshot.status.state, line, coloredLine: line, warning: null };
  const last = stateInStatusFile(formatStatusFile({ ...file, json: statusJson(snapshot, null) }));
  const first = describe({ ...client, snapshot: null, last, offline: { code: 'starting', detail: '' } }, '1', tr);
  const notice = presentNotification('state', client, tr);
  const reminder = presentNotification(
    'reminder',
    { ...client, snapshot: { ...snapshot, reminder: { at: at(0) } as never } },
    tr,
  );
  const buttons = [tunnel.remedy, tunnel.other, tunnel.toggle].map(button => button?.label ?? '');
  const said = (name: string, ...all: string[]) => ({ name, all: [name, ...all].join('\n') });
  return {
    'panel and page': said(
      tunnel.label,
      tunnel.sentence,
      tunnel.details ?? '',
      ...buttons,
      banners['kill-switch']?.title ?? '',
    ),
    'title of the page': said(`Connection – ${tunnel.label} – Culvert`),
    'first frame': said(first.tunnel.label),
    'menu of the tray': said(menu.find(({ id }) => id === 3)!.label!, ...flat(menu)),
    'tooltip of the tray': said(tooltip.title, tooltip.text),
    terminal: said(line),
    bar: said(bar('plain')),
    waybar: said(JSON.parse(bar('waybar')).text, JSON.parse(bar('waybar')).tooltip),
    bridge: said(bridge.StatusText, bridge.RemedyText, bridge.KillSwitchText),
    tile: said(tile.subtitle, ...tile.items.map(({ label }) => label)),
    'short tile': said(tile.short),
    ...(notice ? { notification: said(notice.summary, notice.body, notice.other?.label ?? '') } : {}),
    ...(reminder ? { reminder: said(reminder.summary, reminder.body) } : {}),
  };
}

/** Every case with the words of its surfaces, which several tests read. */
const SAID = CASES.map(given => ({
  ...given,
  state: describe(given.client, '1', tr).tunnel.state,
  said: surfaces(given.client),
}));

/** Fails with what any surface of any case says wrong, once for each surface and complaint. */
function assertNoComplaint(
  check: (given: Case & { state: string }) => (surface: string, said: { name: string; all: string }) => string | null,
) {
  const found = new Map<string, string>();
  for (const given of SAID) {
    const complain = check(given);
    for (const [surface, said] of Object.entries(given.said)) {
      const wrong = complain(surface, said);
      if (wrong !== null && !found.has(`${surface}: ${wrong}`)) found.set(`${surface}: ${wrong}`, given.name);
    }
  }
  assert.deepEqual(
    [...found].map(([wrong, name]) => `${wrong}\n  ${name}`),
    [],
  );
}

const CLAIM = /Your traffic goes through Cloudflare|(is|are) tunneled|are encrypted|\bProtected\b|Good"/;
/** Surfaces without room for a sentence. */
const SHORT = [
  'title of the page',
  'first frame',
  'menu of the tray',
  'bar',
  'bridge',
  'tile',
  'short tile',
  'reminder',
];

test('the cases cover every state, each with a name, a sentence and an icon', () => {
  const seen = new Set<string>();
  for (const { name, client } of CASES) {
    const { state, label, sentence, icon } = describe(client, '1', tr).tunnel;
    seen.add(state);
    assert.ok(label && sentence && icon.includes(state), name);
  }
  assert.deepEqual([...seen].sort(), [...STATES].sort());
});

test('in the demo no surface claims protection, and what is connected is a demo', () => {
  assertNoComplaint(({ client }) => (_surface, { name, all }) => {
    if (!client.snapshot!.tunnelCli.emulated) return null;
    const isSimulated = !/[Yy]our traffic|You are (not )?protected/.test(all);
    if (!isSimulated) return `speaks of real traffic: ${all}`;
    if (CLAIM.test(all)) return `claims ${CLAIM.exec(all)![0]}`;
    return /\bdemo\b/i.test(name) ? null : `does not name the demo: ${name}`;
  });
  for (const { name, client } of CASES) {
    const { tunnel, killSwitch } = describe(client, '1', tr);
    if (!tunnel.emulated) continue;
    assert.notEqual(tunnel.tone, 'success', name);
    assert.deepEqual([killSwitch.sensitive, killSwitch.command], [false, null], name);
  }
});

test('a terminal and a bar have the tone of the panel', () => {
  const tones = {
    success: [/\x1b\[32m/, 'Good'],
    accent: [/\x1b\[33m/, 'Info'],
    warning: [/\x1b\[33m/, 'Warning'],
    error: [/\x1b\[31m/, 'Critical'],
    neutral: [/\x1b\[2m/, 'Idle'],
  } as const;
  for (const { name, client } of CASES) {
    const [color, level] = tones[describe(client, '1', tr).tunnel.tone];
    const [sign] = statusParts(client.snapshot!, createStyle(true), NOW);
    assert.match(sign!, color, name);
    assert.equal(JSON.parse(barLine(client, 'i3status-rust', false, tr)).state, level, name);
  }
});

test('a finding of the checks is named on every surface with room for it', () => {
  assertNoComplaint(({ client }) => (surface, { all }) => {
    const { diagnosis, status } = client.snapshot!;
    if (diagnosis === null || SHORT.includes(surface)) return null;
    if (surface === 'terminal' && status.state !== 'connected')
      return isOffline(client.snapshot!) || /see: culvert doctor/.test(all) ? null : `does not point to it: ${all}`;
    if (status.state !== 'connected') return null;
    return /Nothing comes back through the tunnel\. The firewall drops/.test(all) ? null : `does not say it: ${all}`;
  });
  for (const { name, client } of CASES) {
    const { state, details } = describe(client, '1', tr).tunnel;
    if (client.snapshot!.diagnosis && state === 'disconnected') assert.match(details ?? '', /0 bytes received/, name);
  }
});

test('outside the demo nothing is called one', () => {
  assertNoComplaint(
    ({ client }) =>
      (_surface, { all }) =>
        !client.snapshot!.tunnelCli.emulated && /Demo:|of the demo|demo: /.test(all) ? `says ${all}` : null,
  );
});

test('no surface claims that a connection covers what is not known, or less than the mode says', () => {
  assertNoComplaint(({ client, covers }) => (surface, { all }) => {
    if (covers || client.snapshot!.tunnelCli.emulated || client.snapshot!.status.network === 'unstable') return null;
    // the menu and the tile offer the modes by their names
    const text = /menu|tile/.test(surface) ? all.replace(/^.*All traffic.*$/gm, '') : all;
    const claim = /Your traffic goes|(is|are) tunneled|are encrypted|All traffic|Good"/.exec(text);
    if (claim) return `claims ${claim[0]}`;
    const says = /It is not known which traffic|Only the sites and networks on your list|IPv[46] traffic bypasses WARP/;
    const isBare = surface === 'terminal' && client.snapshot!.settings.Mode === undefined;
    return isBare ||
      isOld(client.snapshot!.status) ||
      !['panel and page', 'tooltip of the tray', 'terminal', 'waybar', 'notification'].includes(surface) ||
      says.test(all)
      ? null
      : `does not say it: ${all}`;
  });
  for (const { name, client, covers } of CASES) {
    const { tone, mode } = describe(client, '1', tr).tunnel;
    const isListed = client.snapshot!.splitTunnel.mode === 'include';
    if (!covers && !(isListed && mode)) assert.notEqual(tone, 'success', name);
  }
});

test('without a tunnel, no surface says what an unmeasured kill switch does to the traffic', () => {
  assertNoComplaint(
    ({ client }) =>
      (_surface, { all }) =>
        client.snapshot!.killSwitch.active === null && /Your traffic bypasses|Internet is blocked/.test(all)
          ? `says ${all}`
          : null,
  );
});

test('while the tunnel is taken down, no surface says that the internet is blocked', () => {
  assertNoComplaint(({ client }) => (_surface, { all }) => {
    const { state, blocked, reason } = client.snapshot!.status;
    const isDown = state === 'disconnecting' && blocked === null && !reason?.code?.startsWith('Captive');
    return isDown && /Internet is blocked/.test(all) ? `says ${all}` : null;
  });
});

test('a kill switch that blocks is said to block no more than what is known about the tunnel', () => {
  const isUnread = (client: ClientState) => {
    const { state, blocked } = client.snapshot!.status;
    if (blocked === null || blocked === 'not-authorized') return state === 'unknown';
    return ['cli-missing', 'cli-too-old', 'service-hangs', 'terms-not-accepted'].includes(blocked);
  };
  assertNoComplaint(({ client }) => (surface, { all }) => {
    const snapshot = client.snapshot!;
    const { status, tunnelCli } = snapshot;
    const { active, pausedUntil } = snapshot.killSwitch;
    const isPartial = status.state === 'connected' && status.blocked === null && leavesTraffic(coverageOf(snapshot));
    if (!active || pausedUntil !== null || !(isUnread(client) || (isPartial && !tunnelCli.emulated))) return null;
    if (/Internet is blocked/.test(all)) return 'says that the internet is blocked';
    const says = /[Tt]raffic outside the tunnel is blocked/;
    return ['panel and page', 'terminal'].includes(surface) && !says.test(all) ? `does not say it: ${all}` : null;
  });
  for (const { client } of CASES)
    if (client.snapshot!.killSwitch === ON && isUnread(client))
      assert.equal(describe(client, '1', tr).banners['kill-switch']?.title, 'Traffic outside the tunnel is blocked.');
});

test('a tunnel that is turned off on trial is not called a pause', () => {
  for (const { name, client, state } of SAID)
    if (client.snapshot!.changes.some(({ endsAt, confirmBy }) => confirmBy && !endsAt))
      assert.notEqual(state, 'paused', name);
});

test('a pause under a kill switch that blocks has its end where the state has a sentence', () => {
  assertNoComplaint(({ client, state }) => (surface, { all }) => {
    const isPaused = client.snapshot!.changes.some(({ endsAt, problem }) => endsAt && problem === null);
    if (state !== 'blocked' || !isPaused || SHORT.includes(surface)) return null;
    return /\d\d:\d\d|min left/.test(all) ? null : `has no end: ${all}`;
  });
});

test('a pause is called so on every surface, with its end, and has one button that connects', () => {
  assertNoComplaint(({ client, state }) => (surface, { name, all }) => {
    if (state !== 'paused') return null;
    // a pause whose end failed has its own notification
    const isLate = surface === 'notification' && /could not be turned on again/.test(name);
    if (!isLate && !name.includes('Paused')) return `does not say Paused: ${name}`;
    if (/Disconnected/.test(all)) return 'says Disconnected';
    const isTimed = client.snapshot!.changes.some(({ endsAt, problem }) => endsAt && problem === null);
    if (isTimed && !/\d\d:\d\d|min left/.test(all) && !/title|first/.test(surface)) return `has no end: ${all}`;
    return surface === 'menu of the tray' && all.match(/^Connect( Now)?$/gm)?.length !== 1 ? 'connects twice' : null;
  });
});

test('a tunnel that is to connect and is still down is called so on every surface, and not turned off by its user', () => {
  const words: Record<string, RegExp> = {
    ConnectAccepted: /Waiting for WARP/,
    ConnectIgnored: /WARP accepted, but did not connect/,
  };
  assertNoComplaint(({ client, state }) => (surface, { all }) => {
    const expected = words[client.snapshot!.status.reason?.code ?? ''];
    // the first frame knows the state alone
    if (!expected || state !== 'disconnected' || ['reminder', 'first frame'].includes(surface)) return null;
    if (/Turned off by you/.test(all)) return 'says that it was turned off';
    return expected.test(all) ? null : `does not say it: ${all}`;
  });
});

test('a connection that WARP accepted and did not make is shown as a warning', () => {
  for (const { name, client } of CASES) {
    const { state, tone } = describe(client, '1', tr).tunnel;
    const isIgnored = client.snapshot!.status.reason?.code === 'ConnectIgnored';
    if (isIgnored && state === 'disconnected') assert.equal(tone, 'warning', name);
  }
});

test('no surface shows a code that Culvert itself gave a reason', () => {
  assertNoComplaint(
    () =>
      (_surface, { all }) =>
        /ConnectAccepted|ConnectIgnored|ProgramFailed/.test(all) ? all : null,
  );
});

test('a kill switch that blocks everything is named in every state, with one look where the tunnel is off', () => {
  assertNoComplaint(({ client, state }) => (surface, { name, all }) => {
    if (!isOffline(client.snapshot!))
      return /Internet is blocked/.test(all) ? 'says that the internet is blocked' : null;
    if (/bypasses/.test(all)) return `says that blocked traffic bypasses WARP: ${all}`;
    if (state === 'blocked') return /Internet is blocked/.test(name) ? null : `calls it ${name}`;
    return SHORT.includes(surface) || /Internet is blocked/.test(all) ? null : 'does not say it';
  });
  for (const { name, client } of CASES) {
    const { tunnel, banners } = describe(client, '1', tr);
    const { killSwitch, tunnelCli } = client.snapshot!;
    if (!isOffline(client.snapshot!)) continue;
    assert.notEqual(describe(client, '1', tr).killSwitch.tone, 'success', name);
    const [banner, isSwitchable] = [banners['kill-switch'], !tunnelCli.emulated];
    assert.equal(banner?.title, 'Internet is blocked', name);
    const wayOut = killSwitch.enabled ? 'Pause Kill Switch 5 min' : 'Turn Off Kill Switch';
    assert.equal(banner?.button?.label, isSwitchable ? wayOut : 'Use Real WARP', name);
    if (tunnel.state !== 'blocked') continue;
    assert.deepEqual([tunnel.tone, tunnel.other?.label], ['warning', isSwitchable ? wayOut : undefined], name);
    assert.match(tunnel.toggle.label, /^(Connect|Stop Trying)$/, name);
  }
});

test('connecting that takes longer than usual says so after 15 seconds, and has a way out', () => {
  const cases = CASES.filter(({ client }) => {
    const { tunnel } = describe(client, '1', tr);
    return (
      tunnel.state === 'connecting' &&
      !isOld(client.snapshot!.status) &&
      !/NoNetwork/.test(JSON.stringify(client.snapshot!.status.reason))
    );
  });
  for (const { name, client } of cases) {
    const { tunnel } = describe(client, '1', tr);
    const all = surfaces(client);
    assert.equal(/longer than usual/.test(tunnel.sentence), client.isLong, name);
    if (!client.isLong) continue;
    assert.deepEqual([tunnel.remedy?.label, tunnel.other?.label], ['Use HTTP/2', 'Run Checks'], name);
    for (const surface of ['panel and page', 'tooltip of the tray', 'terminal', 'waybar'])
      assert.match(all[surface]!.all, /longer than usual/, `${surface} ${name}`);
    assert.match(all['menu of the tray']!.all, /^Use HTTP\/2\nRun Checks$/m, name);
    assert.match(all.bridge!.all, /Use HTTP\/2/, name);
  }
  const [long] = cases.filter(({ client }) => client.isLong);
  const other = structuredClone(long!.client);
  other.snapshot!.settings = { Mode: 'warp', 'WARP tunnel protocol': 'WireGuard' };
  assert.equal(describe(other, '1', tr).tunnel.remedy?.label, 'Try MASQUE');
});

test('a change on trial is named where the state has a sentence', () => {
  assertNoComplaint(({ client }) => (surface, { all }) => {
    if (!client.snapshot!.changes.some(({ confirmBy }) => confirmBy !== null)) return null;
    const names = ['menu of the tray', 'tooltip of the tray', 'waybar', 'terminal', 'tile'];
    return !names.includes(surface) || /Mode: DNS only|Connection: Off|not confirmed/.test(all)
      ? null
      : 'does not name it';
  });
});

test('a state that could not be read again says on every surface when it was known, and is not green', () => {
  for (const [index, { name, client }] of CASES.entries()) {
    const said = index % 3 === 0 ? null : 'The IPC session is no longer valid';
    const snapshot = client.snapshot!;
    const status = { ...snapshot.status, lastKnown: { at: at(-60), said } };
    const old = { ...client, snapshot: { ...snapshot, status } };
    const { sentence, tone, label } = describe(old, '1', tr).tunnel;
    const isRead = status.state !== 'unknown' && status.blocked === null;
    const why = said === null ? /^WARP does not answer\.$/m : /^WARP answers with an error: The IPC session/m;
    // the setup step of a service that does not answer has the same words
    if (status.blocked !== 'service-hangs') assert.equal(why.test(sentence), isRead, name);
    assert.equal(/, as of .*\d\d:\d\d$/.test(label), isRead, name);
    if (!isRead) continue;
    assert.notEqual(tone, 'success', name);
    for (const [surface, { name: short, all }] of Object.entries(surfaces(old))) {
      assert.doesNotMatch(all, CLAIM, `${surface} of ${name}`);
      if (!['first frame', 'notification', 'reminder'].includes(surface))
        assert.match(short, /, as of .*\d\d:\d\d/, `${surface} of ${name}`);
      // there may be a tunnel again
      assert.doesNotMatch(all, /Internet is blocked/, `${surface} of ${name}`);
    }
  }
});

test('a pause that WARP reports says what happens to the traffic', () => {
  const paused = { status: { state: 'disconnected', reason: { code: 'Paused', text: '' } } } as const;
  const sentence = (emulated: boolean) =>
    describe(clientState({ ...paused, tunnelCli: { emulated } }), '1', tr).tunnel.sentence;
  assert.equal(sentence(false), 'You are not protected. Your traffic bypasses WARP.');
  assert.equal(sentence(true), 'Demo: your real traffic is not protected.');
});
