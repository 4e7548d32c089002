// The order of accounts by strategy, pause and remaining capacity.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import { readUsage } from '../../../wrapper/manage/usage.ts';
import { earliestAvailable, orderCandidates } from '../../../wrapper/run/candidates.ts';
import type { Account, Capacity } from '../../../wrapper/store/config.ts';
import { forecast } from '../../../wrapper/store/describe.ts';
import { parseState, pauseAccount, recordRemaining } from '../../../wrapper/store/state.ts';
import { STRATEGIES, simulate } from '../../bench/pool/strategies.ts';
import { missing } from '../../support/temporary.ts';

const HOUR = 3_600_000;
const accounts: Account[] = ['a', 'b', 'c', 'd'].map(name => ({ cli: 'x', name, enabled: true, env: {} }));
const left = (remaining: number | null, resets: string | null = null, identity?: string) => ({
  remaining,
  limit: 100,
  used: null,
  resets,
  at: 0,
  ...(identity && { identity }),
});

function order(raw: object, capacity: Partial<Capacity> = {}, now = 0, sharedQuota = false): string {
  const state = parseState({ default: 'a', ...raw });
  return orderCandidates(accounts, state, { by: 'default' }, { now, cost: 1, capacity, sharedQuota })
    .map(({ account }) => account.name)
    .join('');
}

const remaining = {
  a: left(5, '2026-01-03T00:00:00Z'),
  b: left(50, '2026-01-01T00:00:00Z'),
  c: left(20, '2026-01-02T00:00:00Z'),
};

for (const [strategy, expected] of [
  ['in-order', 'abcd'],
  ['most-remaining', 'bcad'],
  ['drain-first', 'acbd'],
  ['soonest-reset', 'bcad'],
  ['round-robin', 'bcda'],
] as const) {
  test(`the strategy ${strategy} orders the accounts, those of which nothing is known last`, () => {
    assert.equal(order({ remaining, lastUsed: 'a' }, { strategy }), expected);
  });
}

test('an account that is named comes first whatever the strategy', () => {
  const state = parseState({ remaining });
  const options = { now: 0, cost: 1, capacity: { strategy: 'most-remaining' as const } };
  const [first, ...others] = orderCandidates(accounts, state, { by: 'environment', name: 'd' }, options);
  assert.deepEqual([first!.account.name, first!.why], ['d', 'named by CULVERT_WRAP_ACCOUNT']);
  assert.equal(others.map(({ account }) => account.name).join(''), 'bca');
});

test('an account that alone may be used is not left for a pause or a strategy', () => {
  const state = parseState({ default: 'b', remaining, paused: { b: { class: 'quota', until: HOUR, since: 0 } } });
  const only = (choice: Parameters<typeof orderCandidates>[2], capacity: Partial<Capacity> = {}) =>
    orderCandidates(accounts, state, choice, { now: 1, cost: 1, capacity, onlyChosen: true }).map(
      ({ account, paused }) => [account.name, paused],
    );
  assert.deepEqual(only({ by: 'default' }), [['b', true]]);
  for (const strategy of ['most-remaining', 'round-robin'] as const)
    assert.deepEqual(only({ by: 'default' }, { strategy, switch_below: 90 }), [['b', true]]);
  assert.deepEqual(only({ by: 'directory', name: 'c' }), [['c', false]]);
});

test('a low account is left before it is empty, and comes back only above the upper threshold', () => {
  const capacity = { switch_below: 10, return_above: 30 };
  assert.equal(order({ remaining }, capacity), 'bcda');
  assert.equal(order({ remaining: { a: left(20) }, low: [] }, capacity), 'abcd');
  assert.equal(order({ remaining: { a: left(20) }, low: ['a'] }, capacity), 'bcda');
  assert.equal(order({ remaining: { a: left(30) }, low: ['a'] }, capacity), 'abcd');
});

test('a refused credential is not tried while another account can be', () => {
  const refused = { class: 'auth', until: null, since: 0 };
  assert.equal(order({ paused: { a: refused } }), 'bcd');
  assert.equal(order({ paused: { a: refused, b: { class: 'quota', until: 9, since: 0 } } }), 'cdb');
  assert.equal(order({ paused: { a: refused, b: refused, c: refused, d: refused } }), 'a');
});

test('accounts with one quota are paused together, unless the quota is one of the key', () => {
  const raw = {
    remaining: { a: left(5, null, 'team-1'), b: left(5, null, 'team-1'), c: left(5, null, 'team-2') },
    paused: { a: { class: 'quota', until: HOUR, since: 0 } },
  };
  assert.equal(order(raw, {}, 1, true), 'cdab');
  assert.equal(order(raw, {}, 1, false), 'bcda');
});

