// Follows the rules for networks: decides once for each change of the networks.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type {
  NetworksAnswer,
  NetworksState,
  NetworksTried,
  NetworksWhatIf,
  SupposedNetwork,
} from '../../api/networks.ts';
import type { Snapshot } from '../../api/schema.ts';
import { currentValue } from '../../changes/values.ts';
import type { FeatureContext } from '../../controls.ts';
import { errno, reason } from '../../core/errors.ts';
import { makeDirectory, replaceFile } from '../../core/files.ts';
import { Problem } from '../../problem.ts';
import { type Reading, unknownLink } from '../links.ts';
import type { isProven } from './beacon.ts';
import { decide, describe, isFor, type Placed, placeKey, type Situation } from './decide.ts';
import { createApplier, createHolder, keepMemory, type Limit, type Memory, type Parts } from './hold.ts';
import { EMPTY_DOCUMENT, keyOf, parseRules, type Rule, revisionOf } from './rules.ts';

export type Context = Pick<FeatureContext, 'env' | 'paths' | 'state' | 'tunnel' | 'say'>;

/** @param proves function that asks a beacon */
export function createFollower(context: Context, parts: Parts, proves: typeof isProven) {
  const { paths, state, tunnel, say } = context;
  const keeper = keepMemory(paths.networksState, say);
  const { memory, save } = keeper;
  const holder = createHolder(keeper, createApplier(context, parts), { say, ruled: parts.ruled });
  /** Answers that hold until the network changes. */
  const once = new Map<string, boolean>();
  /** Hardware addresses of the gateways, as last read. */
  let gateways: (string | null)[] = [];
  /** The last answers of the beacons. */
  let placed: { key: string; places: Placed[] } | null = null;
  let lacks: Lacks = { gateways: [], hasSilentBeacon: false };
  const answers = () => new Map([...Object.entries(memory.answers), ...once]);
  let last: Promise<unknown> = Promise.resolve();
  const situation = () => situationOf(state.snapshot(), memory.made, answers());
  const ask = (reading: Reading, rules: readonly Rule[]) => askBeacons(reading, rules, { proves, env: context.env });

  /** @param asks true to ask each beacon again for the same links and rules */
  async function place(reading: Reading, rules: readonly Rule[], asks = true): Promise<Placed[]> {
    const key = JSON.stringify([reading.links, rules]);
    if (asks || placed?.key !== key) placed = { key, places: await ask(reading, rules) };
    return placed.places;
  }

  /** Ends the answers for this network if it may be another network of the same name, which only the gateway shows. */
  function forget(places: readonly Placed[]): void {
    const now = places.map(({ link }) => link.gatewayHardware);
    const isSame = now.length > 0 && gateways.every((before, at) => before === null || before === now[at]);
    if (!isSame) once.clear();
    gateways = now;
  }

  /** Reverts the rules' changes. No rule acts before all are reverted, nor after that, until the network changes. */
  async function revert(isAsked: boolean): Promise<void> {
    // on disk first: a daemon that dies here must not set the rules again
    save({ reverting: true });
    await holder.revert(isAsked);
    save(holder.isPending() ? { reverting: true } : { reverting: false, reverted: true });
  }

  async function follow(reading: Reading, { limit, asks, isReverting }: Following): Promise<NetworksState> {
    const rules = rulesIn(documentOf(context));
    const places = await place(reading, rules, asks);
    forget(places);
    lacks = lackingIn(places, rules);
    // without a network, decide nothing: the machine may wake up in the same network
    const concerns = places.length > 0 && (rules.length > 0 || memory.made.length > 0);
    if (concerns && isReported(context)) await tunnel.refresh('stale');
    const key = placeKey(places, rules);
    if (concerns && key !== memory.place) {
      once.clear();
      // a kill switch stays on where an administrator refused to turn it off
      const made = memory.made.map(({ denied, ...entry }) => (denied ? { ...entry, returns: false } : entry));
      save({ place: key, reverted: false, reverting: false, acted: null, followed: [], made });
    }
    if (concerns && memory.reverting && !isReverting) await revert(false);
    const decision = decide(places, rules, situation());
    if (concerns && !memory.reverted && !memory.reverting)
      await holder.hold(decision, { limit, rules, hasWarp: isReady(context) });
    return {
      ...reading,
      rules: rules.map(rule => describe(rule, answers())),
      decision,
      acted: memory.acted,
      reverted: memory.reverted,
      ...(memory.reverting && { reverting: true as const }),
      problem: holder.problem(),
    };
  }

  /** Runs changes one after the other. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  }

  return {
    /** True if the networks must be watched even while no client reads them. */
    isNeeded: () => rulesIn(documentOf(context)).length > 0 || memory.made.length > 0,
    /** Returns the evidence that the last decision lacked. */
    lacks: () => lacks,
    /** @param read called in its turn, so that a slow reading does not follow a later reading */
    follow: (read: () => Promise<Reading>, how: Following = {}) => inTurn(async () => follow(await read(), how)),

    /** @throws Problem precondition-failed, document-invalid, config-not-writable */
    setDocument(text: string, ifRevision: string | undefined): void {
      if (ifRevision !== undefined && ifRevision !== revisionOf(documentOf(context))) throw changedMeanwhile();
      writeDocument(paths.networks, text);
      save({ place: null });
    },

    async whatIf({ network, document }: NetworksWhatIf, read: () => Promise<Reading>): Promise<NetworksTried> {
      const { rules, invalid } = parseRules(document ?? documentOf(context));
      const places = network ? [suppose(network, rules)] : await ask(await read(), rules);
      const described = rules.map(rule => describe(rule, answers()));
      return { ok: true, rules: described, decision: decide(places, rules, situation()), invalid };
    },

    /** @throws Problem not-found */
    answer({ rule: name, answer }: NetworksAnswer): void {
      const rule = rulesIn(documentOf(context)).find(each => each.name === name);
      if (!rule) throw new Problem('not-found', `There is no rule “${name}”.`, { hint: 'See: culvert network rules' });
      if (answer === 'once') once.set(keyOf(rule), true);
      else save({ answers: { ...memory.answers, [keyOf(rule)]: answer === 'always' } });
    },

    /** True if values are not restored that have to be. */
    isPending: () => holder.isPending(),
    /** Reverts the rules' changes, and makes no further changes until the network changes. */
    revert: () => inTurn(() => revert(true)),
  };
}

