// Cuts the byte stream of a D-Bus connection into messages, without holding any message above a limit. Pure.

/** Types of messages (D-Bus specification, "Message Format"). */
export const METHOD_CALL = 1;
export const SIGNAL = 4;

/** Header of a message. Missing fields are empty. */
export interface Header {
  type: number;
  /** True if the sender waits for a reply. */
  replyExpected: boolean;
  serial: number;
  interface: string;
  /** Unique name of the connection that sent it; the bus fills it in. */
  sender: string;
}

/** Bytes before the header fields: byte order, type, flags, version, body length, serial, length of the fields. */
const FIXED_BYTES = 16;
/** Maximum length of the header fields: no honest caller sends longer fields. */
const MAX_FIELDS_BYTES = 2048;
const NO_REPLY_EXPECTED = 1;
const LITTLE = 0x6c;
/** Codes of header fields. */
const INTERFACE = 2;
const SENDER = 7;
/** Types of header fields: `s`, `o`, `g`, `u`. */
const [STRING, OBJECT_PATH, SIGNATURE, UINT32] = [0x73, 0x6f, 0x67, 0x75];

interface FrameHandlers {
  /** A whole message within the limit. The bytes are valid only during the call. */
  message(bytes: Uint8Array, header: Header): void;
  /** A message beyond the limit, without its body. `header` is null if the header is too long as well. */
  oversized(header: Header | null): void;
}

/**
 * @param limit bytes of the largest message that is passed on
 * @returns a function that takes the next bytes of the stream, and returns how many of the bytes after them belong to a refused
 * message; the caller must skip these before the next call
 * @throws Error when the stream is not D-Bus; no more of it can be read then
 */
export function createFrames(limit: number, handlers: FrameHandlers): (chunk: Uint8Array) => number {
  let buffer = new Uint8Array(2 * limit);
  let held = 0;
  return chunk => {
    if (held + chunk.length > buffer.length) {
      const larger = new Uint8Array(held + chunk.length);
      larger.set(buffer.subarray(0, held));
      buffer = larger;
    }
    buffer.set(chunk, held);
    const bytes = buffer.subarray(0, held + chunk.length);
    let offset = 0;
    for (let size = sizeOf(bytes, offset); size; size = sizeOf(bytes, offset)) {
      const { header, total } = size;
      if (total > limit) {
        const readable = header <= FIXED_BYTES + MAX_FIELDS_BYTES;
        if (readable && bytes.length - offset < header) break;
        handlers.oversized(readable ? readHeader(bytes.subarray(offset)) : null);
      } else {
        if (bytes.length - offset < total) break;
        const message = bytes.subarray(offset, offset + total);
        handlers.message(message, readHeader(message));
      }
      offset += total;
      if (offset > bytes.length) break;
    }
    buffer.copyWithin(0, offset, bytes.length);
    held = Math.max(0, bytes.length - offset);
    return Math.max(0, offset - bytes.length);
  };
}

/** Returns the lengths of the message at an offset, or null until enough of it has arrived. */
function sizeOf(bytes: Uint8Array, offset: number): { header: number; total: number } | null {
  if (bytes.length - offset < FIXED_BYTES) return null;
  const order = bytes[offset]; // 'l' for little endian, or 'B'
  if ((order !== LITTLE && order !== 0x42) || bytes[offset + 3] !== 1) throw new Error('the bus does not speak D-Bus');
  const header = aligned(FIXED_BYTES + uint32(bytes, offset + 12, order));
  return { header, total: header + uint32(bytes, offset + 4, order) };
}

/** @param bytes at least a whole header */
function readHeader(bytes: Uint8Array): Header {
  const order = bytes[0]!;
  const names = { [INTERFACE]: '', [SENDER]: '' };
  const end = FIXED_BYTES + uint32(bytes, 12, order);
  for (let offset = FIXED_BYTES; offset + 8 <= end; ) {
    offset = aligned(offset);
    const code = bytes[offset]!;
    const type = bytes[offset + 2]; // follows the length of the signature, which is one letter here
    const value = offset + 4;
    if (type === UINT32) offset = value + 4;
    else if (type === SIGNATURE) offset = value + bytes[value]! + 2;
    else if (type === STRING || type === OBJECT_PATH) {
      const after = value + 4 + uint32(bytes, value, order);
      if (after > end) break;
      if (code === INTERFACE || code === SENDER) names[code] = String.fromCharCode(...bytes.subarray(value + 4, after));
      offset = after + 1;
    } else break;
  }
  return {
    type: bytes[1]!,
    replyExpected: bytes[1] === METHOD_CALL && !(bytes[2]! & NO_REPLY_EXPECTED),
    serial: uint32(bytes, 8, order),
    interface: names[INTERFACE],
    sender: names[SENDER],
  };
}

function uint32(bytes: Uint8Array, offset: number, order: number): number {
  const [a, b, c, d] = [bytes[offset]!, bytes[offset + 1]!, bytes[offset + 2]!, bytes[offset + 3]!];
  return order === LITTLE ? a + b * 0x100 + c * 0x10000 + d * 0x1000000 : d + c * 0x100 + b * 0x10000 + a * 0x1000000;
}

function aligned(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}
