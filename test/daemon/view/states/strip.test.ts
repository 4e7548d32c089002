// The state at each moment of a span: the strip, its words, and the sentence.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { History, HistoryChange, HistorySample } from '../../../../daemon/api/schema.ts';
import { HEIGHTS, sentenceOf, stretchesOf, stripOf } from '../../../../daemon/view/states/strip.ts';
import { english } from '../../../../daemon/view/translator.ts';

process.env.TZ = 'Europe/Berlin';
const MINUTE = 60_000;
const START = Date.parse('2026-11-21T08:00:00+01:00');
const time = (minute: number) => new Date(START + minute * MINUTE).toISOString();

type Given = [minute: number, state: HistoryChange['state'] | 'start' | 'stop', more?: Partial<HistoryChange>];
const changeOf = ([minute, state, more]: Given): HistoryChange => ({
  at: time(minute),
  kind: state === 'start' || state === 'stop' ? state : 'state',
  state: state === 'start' || state === 'stop' ? 'connected' : state,
  reason: null,
  blocked: null,
  network: null,
  mode: null,
  colo: null,
  ...more,
});
const sampleOf = (minute: number): HistorySample => ({
  at: time(minute),
  seconds: 60,
  latencyMs: 10,
  latencyMinMs: 10,
  latencyMaxMs: 10,
  loss: 0,
  received: 1_000_000,
  sent: 0,
});

interface Records {
  minutes?: number;
  changes?: Given[];
  /** Spans in minutes with a sample each minute. */
  sampled?: [from: number, until: number][];
  connected?: number;
  enabled?: boolean;
}
const NOTHING = { connectedSeconds: 0, received: 0, sent: 0, drops: {}, days: [] };

function history({ minutes = 60, changes = [], sampled = [], connected, enabled = true }: Records): History {
  return {
    ok: true,
    enabled,
    since: time(0),
    until: time(minutes),
    resolution: 'minute',
    next: null,
    changes: changes.map(changeOf),
    samples: sampled.flatMap(([from, until]) => Array.from({ length: until - from }, (_, i) => sampleOf(from + i))),
    totals: connected === undefined ? null : { ...NOTHING, connectedSeconds: connected * 60 },
  };
}

const inWords = (records: Records) =>
  stretchesOf(history(records)).map(({ kind, from, until }) =>
    [kind, (from - START) / MINUTE, (until - START) / MINUTE].join(' '),
  );
const pause = { effect: { subject: 'connection', value: 'off', rule: 'Home' } } as const;

