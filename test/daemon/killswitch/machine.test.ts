// Every mode against every event: the mode that follows, and the effects in their order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Effect, type Event, type Mode, reconcile, transition, undo } from '../../../daemon/killswitch/machine.ts';
import type { Wanted } from '../../../daemon/killswitch/rules/wanted.ts';
import { message } from '../../../daemon/killswitch/wording.ts';

const OLD: Wanted = { allowLan: false, endpoints: [] };
const NEW: Wanted = { allowLan: true, endpoints: [] };
const trialOf = (wanted: Wanted | null) => ({ bootId: 'b', until: 100, by: 1000, setAt: 5, wanted });

const OFF: Mode = { kind: 'off' };
const ON: Mode = { kind: 'on', wanted: OLD, fingerprint: 'f' };
const FAIL_CLOSED: Mode = { kind: 'fail-closed', why: message('torn') };
const on = (wanted: Wanted): Mode => ({ kind: 'on', wanted, fingerprint: null });
/** `wanted` holds, and `previous` returns. */
const trying = (wanted: Wanted | null, previous: Wanted | null, fingerprint: string | null = null): Mode => ({
  kind: 'trying',
  trial: trialOf(wanted),
  previous,
  fingerprint,
});
/** Off, and turned on until it is confirmed; the other way round; and one value in place of another. */
const ON_FROM_OFF = trying(NEW, null, 'f');
const OFF_FROM_ON = trying(null, OLD);
const NEW_FROM_OLD = trying(NEW, OLD, 'f');

/** "Off" that can't be confirmed. */
const PAUSE = { ...trialOf(null), by: null };
const PAUSED: Mode = { kind: 'trying', trial: PAUSE, previous: OLD, fingerprint: null };

/** One word for each effect. */
function words(effects: readonly Effect[]): string {
  return effects
    .map(effect => {
      const tolerant = 'tolerant' in effect ? '?' : '';
      switch (effect.do) {
        case 'watch':
          return effect.on ? 'watch' : 'unwatch';
        case 'block':
          return effect.wanted === null ? 'fallback' : effect.wanted === NEW ? 'block-new' : 'block-old';
        case 'store-rules':
          return effect.wanted === NEW ? 'store-new' : 'store-old';
        case 'store-trial':
          return effect.trial.wanted === null ? 'try-off' : effect.trial.wanted === NEW ? 'try-new' : 'try-old';
        case 'arm':
          return `arm-${effect.seconds}`;
        default:
          return effect.do + tolerant;
      }
    })
    .join(' ');
}

const DISABLE = 'forget-rules unwatch open forget-trial disarm?';
const ENABLE = 'store-new forget-trial watch block-new disarm?';
const TO_OFF = 'unwatch open forget-trial';
const TO_OLD = 'watch block-old forget-trial disarm?';
const RESTART = `${TO_OLD} refresh-rules`;
const PAUSING = 'arm-60 try-off watch open';
const ABSENT = { kind: 'absent' } as const;
const STORED = { kind: 'wanted', wanted: OLD } as const;
const started = (
  stored: Extract<Event, { kind: 'started' }>['stored'],
  inForce = false,
  trial: Extract<Event, { kind: 'started' }>['trial'] = null,
): Event => ({ kind: 'started', stored, trial, inForce });
const pause: Event = { kind: 'try', trial: PAUSE, seconds: 60 };
const attempt = (wanted: Wanted | null): Event => ({ kind: 'try', trial: trialOf(wanted), seconds: 30 });
const found = (wanted: Wanted | null, due: boolean) => ({ trial: trialOf(wanted), due });

