// Each property for each state that the daemon can report, and for none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SUBJECTS } from '../../../daemon/api/actions.ts';
import { ConnectionState } from '../../../daemon/api/schema.ts';
import type { ClientState } from '../../../daemon/view/client/client-state.ts';
import { english } from '../../../daemon/view/translator.ts';
import { changesBetween, propertiesOf } from '../../../gnome/bridge/properties.ts';
import { change, type initialSnapshot, KILL_SWITCH } from '../../support/gnome/initial.ts';
import { clientState } from '../../support/gnome/view/translator.ts';

type Snapshot = ReturnType<typeof initialSnapshot>;
type Parts = { [P in keyof Snapshot]?: Partial<Snapshot[P]> };

const SINCE = '2026-01-02T03:04:05.678Z';

/** A client with a snapshot that differs from the initial one in these parts. */
function client({ changes = [], ...parts }: Parts = {}, more: Partial<ClientState> = {}): ClientState {
  const state = clientState({ ...parts, status: { since: SINCE, raw: 'x', ...parts.status } });
  return { ...state, snapshot: { ...state.snapshot!, changes: changes as Snapshot['changes'] }, ...more };
}
const of = (...given: Parameters<typeof client>) => propertiesOf(client(...given), '1.2.3', english);
const BLOCKING = { ...KILL_SWITCH, enabled: true, active: true };
const PAUSE = change('connection', { value: 'off', endsAt: '2030-01-01T00:00:00.000Z' });

test('a connected tunnel has all its properties', () => {
  assert.deepEqual(
    of({
      status: { state: 'connected', reason: null },
      tunnel: { latencyMs: 12.4, colo: 'FRA' },
      killSwitch: BLOCKING,
    }),
    {
      Version: '1.2.3',
      State: 'connected',
      Reason: '',
      StatusText: 'Connected',
      Icon: 'org.culvert.Culvert-connected-symbolic',
      Since: Date.parse(SINCE) * 1000,
      PauseEnds: 0,
      Pauses: [900, 3600],
      Demo: false,
      ToggleAction: 'disconnect',
      ToggleText: 'Disconnect',
      CanToggle: true,
      RemedyText: '',
      Mode: 'warp',
      ModeText: 'All traffic',
      Modes: [
        ['warp', 'All traffic', true],
        ['doh', 'DNS only', true],
        ['proxy', 'Chosen apps only', true],
        ['tunnel_only', 'All traffic, your own DNS', true],
      ],
      KillSwitch: 'on',
      KillSwitchText: 'On: traffic outside the tunnel is blocked.',
      KillSwitchPauseEnds: 0,
      CanSetKillSwitch: true,
      Pending: null,
      Account: 'free',
      Latency: 12.4,
      Location: 'Frankfurt',
      LocationCode: 'FRA',
    },
  );
});

test('without a daemon nothing is known, whatever was known before', () => {
  for (const code of ['starting', 'not-running', 'stopped', 'not-responding', 'refused'] as const) {
    const offline = { code, detail: '' };
    const before: Parts = {
      status: { state: 'connected' },
      tunnel: { latencyMs: 12, colo: 'FRA' },
      tunnelCli: { emulated: true },
      killSwitch: BLOCKING,
      changes: [change('mode', { confirmBy: '2030-01-01T00:00:00.000Z' })],
    };
    for (const snapshot of [client(before).snapshot, null]) {
      const { Version, StatusText, Icon, RemedyText, ...rest } = propertiesOf(
        client({}, { snapshot, offline }),
        '1',
        english,
      );
      assert.match(StatusText, /^(Unavailable|Starting…)$/);
      assert.equal(RemedyText, code === 'not-running' || code === 'stopped' ? 'Start' : '');
      assert.equal(Icon, 'org.culvert.Culvert-unknown-symbolic');
      assert.deepEqual(
        { Version, ...rest },
        {
          Version: '1',
          State: 'unknown',
          Reason: code,
          Since: 0,
          PauseEnds: 0,
          Pauses: [900, 3600],
          Demo: false,
          ToggleAction: '',
          ToggleText: '',
          CanToggle: false,
          Mode: '',
          ModeText: '',
          Modes: [],
          KillSwitch: 'unknown',
          KillSwitchText: '',
          KillSwitchPauseEnds: 0,
          CanSetKillSwitch: false,
          Pending: null,
          Account: '',
          Latency: 0,
          Location: '',
          LocationCode: '',
        },
      );
    }
  }
});

