// Speaks to one server over its socket. A wrapped command waits for this before it starts, and the client library alone
// takes 25 ms to load: AUTH and EVALSHA are a few lines of RESP, which go out in one write.
// https://valkey.io/topics/protocol/ (RESP2)
import { connect, isIP, type OnReadOpts, type Socket } from 'node:net';
import type { Address } from './address.ts';
import { describeAddress } from './address.ts';
import { type Connection, type ConnectOptions, StoreUnreachable, serverError, verified } from './connection.ts';

type Reply = string | number | null | Error;

/** A connection that the first operation opens, without waiting for the reply to the login. */
export function connectDirectly(address: Address, options: ConnectOptions): Connection {
  const where = () => describeAddress(options.url);
  let link: Link | undefined;
  let opening: Promise<Link> | undefined;
  let loggedIn: Link | undefined;
  /** The next operation replaces a connection that broke. */
  const usable = () => (link && !link.broken() ? link : undefined);
  const opened = async (): Promise<Link> => {
    opening ??= open(address, options);
    link = await opening;
    opening = undefined;
    return link;
  };
  let turn: Promise<unknown> | undefined;
  /** One at a time, so that a renewal and what follows it don't mix; sent before this returns where it is the only one. */
  const request = (...commands: string[][]): Promise<Reply> => {
    const reply = turn ? turn.then(() => exchange(...commands)) : exchange(...commands);
    const end = () => {
      if (turn === over) turn = undefined;
    };
    const over = reply.then(end, end);
    turn = over;
    return reply;
  };
  const exchange = async (...commands: string[][]): Promise<Reply> => {
    const current = usable() ?? (await opened());
    const login = loggedIn === current ? [] : loginOf(address, options);
    loggedIn = current;
    const replies = await current.send([...login, ...commands], options.timeoutMs);
    const failed = replies.slice(0, login.length).find(reply => reply instanceof Error);
    if (failed instanceof Error) throw serverError(failed.message, where());
    return replies.at(-1)!;
  };
  return {
    run: async (keys, args) => {
      const rest = [String(keys.length), ...keys, ...args];
      let reply = await request(['EVALSHA', options.script.sha, ...rest]);
      if (reply instanceof Error && reply.message.startsWith('NOSCRIPT')) {
        reply = await request(['EVAL', options.script.text(), ...rest]);
      }
      if (reply instanceof Error) throw serverError(reply.message, where());
      if (typeof reply !== 'string')
        throw new StoreUnreachable('it answers with something that is not a reply of the script');
      return reply;
    },
    warm: () => void (usable() ?? opened()),
    keepsAlive: false,
    close: () => link?.end(),
  };
}

function loginOf(address: Address, { user = address.user, password }: ConnectOptions): string[][] {
  return password === undefined ? [] : [['AUTH', ...(user === undefined ? [] : [user]), password]];
}

interface Link {
  send(commands: readonly string[][], timeoutMs: number): Promise<Reply[]>;
  broken(): boolean;
  end(): void;
}

async function open(address: Address, { ca }: ConnectOptions): Promise<Link> {
  const { host, port } = address.hosts[0] ?? { host: '', port: 0 };
  const to = address.socket === undefined ? { host, port } : { path: address.socket };
  const secure = address.tls ? await import('node:tls') : undefined;
  return linkOf(onread => {
    const options = { ...to, onread, noDelay: true };
    const socket: Socket = secure
      ? secure.connect({ ...options, ...verified(ca), ...(isIP(host) === 0 && { servername: host }) })
      : connect(options);
    // whoever waits for an answer has a timer
    socket.unref();
    return socket;
  });
}

