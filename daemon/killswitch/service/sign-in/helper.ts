// The helper of a sign-in: a SOCKS5 proxy (RFC 1928) for one user, and the only program that the kill switch lets out during it. It has
// a user of its own, which systemd allocates, and ends with the command that holds it. Instead of serving a user, it can also test the
// network for a login page.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { SIGN_IN_SOCKET } from '../../report.ts';
import { createPassed } from '../../sign-in/reports.ts';
import {
  type Answer,
  answerOf,
  judge,
  judgeCertificate,
  MAX_BODY_BYTES,
  parseReply,
  SECURE,
  SILENT,
  TARGETS,
  type Target,
  UNREACHABLE,
  type Verdict,
} from '../../sign-in/verdict.ts';
import type { HelperWork } from '../../sign-in/window.ts';
import { READY, RELEASED } from './helper-link.ts';
import {
  addressesOf,
  close,
  connectToAny,
  createLineWriter,
  isLocal,
  lines,
  listenAt,
  read,
  readExactly,
  within,
  write,
} from './streams.ts';

const BEAT_MS = 1_000;
/** Time for the root service to hear the last totals, and to close the window. */
const END_MS = 1_000;
/** Time for the command to come, and between two signs of life of it. */
const PATIENCE_MS = { first: 15_000, next: 4_000 };
const MAX_CONNECTIONS = 200;
const CONNECT_SECONDS = 15;
const PIECE_BYTES = 32 << 10;
const INPUT = 0;
/** Mode of a socket that the user can connect to: whose a connection is, the helper sees by its credentials. */
const ANYBODY = 0o666;
/** Connections that wait, as many as Linux allows (somaxconn): GIO's usual 10 are full while another user connects without end. */
const BACKLOG = 4096;
/** First byte of the connection that holds the helper. */
const HOLD = 0x48;

const SOCKS = { version: 5, connect: 1, ipv4: 1, name: 3, noMethod: 255 } as const;
const REPLY = { ok: 0, refused: 2, unreachable: 4, noCommand: 7, noAddress: 8 } as const;

/** @param own directory of this helper's socket @param quit ends the process. @throws GLib.Error unless the input is a socket */
export async function runHelper(own: string, quit: () => void): Promise<void> {
  // systemd has connected it to the root service
  const root = Gio.Socket.new_from_fd(INPUT).connection_factory_create_connection();
  const send = createLineWriter(root.get_output_stream(), quit);
  void send(READY);
  const passed = createPassed();
  const sendTotals = () => passed.news().map(total => send(JSON.stringify(total)));
  /** The root service hears the last totals, and closes the window now. */
  const end = async (...lastWords: string[]) => {
    const sent = Promise.all([...sendTotals(), ...lastWords.map(send)]).then(() => {
      root.get_socket().shutdown(false, true);
      return ended;
    });
    await within(
      END_MS,
      sent.catch(() => {}),
    );
    quit();
  };
  let given = (_work: HelperWork) => {};
  const receiving = new Promise<HelperWork>(resolve => {
    given = resolve;
  });
  const ended = lines(root.get_input_stream(), line => given(JSON.parse(line) as HelperWork));
  void ended.then(() => end());
  const work = await receiving;
  if (work.uid === null) return test(send, work.servers);
  let lastSign = now() + PATIENCE_MS.first - PATIENCE_MS.next;
  let isHeld = false;

  async function hold(connection: Gio.SocketConnection): Promise<void> {
    isHeld = true;
    const input = connection.get_input_stream();
    await write(connection.get_output_stream(), 'held\n');
    try {
      do lastSign = now();
      while (await read(input, PIECE_BYTES));
    } catch {
      // as an end
    }
    await end(RELEASED);
  }

  async function beat(): Promise<void> {
    if (now() - lastSign > PATIENCE_MS.next) return end(RELEASED);
    sendTotals();
    if (isHeld) await send('beat');
    setTimeout(() => void beat(), BEAT_MS);
  }

  let count = 0;
  const serve = async (connection: Gio.SocketConnection): Promise<void> => {
    if (connection.get_socket().get_credentials().get_unix_user() !== work.uid || count >= MAX_CONNECTIONS) return;
    count += 1;
    try {
      const [first] = await readExactly(connection.get_input_stream(), 1);
      if (first === HOLD && !isHeld) await hold(connection);
      else if (first === SOCKS.version && isHeld) await proxy(connection, work.servers, passed.begin);
    } finally {
      count -= 1;
    }
  };
  listen(GLib.build_filenamev([own, SIGN_IN_SOCKET]), connection => {
    void serve(connection)
      .catch(() => {})
      .finally(() => close(connection));
  });
  void beat();
}

function listen(path: string, came: (connection: Gio.SocketConnection) => void): void {
  const service = new Gio.SocketService();
  service.set_backlog(BACKLOG);
  listenAt(path, service, ANYBODY);
  service.connect('incoming', (_, connection) => {
    came(connection);
    return true;
  });
  service.start();
  held.push(service);
}

/** Held for the life of the process: GJS collects what nothing refers to. */
const held: object[] = [];

/** Fetches the pages, and reports the result to the root service. */
async function test(send: (line: string) => void, servers: readonly string[]): Promise<void> {
  const timer = setInterval(() => send('beat'), BEAT_MS);
  send(JSON.stringify(await probe(servers)));
  clearInterval(timer); // the root service ends it
}