test('each state of the tunnel keeps its name', () => {
  for (const state of ConnectionState.options) {
    const { State, ToggleAction } = of({ status: { state } });
    assert.equal(State, state);
    const actions = { connected: 'disconnect', connecting: 'disconnect', unable: 'disconnect', unknown: '' };
    assert.equal(ToggleAction, actions[state as keyof typeof actions] ?? 'connect');
  }
  assert.equal(of({ status: { state: 'unknown' } }).Since, 0);
});

test('a step that only the user can do comes before the state of the tunnel', () => {
  for (const blocked of ['not-registered', 'terms-not-accepted', 'service-stopped', 'service-hangs'] as const) {
    const { State, Reason, CanToggle } = of({ status: { state: 'unable', blocked }, killSwitch: BLOCKING });
    assert.deepEqual([State, Reason, CanToggle], ['needs-you', blocked, false]);
  }
  const reason = { code: 'CaptivePortalTimedOut', text: '' };
  for (const state of ['unable', 'connecting', 'disconnected'] as const)
    assert.equal(of({ status: { state, reason }, killSwitch: BLOCKING }).State, 'needs-you');
  assert.equal(of({ status: { state: 'connected', reason } }).State, 'connected');
});

test('a tunnel that is off is blocked while the kill switch blocks', () => {
  for (const state of ['disconnected', 'unable'] as const) {
    const { State, StatusText } = of({ status: { state }, killSwitch: BLOCKING });
    assert.deepEqual([State, StatusText], ['blocked', 'Internet is blocked']);
    for (const active of [false, null]) assert.equal(of({ status: { state }, killSwitch: { active } }).State, state);
    const paused = { ...BLOCKING, pausedUntil: '2030-01-01T00:00:00.000Z' };
    const { State: open, KillSwitch, KillSwitchPauseEnds } = of({ status: { state }, killSwitch: paused });
    assert.deepEqual([open, KillSwitch, KillSwitchPauseEnds], [state, 'paused', Date.parse('2030-01-01') * 1000]);
  }
  for (const state of ['connected', 'connecting'] as const)
    assert.equal(of({ status: { state }, killSwitch: BLOCKING }).State, state);
});

test('a pause has its end, and can be ended', () => {
  const { State, PauseEnds, StatusText, ToggleAction } = of({ status: { state: 'disconnected' }, changes: [PAUSE] });
  assert.deepEqual([State, PauseEnds, ToggleAction], ['paused', Date.parse('2030-01-01') * 1000, 'connect']);
  assert.match(StatusText, /^Paused until /);
  assert.equal(of({ status: { state: 'connected' }, changes: [PAUSE] }).PauseEnds, 0);
});

test('the kill switch is described in each of its states', () => {
  const states = {
    'not-installed': { installed: false },
    off: KILL_SWITCH,
    on: BLOCKING,
    stuck: { ...KILL_SWITCH, active: true },
    unmeasured: { ...KILL_SWITCH, enabled: true, active: null },
    missing: { ...KILL_SWITCH, enabled: true, active: false },
  };
  for (const [state, killSwitch] of Object.entries(states)) {
    const { KillSwitch, KillSwitchText, CanSetKillSwitch } = of({ killSwitch, status: { state: 'connected' } });
    assert.equal(KillSwitch, state);
    assert.match(KillSwitchText, /\.$/);
    assert.equal(CanSetKillSwitch, state !== 'not-installed');
  }
  assert.equal(of({ killSwitch: KILL_SWITCH }, { killSwitchPending: true }).CanSetKillSwitch, false);
});

