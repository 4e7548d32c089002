// Watches the networks of this machine while there are rules for them, or while a client reads them.
import type { Networks, NetworksAnswer, NetworksRequest, NetworksTried, NetworksWhatIf } from '../api/networks.ts';
import { reason } from '../core/errors.ts';
import { askBus, type Monitor, monitorNetworks } from './bus.ts';
import { greetGateway, type Reading, readLinks } from './links.ts';
import { isProven } from './rules/beacon.ts';
import { type Context, createFollower, documentOf, type Following, isReported } from './rules/follow.ts';
import type { Parts } from './rules/hold.ts';
import { parseRules, revisionOf } from './rules/rules.ts';

/** Time for which changes are published after a client has read the networks. */
const LEASE_MS = 120_000;
/** Time without changes after which a network is complete. */
const SETTLE_MS = 2_000;
const AGAIN_MS = [1_000, 5_000];
/** Pauses before another attempt to restore values. Each pause is twice as long as the previous pause. */
const RESTORE_MS = { first: 1_000, last: 60_000 };

export interface Options {
  leaseMs?: number;
  settleMs?: number;
  /** Delays after which an incomplete reading is repeated. */
  againMs?: readonly number[];
  /** First pause before values are restored again that could not be. */
  restoreFirstMs?: number;
  read?: () => Promise<Reading>;
  /** Notices changes. */
  watch?: typeof monitorNetworks;
  /** Makes the kernel ask for the hardware address of a gateway. */
  greet?: typeof greetGateway;
  /** Asks a beacon. */
  proves?: typeof isProven;
}

/** @param parts parts of the daemon that rules change */
export function createNetworks(context: Context, parts: Parts, options: Options = {}) {
  const { env, state, say } = context;
  const { leaseMs = LEASE_MS, settleMs = SETTLE_MS, watch = monitorNetworks, proves = isProven } = options;
  const { read: readOnce = () => readLinks(askBus(env)), againMs = AGAIN_MS, greet = greetGateway } = options;
  const follower = createFollower(context, parts, proves);
  const settler = createSettler(settleMs, read, reading => void follow(async () => reading));
  const restorer = createRestorer(options.restoreFirstMs, follower.isPending, settler.changed);
  let monitor: Monitor | null = null;
  let lease: NodeJS.Timeout | undefined;
  let unsubscribe = () => {};
  let last: Reading = { service: null, links: [] };
  /** Number of repeated reads since the network changed. */
  let repeated = 0;
  let repetition: NodeJS.Timeout | undefined;

  /** Reads the links. Never rejects: a service that does not answer has not lost its networks. */
  async function read(): Promise<Reading> {
    try {
      last = await readOnce();
    } catch (error) {
      say(`Networks: ${reason(error)}`);
      repeat();
    }
    return last;
  }

  /** Reads again soon, but only a few times after each change of the network. */
  function repeat(): void {
    const delay = againMs[repeated];
    if (repetition || delay === undefined) return;
    repeated += 1;
    repetition = setTimeout(() => {
      repetition = undefined;
      settler.changed();
    }, delay);
    repetition.unref();
  }

  function changed(): void {
    repeated = 0;
    settler.changed();
  }

  async function follow(reading: () => Promise<Reading>, how?: Following) {
    const networks = await follower.follow(reading, how);
    if (!monitor) return networks;
    restorer.check();
    state.set('networks', networks);
    // a plain read sends nothing
    if (how?.asks === false) return networks;
    const { gateways, hasSilentBeacon } = follower.lacks();
    for (const gateway of gateways) greet(gateway);
    if (gateways.length > 0 || hasSilentBeacon) repeat();
    return networks;
  }

  function begin(): void {
    if (monitor) return;
    monitor = watch(env, changed, why => say(`Changes of the network are not noticed: ${why}.`));
    let wasReported = isReported(context);
    unsubscribe = state.subscribe(() => {
      if (!wasReported && isReported(context)) settler.changed();
      wasReported = isReported(context);
    });
  }

  function end(): void {
    clearTimeout(lease);
    clearTimeout(repetition);
    repetition = undefined;
    restorer.stop();
    settler.stop();
    unsubscribe();
    monitor?.stop();
    monitor = null;
    state.set('networks', null);
  }

  async function respond(how?: Following): Promise<Networks> {
    begin();
    clearTimeout(lease);
    lease = setTimeout(() => follower.isNeeded() || end(), leaseMs);
    lease.unref();
    const networks = await follow(read, how);
    const document = documentOf(context);
    const { invalid } = parseRules(document);
    return { ok: true, ...networks, document, revision: revisionOf(document), invalid };
  }

  return {
    /** Starts to apply the rules, if there are any. */
    start(): void {
      if (!follower.isNeeded()) return;
      begin();
      settler.changed();
    },
    /** Stops watching; changes by rules stay. */
    stop: end,
    /** Reads the links, and publishes their changes for two minutes. */
    read: () => respond({ asks: false }),
    /**
     * Replaces the rules, which take effect immediately. @throws Problem document-invalid, precondition-failed,
     * config-not-writable
     */
    async set({ document, ifRevision, confirmWithin }: NetworksRequest): Promise<Networks> {
      follower.setDocument(document, ifRevision);
      return respond({ limit: confirmWithin === undefined ? {} : { confirmWithin } });
    },
    /** Tries the rules, and changes nothing. */
    whatIf: (request: NetworksWhatIf): Promise<NetworksTried> => follower.whatIf(request, read),
    /** Records whether a rule may lower the protection. @throws Problem not-found */
    async answer(request: NetworksAnswer): Promise<Networks> {
      follower.answer(request);
      return respond();
    },
    /** Reverts the rules' changes, until the network changes. */
    revert: (): Promise<Networks> => follower.revert().then(() => respond({ isReverting: true })),
  };
}

/** Calls `again` after a pause while values have to be restored. @param firstMs the first pause, before it doubles */
function createRestorer(firstMs = RESTORE_MS.first, isPending: () => boolean, again: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let pauseMs = firstMs;

  function stop(): void {
    clearTimeout(timer);
    timer = undefined;
    pauseMs = firstMs;
  }

  return {
    stop,
    check(): void {
      if (!isPending()) {
        stop();
        return;
      }
      timer ??= setTimeout(() => {
        timer = undefined;
        pauseMs = Math.min(2 * pauseMs, RESTORE_MS.last);
        again();
      }, pauseMs).unref();
    },
  };
}

interface Settler {
  /** Reports a change: a read follows once nothing has changed for the settling time. */
  changed(): void;
  /** Stops waiting; a read under way publishes nothing. */
  stop(): void;
}

/**
 * Reads once changes have settled: address, name servers and default route of a network arrive one after the other.
 * @param settled called with each read that no change interrupted
 */
export function createSettler<T>(settleMs: number, read: () => Promise<T>, settled: (value: T) => void): Settler {
  let timer: NodeJS.Timeout | undefined;
  let turn = 0;

  async function readOnce(): Promise<void> {
    const mine = turn;
    const value = await read();
    if (mine === turn) settled(value);
  }

  return {
    changed() {
      turn += 1;
      clearTimeout(timer);
      timer = setTimeout(() => void readOnce(), settleMs);
      timer.unref();
    },
    stop() {
      turn += 1;
      clearTimeout(timer);
    },
  };
}
