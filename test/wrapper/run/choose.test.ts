// The choice of the next account after each failure, the pauses and their wording, and why a request is not made again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Candidate } from '../../../wrapper/run/candidates.ts';
import {
  afterReturning,
  afterTaking,
  begin,
  type Choosing,
  describeFailure,
  describeSelected,
  type Failure,
  isLimitOfAddress,
  next,
  obstacleTo,
  pauseFor,
  type Retry,
  type Traces,
} from '../../../wrapper/run/choose.ts';
import { parseState } from '../../../wrapper/store/state.ts';

const ACCOUNTS = Object.fromEntries(
  ['a', 'b', 'c', 'd'].map(name => [name, { cli: 'tool', name, enabled: true, env: {} }]),
);
const account = (name: string) => ACCOUNTS[name]!;

function candidate(name: string, paused = false): Candidate {
  return { account: account(name), why: '', paused, beingProbed: false, spent: false, low: false, availableAt: 0 };
}

/** Known quotas of the accounts: those with the same letter share one. */
function quotas(identities: Record<string, string> = {}) {
  const figures = { remaining: 1, limit: 1, used: 0, resets: null, at: 0 };
  const entries = Object.entries(identities).map(([name, identity]) => [name, { ...figures, identity }]);
  return parseState({ remaining: Object.fromEntries(entries) });
}

const TEAM = { patient: false, pinned: false, sharesQuota: true };
const names = (accounts: readonly { name: string }[]) => accounts.map(({ name }) => name).join('');

/** Tries the first account each time. @returns the accounts that were tried, those spared, and how it ended */
function walk(choosing: Choosing, failures: Record<string, Omit<Failure, 'account'>>, known = quotas()) {
  const tried: string[] = [];
  const spared: string[] = [];
  let current = choosing;
  let failure: Failure | undefined;
  for (;;) {
    const following = next(current, known, failure);
    spared.push(...following.spared.map(each => `${each.account}=${each.sameAs}`));
    if (following.kind === 'end') return { ...following, tried: tried.join(''), spared };
    const [first, ...rest] = following.accounts;
    current = afterTaking(following.choosing, following.accounts, { account: first, rest, awaits: false });
    tried.push(first!.name);
    failure = { account: first!.name, ...(failures[first!.name] ?? { class: 'quota' }) };
  }
}

test('every account is tried once, in order, until none is left', () => {
  const { tried, exhausted, obstacle } = walk(
    begin(
      ['a', 'b', 'c'].map(name => candidate(name)),
      TEAM,
    ),
    {},
  );
  assert.deepEqual([tried, exhausted, obstacle], ['abc', true, undefined]);
});

test('a request may succeed later unless every account was refused', () => {
  const both = [candidate('a'), candidate('b')];
  for (const [a, b, expected] of [
    ['auth', 'auth', false],
    ['auth', 'rate', true],
    ['quota', 'auth', true],
  ] as const) {
    assert.equal(walk(begin(both, TEAM), { a: { class: a }, b: { class: b } }).exhausted, expected, `${a}, ${b}`);
  }
  assert.equal(walk(begin([], TEAM), {}).exhausted, false);
});

test('an obstacle ends it after the failure that met it', () => {
  const { tried, exhausted, obstacle } = walk(
    begin(
      ['a', 'b', 'c'].map(name => candidate(name)),
      TEAM,
    ),
    {
      b: { class: 'rate', obstacle: 'SIGTERM arrived' },
    },
  );
  assert.deepEqual([tried, exhausted, obstacle], ['ab', false, 'SIGTERM arrived']);
});

test('an account is spared whose quota another one has used up, and reported when it would be next', () => {
  const all = begin(
    ['a', 'b', 'c', 'd'].map(name => candidate(name)),
    TEAM,
  );
  const known = quotas({ a: 'x', b: 'x', d: 'x' });
  const shared = walk(all, {}, known);
  assert.deepEqual([shared.tried, shared.spared], ['ac', ['b=a', 'd=a']]);
  assert.equal(walk(all, { a: { class: 'auth' } }, known).tried, 'abc', 'a refusal says nothing of the quota');
  assert.equal(walk({ ...all, sharesQuota: false }, {}, known).tried, 'abcd', 'keys with separate quotas');
});

test('a request that can wait shortens no pause, and a named account is used', () => {
  const paused = [candidate('a', true), candidate('b'), candidate('c', true)];
  for (const [options, left, awaits] of [
    [{ patient: false, pinned: false }, 'abc', false],
    [{ patient: true, pinned: false }, 'b', true],
    [{ patient: true, pinned: true }, 'ab', true],
  ] as const) {
    const choosing = begin(paused, { ...options, sharesQuota: true });
    assert.deepEqual([names(choosing.left), choosing.awaits], [left, awaits]);
  }
  const refused = walk(begin(paused, { ...TEAM, patient: true }), { b: { class: 'auth' } });
  assert.deepEqual([refused.tried, refused.exhausted], ['b', true], 'the others are awaited');
});

test('leases decide which of the accounts comes next, and which may follow', () => {
  const all = begin(
    ['a', 'b', 'c', 'd'].map(name => candidate(name)),
    TEAM,
  );
  const offered = ['a', 'b', 'c'].map(account);
  const rest = ['c', 'a'].map(account);
  const taken = afterTaking(all, offered, { account: account('b'), rest, awaits: true });
  assert.deepEqual([names(taken.left), taken.awaits], ['cad', true]);
  assert.equal(names(afterReturning(taken, account('b')).left), 'bcad');
  const none = afterTaking(all, offered, { account: undefined, rest: [], awaits: true });
  const end = next(none, quotas());
  assert.ok(end.kind === 'end' && end.exhausted);
  assert.equal(next(afterTaking(all, offered, { account: undefined, rest, awaits: false }), quotas()).kind, 'end');
});

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