const CASES: readonly [Mode, Event, Mode, string][] = [
  [OFF, started({ kind: 'absent' }), OFF, ''],
  [
    OFF,
    started({ kind: 'absent' }, true),
    { kind: 'fail-closed', why: message('Nothing is stored, but rules of an earlier run are in force.') },
    'watch fallback',
  ],
  [
    OFF,
    started({ kind: 'broken', why: message('it is empty') }),
    { kind: 'fail-closed', why: message('it is empty') },
    'watch fallback',
  ],
  [OFF, started({ kind: 'wanted', wanted: OLD }), on(OLD), RESTART],
  [OFF, { kind: 'enable', wanted: NEW }, on(NEW), ENABLE],
  [ON, { kind: 'enable', wanted: NEW }, on(NEW), ENABLE],
  [PAUSED, { kind: 'enable', wanted: NEW }, on(NEW), `forget-trial ${ENABLE}`],
  [FAIL_CLOSED, { kind: 'enable', wanted: NEW }, on(NEW), ENABLE],
  ...[OFF, ON, PAUSED, FAIL_CLOSED].map(
    mode => [mode, { kind: 'disable' }, OFF, DISABLE] as [Mode, Event, Mode, string],
  ),
  [OFF, { kind: 'damaged' }, OFF, ''],
  [ON, { kind: 'damaged' }, ON, 'watch block-old'],
  [PAUSED, { kind: 'damaged' }, PAUSED, ''],
  [FAIL_CLOSED, { kind: 'damaged' }, FAIL_CLOSED, 'fallback'],

  // a pause ends at its time, or earlier, and can't be made permanent
  [OFF, pause, OFF, ''],
  [ON, pause, PAUSED, PAUSING],
  [PAUSED, pause, PAUSED, PAUSING],
  [FAIL_CLOSED, pause, FAIL_CLOSED, ''],
  [PAUSED, { kind: 'revert' }, on(OLD), TO_OLD],
  [PAUSED, { kind: 'confirm' }, PAUSED, ''],
  [OFF, started(STORED, false, { trial: PAUSE, due: false }), PAUSED, 'watch open'],
  [OFF, started(STORED, false, { trial: PAUSE, due: true }), on(OLD), RESTART],
  [OFF, started(ABSENT, false, { trial: PAUSE, due: true }), OFF, 'forget-trial?'],
  [
    OFF,
    started(ABSENT, true, { trial: PAUSE, due: true }),
    { kind: 'fail-closed', why: message('Nothing is stored, but rules of an earlier run are in force.') },
    'forget-trial? watch fallback',
  ],

  // a change that is to be confirmed: what is stored stays what returns
  [OFF, attempt(NEW), trying(NEW, null), 'try-new watch block-new disarm?'],
  [ON, attempt(NEW), trying(NEW, OLD), 'try-new watch block-new disarm?'],
  [ON, attempt(null), trying(null, OLD), 'arm-30 try-off watch open'],
  [PAUSED, attempt(NEW), PAUSED, ''],
  [PAUSED, attempt(null), PAUSED, ''],
  [FAIL_CLOSED, attempt(NEW), FAIL_CLOSED, ''],
  [FAIL_CLOSED, attempt(null), FAIL_CLOSED, ''],
  // a change to the value that returns anyway is not a trial
  [OFF, attempt(null), OFF, DISABLE],
  [ON, attempt(OLD), on(OLD), 'store-old forget-trial watch block-old disarm?'],
  // another trial replaces it: the first value returns
  [ON_FROM_OFF, attempt(OLD), trying(OLD, null), 'try-old watch block-old disarm?'],
  [ON_FROM_OFF, attempt(null), OFF, DISABLE],
  [NEW_FROM_OLD, attempt(null), trying(null, OLD), 'arm-30 try-off watch open'],
  [OFF_FROM_ON, attempt(NEW), trying(NEW, OLD), 'try-new watch block-new disarm?'],
  [OFF_FROM_ON, attempt(OLD), on(OLD), 'forget-trial store-old forget-trial watch block-old disarm?'],

  [ON_FROM_OFF, { kind: 'confirm' }, { kind: 'on', wanted: NEW, fingerprint: 'f' }, 'store-new forget-trial'],
  [NEW_FROM_OLD, { kind: 'confirm' }, { kind: 'on', wanted: NEW, fingerprint: 'f' }, 'store-new forget-trial'],
  [OFF_FROM_ON, { kind: 'confirm' }, OFF, DISABLE],
  [ON_FROM_OFF, { kind: 'revert' }, OFF, TO_OFF],
  [NEW_FROM_OLD, { kind: 'revert' }, on(OLD), TO_OLD],
  [OFF_FROM_ON, { kind: 'revert' }, on(OLD), TO_OLD],
  ...[OFF, ON, FAIL_CLOSED].flatMap(mode =>
    (['confirm', 'revert'] as const).map(kind => [mode, { kind }, mode, ''] as [Mode, Event, Mode, string]),
  ),

  // a choice without a time replaces it
  [ON_FROM_OFF, { kind: 'enable', wanted: NEW }, on(NEW), ENABLE],
  [NEW_FROM_OLD, { kind: 'enable', wanted: NEW }, on(NEW), ENABLE],
  [OFF_FROM_ON, { kind: 'enable', wanted: NEW }, on(NEW), `forget-trial ${ENABLE}`],
  ...[ON_FROM_OFF, NEW_FROM_OLD, OFF_FROM_ON].map(
    mode => [mode, { kind: 'disable' }, OFF, DISABLE] as [Mode, Event, Mode, string],
  ),
  ...[ON_FROM_OFF, NEW_FROM_OLD, OFF_FROM_ON].map(mode => [mode, pause, mode, ''] as [Mode, Event, Mode, string]),
  [ON_FROM_OFF, { kind: 'damaged' }, ON_FROM_OFF, 'watch block-new'],
  [OFF_FROM_ON, { kind: 'damaged' }, OFF_FROM_ON, ''],

  // after a kill of the service, the trial goes on, has expired, or was already decided
  [OFF, started(ABSENT, true, found(NEW, false)), trying(NEW, null), 'watch block-new'],
  [OFF, started(STORED, false, found(NEW, false)), trying(NEW, OLD), 'watch block-new'],
  [OFF, started(STORED, false, found(null, false)), trying(null, OLD), 'watch open'],
  [OFF, started(ABSENT, true, found(NEW, true)), OFF, TO_OFF],
  [OFF, started(STORED, false, found(NEW, true)), on(OLD), RESTART],
  [OFF, started(STORED, false, found(null, true)), on(OLD), RESTART],
  [OFF, started(STORED, false, found({ ...OLD }, false)), on(OLD), RESTART],
  [OFF, started(ABSENT, false, found(null, false)), OFF, 'forget-trial?'],
  [
    OFF,
    started({ kind: 'broken', why: message('it is empty') }, true, found(null, false)),
    { kind: 'fail-closed', why: message('it is empty') },
    'forget-trial? watch fallback',
  ],
];

