// Guards the only way in from the system bus. GDBus reads a message whole and keeps several times its size, up to the 32 MiB
// that the bus allows. So GDBus gets a private socket, to which only small messages pass from the bus.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { createFrames, type Header, METHOD_CALL, SIGNAL } from '../bus-frames.ts';
import { CALLS, createLimit, REFUSALS } from '../pacing.ts';
import { BUS_NAME } from '../report.ts';
import { countGarbage } from './child.ts';

/** An Enable with 128 endpoints of 16 ports each has less than 13 KiB. */
const MAX_MESSAGE_BYTES = 16 << 10;
/** Limit for messages of GDBus itself. */
const MAX_OWN_BYTES = 1 << 20;
/** Maximum bytes of replies that wait for the bus. Beyond that, refusals are dropped. */
const MAX_WAITING_BYTES = 256 << 10;
/** Stands for all callers whose user is not known. */
const UNKNOWN_USER = -1;
/** Interfaces whose signals the service needs. Every connection to the bus may send it signals. */
const SIGNALS = ['org.freedesktop.DBus', 'org.freedesktop.login1.Manager'];
/** First serial of the gate's own messages, far from the serials that GDBus counts up from 1. */
const FIRST_SERIAL = 0x8000_0000;

/** Streams held for the life of the process: GIO closes a stream that GJS collects, even with its input and output in use. */
const held: Gio.IOStream[] = [];

export interface Gate {
  bus: Gio.DBusConnection;
  /** Returns the user of a caller whose message has passed. */
  userOf(sender: string): number;
}

/**
 * Connects to the system bus.
 * @param closed called with the reason when the connection has ended
 * @throws GLib.Error
 */
export async function openGate(closed: (why: string) => void): Promise<Gate> {
  const outer = connect();
  const [inner, given] = socketPair();
  held.push(outer, inner, given);
  let connection: Gio.DBusConnection | null = null;
  const limit = createLimit(CALLS);
  const send = createWriter(outer.get_output_stream(), closed);
  const refuse = createRefuser(send, sender => callers.userOf(sender) ?? UNKNOWN_USER);
  const pass = (bytes: Uint8Array) => void inner.get_output_stream().write_all(bytes, null);
  const callers = createCallers(() => connection!, passLimited);

  function passLimited(uid: number, { bytes, header }: Message): void {
    if (uid === 0 || limit.take(uid, now())) pass(bytes);
    else refuse(header, 'Too many calls. Try again in some seconds.');
  }

  const incoming = createFrames(MAX_MESSAGE_BYTES, {
    message(bytes, header) {
      if (header.type === SIGNAL && !SIGNALS.includes(header.interface)) return;
      if (header.type !== METHOD_CALL) return pass(bytes);
      const uid = callers.userOf(header.sender);
      if (uid !== null) return passLimited(uid, { bytes, header });
      if (!callers.hold({ bytes, header })) refuse(header, 'Too many calls at once.');
    },
    oversized: header => {
      if (header?.type === METHOD_CALL) refuse(header, `A message has at most ${MAX_MESSAGE_BYTES} bytes.`);
    },
  });
  // GDBus's own messages are sent whole, so that no refusal splits one
  const outgoing = createFrames(MAX_OWN_BYTES, {
    message: bytes => send(bytes.slice()),
    oversized: () => closed('GDBus wrote a message of more than a megabyte'),
  });
  relay(outer.get_input_stream(), incoming, closed);
  relay(inner.get_input_stream(), outgoing, closed);

  connection = await greet(given);
  return {
    bus: connection,
    userOf(sender) {
      const uid = callers.userOf(sender);
      if (uid === null) throw new Error(`${sender} is not known`);
      return uid;
    },
  };
}