test('a change that waits for its confirmation is pending, with all its parts', () => {
  const confirmBy = ['2030-01-01T00:00:30.000Z', '2030-01-01T00:00:10.000Z'];
  const changes = [
    change('mode', { value: 'doh', confirmBy: confirmBy[0]! }),
    change('killSwitch', { value: 'on', confirmBy: confirmBy[1]! }),
    change('protocol', { value: 'MASQUE', endsAt: confirmBy[0]! }),
  ];
  assert.deepEqual(of({ status: { state: 'connected' }, changes }).Pending, {
    what: ['mode', 'killSwitch'],
    text: 'Mode: DNS only\nKill Switch: On',
    until: Date.parse(confirmBy[1]!) * 1000,
  });
});

test('a mode can be chosen only where it can be set, and one that is rare is among them while it is set', () => {
  const usable = (...given: Parameters<typeof client>) => of(...given).Modes.every(([, , can]) => can);
  assert.equal(usable({ status: { state: 'connected' } }), true);
  assert.equal(usable({ status: { state: 'connected' } }, { pending: 'connect' }), false);
  assert.equal(usable({ status: { state: 'connected' }, options: { modeLocked: true } }), false);
  assert.deepEqual(
    of({ settings: { Mode: 'dot' } })
      .Modes.at(-1)
      ?.slice(0, 2),
    ['dot', 'DNS only (TLS)'],
  );
});

test('the kind of the account is known, and nothing else of it', () => {
  const of_ = (account: Partial<Snapshot['account']>) => of({ account }).Account;
  assert.equal(of_({ registered: true, type: 'Team', organization: 'example-team' }), 'team');
  assert.equal(of_({ registered: false, type: null }), 'none');
  assert.equal(of_({ registered: null, type: null }), '');
});

test('a demo says so', () => {
  const { Demo, StatusText } = of({ status: { state: 'connected' }, tunnelCli: { emulated: true } });
  assert.deepEqual([Demo, StatusText], [true, 'Demo: Connected']);
});

/** Values of the subjects that have few, which every program of the session may know. */
const FIXED: Partial<Record<string, string>> = { connection: 'on', killSwitch: 'on', mode: 'doh', protocol: 'MASQUE' };

test('no property has an address, an id or a name of the organization', () => {
  const endpoints = ['162.159.198.2:443', '[2606:4700:103::2]:443'];
  for (const state of ConnectionState.options)
    for (const code of [null, 'HappyEyeballsFailed', 'NetworkDegraded', 'DNSProxyFailed']) {
      const text = 'connecting to 162.159.198.2:443 and 2606:4700:103::2 failed';
      const properties = of({
        status: { state, reason: { code, text }, raw: text },
        tunnel: { endpoints, proxyPort: 40000, colo: 'FRA' },
        account: { registered: true, type: 'Team', organization: 'example-team' },
        options: { organization: 'example-team', gatewayId: 'abcdef0123456789', endpoint: endpoints[0]! },
        changes: SUBJECTS.flatMap(subject =>
          [endpoints[0]!, 'abcdef0123456789', '40000', 'example-team'].map(value =>
            change(subject, { value: FIXED[subject] ?? value, confirmBy: '2030-01-01T00:00:30.000Z' }),
          ),
        ),
      });
      const { Version: _, ...shown } = properties;
      assert.match(properties.Pending!.text, /Endpoint/);
      assert.doesNotMatch(
        JSON.stringify(shown),
        /\d+\.\d+\.\d+|[0-9a-f]*::|example-team|abcdef|40000/,
        `${state} ${code}`,
      );
    }
});

test('a change has what differs alone, and none where nothing does', () => {
  const before = of({ status: { state: 'connected' }, tunnel: { latencyMs: 1 } });
  assert.equal(changesBetween(before, of({ status: { state: 'connected' }, tunnel: { latencyMs: 1 } })), null);
  const after = of({ status: { state: 'connected' }, tunnel: { latencyMs: 2 } });
  assert.deepEqual(changesBetween(before, after), { Latency: 2 });
});
