// Reads until when the keys in a keyring are valid (RFC 9580; the packets are the same as in RFC 4880).

const SIGNATURE = 2;
const PRIMARY_KEY = 6;
/** Kinds of signatures by which a key says how long it is valid, and that it is not anymore. */
const OWN = new Set([0x10, 0x11, 0x12, 0x13, 0x1f]);
const REVOCATION = 0x20;
/** Kinds of subpackets: when a signature was made, and the lifetime of the key in seconds. */
const MADE = 2;
const LIFETIME = 9;

/**
 * The time at which each primary key expires, in milliseconds since 1970: Infinity for one that does not, 0 for one that was revoked.
 * @param keyring packets, or text with them
 * @throws RangeError for anything else
 */
export function expiries(keyring: Buffer): number[] {
  const keys: { created: number; expires: number; saidAt: number }[] = [];
  for (const { tag, body } of packets(unarmored(keyring))) {
    const key = keys.at(-1);
    if (tag === PRIMARY_KEY) keys.push({ created: body.readUInt32BE(1), expires: Infinity, saidAt: 0 });
    if (tag !== SIGNATURE || !key || body.readUInt8(0) !== 4) continue;
    const kind = body.readUInt8(1);
    const facts = subpackets(body.subarray(6, 6 + body.readUInt16BE(4)));
    const saidAt = kind === REVOCATION ? Infinity : (facts.get(MADE) ?? 0);
    if ((kind !== REVOCATION && !OWN.has(kind)) || saidAt < key.saidAt) continue;
    const lifetime = facts.get(LIFETIME);
    const expires = lifetime ? key.created + lifetime : Infinity;
    Object.assign(key, { saidAt, expires: kind === REVOCATION ? 0 : expires });
  }
  if (keys.length === 0) throw new RangeError('There is no key.');
  return keys.map(({ expires }) => expires * 1000);
}

/** The packets in blocks of text (section 6): after the headers an empty line, and a checksum at the end. */
function unarmored(keyring: Buffer): Buffer {
  const blocks = [...keyring.toString('latin1').matchAll(/^-----BEGIN PGP [\s\S]*?\n\r?\n([\s\S]*?)\r?\n[=-]/gm)];
  return blocks.length === 0 ? keyring : Buffer.concat(blocks.map(([, body]) => Buffer.from(body!, 'base64')));
}

function* packets(bytes: Buffer): Generator<{ tag: number; body: Buffer }> {
  for (let at = 0; at < bytes.length; ) {
    const header = bytes.readUInt8(at);
    if (!(header & 0x80)) throw new RangeError('There is no packet.');
    // the older form has the count of bytes of its length in two bits
    const isOld = !(header & 0x40);
    const size = 1 << (header & 3);
    const [length, start] = isOld ? [bytes.readUIntBE(at + 1, size), at + 1 + size] : lengthAt(bytes, at + 1);
    yield { tag: isOld ? (header >> 2) & 15 : header & 63, body: bytes.subarray(start, start + length) };
    at = start + length;
  }
}

/** Numbers of the subpackets that have four bytes, by their kind. */
function subpackets(bytes: Buffer): Map<number, number> {
  const numbers = new Map<number, number>();
  for (let at = 0; at < bytes.length; ) {
    const [length, start] = lengthAt(bytes, at);
    if (length === 5) numbers.set(bytes.readUInt8(start) & 0x7f, bytes.readUInt32BE(start + 1));
    at = start + length;
  }
  return numbers;
}

/** A length, and where what it measures begins. */
function lengthAt(bytes: Buffer, at: number): [length: number, start: number] {
  const first = bytes.readUInt8(at);
  if (first < 192) return [first, at + 1];
  if (first === 255) return [bytes.readUInt32BE(at + 1), at + 5];
  return [((first - 192) << 8) + bytes.readUInt8(at + 1) + 192, at + 2];
}