const TABLE: [name: string, records: Records, expected: string[]][] = [
  ['nothing is known', {}, ['unknown 0 60']],
  [
    'each state lasts until the next one',
    {
      changes: [
        [0, 'connected'],
        [10, 'unable', { reason: 'NoNetwork' }],
        [20, 'disconnected', { reason: 'Manual' }],
        [30, 'connecting'],
        [31, 'connected'],
        [40, 'unknown'],
        [50, 'disconnected', { blocked: 'service-stopped' }],
      ],
    },
    ['on 0 10', 'failed 10 20', 'off 20 31', 'on 31 40', 'unknown 40 50', 'failed 50 60'],
  ],
  [
    'a pause of a rule lasts until WARP connects, through the phases between',
    {
      changes: [
        [0, 'connected'],
        [10, 'disconnected', pause],
        [20, 'disconnecting'],
        [30, 'connected'],
      ],
    },
    ['on 0 10', 'paused 10 30', 'on 30 60'],
  ],
  [
    'a pause ends with the rule',
    {
      changes: [
        [0, 'disconnected', pause],
        [10, 'disconnected', { effect: { ...pause.effect, ended: true } }],
      ],
    },
    ['paused 0 10', 'off 10 60'],
  ],
  [
    'while the daemon did not run, nothing is known',
    {
      changes: [
        [0, 'connected'],
        [10, 'stop'],
        [40, 'start'],
      ],
    },
    ['on 0 10', 'unknown 10 40', 'on 40 60'],
  ],
  [
    'a daemon that broke off left no stop: only its figures show until when it ran',
    {
      changes: [
        [0, 'connected'],
        [40, 'start'],
      ],
      sampled: [
        [0, 10],
        [40, 60],
      ],
    },
    ['on 0 15.5', 'unknown 15.5 40', 'on 40 60'],
  ],
  [
    'a daemon that broke off without figures',
    {
      changes: [
        [0, 'connected'],
        [40, 'start'],
      ],
    },
    ['unknown 0 40', 'on 40 60'],
  ],
  [
    'a computer that sleeps records nothing',
    {
      changes: [[0, 'connected']],
      sampled: [
        [0, 10],
        [50, 60],
      ],
    },
    ['on 0 15.5', 'unknown 15.5 44.5', 'on 44.5 60'],
  ],
  [
    'a connection without any figures, as in a mode that has none, is no sleep',
    {
      changes: [
        [0, 'connected'],
        [50, 'disconnected'],
      ],
    },
    ['on 0 50', 'off 50 60'],
  ],
  [
    'a reading that comes five minutes after the other is no sleep',
    {
      changes: [[0, 'connected']],
      sampled: [
        [0, 1],
        [9, 10],
        [18, 19],
        [27, 28],
        [36, 37],
        [45, 46],
        [54, 55],
      ],
    },
    ['on 0 60'],
  ],
  [
    'figures before the first change show a connection',
    { sampled: [[0, 20]], changes: [[20, 'disconnected']] },
    ['on 0 20', 'off 20 60'],
  ],
  [
    'a span that begins in a sleep',
    { sampled: [[30, 40]], changes: [[40, 'disconnected']] },
    ['unknown 0 24.5', 'on 24.5 40', 'off 40 60'],
  ],
  ['the totals show a connection without figures', { connected: 60 }, ['on 0 60']],
  ['before a first state, nothing is known', { changes: [[20, 'connected']] }, ['unknown 0 20', 'on 20 60']],
  [
    'the totals show a connection before the first change',
    { changes: [[20, 'disconnected']], connected: 19 },
    ['on 0 20', 'off 20 60'],
  ],
  [
    'a connection that the totals show for a part of the time before the first change has no place',
    { changes: [[20, 'disconnected']], connected: 12 },
    ['unknown 0 20', 'off 20 60'],
  ],
  ['before the first record, nothing is known', { changes: [[20, 'start']] }, ['unknown 0 20', 'on 20 60']],
  [
    'a stop says what was before',
    { changes: [[20, 'stop', { state: 'disconnected' }]] },
    ['off 0 20', 'unknown 20 60'],
  ],
  [
    'a history that is turned off knows nothing since',
    { changes: [[0, 'connected']], sampled: [[0, 10]], enabled: false },
    ['on 0 15.5', 'unknown 15.5 60'],
  ],
  [
    'a clock that was set back leaves no stretch that ends before it begins',
    {
      changes: [
        [-5, 'connected'],
        [30, 'disconnected'],
        [20, 'connected'],
        [70, 'disconnected'],
      ],
    },
    ['on 0 60'],
  ],
];

for (const [name, records, expected] of TABLE)
  test(`stretches: ${name}`, () => {
    assert.deepEqual(inWords(records), expected);
  });

test('the strip has parts from 0 to 1, a legend of what occurs, and its stretches in words', () => {
  const stretches = stretchesOf(
    history({
      changes: [
        [0, 'connected'],
        [15, 'unable', { reason: 'NoNetwork' }],
        [30, 'stop'],
      ],
    }),
  );
  const { parts, legend, text, ticks } = stripOf(stretches, english);
  assert.deepEqual(
    parts.map(({ kind, from, until }) => [kind, from, until]),
    [
      ['on', 0, 0.25],
      ['failed', 0.25, 0.5],
      ['unknown', 0.5, 1],
    ],
  );
  assert.deepEqual(
    legend.map(({ title }) => title),
    ['Connected', 'Can’t connect', 'Not known'],
  );
  assert.equal(text, 'Connected from 08:00 to 08:15. Can’t connect from 08:15 to 08:30. Not known from 08:30 to 09:00');
  assert.equal(ticks.at(-1)?.label, 'Now');
  const heights = Object.values(HEIGHTS);
  assert.equal(new Set(heights).size, heights.length, 'the heights tell the kinds apart without color');
});