test('after a pause one run tries the account, and others wait for its result', () => {
  const paused = (probedAt?: number) => ({
    a: { class: 'quota', until: 100, since: 0, ...(probedAt && { probedAt }) },
  });
  assert.equal(order({ paused: paused() }, {}, 200), 'abcd');
  assert.equal(order({ paused: paused(150) }, {}, 200), 'bcda');
  assert.equal(order({ paused: paused(150) }, {}, 70_000), 'abcd');
});

/** Description of one account. */
function describe(raw: object, now = 1000, options: { cost?: number; capacity?: Partial<Capacity> } = {}) {
  const [candidate] = orderCandidates([accounts[0]!], parseState(raw), { by: 'default' }, { now, ...options });
  return candidate!;
}

test('an account is spent when the command would take it to its reserve', () => {
  const spent = (remaining: number | null, options: { cost?: number; capacity?: Partial<Capacity> } = {}) =>
    describe({ remaining: { a: left(remaining) } }, 1000, options).spent;
  assert.deepEqual([spent(0), spent(0.5), spent(1), spent(null), spent(-1)], [true, false, false, false, true]);
  assert.deepEqual([spent(4, { cost: 5 }), spent(5, { cost: 5 })], [true, false]);
  const capacity = { reserve: 10 };
  assert.deepEqual([spent(14, { cost: 5, capacity }), spent(15, { cost: 5, capacity })], [true, false]);
});

test('an account is available at the end of its pause, its probe or its period', () => {
  const at = (raw: object) => describe(raw).availableAt;
  const later = new Date(5000).toISOString();
  assert.equal(at({}), 1000);
  assert.equal(at({ paused: { a: { class: 'rate', until: 3000, since: 0 } } }), 3000);
  assert.equal(at({ paused: { a: { class: 'rate', until: 500, since: 0, probedAt: 900 } } }), 60_900);
  assert.equal(at({ paused: { a: { class: 'auth', until: null, since: 0 } } }), null);
  assert.equal(at({ remaining: { a: left(0, later) } }), 5000);
  assert.equal(at({ remaining: { a: left(7, later) } }), 1000, 'not spent');
  assert.equal(at({ remaining: { a: left(0, new Date(10).toISOString()) } }), 1000, 'reset before');
  assert.equal(at({ remaining: { a: left(0, 'soon') } }), 1000, 'no date');
});

test('a probe ends after a minute', () => {
  const probed = (now: number) =>
    describe({ paused: { a: { class: 'rate', until: 100, since: 0, probedAt: 150 } } }, now).paused;
  assert.deepEqual([149, 150, 60_149, 60_150].map(probed), [false, true, true, false]);
});

test('an account is low by its known figures', () => {
  const low = (remaining: number | null, capacity: Partial<Capacity>, before: string[] = []) =>
    describe({ remaining: { a: left(remaining) }, low: before }, 1000, { capacity }).low;
  assert.deepEqual([low(9, { switch_below: 10 }), low(10, { switch_below: 10 })], [true, false]);
  assert.deepEqual([low(19, { switch_below: 10 }, ['a']), low(20, { switch_below: 10 }, ['a'])], [true, false]);
  assert.equal(low(25, { switch_below: 10, return_above: 30 }, ['a']), true);
  assert.deepEqual([low(null, { switch_below: 10 }), low(1, {})], [false, false]);
});

test('spent accounts are tried before those that are paused, and those by their time', () => {
  const raw = {
    paused: {
      a: { class: 'rate', until: 0.75, since: 0 },
      b: { class: 'rate', until: 0.5, since: 0 },
      c: { class: 'rate', until: 0.9, since: 0 },
    },
    remaining: { d: left(0) },
  };
  assert.equal(order(raw, {}, 0), 'dbac');
});

test('the first account of a strategy says why, and the others that they come next', () => {
  const reasons = (strategy: Capacity['strategy'], list = accounts.slice(0, 3)) =>
    orderCandidates(list, parseState({ remaining }), { by: 'default' }, { now: 0, capacity: { strategy } }).map(
      ({ why }) => why,
    );
  assert.deepEqual(reasons('most-remaining'), ['has most left', 'next in the list', 'next in the list']);
  assert.deepEqual(reasons('drain-first').slice(0, 2), ['has least left', 'next in the list']);
  assert.deepEqual(reasons('soonest-reset').slice(0, 2), ['resets first', 'next in the list']);
  assert.deepEqual(reasons('round-robin', accounts.slice(0, 1)), ['next in turn']);
  assert.deepEqual(reasons('round-robin', []), []);
});

