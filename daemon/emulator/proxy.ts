// Implements proxy mode for TCP without a tunnel: SOCKS5, and HTTP and SOCKS4 in releases that support them.
import { connect, createServer, isIPv4, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { errno } from '../core/errors.ts';
import type { CliGeneration } from './version.ts';

interface ProxyOptions {
  generation: CliGeneration;
  /** Source address of connections to IPv4 targets, for recognition in tests; null for the system's choice. */
  from: string | null;
  /** True to accept connections but never answer. */
  deaf: boolean;
}

/** Time limit of a connection, as documented for local proxy mode. */
const DIAL_MS = 10_000;
const HEAD_BYTES = 16 * 1024;
/** Targets of the client's own checks inside the tunnel. They belong to the service, so the emulator accepts them. */
const INSIDE_CHECK = new Set(['162.159.197.4', '2606:4700:102::4', 'connectivity.cloudflareclient.com']);

/** Creates a server that does not listen yet; `closeAllSockets` ends its connections. */
export function createProxy(options: ProxyOptions): { server: Server; closeAllSockets(): void } {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    if (options.deaf) socket.resume();
    else serve(socket, options).catch(() => socket.destroy());
  });
  return {
    server,
    closeAllSockets() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function serve(socket: Socket, options: ProxyOptions): Promise<void> {
  const [first] = await take(socket, 1);
  if (first === 5) return socks5(socket, options);
  const { generation } = options;
  if (first === 4 && generation.has('httpProxy')) return socks4(socket, options);
  if (!generation.has('httpProxy') || !/[A-Za-z]/.test(String.fromCharCode(first!))) throw new Error('gone');
  socket.unshift(Buffer.from([first!]));
  return http(socket, options);
}

// ── SOCKS (RFC 1928; SOCKS4 and 4a as OpenSSH documents them) ────────────────────────────────────────────────────────

async function socks5(socket: Socket, options: ProxyOptions): Promise<void> {
  const [count] = await take(socket, 1);
  const methods = await take(socket, count!);
  if (!methods.includes(0)) {
    socket.end(Buffer.from([5, 0xff]));
    return;
  }
  socket.write(Buffer.from([5, 0]));
  const [version, command, , type] = await take(socket, 4);
  if (version !== 5) throw new Error('gone');
  const host = await socksAddress(socket, type!);
  const reply = (code: number) => Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
  if (host === null) {
    socket.end(reply(8));
    return;
  }
  const port = (await take(socket, 2)).readUInt16BE();
  // The real proxy carries only TCP and answers UDP ASSOCIATE with 7 (recorded).
  if (command !== 1) {
    socket.end(reply(7));
    return;
  }
  try {
    const remote = await dial(host, port, options);
    socket.write(reply(0));
    relay(socket, remote);
  } catch (error) {
    socket.end(reply(SOCKS5_ERRORS[errno(error) ?? ''] ?? 1));
  }
}

const SOCKS5_ERRORS: Record<string, number> = {
  ENETUNREACH: 3,
  EHOSTUNREACH: 4,
  ENOTFOUND: 4,
  EAI_AGAIN: 4,
  ETIMEDOUT: 4,
  ECONNREFUSED: 5,
};

async function socksAddress(socket: Socket, type: number): Promise<string | null> {
  if (type === 1) return [...(await take(socket, 4))].join('.');
  if (type === 3) {
    const [length] = await take(socket, 1);
    return (await take(socket, length!)).toString('latin1');
  }
  if (type !== 4) return null;
  const bytes = await take(socket, 16);
  return Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16)).join(':');
}

async function socks4(socket: Socket, options: ProxyOptions): Promise<void> {
  const head = await take(socket, 7);
  const port = head.readUInt16BE(1);
  const address = [...head.subarray(3)];
  await takeText(socket); // user id
  const named = address[0] === 0 && address[1] === 0 && address[2] === 0 && address[3] !== 0;
  const host = named ? await takeText(socket) : address.join('.');
  const reply = (code: number) => Buffer.from([0, code, 0, 0, 0, 0, 0, 0]);
  if (head[0] !== 1) {
    socket.end(reply(91));
    return;
  }
  try {
    const remote = await dial(host, port, options);
    socket.write(reply(90));
    relay(socket, remote);
  } catch {
    socket.end(reply(91));
  }
}