/** @param connectWith connects, with a buffer for what is received: the first use of a stream takes 0.4 ms */
function linkOf(connectWith: (onread: OnReadOpts) => Socket): Link {
  // a character for each byte
  let received = '';
  let waiting:
    | { wanted: number; replies: Reply[]; done(replies: Reply[]): void; failed(error: Error): void }
    | undefined;
  let broken: Error | undefined;
  /** From then on a reply that nobody waits for would be taken for the next one. */
  let answered = false;
  const buffer = Buffer.allocUnsafe(64 * 1024);
  const socket = connectWith({
    buffer,
    callback: length => {
      received += buffer.toString('latin1', 0, length);
      take();
      return true;
    },
  });
  /** Written once connected: a write before that takes 0.1 ms longer. */
  let unsent = '';
  socket.on('connect', () => {
    if (unsent !== '') socket.write(unsent);
  });
  const fail = (why: string, cause?: unknown) => {
    broken ??= new StoreUnreachable(why, { cause });
    socket.destroy();
    waiting?.failed(broken);
    waiting = undefined;
  };
  socket.on('error', error => fail(reasonOf(error), error));
  socket.on('close', () => {
    // one that refuses the connection says so in place of the first answer
    if (waiting?.replies.some(reply => reply instanceof Error)) waiting.done(waiting.replies);
    else fail('it closed the connection');
    waiting = undefined;
    broken ??= new StoreUnreachable('it closed the connection');
  });
  const take = () => {
    while (waiting) {
      const read = readReply(received);
      if (read === undefined) return;
      if (read === 'malformed') return fail('it does not speak the protocol of Redis and Valkey');
      received = received.slice(read.length);
      waiting.replies.push(read.reply);
      if (waiting.replies.length < waiting.wanted) continue;
      waiting.done(waiting.replies);
      waiting = undefined;
      answered = true;
    }
    if (answered && received !== '') fail('it gives more answers than it was asked for');
  };
  return {
    send: (commands, timeoutMs) =>
      new Promise((resolve, reject) => {
        if (broken) return reject(broken);
        let limit: NodeJS.Timeout | undefined;
        waiting = {
          wanted: commands.length,
          replies: [],
          done: replies => {
            clearTimeout(limit);
            resolve(replies);
          },
          failed: error => {
            clearTimeout(limit);
            reject(error);
          },
        };
        const asked = waiting;
        const startClock = () => {
          if (waiting === asked)
            limit = setTimeout(() => fail(`it gave no answer within ${timeoutMs / 1000} s`), timeoutMs);
        };
        const text = commands.map(encode).join('');
        if (socket.connecting) {
          unsent = text;
          // Node takes 0.2 ms to make its first timer: not before a server on this machine has the question
          setImmediate(startClock);
        } else {
          socket.write(text);
          startClock();
        }
      }),
    broken: () => broken !== undefined,
    end: () => {
      socket.removeAllListeners('close');
      socket.end();
    },
  };
}

function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}

/** The first reply in a buffer, `undefined` while it is incomplete. The script and the login answer with no arrays. */
function readReply(data: string): { reply: Reply; length: number } | 'malformed' | undefined {
  const end = data.indexOf('\r\n');
  if (end < 0) return data.length > 64 * 1024 ? 'malformed' : undefined;
  const line = data.slice(1, end);
  const after = end + 2;
  switch (data[0]) {
    case '+':
      return { reply: decode(line), length: after };
    case '-':
      return { reply: new Error(decode(line)), length: after };
    case ':':
      return { reply: Number(line), length: after };
    case '$': {
      const size = Number(line);
      if (!Number.isInteger(size) || size > 64 * 1024 * 1024) return 'malformed';
      if (size < 0) return { reply: null, length: after };
      if (data.length < after + size + 2) return undefined;
      return { reply: decode(data.slice(after, after + size)), length: after + size + 2 };
    }
    default:
      return 'malformed';
  }
}

/** @param bytes UTF-8, a character for each byte; nearly always ASCII */
function decode(bytes: string): string {
  return Buffer.byteLength(bytes) === bytes.length ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
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
  ETIMEDOUT: 'it gave no answer',
  EACCES: 'permission denied',
};

function reasonOf(error: NodeJS.ErrnoException): string {
  return REASONS[error.code ?? ''] ?? error.message;
}
