// Connects, reads and writes for the sign-in with promises, and asks the link's name servers.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { formatQuestion, isName, parseAnswer } from '../../sign-in/link.ts';
import { countGarbage } from '../child.ts';

const MAX_LINE_BYTES = 4_096;

/** @returns up to `size` bytes; null at the end of the stream. @throws GLib.Error */
export function read(stream: Gio.InputStream, size: number): Promise<Uint8Array | null> {
  return new Promise((resolve, reject) =>
    stream.read_bytes_async(size, GLib.PRIORITY_DEFAULT, null, (_, result) => {
      try {
        const bytes = stream.read_bytes_finish(result).toArray();
        countGarbage(bytes.length);
        resolve(bytes.length ? bytes : null);
      } catch (error) {
        reject(error);
      }
    }),
  );
}

/** @returns exactly `size` bytes. @throws Error if the stream ends early */
export async function readExactly(stream: Gio.InputStream, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; ) {
    const part = await read(stream, size - at);
    if (!part) throw new Error('the stream has ended');
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Writes all data. @throws GLib.Error */
export async function write(stream: Gio.OutputStream, data: string | Uint8Array): Promise<void> {
  for (let left = typeof data === 'string' ? new TextEncoder().encode(data) : data; left.length; )
    left = left.subarray(await writeSome(stream, left));
}

function writeSome(stream: Gio.OutputStream, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) =>
    // as GBytes: GJS frees the copy that it makes of an array before an asynchronous call has ended
    stream.write_bytes_async(new GLib.Bytes(bytes), GLib.PRIORITY_DEFAULT, null, (_, result) => {
      try {
        resolve(stream.write_bytes_finish(result));
      } catch (error) {
        reject(error);
      }
    }),
  );
}

/** Calls `heard` with each line until the stream ends. Never rejects. */
export async function lines(stream: Gio.InputStream, heard: (line: string) => void): Promise<void> {
  let partial = '';
  try {
    for (let bytes = await read(stream, MAX_LINE_BYTES); bytes; bytes = await read(stream, MAX_LINE_BYTES)) {
      const parts = (partial + new TextDecoder().decode(bytes)).split('\n');
      partial = parts.pop()!;
      if (partial.length > MAX_LINE_BYTES) return;
      for (const line of parts) heard(line);
    }
  } catch {
    // counts as the end
  }
}

/** Resolves when a promise resolves, or after some time. The promise must not reject. */
export function within(ms: number, promised: Promise<void>): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms);
    void promised.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * Writes lines one after the other: a stream takes only one write at a time. @returns a function that resolves when all lines
 * so far are written
 */
export function createLineWriter(stream: Gio.OutputStream, failed: () => void): (line: string) => Promise<void> {
  let written = Promise.resolve();
  return line => {
    written = written.then(() => write(stream, `${line}\n`)).catch(failed);
    return written;
  };
}

/** Listens at a path. @param mode mode of the socket: only users with the right to write can connect. @throws GLib.Error */
export function listenAt(path: string, listener: Gio.SocketListener, mode: number): void {
  GLib.unlink(path);
  listener.add_address(Gio.UnixSocketAddress.new(path), Gio.SocketType.STREAM, Gio.SocketProtocol.DEFAULT, null);
  Gio.File.new_for_path(path).set_attribute_uint32('unix::mode', mode, Gio.FileQueryInfoFlags.NONE, null);
}

/** @throws GLib.Error */
function connect(address: Gio.SocketAddress, seconds: number): Promise<Gio.SocketConnection> {
  const client = new Gio.SocketClient({ timeout: seconds, enable_proxy: false });
  return new Promise((resolve, reject) =>
    client.connect_async(address, null, (_, result) => {
      try {
        const connection = client.connect_finish(result);
        // the limit is only for connecting: a page may be silent for long
        connection.get_socket().set_timeout(0);
        resolve(connection);
      } catch (error) {
        reject(error);
      }
    }),
  );
}

/**
 * @param seconds time limit for each address
 * @returns null if no address answers, or if all belong to this machine
 */
export async function connectToAny(
  addresses: readonly string[],
  port: number,
  seconds: number,
): Promise<Gio.SocketConnection | null> {
  for (const address of addresses) {
    if (isLocal(address)) continue;
    const to = Gio.InetSocketAddress.new_from_string(address, port);
    const connection = to && (await connect(to, seconds).catch(() => null));
    if (connection) return connection;
  }
  return null;
}

/** True for an address to refuse: the user must not reach servers of this machine as the helper's user. */
export function isLocal(address: string): boolean {
  const parsed = Gio.InetAddress.new_from_string(address);
  return !parsed || parsed.get_is_loopback() || parsed.get_is_any() || parsed.get_is_multicast();
}

export function close(connection: Gio.SocketConnection): void {
  try {
    connection.close(null);
  } catch {
    // the connection has ended
  }
}

const DNS_PORT = 53;
const TRIES = 2;
const ANSWER_SECONDS = 2;
const MAX_ANSWER_BYTES = 4_096;

/** @returns the addresses; an empty list if no server answers or the name does not exist */
export async function addressesOf(name: string, servers: readonly string[]): Promise<string[]> {
  if (!isName(name)) return [];
  for (let attempt = 0; attempt < TRIES; attempt++)
    for (const server of servers) {
      const addresses = await ask(name, server).catch(() => null);
      if (addresses) return addresses;
    }
  return [];
}

/** @returns null if the reply is not the answer. @throws GLib.Error if no reply came in time */
async function ask(name: string, server: string): Promise<string[] | null> {
  const { IPV4 } = Gio.SocketFamily;
  const socket = Gio.Socket.new(IPV4, Gio.SocketType.DATAGRAM, Gio.SocketProtocol.UDP);
  socket.set_timeout(ANSWER_SECONDS);
  try {
    // connected, so that the kernel drops answers from other hosts
    socket.connect(Gio.InetSocketAddress.new_from_string(server, DNS_PORT)!, null);
    const connection = socket.connection_factory_create_connection();
    const question = formatQuestion(Math.floor(Math.random() * 65_536), name);
    await write(connection.get_output_stream(), question);
    const answer = await read(connection.get_input_stream(), MAX_ANSWER_BYTES);
    return answer && parseAnswer(answer, question);
  } finally {
    socket.close();
  }
}
