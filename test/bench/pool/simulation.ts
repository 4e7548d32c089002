// Simulates a week of machines that share five accounts: with the pool's real script on a real store in virtual time, and
// each machine for itself with the wrapper's own choice of accounts.
// Run: node --import tsx test/bench/pool/simulation.ts [machines [days]]
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type LeaseRequest, openStore } from '../../../wrapper/pool/store.ts';
import { orderCandidates } from '../../../wrapper/run/candidates.ts';
import { type Account, Capacity } from '../../../wrapper/store/config.ts';
import type { Observation } from '../../../wrapper/store/pool-file.ts';
import { type CliState, parseState, pauseAccount } from '../../../wrapper/store/state.ts';
import { type StoreServer, storeServer } from '../../support/wrapper/store-server.ts';
import { scriptWithClock, setClock } from '../../support/wrapper/virtual-clock.ts';
import { generator } from './strategies.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 10, 23);
const NAMES = ['a', 'b', 'c', 'd', 'e'];
/** Commands of a machine on a working day, within ten hours; a fifth of it on the other two days. */
const PER_DAY = 20;
/** Share of a working day's requests that the provider serves. */
const GIVEN = 0.9;
const WAIT_MS = 30_000;
const QUESTION_MS = 200;

export interface Load {
  machines: number;
  days: number;
  seed: number;
}

export interface Outcome {
  wanted: number;
  served: number;
  /** Requests that the provider refused because the account had nothing left. */
  wasted: number;
  /** Questions for what is left. */
  questions: number;
  /** Jain's index of the part of its commands that each machine had served: 1 is equal. */
  fairness: number;
  /** Operations of the store: in all, and in the busiest second. */
  operations: number;
  peak: number;
}

interface Command {
  at: number;
  machine: number;
  ms: number;
}

/** The provider: each account has a limit for each day (UTC). */
function provider({ machines }: Load) {
  const limit = Math.floor((machines * PER_DAY * GIVEN) / NAMES.length);
  const used = new Map<string, number>();
  const key = (name: string, at: number) => `${name} ${Math.floor(at / DAY)}`;
  const resets = (at: number) => (Math.floor(at / DAY) + 1) * DAY;
  const left = (name: string, at: number) => limit - (used.get(key(name, at)) ?? 0);
  return {
    limit,
    left,
    resets,
    /** Serves a request. @returns false if nothing is left */
    use: (name: string, at: number): boolean => {
      if (left(name, at) <= 0) return false;
      used.set(key(name, at), (used.get(key(name, at)) ?? 0) + 1);
      return true;
    },
  };
}

/** Requests that each setup has to serve, in the order of time. */
function commands({ machines, days, seed }: Load): Command[] {
  const random = generator(seed);
  const all: Command[] = [];
  for (let day = 0; day < days; day++) {
    for (let machine = 0; machine < machines; machine++) {
      const count = day % 7 < 5 ? PER_DAY : PER_DAY / 5;
      for (let i = 0; i < count; i++) {
        all.push({ at: START + day * DAY + 8 * HOUR + random() * 10 * HOUR, machine, ms: 2_000 + random() * 58_000 });
      }
    }
  }
  return all.sort((x, y) => x.at - y.at);
}

function tally({ machines }: Load, wanted: Command[]) {
  const served = new Array<number>(machines).fill(0);
  const asked = new Array<number>(machines).fill(0);
  for (const { machine } of wanted) asked[machine]!++;
  const seconds = new Map<number, number>();
  const counts = { wasted: 0, questions: 0, operations: 0 };
  return {
    counts,
    serve: (machine: number) => void served[machine]!++,
    operation: (at: number) => {
      counts.operations++;
      const second = Math.floor(at / 1_000);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
    },
    outcome: (): Outcome => {
      const parts = served.map((count, i) => count / asked[i]!);
      const sum = parts.reduce((a, b) => a + b, 0);
      const fairness = sum ** 2 / (machines * parts.reduce((a, b) => a + b * b, 0));
      const peak = [...seconds.values()].reduce((a, b) => Math.max(a, b), 0);
      return { wanted: wanted.length, served: served.reduce((a, b) => a + b, 0), ...counts, fairness, peak };
    },
  };
}

/**
 * Each machine for itself: what it has learned from its own commands, in the order that the wrapper would use.
 * @param asks asks the provider about all accounts before each command, and runs none while nothing is left
 */
