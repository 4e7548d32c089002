// Implements the contract's transport in GJS with Gio's sockets; libsoup would cost the idle tray a tenth of its memory.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { deadlineOf, type Transport, Unreachable } from '../daemon/api/client.ts';

Gio._promisify(Gio.SocketClient.prototype, 'connect_async', 'connect_finish');
Gio._promisify(Gio.OutputStream.prototype, 'write_bytes_async', 'write_bytes_finish');
Gio._promisify(Gio.InputStream.prototype, 'read_bytes_async', 'read_bytes_finish');
Gio._promisify(Gio.DataInputStream.prototype, 'read_line_async', 'read_line_finish_utf8');

/** Time limit for opening a stream, in case the daemon accepts the connection and then hangs. */
const STREAM_OPEN_TIMEOUT_MS = 10_000;
const BLOCK = 65_536;
/**
 * Creates a transport over the daemon's socket. It throws `Unreachable` for every connection failure. Each request or stream
 * uses a separate connection and HTTP/1.0 (RFC 1945), so a body ends with its connection and has no chunks.
 * @param socket path of the daemon's Unix socket.
 * @param deadlineMs replaces the usual deadline of a request; open streams have no deadline.
 */
export function createTransport(socket: string, deadlineMs?: number): Transport {
  const address = Gio.UnixSocketAddress.new(socket);
  const client = new Gio.SocketClient({ enable_proxy: false });

  const exchange = async (cancel: Gio.Cancellable, line: string, headers: Record<string, string>, body = '') => {
    const connection = await client.connect_async(address, cancel);
    const sent = {
      host: 'localhost',
      ...headers,
      ...(body ? { 'content-length': String(new TextEncoder().encode(body).length) } : {}),
    };
    const head = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
    await write(connection, `${line} HTTP/1.0\r\n${head.join('')}\r\n${body}`, cancel);
    const input = new Gio.DataInputStream({ base_stream: connection.get_input_stream() });
    input.set_newline_type(Gio.DataStreamNewlineType.LF);
    return { connection, input, ...(await readHead(input, cancel)) };
  };

  return {
    async request(method, path, headers, body) {
      const cancel = new Gio.Cancellable();
      return within(deadlineOf(method, path, deadlineMs), cancel, async () => {
        const { connection, input, status, fields } = await exchange(cancel, `${method} ${path}`, headers, body);
        const bytes = await readAll(input, cancel);
        connection.close(null);
        const promised = fields.get('content-length');
        if (promised !== undefined && Number(promised) !== bytes.length) throw new Error('The answer was cut off.');
        return { status, etag: fields.get('etag') ?? null, body: new TextDecoder().decode(bytes) };
      });
    },

    async stream(path, headers) {
      const cancel = new Gio.Cancellable();
      return within(STREAM_OPEN_TIMEOUT_MS, cancel, async () => {
        const { connection, input, status } = await exchange(cancel, `GET ${path}`, headers);
        return { status, chunks: lines(connection, input, cancel), close: () => cancel.cancel() };
      });
    },
  };
}

/** Runs `work`, and cancels it after `ms`. @throws Unreachable */
async function within<T>(ms: number, cancel: Gio.Cancellable, work: () => Promise<T>): Promise<T> {
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    cancel.cancel();
  }, ms);
  try {
    return await work();
  } catch (error) {
    if (late) throw new Unreachable(`No answer within ${Math.round(ms / 1000)} s.`, error, 'silent');
    throw new Unreachable(reason(error), error);
  } finally {
    clearTimeout(timer);
  }
}

async function readHead(input: Gio.DataInputStream, cancel: Gio.Cancellable) {
  const first = await readLine(input, cancel);
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first ?? '')?.[1]);
  if (!status)
    throw new Error(first === null ? 'The daemon closed the connection.' : 'What answers is not an HTTP server.');
  const fields = new Map<string, string>();
  for (;;) {
    const line = (await readLine(input, cancel))?.trimEnd();
    if (line === undefined) throw new Error('The answer was cut off.');
    if (line === '') return { status, fields };
    const colon = line.indexOf(':');
    fields.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
}

/** Yields whole lines, since GJS's TextDecoder can't decode split characters. Ends without an error when closed. */
async function* lines(connection: Gio.IOStream, input: Gio.DataInputStream, cancel: Gio.Cancellable) {
  try {
    for (;;) {
      const line = await readLine(input, cancel);
      if (line === null) return;
      yield `${line}\n`;
    }
  } catch (error) {
    if (!cancel.is_cancelled()) throw new Unreachable(reason(error), error);
  } finally {
    connection.close(null);
  }
}

async function readLine(input: Gio.DataInputStream, cancel: Gio.Cancellable): Promise<string | null> {
  // the types declare bytes, but read_line_finish_utf8 returns text
  const [line] = (await input.read_line_async(GLib.PRIORITY_DEFAULT, cancel)) as unknown as [string | null, number];
  return line;
}

async function readAll(input: Gio.InputStream, cancel: Gio.Cancellable): Promise<Uint8Array> {
  const blocks: Uint8Array[] = [];
  for (;;) {
    const block = (await input.read_bytes_async(BLOCK, GLib.PRIORITY_DEFAULT, cancel)).toArray();
    if (block.length === 0) break;
    blocks.push(block);
  }
  const all = new Uint8Array(blocks.reduce((sum, block) => sum + block.length, 0));
  let at = 0;
  for (const block of blocks) {
    all.set(block, at);
    at += block.length;
  }
  return all;
}

async function write(connection: Gio.IOStream, text: string, cancel: Gio.Cancellable): Promise<void> {
  let rest = new TextEncoder().encode(text);
  while (rest.length) {
    const output = connection.get_output_stream();
    rest = rest.subarray(await output.write_bytes_async(new GLib.Bytes(rest), GLib.PRIORITY_DEFAULT, cancel));
  }
}

function reason(error: unknown): string {
  return error instanceof Error || error instanceof GLib.Error ? error.message : String(error);
}
