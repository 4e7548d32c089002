// Connects a pool to its store with iovalkey: to one server, to the primary behind Sentinels, or to a cluster.
import { Cluster, Redis, type RedisOptions } from 'iovalkey';
import { errno, reason } from '../../daemon/core/errors.ts';
import { redact } from '../system/redact.ts';
import { type Address, describeAddress, parseAddress, StoreUnreachable, serverError, shortened } from './address.ts';

/** Runs the operations of the script. */
export interface Connection {
  /**
   * @param keys see pool.lua
   * @returns the script's reply, as JSON
   * @throws StoreUnreachable, WrapError `pool-refused`
   */
  evaluate(keys: readonly string[], args: readonly string[]): Promise<string>;
  close(): void;
}

export interface ConnectOptions {
  url: string;
  user?: string | undefined;
  password?: string | undefined;
  /** The login of the Sentinels. */
  sentinel?: { user?: string | undefined; password: string } | undefined;
  /** PEM certificates of the authorities that TLS trusts instead of Node's. */
  ca?: string | string[] | undefined;
  timeoutMs: number;
  script: Script;
  /** Called when an operation failed because the store can't be reached. */
  onUnreachable?: (() => void) | undefined;
}

export interface Script {
  text: string;
  /** SHA-1 of the text, which identifies the script in a store. */
  sha: string;
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const NOT_A_REPLY = 'it answers with something that is not a reply of the script';

/**
 * Returns a connection that the first operation opens.
 * @throws WrapError `pool-address`
 */
export function connect(options: ConnectOptions): Connection {
  const { script, timeoutMs } = options;
  const address = parseAddress(options.url);
  /** Last error of the connection or a node. The operation's error names only the abandoned step, and no reason. */
  let last: unknown;
  /** Bytes that the answers to the current operation may still add up to. */
  const quota = { bytes: 0 };
  let opened: { client: Redis | Cluster; login: Promise<unknown> } | undefined;
  const open = () => {
    const client = openClient(address, options);
    const note = (error: unknown) => {
      // After this error, an answer would be taken for the answer to the next operation.
      if (reason(error).startsWith('Command queue state error')) {
        client.disconnect();
        opened = undefined;
      }
      if (!GAVE_UP.test(reason(error))) last = error;
    };
    client.on('error', note);
    client.on('node error', note);
    if (client instanceof Redis) limitAnswers(client, quota);
    else client.on('+node', (node: Redis) => limitAnswers(node, quota));
    // In a cluster and behind Sentinels the library logs in to nodes as it finds them.
    const { user = address.user, password } = options;
    const isAlone = address.kind === 'single' && password !== undefined;
    const login = isAlone ? client.call('AUTH', ...(user === undefined ? [] : [user]), password) : Promise.resolve();
    login.catch(() => {});
    return { client, login };
  };
  return {
    evaluate: async (keys, args) => {
      // The next operation replaces a client that gave up.
      if (!opened || opened.client.status === 'end') opened = open();
      const { client, login } = opened;
      last = undefined;
      quota.bytes = MAX_ANSWER_BYTES;
      const rest = [keys.length, ...keys, ...args] as const;
      const evaluated = client.evalsha(script.sha, ...rest).catch((error: unknown) => {
        if (reason(error).startsWith('NOSCRIPT')) return client.eval(script.text, ...rest);
        throw error;
      });
      let reply: unknown;
      try {
        [, reply] = await within(Promise.all([login, evaluated]), timeoutMs);
      } catch (error) {
        const failed = error instanceof StoreUnreachable ? error : failure(error, last, address, options);
        if (failed instanceof StoreUnreachable) options.onUnreachable?.();
        throw failed;
      }
      if (typeof reply !== 'string') throw new StoreUnreachable(NOT_A_REPLY);
      return reply;
    },
    close: () => opened?.client.disconnect(),
  };
}

const GAVE_UP =
  /^(?:All sentinels|None of startup nodes|Failed to refresh|Connection is closed|Too many Cluster|Stream isn't writeable)/;

/**
 * Interprets the failure of an operation.
 * @param last the last error that a node or the connection reported
 */
function failure(thrown: unknown, last: unknown, address: Address, options: ConnectOptions): Error {
  const { url, timeoutMs } = options;
  const told = /Last error: (?:\w*Error: )?(.+)/.exec(reason(thrown))?.[1] ?? reason(thrown);
  const gaveUp = GAVE_UP.test(told);
  const cause = gaveUp && last !== undefined ? last : thrown;
  const passwords = [options.password, options.sentinel?.password].filter(password => password !== undefined);
  const why = shortened(redact(cause === thrown ? told : reason(cause), passwords));
  // While a slot moves, each node of a cluster may redirect to another node.
  if (address.kind === 'cluster' && /^(?:MOVED|ASK) /.test(why))
    return new StoreUnreachable(`it answers ${why}`, { cause });
  // A server's errors begin with a code in capitals; all other errors come from the connection.
  const by = reason(thrown).startsWith('All sentinels') ? 'Sentinels' : 'store';
  if (/^[A-Z]{3,} /.test(why)) return serverError(why, describeAddress(url), by);
  return new StoreUnreachable(
    address.kind === 'single' ? ofConnection(cause, why, timeoutMs) : `no node answers: ${why}`,
    { cause },
  );
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'the host is unknown',
  EAI_AGAIN: 'the name of the host could not be looked up',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  ECONNRESET: 'it closed the connection',
  EPIPE: 'it closed the connection',
  EACCES: 'permission denied',
};

function ofConnection(cause: unknown, why: string, timeoutMs: number): string {
  if (errno(cause) === 'ETIMEDOUT') return noAnswer(timeoutMs);
  if (why.startsWith('Protocol error')) return 'it does not speak the protocol of Redis and Valkey';
  return REASONS[errno(cause) ?? ''] ?? (GAVE_UP.test(why) ? 'it closed the connection' : why);
}

function openClient(address: Address, options: ConnectOptions): Redis | Cluster {
  const common = commonOptions(address, options);
  const { user = address.user, password, sentinel, timeoutMs } = options;
  const login = {
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
  };
  if (address.kind === 'cluster') {
    return new Cluster(address.hosts, {
      redisOptions: { ...common, ...login },
      clusterRetryStrategy: () => null,
      slotsRefreshTimeout: timeoutMs,
      lazyConnect: true,
      enableReadyCheck: false,
    });
  }
  if (address.kind === 'single') {
    const { socket } = address;
    return new Redis({ ...common, ...(socket === undefined ? address.hosts[0] : { path: socket }) });
  }
  return new Redis({
    ...common,
    ...login,
    sentinels: address.hosts,
    name: address.primary!,
    enableTLSForSentinelMode: address.tls,
    ...(address.tls && { sentinelTLS: verified(options.ca) }),
    ...(sentinel?.user !== undefined && { sentinelUsername: sentinel.user }),
    ...(sentinel && { sentinelPassword: sentinel.password }),
    sentinelRetryStrategy: () => null,
  });
}

/** Limits the size of answers, and catches the errors of the library's parser, because they would end this process. */
function limitAnswers(client: Redis, quota: { bytes: number }): void {
  client.on('connect', () => {
    const { stream } = client;
    const parsers = stream.listeners('data');
    const end = () => stream.destroy(new Error('Protocol error'));
    stream.removeAllListeners('data').on('data', (chunk: Buffer) => {
      quota.bytes -= chunk.length;
      try {
        if (quota.bytes < 0) end();
        else for (const parse of parsers) parse.call(stream, chunk);
      } catch {
        end();
      }
    });
  });
}

function commonOptions(address: Address, { ca, timeoutMs }: ConnectOptions): RedisOptions {
  return {
    ...(address.tls && { tls: verified(ca) }),
    connectTimeout: timeoutMs,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    lazyConnect: true,
    // the check would send INFO first; the first operation reports a server that is not ready anyway
    enableReadyCheck: false,
  };
}

/** Returns TLS options that ignore NODE_TLS_REJECT_UNAUTHORIZED=0, which is for the wrapped tool: it would expose the password. */
function verified(ca: ConnectOptions['ca']): { rejectUnauthorized: true; ca?: string | string[] } {
  return { rejectUnauthorized: true, ...(ca !== undefined && { ca }) };
}

async function within<T>(reply: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StoreUnreachable(noAnswer(ms))), ms);
  });
  try {
    return await Promise.race([reply, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function noAnswer(ms: number): string {
  return `it gave no answer within ${ms / 1000} s`;
}