// ── HTTP (RFC 9110, section 9.3.6, and RFC 9112, section 3.2.2) ──────────────────────────────────────────────────────

async function http(socket: Socket, options: ProxyOptions): Promise<void> {
  const head = await takeHead(socket);
  const [line = '', ...headers] = head.split('\r\n');
  const [, method, target, version] = /^([A-Z]+) (\S+) HTTP\/(1\.[01])$/.exec(line) ?? [];
  const refuse = (status: string) => socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
  if (!method || !target || !version) {
    refuse('400 Bad Request');
    return;
  }
  if (method === 'CONNECT') {
    const [, v6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/@]+)):(\d{1,5})$/.exec(target) ?? [];
    const host = v6 ?? name;
    if (!host || Number(port) > 65535) {
      refuse('400 Bad Request');
      return;
    }
    try {
      const remote = await dial(host, Number(port), options);
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      relay(socket, remote);
    } catch {
      refuse('502 Bad Gateway');
    }
    return;
  }
  const url = URL.canParse(target) ? new URL(target) : null;
  if (url?.protocol !== 'http:') {
    refuse('400 Bad Request');
    return;
  }
  if (!options.generation.has('plainHttpProxy')) {
    refuse('405 Method Not Allowed');
    return;
  }
  try {
    const remote = await dial(url.hostname.replace(/^\[|\]$/g, ''), Number(url.port || 80), options);
    const passed = headers.filter(header => !/^(proxy-[a-z-]+|connection|keep-alive)\s*:/i.test(header));
    // allow one request per connection: a second request could have another target
    const request = [`${method} ${url.pathname}${url.search} HTTP/${version}`, ...passed, 'Connection: close'];
    remote.write(`${request.join('\r\n')}\r\n\r\n`, 'latin1');
    relay(socket, remote);
  } catch {
    refuse('502 Bad Gateway');
  }
}

// ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** @throws Error if the connection ends before `count` bytes */
async function take(socket: Socket, count: number): Promise<Buffer> {
  if (count === 0) return Buffer.alloc(0);
  for (;;) {
    const bytes: Buffer | null = socket.read(count);
    if (bytes?.length === count) return bytes;
    if (bytes || socket.readableEnded || socket.destroyed) throw new Error('gone');
    await new Promise<void>(resolve => {
      const done = () => {
        for (const event of ['readable', 'end', 'close']) socket.off(event, done);
        resolve();
      };
      for (const event of ['readable', 'end', 'close']) socket.on(event, done);
    });
  }
}

/** Reads text up to a zero byte. */
async function takeText(socket: Socket): Promise<string> {
  let text = '';
  while (text.length < 256) {
    const byte = await take(socket, 1);
    if (byte[0] === 0) return text;
    text += byte.toString('latin1');
  }
  throw new Error('gone');
}

async function takeHead(socket: Socket): Promise<string> {
  const bytes: Buffer[] = [];
  for (let size = 0; size < HEAD_BYTES; size++) {
    const byte = await take(socket, 1);
    bytes.push(byte);
    if (byte[0] !== 10) continue;
    const text = Buffer.concat(bytes).toString('latin1');
    if (text.endsWith('\r\n\r\n')) return text.slice(0, -4);
  }
  throw new Error('gone');
}

function dial(host: string, port: number, { from }: ProxyOptions): Promise<Duplex> {
  if (INSIDE_CHECK.has(host)) {
    return Promise.resolve(new Duplex({ read() {}, write: (_, __, done) => done(), final: done => done() }));
  }
  // don't ask a resolver: these names are reserved and never exist (RFC 6761, section 6.4)
  if (/(^|\.)invalid\.?$/i.test(host)) return Promise.reject(Object.assign(new Error(host), { code: 'ENOTFOUND' }));
  return new Promise((resolve, reject) => {
    const local = from !== null && (isIPv4(host) || !host.includes(':')) ? { localAddress: from, family: 4 } : {};
    const remote = connect({ host, port, allowHalfOpen: true, ...local });
    const limit = setTimeout(
      () => remote.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })),
      DIAL_MS,
    );
    remote.once('error', error => {
      clearTimeout(limit);
      reject(error);
    });
    remote.once('connect', () => {
      clearTimeout(limit);
      resolve(remote);
    });
  });
}

function relay(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => from.destroy());
    from.once('close', () => to.destroy());
    from.pipe(to);
  }
}
