// Notifications at each level: their reasons, their buttons, and their end.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Change } from '../../../../daemon/api/changes.ts';
import type { Config, Snapshot } from '../../../../daemon/api/schema.ts';
import type { ClientState } from '../../../../daemon/view/client/client-state.ts';
import {
  notificationOf,
  presentNotification,
  type Slot,
  toCompare,
} from '../../../../daemon/view/states/notification.ts';
import { KILL_SWITCH, noUpdate } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

type Level = Config['notifications']['level'];
const LEVELS: readonly Level[] = ['everything', 'needs-me', 'nothing'];

const at = (level: Level, client: ClientState): ClientState => {
  const copy = structuredClone(client);
  copy.config!.config.notifications.level = level;
  return copy;
};
const withPart = (client: ClientState, parts: Partial<Snapshot>): ClientState => ({
  ...client,
  snapshot: { ...client.snapshot!, ...parts },
});
const unable = (code: string) => clientState({ status: { state: 'unable', reason: { code, text: '' } } });
const off = (code: string | null) =>
  clientState({ status: { state: 'disconnected', reason: code === null ? null : { code, text: '' } } });
const up = clientState({ status: { state: 'connected' } });
const down = unable('HappyEyeballsFailed');
const portal = unable('CaptivePortalTimedOut');
const blocking = { ...KILL_SWITCH, enabled: true, active: true };
const pause = (endingSoon: boolean): Change => ({
  subject: 'connection',
  value: 'off',
  previous: 'on',
  setAt: '2026-01-01T10:00:00.000Z',
  confirmBy: null,
  endsAt: '2026-01-01T10:15:00.000Z',
  endingSoon,
  problem: null,
});
const paused = withPart(off('Manual'), { changes: [pause(false)] });
const updated = (change: Partial<NonNullable<ClientState['update']>>) => {
  const update = { ...noUpdate(), ...change };
  return { ...up, update };
};

describe('the level decides', () => {
  const cases: [what: string, before: ClientState, after: ClientState, levels: readonly Level[], code: string][] = [
    ['the tunnel that WARP still tries to bring up', up, down, ['everything'], 'connection'],
    ['the tunnel that nothing brings back', up, off(null), ['everything', 'needs-me'], 'connection'],
    ['the tunnel that a setting turned off', up, off('DisabledForWiFi'), ['everything'], 'connection'],
    [
      'the kill switch that blocks',
      up,
      withPart(down, { killSwitch: blocking }),
      ['everything', 'needs-me'],
      'blocked',
    ],
    ['a network that wants a sign-in', up, portal, ['everything', 'needs-me'], 'sign-in'],
    [
      'a registration that is gone',
      up,
      clientState({ status: { state: 'disconnected', blocked: 'not-registered' } }),
      ['everything', 'needs-me'],
      'setup',
    ],
    [
      'terms to accept',
      down,
      clientState({ status: { state: 'disconnected', blocked: 'terms-not-accepted' } }),
      ['everything', 'needs-me'],
      'setup',
    ],
    [
      'a change that ends',
      paused,
      withPart(paused, { changes: [pause(true)] }),
      ['everything', 'needs-me'],
      'reminder',
    ],
    [
      'a tunnel that is still off',
      off('Manual'),
      withPart(off('Manual'), { reminder: { offSince: '2026-01-01T10:00:00.000Z' } }),
      ['everything', 'needs-me'],
      'reminder',
    ],
    [
      'a certificate that is gone while tools still trust it',
      up,
      withPart(up, { trust: { offered: true, removalDue: true } }),
      ['everything', 'needs-me'],
      'setup',
    ],
    ['a new version', up, updated({ updateAvailable: true, latest: '9.0.0' }), ['everything'], 'update'],
    [
      'a source of updates that can’t be trusted',
      up,
      updated({ source: { state: 'refused', lastAnswerAt: null } }),
      ['everything', 'needs-me'],
      'update',
    ],
  ];
  for (const [what, before, after, levels, code] of cases)
    test(`on ${what}`, () => {
      const told = LEVELS.filter(level => notificationOf(before, at(level, after), null, tr)?.code === code);
      assert.deepEqual(told, levels);
      assert.equal(notificationOf(after, after, null, tr), null, 'once');
      assert.equal(notificationOf(null, after, null, tr), null, 'none at the start');
    });

  test('on a tunnel that is back: it replaces the notification of the loss', () => {
    assert.equal(notificationOf(down, up, null, tr), null);
    assert.equal(presentNotification('state', up, tr)!.summary, 'Connected');
    assert.equal(presentNotification('state', at('needs-me', up), tr), null);
  });

  test('on a change to keep', () => {
    const doh = { ...pause(false), subject: 'mode', value: 'doh', confirmBy: '2026-01-01T10:00:30.000Z' } as const;
    const client = withPart(up, { changes: [doh] });
    const told = LEVELS.filter(level => presentNotification('keep', at(level, client), tr)?.action?.label === 'Keep');
    assert.deepEqual(told, ['everything', 'needs-me']);
  });
});

