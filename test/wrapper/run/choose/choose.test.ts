// The choice of the next account after each failure, and the end of a request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Candidate } from '../../../../wrapper/run/choose/candidates.ts';
import {
  afterReturning,
  afterTaking,
  begin,
  type Choosing,
  type Failure,
  next,
} from '../../../../wrapper/run/choose/choose.ts';
import { parseState } from '../../../../wrapper/store/state.ts';

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
  assert.equal(walk({ ...all, sharesQuota: false }, {}, known).tried, 'abcd', 'keys with quotas of their own');
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
