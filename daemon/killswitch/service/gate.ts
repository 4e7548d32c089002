// The only way in from the system bus. GDBus reads a message whole and keeps several times its size, up to the 32 MiB
// that the bus allows. So it gets a private socket, and only small messages pass from the bus to it.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { createFrames, type Header, METHOD_CALL, SIGNAL } from '../bus-frames.ts';
import { createLimit } from '../rate-limit.ts';
import { BUS_NAME } from '../report.ts';
import { connect, greet, socketPair } from './bus-socket.ts';
import { createCallers, type Message } from './callers.ts';
import { createWriter, relay } from './streams.ts';

/** An Enable with 128 endpoints of 16 ports each has less than 13 KiB. */
const MAX_MESSAGE_BYTES = 16 << 10;
/** Limit for messages of GDBus itself. */
const MAX_OWN_BYTES = 1 << 20;
/** Replies that wait for the bus to take them. Beyond that, refusals are dropped. */
const MAX_WAITING_BYTES = 256 << 10;
/** Calls in a row and per second, of one user other than root. */
const LIMIT = { burst: 40, perSecond: 5 };
/** Refusals that one user gets a reply for. */
const REFUSALS = { burst: 200, perSecond: 20 };
/** All callers together whose user is not known. */
const UNKNOWN_USER = -1;
/** The interfaces whose signals the service listens to. Every connection to the bus may send us signals. */
const SIGNALS = ['org.freedesktop.DBus', 'org.freedesktop.login1.Manager'];
/** Serials of our own messages, far from those that GDBus counts up from 1. */
const FIRST_SERIAL = 0x8000_0000;

/** Held for the life of the process: GIO closes a stream that GJS collects, though its input and output are in use. */
const held: Gio.IOStream[] = [];

export interface Gate {
  bus: Gio.DBusConnection;
  /** The user of a caller whose message has passed. */
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
  const limit = createLimit(LIMIT.burst, LIMIT.perSecond);
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
  // its own messages: whole ones, so that a refusal never comes between the parts of one
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

/** Replies to calls with a refusal, as often as one user may get one. */
function createRefuser(send: ReturnType<typeof createWriter>, userOf: (sender: string) => number) {
  const limit = createLimit(REFUSALS.burst, REFUSALS.perSecond);
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

/** Seconds of a clock that only goes forward. */
function now(): number {
  return GLib.get_monotonic_time() / 1e6;
}