test('a change by the user needs no notification', () => {
  assert.equal(notificationOf(up, down, 'disconnect', tr), null);
  assert.equal(notificationOf(up, off('Manual'), null, tr), null);
  assert.equal(notificationOf(off('Manual'), off('ConnectAccepted'), null, tr), null);
  assert.equal(notificationOf(up, withPart(off('Manual'), { killSwitch: blocking }), null, tr), null);
  assert.equal(notificationOf(up, paused, null, tr), null, 'nor is a pause');
});

test('changed settings are the act of the user only if they turned WARP off', () => {
  const changed = (current: boolean, previous: boolean, more = '') =>
    clientState({
      status: {
        state: 'disconnected',
        reason: { code: 'SettingsChanged', text: 'Settings Changed' },
        raw: `{"status":"Disconnected","reason":{"SettingsChanged":{"current":{"always_on":${current}${more}},"previous":{"always_on":${previous}}}}}`,
      },
    });
  assert.equal(notificationOf(up, changed(false, true), null, tr), null);
  for (const policy of [changed(true, true, ',"switch_locked":true'), off('SettingsChanged')]) {
    const { summary, code, action } = notificationOf(up, policy, null, tr)!;
    assert.deepEqual([summary, code, action?.label], ['Disconnected', 'connection', 'Reconnect']);
    assert.equal(notificationOf(up, policy, 'disconnect', tr), null, 'the tray asked for it');
  }
});

test('the end of a pause that fails is news once, with a way to try it again', () => {
  const failed = { ...pause(false), problem: 'WARP does not answer.' };
  for (const [killSwitch, title, button] of [
    [KILL_SWITCH, 'WARP could not be turned on again', 'Try Again'],
    [blocking, 'Internet is blocked', 'Reconnect'],
  ] as const) {
    const [before, after] = [[pause(false)], [failed]].map(changes =>
      withPart(off('Manual'), { changes, killSwitch }),
    ) as [ClientState, ClientState];
    const { summary, action, body } = notificationOf(before, after, null, tr)!;
    assert.deepEqual([summary, action?.label], [title, button]);
    assert.match(body, /could not be reverted yet: WARP does not answer/);
    assert.equal(notificationOf(after, after, null, tr), null);
    assert.equal(presentNotification('state', up, tr)!.summary, 'Connected');
  }
  assert.equal(notificationOf(paused, down, null, tr)?.summary, 'No Cloudflare server could be reached');
});