test('accounts of which as much is known keep their order', () => {
  const same = { a: left(5), b: left(5), c: left(null), d: left(null) };
  for (const strategy of ['most-remaining', 'drain-first', 'soonest-reset'] as const)
    assert.equal(order({ remaining: same }, { strategy }), 'abcd', strategy);
});

test('a figure from before the reset does not keep an account from being used after it', () => {
  const before = { remaining: { a: { ...left(0, new Date(HOUR).toISOString()), at: HOUR - 1 } } };
  assert.equal(order(before, {}, HOUR - 1), 'bcda');
  assert.equal(order(before, {}, HOUR), 'abcd');
  assert.equal(order({ remaining: { a: { ...before.remaining.a, at: HOUR } } }, {}, HOUR), 'bcda');
});

test('the earliest account to be available is known, also by its reset', () => {
  const state = parseState({
    paused: { a: { class: 'rate', until: 500, since: 0 }, b: { class: 'auth', until: null, since: 0 } },
    remaining: { c: left(0, new Date(300).toISOString()), d: left(0) },
  });
  const candidates = orderCandidates(accounts, state, { by: 'default' }, { now: 100, cost: 1 });
  assert.equal(earliestAvailable(candidates, 100), 300);
});

test('a pause is never shortened for the same credential', () => {
  const state = parseState({});
  pauseAccount(state, 'a', { class: 'rate', until: 1_000, since: 0, credential: 'x' });
  pauseAccount(state, 'a', { class: 'rate', until: 500, since: 1, credential: 'x' });
  assert.equal(state.paused.a!.until, 1_000);
  pauseAccount(state, 'a', { class: 'rate', until: 500, since: 1, credential: 'y' });
  assert.equal(state.paused.a!.until, 500);
});

test('M5: what is left is bounded by every limit that counts', t => {
  const { usage } = loadCatalog(
    fileURLToPath(new URL('../../../wrapper/catalog/providers', import.meta.url)),
    missing(t),
  ).providers.tvly!;
  const answer = (key: object, account: object) => readUsage({ key, account }, usage!, 0).remaining;
  const plan = (used: number, paygo: object = {}) => ({ plan_usage: used, plan_limit: 15_000, ...paygo });
  assert.equal(answer({ usage: 150, limit: 1_000 }, plan(15_000)), 0);
  assert.equal(answer({ usage: 150, limit: 1_000 }, plan(14_900)), 100);
  assert.equal(answer({ usage: 150, limit: 1_000 }, plan(15_000, { paygo_usage: 25, paygo_limit: 100 })), 75);
  assert.equal(answer({ usage: 150, limit: 1_000 }, plan(0)), 850);
  assert.equal(answer({ usage: 150, limit: null }, plan(500, { paygo_usage: 0, paygo_limit: null })), 14_500);
  assert.equal(answer({ usage: 150, limit: null }, {}), null);
});

test('the forecast goes by the use since the last refill', () => {
  const samples = [
    { at: 0, remaining: 10 },
    { at: HOUR, remaining: 100 },
    { at: 2 * HOUR, remaining: 80 },
    { at: 3 * HOUR, remaining: 60 },
  ];
  assert.equal(forecast(samples, 3 * HOUR), 6 * HOUR);
  assert.equal(forecast(samples.slice(0, 1), 0), undefined);
  assert.equal(forecast([samples[1]!, { at: 2 * HOUR, remaining: 100 }], 0), undefined);
  const state = parseState({});
  for (const [at, remaining] of [
    [0, 9],
    [10_000, 8],
    [120_000, 7],
  ] as const) {
    recordRemaining(state, 'a', { ...left(remaining), at });
  }
  assert.deepEqual(state.history.a, [
    { at: 0, remaining: 9 },
    { at: 120_000, remaining: 7 },
  ]);
});

test('over 30 days, using what resets first lets the fewest credits expire and refuses nothing', () => {
  for (const perDay of [50, 70]) {
    const results = STRATEGIES.map(strategy => ({ strategy, ...simulate(strategy, perDay, 1) }));
    const best = results.find(({ strategy }) => strategy === 'soonest-reset')!;
    for (const { strategy, expired, refused } of results)
      assert.ok(best.expired <= expired && best.refused <= refused, `${strategy}: ${expired}, ${refused}`);
    assert.equal(best.refused, 0);
    assert.equal(new Set(results.map(({ served, refused }) => served + refused)).size, 1, 'all had the same requests');
  }
});
