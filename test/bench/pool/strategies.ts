// Simulates 30 days of three accounts under each strategy: credits that expired unused, and requests that were refused.
// Run: node --import tsx test/bench/pool/strategies.ts
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { orderCandidates } from '../../../wrapper/run/candidates.ts';
import { type Account, Capacity } from '../../../wrapper/store/config.ts';
import { parseState, pauseAccount, recordRemaining } from '../../../wrapper/store/state.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const DAYS = 30;
/** Credits of each account, and after how many days they expire and are given again. */
const CREDITS = 1_000;
const PERIOD_DAYS = 10;
/** On which day the first period of each account ends. */
const FIRST_RESET: Record<string, number> = { a: 9, b: 6, c: 3 };

export const STRATEGIES = ['in-order', 'most-remaining', 'soonest-reset', 'drain-first', 'round-robin'] as const;
type Strategy = (typeof STRATEGIES)[number];

export interface Outcome {
  served: number;
  /** Requests for which no account had enough. */
  refused: number;
  /** Credits that were left at the end of a period. */
  expired: number;
  /** Failed attempts before another account served the request. */
  failovers: number;
}

/**
 * @param perDay requests on a working day, a fifth of it at weekends; each costs 1 to 10 credits
 * @param seed of the requests' times and costs, which are the same for every strategy
 */
export function simulate(strategy: Strategy, perDay: number, seed: number): Outcome {
  const accounts: Account[] = Object.keys(FIRST_RESET).map(name => ({ cli: 'x', name, enabled: true, env: {} }));
  const state = parseState({ default: 'a' });
  const capacity = Capacity.parse({ strategy });
  const left: Record<string, number> = {};
  const resets: Record<string, number> = {};
  for (const [name, day] of Object.entries(FIRST_RESET)) [left[name], resets[name]] = [CREDITS, day * DAY];
  const outcome: Outcome = { served: 0, refused: 0, expired: 0, failovers: 0 };
  const learn = (name: string, at: number) =>
    recordRemaining(state, name, {
      remaining: left[name]!,
      limit: CREDITS,
      used: CREDITS - left[name]!,
      at,
      resets: new Date(resets[name]!).toISOString(),
    });
  for (const { at, cost } of requests(perDay, seed)) {
    for (const { name } of accounts) {
      for (; resets[name]! <= at; resets[name]! += PERIOD_DAYS * DAY) {
        outcome.expired += left[name]!;
        left[name] = CREDITS;
      }
      learn(name, at);
    }
    let served = false;
    for (const { account, paused } of orderCandidates(
      accounts,
      state,
      { by: 'default' },
      { now: at, cost: 0, capacity },
    )) {
      const { name } = account;
      if (paused) continue;
      if (left[name]! < cost) {
        outcome.failovers += 1;
        pauseAccount(state, name, { class: 'quota', until: resets[name]!, since: at });
        continue;
      }
      left[name]! -= cost;
      state.lastUsed = name;
      state.default = name; // the account that worked comes first from now on
      served = true;
      break;
    }
    outcome[served ? 'served' : 'refused'] += 1;
  }
  return outcome;
}

/** In the order of their time. */
function requests(perDay: number, seed: number): { at: number; cost: number }[] {
  const random = generator(seed);
  return Array.from({ length: DAYS }, (_, day) => {
    const count = Math.round(day % 7 < 5 ? perDay : perDay / 5);
    return Array.from({ length: count }, () => ({
      at: day * DAY + 8 * HOUR + random() * 10 * HOUR,
      cost: 1 + Math.floor(random() * 10),
    })).sort((x, y) => x.at - y.at);
  }).flat();
}

/** A linear congruential generator (Numerical Recipes), so that every run sees the same. */
export function generator(seed: number): () => number {
  let value = seed >>> 0;
  return () => {
    value = (Math.imul(value, 1_664_525) + 1_013_904_223) >>> 0;
    return value / 2 ** 32;
  };
}

if (import.meta.url === pathToFileURL(resolve(process.argv[1] ?? '')).href) {
  for (const perDay of [50, 70]) {
    console.log(`${perDay} requests on a working day; the mean of 20 runs`);
    const mean = (strategy: Strategy, key: keyof Outcome) => {
      const runs = Array.from({ length: 20 }, (_, seed) => simulate(strategy, perDay, seed + 1)[key]);
      return Math.round(runs.reduce((sum, value) => sum + value, 0) / runs.length);
    };
    const row = (strategy: Strategy) => [
      strategy,
      {
        expired: mean(strategy, 'expired'),
        refused: mean(strategy, 'refused'),
        failovers: mean(strategy, 'failovers'),
      },
    ];
    console.table(Object.fromEntries(STRATEGIES.map(row)));
  }
}