/** Replies to calls with a refusal, within the limit of each user. */
function createRefuser(send: ReturnType<typeof createWriter>, userOf: (sender: string) => number) {
  const limit = createLimit(REFUSALS);
  let serial = FIRST_SERIAL;
  return ({ sender, serial: replyTo, replyExpected }: Header, why: string): void => {
    if (!replyExpected || sender === '' || send.waiting() > MAX_WAITING_BYTES) return;
    if (!limit.take(userOf(sender), now())) return;
    const message = new Gio.DBusMessage();
    message.set_message_type(Gio.DBusMessageType.ERROR);
    message.set_flags(Gio.DBusMessageFlags.NO_REPLY_EXPECTED);
    message.set_serial(serial++);
    message.set_reply_serial(replyTo);
    message.set_destination(sender);
    message.set_error_name(`${BUS_NAME}.Error.LimitsExceeded`);
    message.set_body(new GLib.Variant('(s)', [`LimitsExceeded: ${why}`]));
    send(message.to_blob(Gio.DBusCapabilityFlags.NONE));
  };
}

/** Returns monotonic time, in seconds. */
function now(): number {
  return GLib.get_monotonic_time() / 1e6;
}

/** Maximum number of callers whose user is remembered; the bus never reuses a unique name. */
const MAX_CALLERS = 1024;
/** Maximum number of callers whose user the bus has yet to report. */
const MAX_UNKNOWN = 256;
/** Maximum number of messages held for each unknown caller. */
const MAX_HELD = 4;
const REPLY_MS = 5_000;

/** A message of a caller. */
interface Message {
  bytes: Uint8Array;
  header: Header;
}

interface Callers {
  /** Returns null until the bus has reported the user. */
  userOf(sender: string): number | null;
  /** Passes the message on once its caller's user is known. @returns false if too many messages wait */
  hold(message: Message): boolean;
}

/**
 * @param bus returns the connection for questions, which is needed only once messages come
 * @param deliver called with each held message when its user is known
 */
function createCallers(bus: () => Gio.DBusConnection, deliver: (uid: number, message: Message) => void): Callers {
  const callers = new Map<string, number>();
  const unknown = new Map<string, Message[]>();

  function identified(sender: string, uid: number | null): void {
    const messages = unknown.get(sender) ?? [];
    unknown.delete(sender);
    if (uid === null) return; // the caller has disconnected
    if (callers.size >= MAX_CALLERS) callers.delete(callers.keys().next().value!);
    callers.set(sender, uid);
    for (const message of messages) deliver(uid, message);
  }

  return {
    userOf: sender => callers.get(sender) ?? null,
    hold({ bytes, header }) {
      const held = unknown.get(header.sender);
      if (unknown.size >= MAX_UNKNOWN || (held && held.length >= MAX_HELD)) return false;
      const message = { bytes: bytes.slice(), header };
      if (held) held.push(message);
      else {
        unknown.set(header.sender, [message]);
        askUser(bus(), header.sender, uid => identified(header.sender, uid));
      }
      return true;
    },
  };
}

/** Asks the bus for the user of a caller. @param done gets null if the caller has disconnected */
function askUser(bus: Gio.DBusConnection, sender: string, done: (uid: number | null) => void): void {
  bus.call(
    'org.freedesktop.DBus',
    '/org/freedesktop/DBus',
    'org.freedesktop.DBus',
    'GetConnectionUnixUser',
    new GLib.Variant('(s)', [sender]),
    new GLib.VariantType('(u)'),
    Gio.DBusCallFlags.NONE,
    REPLY_MS,
    null,
    (_, result) => {
      try {
        const [uid] = bus.call_finish(result).recursiveUnpack() as [number];
        done(uid);
      } catch {
        done(null);
      }
    },
  );
}

/** Connects to the system bus, authenticated by the credentials of the socket. */
function connect(): Gio.IOStream {
  const address = Gio.dbus_address_get_for_bus_sync(Gio.BusType.SYSTEM, null);
  const [stream] = Gio.dbus_address_get_stream_sync(address, null);
  const uid = String(new Gio.Credentials().get_unix_user());
  const hex = [...uid].map(digit => digit.charCodeAt(0).toString(16)).join('');
  const write = (text: string) => stream.get_output_stream().write_all(new TextEncoder().encode(text), null);
  write(`\0AUTH EXTERNAL ${hex}\r\n`);
  let answer = '';
  while (!answer.endsWith('\r\n')) {
    const byte = stream.get_input_stream().read_bytes(1, null).toArray();
    if (!byte.length || answer.length > 1024) throw new Error(`the system bus ended the connection: ${answer}`);
    answer += String.fromCharCode(...byte);
  }
  if (!answer.startsWith('OK ')) throw new Error(`the system bus refused the connection: ${answer.trim()}`);
  write('BEGIN\r\n');
  return stream;
}