/** Returns the settings without the rules' changes. */
function situationOf(snapshot: Snapshot, made: Memory['made'], answers: Situation['answers']): Situation {
  return {
    managed: snapshot.account.managed,
    modeLocked: snapshot.options.modeLocked === true,
    switchLocked: snapshot.options.switchLocked === true,
    before(subject) {
      const change = made.find(each => each.change.subject === subject)?.change;
      // without a rule's change, a stale value is the best guess
      return change && 'before' in change ? change.before : currentValue(subject, { ...snapshot, stale: [] })?.value;
    },
    answers,
  };
}

interface Asking {
  proves: typeof isProven;
  env: NodeJS.ProcessEnv;
}

async function askBeacons({ links }: Reading, rules: readonly Rule[], { proves, env }: Asking): Promise<Placed[]> {
  return Promise.all(
    links.map(async link => {
      const candidates = rules.filter(rule => rule.match.beacon && isFor(rule, link));
      const results = await Promise.all(candidates.map(({ match }) => proves(match.beacon!, link.device, env)));
      return { link, proven: new Set(candidates.filter((_, at) => results[at]).map(({ name }) => name)) };
    }),
  );
}

export interface Following {
  /** Limit of the rules' changes; absent if only the network changed. */
  limit?: Limit;
  /** False for a plain read, which asks beacons only after a change of the network or the rules. */
  asks?: boolean;
  /** True right after an attempt to revert, which is then not repeated immediately. */
  isReverting?: boolean;
}

/** Evidence for rules that is missing, but may be in a later reading. */
interface Lacks {
  /** Addresses of gateways without a known hardware address, if a rule names a gateway. */
  gateways: string[];
  hasSilentBeacon: boolean;
}

function lackingIn(places: readonly Placed[], rules: readonly Rule[]): Lacks {
  const namesGateway = rules.some(({ match }) => match.gateway !== undefined);
  const unknown = places.flatMap(({ link }) => (link.gatewayHardware === null && link.gateway ? [link.gateway] : []));
  const isSilent = ({ link, proven }: Placed) =>
    rules.some(rule => rule.match.beacon && isFor(rule, link) && !proven.has(rule.name));
  return { gateways: namesGateway ? unknown : [], hasSilentBeacon: places.some(isSilent) };
}

/** True if WARP has reported its state and can be used. */
export function isReported({ state }: Pick<Context, 'state'>): boolean {
  const { status } = state.snapshot();
  return status.state !== 'unknown' && !status.blocked;
}

/**
 * True once the settings are known, and whether an organization manages the device. Before that, only the kill switch
 * may change.
 */
function isReady(context: Pick<Context, 'state'>): boolean {
  const { settings, account } = context.state.snapshot();
  return isReported(context) && Object.keys(settings).length > 0 && account.managed !== null;
}

export function documentOf({ paths, say }: Pick<Context, 'paths' | 'say'>): string {
  try {
    return readFileSync(paths.networks, 'utf8');
  } catch (error) {
    if (errno(error) !== 'ENOENT') say(`${paths.networks} can't be read: ${reason(error)}`);
    return EMPTY_DOCUMENT;
  }
}

/** Returns the rules; none if the document has a mistake, because some of the rules may be weaker than all of them. */
function rulesIn(document: string): Rule[] {
  const { rules, invalid } = parseRules(document);
  return invalid.length ? [] : rules;
}

/** @throws Problem document-invalid, config-not-writable */
function writeDocument(path: string, text: string): void {
  const [fault] = parseRules(text).invalid;
  if (fault) {
    const where = fault.line === null ? '' : `Line ${fault.line}: `;
    throw new Problem('document-invalid', `${where}${fault.reason} Nothing was changed.`);
  }
  try {
    makeDirectory(dirname(path));
    replaceFile(path, text);
  } catch (error) {
    throw new Problem('config-not-writable', reason(error), {}, error);
  }
}

function changedMeanwhile(): Problem {
  return new Problem('precondition-failed', 'The rules have changed since they were read.', {
    hint: 'Look at them again, and repeat the change.',
  });
}

function suppose({ kind, beacon, ...given }: SupposedNetwork, rules: readonly Rule[]): Placed {
  const link = { ...unknownLink('what-if'), kind, ...given };
  const isProven = ({ match }: Rule) => beacon === true || (match.beacon && match.beacon.address === beacon);
  return { link, proven: new Set(rules.filter(isProven).map(({ name }) => name)) };
}
