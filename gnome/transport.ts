// The contract's transport in GJS: libsoup 3 over the daemon's Unix socket.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import Soup from 'gi://Soup?version=3.0';
import { type Transport, Unreachable } from '../daemon/api/client.ts';

Gio._promisify(Soup.Session.prototype, 'send_async', 'send_finish');
Gio._promisify(Soup.Session.prototype, 'send_and_read_async', 'send_and_read_finish');
Gio._promisify(Gio.DataInputStream.prototype, 'read_line_async', 'read_line_finish_utf8');

/** A daemon that accepts a stream and then says nothing is hung. */
const OPENING_MS = 10_000;

/**
 * Requests and event streams over one socket. Every failure of the connection is an `Unreachable`.
 * @param socket path of the daemon's Unix socket.
 * @param deadlineMs after which a request without an answer is given up; streams have none.
 */
export function createTransport(socket: string, deadlineMs = 60_000): Transport {
  const session = new Soup.Session({ remote_connectable: Gio.UnixSocketAddress.new(socket) });
  // 0 is never: an event stream is silent for long, and requests have their own deadline
  session.timeout = 0;
  session.idle_timeout = 0;

  return {
    async request(method, path, headers, body) {
      const message = prepare(method, path, headers);
      // A kept connection may be closed by the daemon just as a POST goes out, and a POST is not sent twice.
      message.add_flags(Soup.MessageFlags.NEW_CONNECTION);
      message.request_headers.replace('Connection', 'close');
      if (body !== undefined) {
        const bytes = new GLib.Bytes(new TextEncoder().encode(body));
        message.set_request_body_from_bytes(headers['content-type'] ?? null, bytes);
      }
      const cancel = new Gio.Cancellable();
      const timer = setTimeout(() => cancel.cancel(), deadlineMs);
      try {
        const bytes = await session.send_and_read_async(message, GLib.PRIORITY_DEFAULT, cancel);
        return {
          status: message.status_code,
          etag: message.response_headers.get_one('ETag'),
          body: new TextDecoder().decode(bytes.get_data() ?? new Uint8Array()),
        };
      } catch (error) {
        throw new Unreachable(
          cancel.is_cancelled() ? `No answer within ${Math.round(deadlineMs / 1000)} s.` : reason(error),
          error,
        );
      } finally {
        clearTimeout(timer);
      }
    },

    async stream(path, headers) {
      const message = prepare('GET', path, headers);
      const cancel = new Gio.Cancellable();
      const timer = setTimeout(() => cancel.cancel(), OPENING_MS);
      try {
        const body = await session.send_async(message, GLib.PRIORITY_DEFAULT, cancel);
        return { status: message.status_code, chunks: lines(body, cancel), close: () => cancel.cancel() };
      } catch (error) {
        throw new Unreachable(reason(error), error);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function prepare(method: string, path: string, headers: Record<string, string>): Soup.Message {
  const message = Soup.Message.new(method, `http://localhost${path}`);
  for (const [name, value] of Object.entries(headers)) message.request_headers.replace(name, value);
  return message;
}

/** Whole lines, so that no character is cut: GJS's TextDecoder can't decode in pieces. Ends quietly when closed. */
async function* lines(body: Gio.InputStream, cancel: Gio.Cancellable): AsyncGenerator<string> {
  const input = new Gio.DataInputStream({ base_stream: body });
  try {
    for (;;) {
      const [line] = (await input.read_line_async(GLib.PRIORITY_DEFAULT, cancel)) as unknown as [string | null, number];
      if (line === null) return;
      yield `${line}\n`;
    }
  } catch (error) {
    if (!cancel.is_cancelled()) throw new Unreachable(reason(error), error);
  } finally {
    cancel.cancel();
  }
}

function reason(error: unknown): string {
  return error instanceof Error || error instanceof GLib.Error ? error.message : String(error);
}