function title(mode: Mode, event: Event): string {
  const from =
    mode === PAUSED ? 'paused' : mode.kind === 'trying' ? `trying ${mode.trial.wanted ? 'on' : 'off'}` : mode.kind;
  if (event.kind === 'started')
    return `${from}, started with ${event.stored.kind}${event.inForce ? ' and a table' : ''}${event.trial ? `, ${event.trial.due ? 'due ' : ''}${event.trial.trial === PAUSE ? 'pause' : 'trial'}` : ''}`;
  return `${from}, ${event.kind}${event.kind === 'try' ? ` ${event === pause ? 'for a pause' : event.trial.wanted ? 'on' : 'off'}` : ''}`;
}

for (const [mode, event, next, effects] of CASES)
  test(`${title(mode, event)}: ${effects || 'nothing'}`, () => {
    const result = transition(mode, event);
    assert.deepEqual(result.mode, next);
    assert.equal(words(result.effects), effects);
  });

test('a failed change restores the rules that were in force', () => {
  const enable: Event = { kind: 'enable', wanted: NEW };
  for (const [before, event, stored, mode, effects] of [
    [OFF, enable, null, OFF, 'forget-rules unwatch open'],
    [OFF, attempt(NEW), null, OFF, 'forget-trial disarm? forget-rules unwatch open'],
    [ON, attempt(NEW), 'text', ON, 'forget-trial restore-rules disarm? watch'],
    [ON, attempt(null), 'text', ON, 'forget-trial restore-rules disarm? watch'],
    [OFF, enable, 'text', OFF, 'restore-rules unwatch open'],
    [ON, enable, 'text', ON, 'restore-rules'],
    [ON, enable, null, ON, ''],
    [FAIL_CLOSED, enable, null, FAIL_CLOSED, ''],
    [OFF, { kind: 'disable' }, null, OFF, ''],
    [ON, { kind: 'disable' }, 'text', ON, 'restore-rules watch'],
    [FAIL_CLOSED, { kind: 'disable' }, null, FAIL_CLOSED, 'watch'],
    [ON, pause, 'text', ON, 'forget-trial restore-rules disarm? watch'],
  ] as const) {
    const result = undo(before, event, { rules: stored, trial: null });
    assert.deepEqual(result.mode, mode, `${before.kind} ${event.kind}`);
    assert.equal(words(result.effects), effects, `${before.kind} ${event.kind}`);
  }
});

