// Finds the server behind Sentinels or in a cluster with iovalkey, which is loaded only for these.
import { Cluster, Redis, type RedisOptions } from 'iovalkey';
import { reason } from '../errors.ts';
import type { Address } from './address.ts';
import { describeAddress } from './address.ts';
import { type Connection, type ConnectOptions, StoreUnreachable, serverError, verified } from './connection.ts';

/** A connection to the primary that the Sentinels name, or to the node of a cluster that has the keys. */
export function connectByLibrary(address: Address, options: ConnectOptions): Connection {
  const { script } = options;
  let last: string | undefined;
  const connect = () => {
    const made = address.kind === 'cluster' ? cluster(address, options) : behindSentinels(address, options);
    // The operation that waits for it fails with less: it says what the library gave up, and not why.
    const note = (error: unknown) => {
      if (!GAVE_UP.test(reason(error))) last = reason(error);
    };
    made.on('error', note);
    made.on('node error', note);
    return made;
  };
  let client = connect();
  return {
    run: async (keys, args) => {
      // One that gave up is replaced with the next operation.
      if (client.status === 'end') client = connect();
      last = undefined;
      const rest = [keys.length, ...keys, ...args] as const;
      try {
        const reply = await within(
          client.evalsha(script.sha, ...rest).catch((error: unknown) => {
            if (reason(error).startsWith('NOSCRIPT')) return client.eval(script.text(), ...rest);
            throw error;
          }),
          options.timeoutMs,
        );
        return String(reply);
      } catch (error) {
        if (error instanceof StoreUnreachable) throw error;
        const why = causeOf(reason(error), last);
        // While a slot moves, each node may name another one.
        if (/^(?:MOVED|ASK) /.test(why)) throw new StoreUnreachable(`it answers ${why}`, { cause: error });
        // A server's own errors begin with a code in capitals; all others are of the connection.
        const by = reason(error).startsWith('All sentinels') ? 'Sentinels' : 'store';
        if (/^[A-Z]{3,} /.test(why)) throw serverError(why, describeAddress(options.url), by);
        throw new StoreUnreachable(`no node answers: ${why}`, { cause: error });
      }
    },
    warm: () => {},
    keepsAlive: true,
    close: () => client.disconnect(),
  };
}

const GAVE_UP = /^(?:All sentinels|None of startup nodes|Failed to refresh|Connection is closed|Too many Cluster)/;

/** @param last what a node or the connection said before */
function causeOf(message: string, last: string | undefined): string {
  const told = /Last error: (?:\w*Error: )?(.+)/.exec(message)?.[1] ?? message;
  return last !== undefined && GAVE_UP.test(told) ? last : told;
}

function common(address: Address, { user = address.user, password, ca, timeoutMs }: ConnectOptions): RedisOptions {
  return {
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    ...(address.tls && { tls: verified(ca) }),
    connectTimeout: timeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    lazyConnect: true,
    // INFO before the first operation, which says itself that a server is not ready
    enableReadyCheck: false,
  };
}

function behindSentinels(address: Address, options: ConnectOptions): Redis {
  return new Redis({
    ...common(address, options),
    sentinels: address.hosts,
    name: address.primary!,
    enableTLSForSentinelMode: address.tls,
    ...(address.tls && { sentinelTLS: verified(options.ca) }),
    ...(options.sentinel?.user !== undefined && { sentinelUsername: options.sentinel.user }),
    ...(options.sentinel && { sentinelPassword: options.sentinel.password }),
    sentinelRetryStrategy: () => null,
  });
}

function cluster(address: Address, options: ConnectOptions): Cluster {
  return new Cluster(address.hosts, {
    redisOptions: common(address, options),
    clusterRetryStrategy: () => null,
    slotsRefreshTimeout: options.timeoutMs,
    lazyConnect: true,
    enableReadyCheck: false,
  });
}

async function within<T>(reply: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreUnreachable(`it gave no answer within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([reply, limit]);
  } finally {
    clearTimeout(timer);
  }
}
