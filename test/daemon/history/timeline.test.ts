// Totals of the history: time connected, traffic, and causes of lost connections.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../daemon/history/records.ts';
import { createTimeline } from '../../../daemon/history/timeline.ts';

const MINUTE = 60_000;
const NOON = new Date(2026, 10, 21, 12).getTime();
const DAY = 24 * 60;

type Step = readonly [minute: number, state: Change['state'], more?: Partial<Change>];

/** Changes at minutes after noon. */
function walk(
  steps: readonly Step[],
  { since = -DAY, until = DAY, now = null }: { since?: number; until?: number; now?: number | null } = {},
) {
  const shown: Change[] = [];
  const at = (minute: number) => NOON + minute * MINUTE;
  const timeline = createTimeline({ since: at(since), until: at(until) }, change => shown.push(change));
  for (const [minute, state, more] of steps)
    timeline.change({
      at: at(minute),
      kind: 'state',
      state,
      reason: null,
      blocked: null,
      network: null,
      mode: 'warp',
      colo: null,
      ...more,
    });
  const { total, days } = timeline.end(now === null ? null : at(now));
  const titles = shown.map(({ kind, state, colo, reverted }) =>
    [kind, state, colo, reverted && `reverted ${reverted}`].filter(Boolean).join(' '),
  );
  return { minutes: total.connectedSeconds / 60, drops: total.drops, days, titles };
}

test('a change of the mode while the tunnel is off is no second end of it, and a revert has its own time', () => {
  const off = { reason: 'Manual' };
  const { titles } = walk([
    [0, 'disconnected', off],
    [1, 'disconnected', { ...off, mode: 'doh' }],
    [2, 'disconnected', { ...off, mode: 'warp' }],
    [3, 'disconnected', { ...off, reverted: 'mode' }],
    [4, 'connecting'],
    [5, 'connecting', { reverted: 'mode' }],
    [6, 'connected'],
    [7, 'connected', { reverted: 'routes' }],
  ]);
  assert.deepEqual(titles, [
    'state disconnected',
    'state disconnected reverted mode',
    'state connecting reverted mode',
    'state connected',
    'state connected reverted routes',
  ]);
});

test('the time connected is between the changes, and inside the time asked for', () => {
  const steps = [
    [0, 'connected'],
    [30, 'disconnected', { reason: 'Manual' }],
    [40, 'connected'],
  ] as const;
  assert.equal(walk(steps).minutes, 30, 'a state without an end is not believed');
  assert.equal(walk(steps, { now: 50 }).minutes, 40);
  assert.equal(walk(steps, { since: 10, until: 45, now: 50 }).minutes, 25);
  assert.equal(walk(steps, { since: 31, until: 39, now: 50 }).minutes, 0);
});

test('a state that could not be read ends no connection, and its time is not counted', () => {
  const unread = [10, 'unknown', { reason: 'ProgramFailed' }] as const;
  const courses: [Step[], Record<string, number>, minutes: number][] = [
    [[[20, 'connected']], {}, 20],
    [
      [
        [12, 'unknown'],
        [20, 'connected'],
      ],
      {},
      20,
    ],
    [[[20, 'disconnected', { reason: 'Manual' }]], {}, 10],
    [[[20, 'disconnected', { reason: 'NoNetwork' }]], { NoNetwork: 1 }, 10],
    [[[20, 'unknown', { blocked: 'service-stopped' }]], { 'service-stopped': 1 }, 10],
    [[[20, 'connected', { kind: 'start' }]], {}, 20],
    [[[20, 'disconnected', { kind: 'start', reason: 'NoNetwork' }]], {}, 10],
  ];
  for (const [course, drops, minutes] of courses) {
    const walked = walk([[0, 'connected'], unread, ...course], { now: 30 });
    assert.deepEqual([walked.drops, walked.minutes], [drops, minutes], JSON.stringify(course));
  }
});

test('days are those of this time zone', () => {
  const { days } = walk([[0, 'connected']], { now: DAY });
  assert.deepEqual(
    days.map(({ day, connectedSeconds }) => [day, connectedSeconds / 60]),
    [
      ['2026-11-21', DAY / 2],
      ['2026-11-22', DAY / 2],
    ],
  );
});

test('ends of connections are counted by cause, unless they were requested', () => {
  const cases: [string, Step[], Record<string, number>][] = [
    [
      'turned off',
      [
        [1, 'disconnecting'],
        [2, 'disconnected', { reason: 'Manual' }],
      ],
      {},
    ],
    [
      'a changed setting',
      [
        [1, 'connecting', { reason: 'SettingsChanged' }],
        [2, 'connected'],
      ],
      {},
    ],
    [
      'a policy that takes the tunnel down',
      [
        [1, 'disconnecting'],
        [2, 'disconnected', { reason: 'SettingsChanged' }],
      ],
      { SettingsChanged: 1 },
    ],
    ['a setting that the user changed', [[1, 'disconnected', { reason: 'SettingsChanged', asked: true }]], {}],
    ['no network', [[1, 'disconnected', { reason: 'NoNetwork' }]], { NoNetwork: 1 }],
    [
      'a reason that came late',
      [
        [1, 'connecting', { reason: 'EstablishingConnection' }],
        [2, 'unable', { reason: 'HappyEyeballsFailed' }],
        [3, 'connected'],
      ],
      { HappyEyeballsFailed: 1 },
    ],
    [
      'no reason',
      [
        [1, 'connecting', { reason: 'PerformingHappyEyeballs' }],
        [2, 'connected'],
      ],
      { unknown: 1 },
    ],
    ['the service', [[1, 'unknown', { blocked: 'service-stopped' }]], { 'service-stopped': 1 }],
    ['a name of an object', [[1, 'unable', { reason: 'constructor' }]], { constructor: 1 }],
    [
      'twice',
      [
        [1, 'unable', { reason: 'A' }],
        [2, 'connected'],
        [3, 'unable', { reason: 'A' }],
      ],
      { A: 2 },
    ],
    [
      'Culvert ended',
      [
        [1, 'connected', { kind: 'stop' }],
        [2, 'disconnected', { kind: 'start' }],
      ],
      {},
    ],
  ];
  for (const [title, steps, drops] of cases) assert.deepEqual(walk([[0, 'connected'], ...steps]).drops, drops, title);
  assert.deepEqual(
    walk(
      [
        [0, 'connected'],
        [1, 'unable', { reason: 'A' }],
      ],
      { since: 2 },
    ).drops,
    {},
    'before the time',
  );
});

