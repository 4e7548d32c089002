// The history in words: changes, totals, and causes of lost connections.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { History, HistoryChange, HistoryQuery } from '../../../../daemon/api/schema.ts';
import {
  changeWords,
  dropLines,
  lasted,
  monthsOf,
  readHistory,
  totalsTable,
} from '../../../../daemon/view/states/records.ts';
import { english } from '../../../../daemon/view/translator.ts';

const CHANGE: HistoryChange = {
  at: '2026-11-21T12:00:00.000Z',
  kind: 'state',
  state: 'connected',
  reason: null,
  blocked: null,
  network: 'healthy',
  mode: 'warp',
  colo: 'AMS',
};
const day = (name: string, connectedSeconds: number, drops = {}) => ({
  day: name,
  connectedSeconds,
  received: 1_000,
  sent: 10,
  drops,
});

test('a change is described in words', () => {
  const off = { state: 'disconnected', reason: 'Manual', colo: null } as const;
  const cases: [Partial<HistoryChange>, string, string][] = [
    [{}, 'Connected', 'All traffic, via Amsterdam'],
    [
      { effect: { subject: 'killSwitch', value: 'on', rule: 'cafes' } },
      'Connected',
      'All traffic, via Amsterdam, Rule “cafes”: Kill switch is on',
    ],
    [
      { effect: { subject: 'connection', value: 'off', rule: 'home', ended: true } },
      'Connected',
      'All traffic, via Amsterdam, Rule “home” no longer holds: WARP is paused',
    ],
    [
      { kind: 'start', network: 'unstable' },
      'Connected',
      'Unstable network, All traffic, via Amsterdam, Recording started',
    ],
    [off, 'Turned off by you', ''],
    [{ ...off, byUser: false, kind: 'start' }, 'Disconnected', 'Recording started'],
    [
      { ...off, byUser: false, effect: { subject: 'connection', value: 'off', rule: 'home' } },
      'Disconnected',
      'Rule “home”: WARP is paused',
    ],
    [{ ...off, byUser: false, reverted: 'connection' }, 'Disconnected', 'Connection: reverted by Culvert'],
    [{ state: 'disconnected', reason: 'SettingsChanged', colo: null }, 'Disconnected', 'A setting of WARP was changed'],
    [{ reverted: 'routes' }, 'Connected', 'All traffic, via Amsterdam, Routes: reverted by Culvert'],
    [
      { state: 'disconnected', reason: 'Manual', colo: null, reverted: 'mode' },
      'Disconnected',
      'Turned off by you, Mode: reverted by Culvert',
    ],
    [{ state: 'disconnected', reason: 'NoNetwork', colo: null }, 'Disconnected', 'You are offline'],
    [{ state: 'disconnected', reason: 'EstablishingConnection', colo: null }, 'Disconnected', ''],
    [{ state: 'unable', reason: 'EstablishingConnection', colo: null }, 'Can’t connect', ''],
    [{ state: 'unable', reason: 'NoNetwork', colo: null }, 'Can’t connect', 'You are offline'],
    [{ network: 'unstable', reason: 'NetworkDegraded' }, 'Connected', 'Unstable network, All traffic, via Amsterdam'],
    [{ state: 'connecting', reason: 'EstablishingConnection', colo: null }, 'Connecting…', ''],
    [{ state: 'unknown', blocked: 'service-stopped', colo: null }, 'Not ready', 'The WARP service is not running.'],
    [{ kind: 'stop' }, 'Recording stopped', ''],
  ];
  for (const [change, title, details] of cases)
    assert.deepEqual(changeWords({ ...CHANGE, ...change }, english), { title, details, code: null });
});

test('a code without words is a sentence, and the code itself', () => {
  const unknown = { ...CHANGE, reason: 'SomethingNew', colo: null };
  const sentence = 'WARP gave a reason that Culvert does not know';
  assert.deepEqual(changeWords({ ...unknown, state: 'unable' }, english), {
    title: 'Can’t connect',
    details: sentence,
    code: 'SomethingNew',
  });
  assert.deepEqual(changeWords({ ...unknown, state: 'disconnected' }, english), {
    title: 'Disconnected',
    details: sentence,
    code: 'SomethingNew',
  });
});

test('totals list the newest day first, months where there are several, and the whole', () => {
  const days = [day('2026-10-31', 60), day('2026-11-01', 120, { NoNetwork: 1 }), day('2026-11-02', 3_600, { A: 1 })];
  const whole = { ...day('', 3_780, { NoNetwork: 1, A: 1 }), received: 3_000 };
  const table = totalsTable({ ...whole, days }, { ...english, locale: 'en-US' });
  assert.deepEqual(table.titles, ['Day', 'Connected for', 'Received', 'Sent', 'Drops']);
  assert.deepEqual(
    table.rows.map(row => row.join('|')),
    [
      'Nov 2, 2026|1 h 0 min|1.0 kB|10 B|1',
      'Nov 1, 2026|2 min|1.0 kB|10 B|1',
      'Oct 31, 2026|1 min|1.0 kB|10 B|0',
      'November 2026|1 h 2 min|2.0 kB|20 B|2',
      'October 2026|1 min|1.0 kB|10 B|0',
      'Total|1 h 3 min|3.0 kB|10 B|2',
    ],
  );
  assert.equal(totalsTable({ ...whole, days: days.slice(1) }, english).rows.length, 3, 'one month is the whole');
  assert.deepEqual(
    monthsOf(days).map(({ month, connectedSeconds, drops }) => [month, connectedSeconds, drops]),
    [
      ['2026-10', 60, {}],
      ['2026-11', 3_720, { NoNetwork: 1, A: 1 }],
    ],
  );
});

test('causes of ended connections are listed by frequency', () => {
  const drops = { unknown: 1, NoNetwork: 3, 'service-stopped': 2, Odd: 1 };
  assert.deepEqual(dropLines(day('', 0, drops), english), [
    '3 × You are offline',
    '2 × The WARP service is not running.',
    '1 × Cause not reported',
    '1 × WARP gave a reason that Culvert does not know (Odd)',
  ]);
});

test('a state lasts until the next one, or until the end', () => {
  const changes = [CHANGE, { ...CHANGE, at: '2026-11-21T12:00:30.000Z' }];
  const until = '2026-11-21T12:01:30.000Z';
  assert.deepEqual([lasted({ changes, until }, 0), lasted({ changes, until }, 1)], [30_000, 60_000]);
  assert.equal(lasted({ changes: [CHANGE], until: '2026-11-21T11:00:00.000Z' }, 0), 0);
});

test('all pages are read, with the end of the first', async () => {
  const asked: HistoryQuery[] = [];
  const page = (next: string | null): History => ({
    ok: true,
    enabled: true,
    since: '2026-11-20T12:00:00.000Z',
    until: '2026-11-21T12:00:00.000Z',
    resolution: 'minute',
    changes: [CHANGE],
    samples: [],
    totals: null,
    next,
  });
  const all = await readHistory(
    async query => {
      asked.push(query);
      return page(asked.length < 3 ? String(asked.length) : null);
    },
    { since: '1d' },
  );
  assert.equal(all.changes.length, 3);
  const rest = { since: '2026-11-20T12:00:00.000Z', until: '2026-11-21T12:00:00.000Z', resolution: 'minute' };
  assert.deepEqual(asked, [{ since: '1d' }, { ...rest, cursor: '1' }, { ...rest, cursor: '2' }]);
});
