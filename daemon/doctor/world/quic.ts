// Builds a datagram that every QUIC server answers (RFC 9000, section 6.1): a long header of a version that does not exist.

/** A version of the pattern that RFC 9000, section 15, keeps for exercising version negotiation. */
const VERSION = [0x1a, 0x2a, 0x3a, 0x4a];
const ID = [0x63, 0x75, 0x6c, 0x76, 0x65, 0x72, 0x74, 0x21];
/** A server answers datagrams of at least this size only. */
const LEAST = 1200;

/** @param size of the payload in bytes; at least 1,200 are sent */
export function quicProbe(size = LEAST): Uint8Array {
  const packet = Buffer.alloc(Math.max(size, LEAST));
  Buffer.from([0xc0, ...VERSION, ID.length, ...ID, ID.length, ...ID]).copy(packet);
  return packet;
}