export function alone(load: Load, asks: boolean): Outcome {
  const wanted = commands(load);
  const api = provider(load);
  const count = tally(load, wanted);
  const accounts: Account[] = NAMES.map(name => ({ cli: 'x', name, enabled: true, env: {} }));
  const states: CliState[] = Array.from({ length: load.machines }, () => parseState({ default: 'a' }));
  const capacity = Capacity.parse({ strategy: asks ? 'most-remaining' : 'in-order' });
  for (const { at, machine } of wanted) {
    const state = states[machine]!;
    if (asks) {
      count.counts.questions += NAMES.length;
      for (const name of NAMES) {
        const resets = new Date(api.resets(at)).toISOString();
        state.remaining[name] = { remaining: api.left(name, at), limit: api.limit, used: null, resets, at };
      }
    }
    const candidates = orderCandidates(accounts, state, { by: 'default' }, { now: at, cost: 1, capacity });
    for (const { account, paused, spent } of candidates) {
      if (asks && (paused || spent)) continue;
      if (api.use(account.name, at)) {
        count.serve(machine);
        state.default = account.name;
        break;
      }
      count.counts.wasted++;
      // The CLI does not say when its quota starts again; the wrapper then pauses the account for an hour.
      pauseAccount(state, account.name, { class: 'quota', until: asks ? api.resets(at) : at + HOUR, since: at });
    }
  }
  return count.outcome();
}

/** With the pool: every lease and release goes through the store. */
export async function pooled(load: Load, server: StoreServer): Promise<Outcome> {
  const wanted = commands(load);
  const api = provider(load);
  const count = tally(load, wanted);
  const store = openStore({ url: server.url, timeoutMs: 60_000, script: scriptWithClock() });
  const accounts = NAMES.map(fp => ({ fp, name: fp }));
  const events = queueOf(wanted.map(command => ({ at: command.at, run: () => start(command, command.at) })));
  const request = (machine: number): LeaseRequest => ({
    owner: `m${machine}`,
    accounts,
    want: 1,
    ttl: 90_000,
    strategy: 'most-remaining',
    reserve: 0,
    askable: true,
    stale: 60_000,
  });
  const look = (fp: string, at: number): Observation => {
    count.counts.questions++;
    return { fp, remaining: api.left(fp, at), limit: api.limit, resets: api.resets(at), age: 0 };
  };
  const start = async (command: Command, at: number, seen: Observation[] = []): Promise<void> => {
    count.operation(at);
    const reply = await store.lease('tool', { ...request(command.machine), seen });
    if (reply.kind === 'ask') {
      const later = at + QUESTION_MS;
      events.add(later, () =>
        start(
          command,
          later,
          reply.ask.map(fp => look(fp, later)),
        ),
      );
    } else if (reply.kind === 'granted') {
      const { fence, fp, refresh } = reply.lease;
      const used = api.use(fp, at);
      if (used) count.serve(command.machine);
      else count.counts.wasted++;
      const end = at + command.ms;
      events.add(end, async () => {
        count.operation(end);
        const rest = !used && { rest: { class: 'quota', kind: 'period' as const, fallback: HOUR } };
        await store.release('tool', {
          fence,
          fp,
          spent: used ? 1 : 0,
          ...rest,
          ...(refresh && { seen: refresh.map(each => look(each, end)) }),
        });
      });
    } else if (reply.soon && at - command.at < WAIT_MS) {
      events.add(at + 1_000, () => start(command, at + 1_000));
    }
  };
  for (let event = events.next(); event; event = events.next()) {
    await setClock(server.client, event.at);
    await event.run();
  }
  store.close();
  return count.outcome();
}

interface Event {
  at: number;
  run(): Promise<void>;
}

/** Events in the order of their time; those that are added later are few at a time, so an insertion is cheap. */
function queueOf(sorted: Event[]) {
  let index = 0;
  const added: Event[] = [];
  return {
    add: (at: number, run: Event['run']) => {
      let place = added.length;
      while (place > 0 && added[place - 1]!.at < at) place--;
      added.splice(place, 0, { at, run });
    },
    next: (): Event | undefined => {
      const soonest = added.at(-1);
      const next = sorted[index];
      if (soonest && (!next || soonest.at <= next.at)) return added.pop();
      index++;
      return next;
    },
  };
}

if (import.meta.url === pathToFileURL(resolve(process.argv[1] ?? '')).href) {
  const load = { machines: Number(process.argv[2] ?? 1_000), days: Number(process.argv[3] ?? 7), seed: 1 };
  const ends: (() => unknown)[] = [];
  const server = await storeServer({ after: end => ends.push(end) });
  const begun = performance.now();
  const results = {
    'each machine for itself, in order': alone(load, false),
    'each machine for itself, asking before each command': alone(load, true),
    'one pool': await pooled(load, server),
  };
  console.table(results);
  console.log(`${((performance.now() - begun) / 1_000).toFixed(0)} s; ${load.machines} machines, ${load.days} days`);
  for (const end of ends.reverse()) await end();
}