test('a tunnel that WARP accepted to bring up and did not is news once, unless it was turned off since', () => {
  const ignored = off('ConnectIgnored');
  for (const before of [off('ConnectAccepted'), off('Manual'), clientState({ status: { state: 'connecting' } })]) {
    const news = notificationOf(before, ignored, 'connect', tr);
    assert.deepEqual(
      [news?.summary, news?.action?.label, news?.code],
      ['WARP accepted, but did not connect', 'Run Checks', 'connection'],
    );
    assert.equal(notificationOf(before, ignored, 'disconnect', tr), null);
  }
  assert.equal(notificationOf(ignored, ignored, 'connect', tr), null);
  const blockedNow = (client: ClientState) => withPart(client, { killSwitch: blocking });
  const [before, after] = [blockedNow(off('ConnectAccepted')), blockedNow(ignored)];
  assert.equal(notificationOf(before, after, 'connect', tr)?.summary, 'Internet is blocked');
});

test('a state that cannot be read is not a tunnel that was lost', () => {
  const unread = clientState({ status: { state: 'unknown', raw: '', reason: { code: 'ProgramFailed', text: '' } } });
  assert.equal(notificationOf(up, unread, null, tr), null);
  assert.equal(notificationOf(unread, up, null, tr), null);
});

test('title, shape and button follow the state', () => {
  const said = (after: ClientState) => {
    const { summary, state, action } = notificationOf(up, after, null, tr)!;
    return [summary, state, action?.label];
  };
  assert.deepEqual(said(down), ['No Cloudflare server could be reached', 'unable', 'Use HTTP/2']);
  assert.deepEqual(said(withPart(down, { killSwitch: blocking })), ['Internet is blocked', 'blocked', 'Use HTTP/2']);
  assert.deepEqual(said(portal), ['This network wants you to sign in', 'needs-you', 'Open Sign-in Page']);
  assert.deepEqual(said(off(null)), ['Disconnected', 'disconnected', 'Reconnect']);
  assert.deepEqual(said(clientState({ status: { state: 'disconnected', blocked: 'not-registered' } })), [
    'Not ready',
    'needs-you',
    'Set Up',
  ]);
});

test('a reminder has a way to extend what ends, and one to end it', () => {
  const { summary, body, action, other } = notificationOf(
    paused,
    withPart(paused, { changes: [pause(true)] }),
    null,
    tr,
  )!;
  assert.equal(summary, 'WARP is back on in a minute');
  assert.match(body, /^Back on at /);
  const extension = { kind: 'extend', subject: 'connection', endsAt: pause(true).endsAt, seconds: 900 };
  assert.deepEqual(action?.command.ask, extension);
  const end = { kind: 'change', what: 'revert', subjects: ['connection'] };
  assert.deepEqual([other?.label, other?.command.ask], ['Connect Now', end]);
});

test('a notification is over when its subject is', () => {
  const over = (slot: Slot, client: ClientState) => assert.equal(presentNotification(slot, client, tr), null, slot);
  over('state', paused);
  over('state', off('Manual'));
  over('reminder', paused);
  over('reminder', up);
  over('update', updated({ updateAvailable: false }));
  over('keep', up);
  assert.equal(presentNotification('state', withPart(down, { killSwitch: blocking }), tr)!.code, 'blocked');
});

/** Sequences of states, and the summary of the last notification. */
const unread = clientState({ status: { state: 'unknown', raw: 'Mystery' } });
const COURSES: [what: string, course: ClientState[], summary: string | null][] = [
  ['a tunnel that is lost while its state is not known', [up, unread, off(null)], 'Disconnected'],
  [
    'one that is lost after a long time without a state',
    [up, unread, unread, down],
    'No Cloudflare server could be reached',
  ],
  ['one that is up again', [up, unread, up], null],
  ['one that its user turned off meanwhile', [up, unread, off('Manual')], null],
  ['one that was down before', [off('Manual'), unread, off(null)], null],
  ['one whose state was never known', [unread, off(null)], null],
];
for (const [what, course, summary] of COURSES)
  test(`${summary === null ? 'nothing reports' : 'a notification reports'} ${what}`, () => {
    let before: ClientState | null = null;
    const news = course.map(client => {
      const after = at('everything', client);
      const found = notificationOf(before, after, null, tr)?.summary ?? null;
      before = toCompare(before, after);
      return found;
    });
    assert.deepEqual(news, [...course.slice(1).map(() => null), summary]);
  });