test('a place of the strip shows its most severe kind, however many minutes share it', () => {
  const changes = Array.from(
    { length: 24 * 60 },
    (_, i): Given => (i % 2 && i < 720 ? [i, 'unable', { reason: 'NoNetwork' }] : [i, 'connected']),
  );
  const { parts } = stripOf(stretchesOf(history({ minutes: 24 * 60, changes })), english);
  assert.deepEqual(
    parts.map(({ kind, from, until }) => [kind, from, until]),
    [
      ['failed', 0, 0.5],
      ['on', 0.5, 1],
    ],
  );
  const once: Given[] = [
    [0, 'connected'],
    [700, 'disconnected'],
    [701, 'connected'],
  ];
  const [, off] = stripOf(stretchesOf(history({ minutes: 24 * 60, changes: once })), english).parts;
  assert.deepEqual(
    [off?.kind, (off!.until - off!.from).toFixed(4)],
    ['off', (1 / 240).toFixed(4)],
    'wide enough to be seen',
  );
});

test('the words of a long span have the days, and not more of them than a person listens to', () => {
  const changes = Array.from({ length: 100 }, (_, i): Given => [i * 60, i % 2 ? 'connected' : 'disconnected']);
  const { text } = stripOf(stretchesOf(history({ minutes: 6_000, changes })), english);
  const sentences = text.split('. ');
  assert.equal(sentences.length, 40);
  assert.match(sentences.at(-1)!, /^Connected from Nov 25 11:00 to Nov 25 12:00$/);
});

const total = (day: string, received: number, drops = {}) => ({ ...NOTHING, day, received, drops, sent: 0 });
/** At the end of the hour from 8:00. */
const SENTENCES: [
  name: string,
  span: string | null,
  records: Records,
  days: ReturnType<typeof total>[],
  expected: string,
][] = [
  [
    'a day',
    null,
    { changes: [[0, 'connected']] },
    [total('2026-11-20', 5_000), total('2026-11-21', 1_200_000_000)],
    'Today: connected 1 h 0 min · 1.2 GB · no drops',
  ],
  [
    'drops',
    null,
    { changes: [[0, 'connected']] },
    [total('2026-11-21', 1_000, { NoNetwork: 1, A: 1 })],
    'Today: connected 1 h 0 min · 1.0 kB · 2 drops',
  ],
  ['not connected', null, { changes: [[0, 'disconnected']] }, [], 'Today: not connected'],
  ['a day without totals', null, { changes: [[0, 'connected']] }, [], 'Today: connected 1 h 0 min'],
  [
    'a connection without a place in the day',
    null,
    { changes: [[20, 'disconnected']] },
    [{ ...total('2026-11-21', 1_000), connectedSeconds: 300 }],
    'Today: connected 5 min · 1.0 kB · no drops',
  ],
  ['nothing known', null, {}, [], 'Today: nothing recorded yet'],
  [
    'a week',
    '1 week',
    {
      changes: [
        [0, 'disconnected'],
        [30, 'connected'],
      ],
    },
    [total('2026-11-21', 1_000)],
    '1 week: connected 30 min · 3.0 kB · 1 drop',
  ],
];
for (const [name, span, records, days, expected] of SENTENCES)
  test(`the sentence: ${name}`, () => {
    const all = history(records);
    const totals = { ...NOTHING, received: 3_000, drops: { NoNetwork: 1 }, days };
    assert.equal(sentenceOf({ totals, until: all.until }, stretchesOf(all), span, english), expected);
  });

test('just after midnight, only the part since midnight is today', () => {
  const records = history({ minutes: 16 * 60 + 10, changes: [[0, 'connected']] });
  const totals = { ...NOTHING, days: [total('2026-11-21', 9_000_000), total('2026-11-22', 1_000)] };
  const sentence = sentenceOf({ totals, until: records.until }, stretchesOf(records), null, english);
  assert.equal(sentence, 'Today: connected 10 min · 1.0 kB · no drops');
});