test('a failed change of an unconfirmed value leaves that value as it is', () => {
  const enable: Event = { kind: 'enable', wanted: NEW };
  for (const [before, event, rules, effects] of [
    [ON_FROM_OFF, enable, null, 'restore-trial forget-rules watch'],
    [NEW_FROM_OLD, enable, 'text', 'restore-rules restore-trial watch'],
    [OFF_FROM_ON, enable, 'text', 'restore-rules restore-trial watch'],
    [ON_FROM_OFF, { kind: 'disable' }, null, 'restore-trial watch'],
    [OFF_FROM_ON, { kind: 'disable' }, 'text', 'restore-rules restore-trial watch'],
    [ON_FROM_OFF, attempt(OLD), null, 'restore-trial forget-rules watch'],
    [ON_FROM_OFF, { kind: 'confirm' }, null, 'restore-trial forget-rules watch'],
    [OFF_FROM_ON, { kind: 'confirm' }, 'text', 'restore-rules restore-trial watch'],
    [ON_FROM_OFF, { kind: 'revert' }, null, 'restore-trial forget-rules watch'],
    [OFF_FROM_ON, { kind: 'revert' }, 'text', 'restore-rules restore-trial watch'],
    [PAUSED, enable, 'text', 'restore-rules restore-trial watch'],
    [PAUSED, pause, 'text', 'restore-rules restore-trial watch'],
    [PAUSED, { kind: 'revert' }, 'text', 'restore-rules restore-trial watch'],
  ] as const) {
    const result = undo(before, event, { rules, trial: 'trial' });
    assert.deepEqual(result.mode, before, `${title(before, event)}`);
    assert.equal(words(result.effects), effects, `${title(before, event)}`);
  }
});

test('the state of the kernel calls for a repair, or the end of a pause', () => {
  for (const [mode, fingerprint, blocks, uptime, expected] of [
    [OFF, null, false, 0, null],
    [OFF, 'f', true, 0, null],
    [ON, 'f', true, 0, null],
    [ON, 'g', true, 0, 'damaged'],
    [ON, null, false, 0, 'damaged'],
    [on(OLD), 'f', true, 0, 'damaged'],
    [on(OLD), null, false, 0, 'damaged'],
    [PAUSED, null, false, 99.9, null],
    [PAUSED, null, false, 100, 'revert'],
    [PAUSED, 'f', true, 0, 'revert'],
    [ON_FROM_OFF, 'f', true, 99.9, null],
    [ON_FROM_OFF, 'g', true, 0, 'damaged'],
    [ON_FROM_OFF, null, false, 0, 'damaged'],
    [ON_FROM_OFF, 'f', true, 100, 'revert'],
    [ON_FROM_OFF, null, false, 100, 'revert'],
    [OFF_FROM_ON, null, false, 99.9, null],
    [OFF_FROM_ON, 'f', true, 0, 'revert'],
    [OFF_FROM_ON, null, false, 100, 'revert'],
    [FAIL_CLOSED, 'f', true, 0, null],
    [FAIL_CLOSED, 'f', false, 0, 'damaged'],
    [FAIL_CLOSED, null, false, 0, 'damaged'],
  ] as const)
    assert.equal(
      reconcile(mode, { fingerprint, blocks }, uptime)?.kind ?? null,
      expected,
      `${mode.kind} ${fingerprint} ${blocks} ${uptime}`,
    );
});