test('an end for a change of the settings is no drop, whatever reason is given', () => {
  const second = 1 / 60;
  const [doh, asked] = [{ mode: 'doh' }, { asked: true }] as const;
  for (const reason of [null, 'EstablishingConnection', 'Frobnicated', 'NoNetwork']) {
    const cases: [string, Step[], number][] = [
      ['an action of ours', [[1, 'connecting', { reason, ...asked }]], 0],
      ['a mode that was read in time', [[1, 'connecting', { reason, ...doh }]], 0],
      ['a mode that was not known yet', [[1, 'connecting', { reason, ...asked, mode: null }]], 0],
      [
        'a mode that was read a moment later',
        [
          [1, 'connecting', { reason }],
          [1 + second, 'connecting', { reason, ...doh }],
        ],
        0,
      ],
      [
        'a mode that was read when the tunnel was up again',
        [
          [1, 'connecting', { reason }],
          [1 + second, 'connected'],
          [1 + 2 * second, 'connected', doh],
        ],
        0,
      ],
      [
        'a failure of the new mode',
        [
          [1, 'connecting', { reason, ...asked }],
          [2, 'unable', { reason: 'HappyEyeballsFailed', ...doh }],
        ],
        0,
      ],
      ['no change', [[1, 'connecting', { reason }]], 1],
      [
        'a mode without a reconnect, then an end',
        [
          [1, 'connected', doh],
          [2, 'connecting', { reason, ...doh }],
        ],
        1,
      ],
      [
        'a mode that was changed long after',
        [
          [1, 'connecting', { reason }],
          [2, 'connecting', doh],
        ],
        1,
      ],
      [
        'a mode that was changed because of a failure',
        [
          [1, 'unable', { reason: reason ?? 'A' }],
          [1 + second, 'connecting', { ...asked, ...doh }],
        ],
        1,
      ],
    ];
    for (const [title, steps, count] of cases) {
      const { drops } = walk([
        [0, 'connected'],
        ...steps,
        [9, 'connected', { mode: steps.at(-1)![2]?.mode ?? 'warp' }],
      ]);
      assert.equal(
        Object.values(drops).reduce((sum, n) => sum + n, 0),
        count,
        `${title}, reason ${reason}`,
      );
    }
  }
});

test('while nothing was recorded, the tunnel counts as connected only if the connection is the same', () => {
  const start = { kind: 'start', lastAt: NOON + 8 * MINUTE } as const;
  const up = [[0, 'connected']] as Step[];
  const same = [13, 'connected', { kind: 'same' }] as Step;
  assert.equal(walk([...up, [12, 'connected', start]], { now: 20 }).minutes, 16, 'a kill: known for 8 minutes');
  assert.equal(walk([...up, [12, 'connected', start], same], { now: 20 }).minutes, 20);
  assert.equal(
    walk([...up, [10, 'connected', { kind: 'stop' }], [12, 'connected', { kind: 'start' }]], { now: 20 }).minutes,
    18,
  );
  assert.equal(
    walk([...up, [10, 'connected', { kind: 'stop' }], [12, 'connected', { kind: 'start' }], same], { now: 20 }).minutes,
    20,
  );
  const late: Step[] = [
    [60, 'connected', start],
    [61, 'connected', { kind: 'same' }],
  ];
  assert.equal(walk([...up, ...late], { now: 70 }).minutes, 18, 'too long ago to be a restart');
});

test('values that are read a moment later complete a change; the repeated state of a new day is not shown', () => {
  const { titles } = walk([
    [0, 'connected', { kind: 'start', mode: null }],
    [1, 'connected'],
    [2, 'connected', { colo: 'AMS' }],
    [3, 'connected', { kind: 'day', colo: 'AMS' }],
    [4, 'connected', { colo: 'FRA' }],
    [5, 'disconnected', { reason: 'Manual' }],
    [6, 'disconnected', { kind: 'stop' }],
  ]);
  assert.deepEqual(titles, ['start connected AMS', 'state connected FRA', 'state disconnected', 'stop disconnected']);
});

test('a clock that jumps makes no negative and no endless time', () => {
  const back = walk(
    [
      [0, 'connected'],
      [-60, 'disconnected', { reason: 'Manual' }],
    ],
    { now: 0 },
  );
  assert.equal(back.minutes, 0);
  const ahead = walk(
    [
      [0, 'connected'],
      [3 * DAY, 'disconnected'],
      [10, 'disconnected', { reason: 'Manual' }],
    ],
    { until: DAY },
  );
  assert.equal(ahead.minutes, 10, 'a change of the future is left out');
});
