// The pause of an account after each failure, its wording, and why a request is not made again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describeFailure,
  describeSelected,
  isLimitOfAddress,
  obstacleTo,
  pauseFor,
  type Retry,
  type Traces,
} from '../../../../wrapper/run/choose/failures.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const HOUR = 3_600_000;
const failure = (rest: Retry['rest'], more: Partial<Retry> = {}): Retry => ({
  kind: 'retry',
  class: 'quota',
  text: '',
  ...more,
  rest,
});

test('a pause ends as the failure says, else with the period, else after an hour', () => {
  const later = '2026-01-02T00:00:00Z';
  const cases: [Retry['rest'], string | null | undefined, number | null][] = [
    [{ until: 'credential' }, later, null],
    [{ until: 'elapsed', ms: 5 }, later, NOW + 5],
    [{ until: 'time', at: NOW + 7 }, later, NOW + 7],
    [{ until: 'time', at: NOW }, later, Date.parse(later)],
    [{ until: 'time', at: NOW - 1 }, null, NOW + HOUR],
    [{ until: 'period' }, later, Date.parse(later)],
    [{ until: 'period' }, '2025-12-31T00:00:00Z', NOW + HOUR],
    [{ until: 'period' }, undefined, NOW + HOUR],
    [{ until: 'period' }, 'soon', NOW + HOUR],
  ];
  for (const [rest, resets, until] of cases) {
    assert.deepEqual(pauseFor(failure(rest), resets, NOW), { class: 'quota', until, since: NOW }, rest.until);
  }
});

test('a limit is one of the network address where the rule or the provider says so, and a refusal never is', () => {
  const rest = { until: 'period' } as const;
  assert.equal(isLimitOfAddress(failure(rest), { scope: 'ip' }), true);
  assert.equal(isLimitOfAddress(failure(rest), { scope: 'team' }), false);
  assert.equal(isLimitOfAddress(failure(rest, { scope: 'ip' }), { scope: 'team' }), true);
  assert.equal(isLimitOfAddress(failure(rest, { scope: 'team' }), { scope: 'ip' }), false);
  assert.equal(isLimitOfAddress(failure(rest, { class: 'auth' }), { scope: 'ip' }), false);
});

test('a failure names account, reason and end', () => {
  const until = (ms: number | null) => ({ class: 'rate' as const, until: ms, since: NOW });
  assert.equal(
    describeFailure('tool', 'a', until(NOW + 60_000)),
    'tool: account "a" is rate limited (rate, paused for 60 s)',
  );
  assert.match(describeFailure('tool', 'a', { ...until(null), class: 'auth' }), /was refused \(auth, paused until its/);
  assert.match(describeFailure('tool', 'a', { ...until(NOW + HOUR), class: 'quota' }), /has no quota left \(quota/);
});

test('the words about an account that is only selected are those of this failure', () => {
  const pause = { class: 'rate' as const, until: NOW + 60_000, since: NOW };
  const said = (kind: Retry['class'], rest?: typeof pause) => describeSelected('tool', 'a', kind, rest);
  assert.match(said('rate', pause), /"a" is rate limited until 2026-01-01 00:01 UTC \(rate\)/);
  assert.match(said('auth'), /"a" was refused \(auth\); by/);
  assert.match(said('auth', pause), /"a" was refused \(auth\); by/);
  assert.match(said('quota', pause), /"a" has no quota left \(quota\); by/);
});

const NONE: Traces = {
  isShown: false,
  isRepeatable: true,
  silentJob: [],
  showingOptions: [],
  isOfAddress: false,
  isInputKept: true,
};

const CASES: [Partial<Traces>, string | undefined][] = [
  [{}, undefined],
  [{ interrupted: null }, undefined],
  [{ interrupted: 'SIGTERM', job: 'j1' }, 'SIGTERM arrived'],
  [{ job: 'j1', isShown: true }, 'the job j1 already exists'],
  [{ isShown: true, isRepeatable: false }, 'part of its output has been passed on'],
  [{ isRepeatable: false, silentJob: ['quota'] }, 'the command must run once only'],
  [{ silentJob: ['rate', 'quota'], isOfAddress: true }, 'it may have created a job without printing its id'],
  [
    { silentJob: ['quota'], showingOptions: ['--wait', '--json'] },
    'it may have created a job without printing its id (--wait or --json shows it)',
  ],
  [{ silentJob: ['rate'] }, undefined],
  [{ isOfAddress: true, isInputKept: false }, 'the limit is one of this network address, not of the account'],
  [{ isInputKept: false }, 'its standard input could not be kept'],
];

test('the first reason counts', () => {
  for (const [traces, expected] of CASES) {
    assert.equal(obstacleTo('quota', { ...NONE, ...traces }), expected, JSON.stringify(traces));
  }
});