/** One request of a browser. */
async function proxy(
  connection: Gio.SocketConnection,
  servers: readonly string[],
  begin: ReturnType<typeof createPassed>['begin'],
): Promise<void> {
  const [input, output] = [connection.get_input_stream(), connection.get_output_stream()];
  const [methods = 0] = await readExactly(input, 1);
  const isOpenToAll = (await readExactly(input, methods)).includes(0);
  await write(output, Uint8Array.of(SOCKS.version, isOpenToAll ? 0 : SOCKS.noMethod));
  if (!isOpenToAll) return;
  const reply = (code: number) => write(output, Uint8Array.of(SOCKS.version, code, 0, SOCKS.ipv4, 0, 0, 0, 0, 0, 0));
  const [, command, , kind] = await readExactly(input, 4);
  if (command !== SOCKS.connect) return reply(REPLY.noCommand);
  if (kind !== SOCKS.ipv4 && kind !== SOCKS.name) return reply(REPLY.noAddress);
  const [length = 0] = kind === SOCKS.name ? await readExactly(input, 1) : [4];
  const target = await readExactly(input, length);
  const [high = 0, low = 0] = await readExactly(input, 2);
  const host = kind === SOCKS.name ? new TextDecoder().decode(target) : target.join('.');
  const isAddress = /^[\d.]+$/.test(host);
  const addresses = isAddress ? [host] : await addressesOf(host, servers);
  const remote = await connectToAny(addresses, high * 256 + low, CONNECT_SECONDS);
  if (!remote) return reply(addresses.some(isLocal) ? REPLY.refused : REPLY.unreachable);
  await reply(REPLY.ok);
  const count = begin(host);
  try {
    await Promise.all([
      pump(connection, remote, size => count('sent', size)),
      pump(remote, connection, size => count('received', size)),
    ]);
  } finally {
    close(remote);
  }
}

/** Passes one direction on until it ends. */
async function pump(
  from: Gio.SocketConnection,
  to: Gio.SocketConnection,
  count: (size: number) => void,
): Promise<void> {
  try {
    for (
      let bytes = await read(from.get_input_stream(), PIECE_BYTES);
      bytes;
      bytes = await read(from.get_input_stream(), PIECE_BYTES)
    ) {
      await write(to.get_output_stream(), bytes);
      count(bytes.length);
    }
    to.get_socket().shutdown(false, true);
  } catch {
    for (const end of [from, to]) close(end);
  }
}

function now(): number {
  return GLib.get_monotonic_time() / 1_000;
}

const HTTP_PORT = 80;
/** For each connection of a test. */
const PROBE_SECONDS = 5;
/** For a page and for the certificate after it, names included: together less than the root service waits. */
const LIMIT_MS = { page: 10_000, certificate: 8_000 };
/** More than the fields of an expected answer. */
const MAX_HEAD_BYTES = 8_192;

/** Asks all pages at the same time; if none answers, checks a certificate. Never rejects. */
async function probe(servers: readonly string[]): Promise<Verdict> {
  const verdict = judge(await Promise.all(TARGETS.map(target => orElse(LIMIT_MS.page, ask(target, servers), SILENT))));
  if (verdict.network !== 'unreachable') return verdict;
  return orElse(LIMIT_MS.certificate, askSecurely(servers), UNREACHABLE).catch(() => UNREACHABLE);
}

/** @throws GLib.Error where no server speaks TLS */
async function askSecurely(servers: readonly string[]): Promise<Verdict> {
  if (!Gio.TlsBackend.get_default().supports_tls()) return UNREACHABLE; // glib-networking is not installed
  const { host, port } = SECURE;
  const connection = await connectToAny(await addressesOf(host, servers), port, PROBE_SECONDS);
  if (!connection) return UNREACHABLE;
  try {
    return judgeCertificate(await isTrusted(connection, host, port), host);
  } finally {
    close(connection);
  }
}

/** @throws GLib.Error where the handshake fails, or takes too long */
function isTrusted(connection: Gio.SocketConnection, host: string, port: number): Promise<boolean> {
  const tls = Gio.TlsClientConnection.new(connection, Gio.NetworkAddress.new(host, port));
  let trusted = true;
  tls.connect('accept-certificate', () => {
    trusted = false;
    return true; // the handshake goes on, and nothing is sent after it
  });
  const patience = new Gio.Cancellable();
  const timer = setTimeout(() => patience.cancel(), PROBE_SECONDS * 1_000);
  return new Promise((resolve, reject) =>
    tls.handshake_async(GLib.PRIORITY_DEFAULT, patience, (_, result) => {
      clearTimeout(timer);
      try {
        tls.handshake_finish(result);
        resolve(trusted);
      } catch (error) {
        reject(error);
      }
    }),
  );
}

/** @param otherwise the result if none comes in time */
function orElse<T>(ms: number, work: Promise<T>, otherwise: T): Promise<T> {
  return Promise.race([work, new Promise<T>(resolve => setTimeout(() => resolve(otherwise), ms))]);
}

/** Never rejects. */
async function ask(target: Target, servers: readonly string[]): Promise<Answer> {
  const [, host = '', path = ''] = /^http:\/\/([^/]+)(\/.*)$/.exec(target.url) ?? [];
  const connection = await connectToAny(await addressesOf(host, servers), HTTP_PORT, PROBE_SECONDS);
  if (!connection) return SILENT;
  try {
    await write(connection.get_output_stream(), `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const reply = parseReply(await start(connection.get_input_stream()));
    return reply ? answerOf(target, reply) : SILENT;
  } catch {
    return SILENT;
  } finally {
    close(connection);
  }
}

/** The text of a stream, up to what is longer than any expected answer. @throws GLib.Error */
async function start(stream: Gio.InputStream): Promise<string> {
  let text = '';
  while (text.length < MAX_HEAD_BYTES + MAX_BODY_BYTES) {
    const bytes = await read(stream, MAX_HEAD_BYTES);
    if (!bytes) break;
    text += String.fromCharCode(...bytes); // latin1
  }
  return text;
}