/**
 * GLib does not expose socketpair() to GJS, so this connects to a socket with an unguessable name. @throws GLib.Error
 */
function socketPair(): [Gio.IOStream, Gio.IOStream] {
  const [listener, client] = [1, 2].map(() =>
    Gio.Socket.new(Gio.SocketFamily.UNIX, Gio.SocketType.STREAM, Gio.SocketProtocol.DEFAULT),
  ) as [Gio.Socket, Gio.Socket];
  const name = [...`culvert-killswitch-${GLib.uuid_string_random()}`].map(letter => letter.charCodeAt(0));
  const address = Gio.UnixSocketAddress.new_with_type(name, Gio.UnixSocketAddressType.ABSTRACT);
  listener.bind(address, false);
  listener.listen();
  client.connect(address, null);
  const server = listener.accept(null);
  listener.close();
  if (server.get_credentials().get_unix_pid() !== new Gio.Credentials().get_unix_pid())
    throw new Error('another process connected to the inner socket');
  return [server.connection_factory_create_connection(), client.connection_factory_create_connection()];
}

/** Says hello on the bus, in a thread of GLib, so that the relay can go on. */
function greet(stream: Gio.IOStream): Promise<Gio.DBusConnection> {
  return new Promise((resolve, reject) =>
    Gio.DBusConnection.new(stream, null, Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, null, null, (_, result) => {
      try {
        resolve(Gio.DBusConnection.new_finish(result));
      } catch (error) {
        reject(error);
      }
    }),
  );
}

const CHUNK_BYTES = 64 << 10;
/** Number of bytes that are read and thrown away at a time. */
const SKIP_BYTES = 256 << 10;

/** Reads a stream until it ends, at a lower priority than everything else in the loop. */
function relay(stream: Gio.InputStream, frames: (chunk: Uint8Array) => number, ended: (why: string) => void): void {
  // a reused buffer: GJS would keep hundreds of megabytes of GBytes until it collects them
  const input = Gio.BufferedInputStream.new_sized(stream, SKIP_BYTES);
  let skip = 0;
  const take = () => {
    const skipped = Math.min(skip, input.get_available());
    if (skipped) input.skip(skipped, null);
    skip -= skipped;
    if (!input.get_available()) return;
    const chunk = input.peek_buffer();
    input.skip(chunk.length, null);
    skip = frames(chunk);
    countGarbage(chunk.length);
  };
  const next = () =>
    input.fill_async(skip ? SKIP_BYTES : CHUNK_BYTES, GLib.PRIORITY_LOW, null, (_, result) => {
      try {
        if (input.fill_finish(result) <= 0) return ended('end of the stream');
        take();
      } catch (error) {
        return ended(String(error));
      }
      next();
    });
  next();
}

/** Writes messages one after the other. */
function createWriter(output: Gio.OutputStream, failed: (why: string) => void) {
  const queue: Uint8Array[] = [];
  let waiting = 0;
  const next = () =>
    // as GBytes: GJS frees the copy that it makes of an array before an asynchronous call has ended
    output.write_bytes_async(new GLib.Bytes(queue[0]!), GLib.PRIORITY_DEFAULT, null, (_, result) => {
      let written = 0;
      try {
        written = output.write_bytes_finish(result);
      } catch (error) {
        return failed(String(error));
      }
      waiting -= written;
      const left = queue[0]!.subarray(written);
      if (left.length) queue[0] = left;
      else queue.shift();
      if (queue.length) next();
    });
  const send = (bytes: Uint8Array) => {
    queue.push(bytes);
    waiting += bytes.length;
    if (queue.length === 1) next();
  };
  return Object.assign(send, { waiting: () => waiting });
}
