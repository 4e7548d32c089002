// Runs the helper of a sign-in: a SOCKS5 proxy (RFC 1928) for one user, and the only program that the kill switch lets out
// during the sign-in. systemd allocates a user for the helper alone, and the helper ends with the command that holds it.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { SIGN_IN_SOCKET, type SignInEnd } from '../../report.ts';
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
/** Time limit for the root service to close the window, and for the command to read the reason. */
const END_MS = 1_000;
/** Time limits for the command to connect, and between two of its heartbeats. */
const PATIENCE_MS = { first: 15_000, next: 4_000 };
const MAX_CONNECTIONS = 200;
const CONNECT_SECONDS = 15;
const PIECE_BYTES = 32 << 10;
const INPUT = 0;
/** Mode of the socket: any user can connect, and the helper checks the credentials of each connection. */
const ANYBODY = 0o666;
/** Maximum number of waiting connections that Linux allows (somaxconn): a user who connects endlessly fills GIO's usual 10. */
const BACKLOG = 4096;
/** First byte of the connection that holds the helper. */
const HOLD = 0x48;

const SOCKS = { version: 5, connect: 1, ipv4: 1, name: 3, noMethod: 255 } as const;
const REPLY = { ok: 0, refused: 2, unreachable: 4, noCommand: 7, noAddress: 8 } as const;

/** @param own directory of this helper's socket @param quit ends the process. @throws GLib.Error unless the input is a socket */
export async function runHelper(own: string, quit: () => void): Promise<void> {
  // systemd has connected the input to the root service
  const root = Gio.Socket.new_from_fd(INPUT).connection_factory_create_connection();
  const send = createLineWriter(root.get_output_stream(), quit);
  void send(READY);
  held.push(root);
  /** Lines of the root service: the work, then the reason why the sign-in ended. */
  const told: string[] = [];
  let begin = () => {};
  const begun = new Promise<void>(resolve => {
    begin = resolve;
  });
  const ended = lines(root.get_input_stream(), line => {
    told.push(line);
    begin();
  });
  let holder: { output: Gio.OutputStream; gone: Promise<void> } | null = null;

  /** Sends the command the reason why the sign-in ended, and waits until it is gone, so that it can read the reason. */
  async function sayWhy(): Promise<void> {
    if (!holder) return;
    // a root service that gives no reason has ended
    await write(holder.output, `${told[1] ?? ('service' satisfies SignInEnd)}\n`).catch(() => {});
    await holder.gone;
  }
  const over = ended.then(() => within(END_MS, sayWhy()));
  void over.then(quit);
  await begun;
  const work = JSON.parse(told[0]!) as HelperWork;
  let lastSign = now() + PATIENCE_MS.first - PATIENCE_MS.next;

  /** Makes the root service close the window. */
  async function release(): Promise<void> {
    void send(RELEASED);
    await within(END_MS, over);
    quit();
  }

  async function hold(connection: Gio.SocketConnection): Promise<void> {
    const [input, output] = [connection.get_input_stream(), connection.get_output_stream()];
    const gone = untilEnd(input, () => {
      lastSign = now();
    });
    holder = { output, gone };
    await write(output, 'held\n');
    await gone;
    await release();
  }

  async function beat(): Promise<void> {
    if (now() - lastSign > PATIENCE_MS.next) return release();
    if (holder) await send('beat');
    setTimeout(() => void beat(), BEAT_MS);
  }

  let count = 0;
  const serve = async (connection: Gio.SocketConnection): Promise<void> => {
    if (connection.get_socket().get_credentials().get_unix_user() !== work.uid || count >= MAX_CONNECTIONS) return;
    count += 1;
    try {
      const [first] = await readExactly(connection.get_input_stream(), 1);
      if (first === HOLD && !holder) await hold(connection);
      else if (first === SOCKS.version && holder) await proxy(connection, work.servers);
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

/** Objects held for the life of the process: GJS collects objects without references. */
const held: object[] = [];

/** Reads until a stream ends. Never rejects. @param heard called at the beginning and with each piece */
async function untilEnd(stream: Gio.InputStream, heard: () => void): Promise<void> {
  try {
    do heard();
    while (await read(stream, PIECE_BYTES));
  } catch {
    // counts as the end
  }
}

/** Handles one request of a browser. */
async function proxy(connection: Gio.SocketConnection, servers: readonly string[]): Promise<void> {
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
  try {
    await Promise.all([pump(connection, remote), pump(remote, connection)]);
  } finally {
    close(remote);
  }
}

/** Passes data on in one direction until the stream ends. */
async function pump(from: Gio.SocketConnection, to: Gio.SocketConnection): Promise<void> {
  const [input, output] = [from.get_input_stream(), to.get_output_stream()];
  try {
    for (let bytes = await read(input, PIECE_BYTES); bytes; bytes = await read(input, PIECE_BYTES))
      await write(output, bytes);
    to.get_socket().shutdown(false, true);
  } catch {
    for (const end of [from, to]) close(end);
  }
}

function now(): number {
  return GLib.get_monotonic_time() / 1_000;
}
