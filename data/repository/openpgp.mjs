// Says the same Ed25519 keys that sign releases in OpenPGP (RFC 4880, EdDSA as in RFC 9580 section 5.5.5.5), for apt, dnf and
// makepkg: certificates, and signatures of files. One key then has one owner, one place and one passphrase, also on a token,
// of which gpg could not take it. Signatures are deterministic: the same key, time and bytes give the same signature.
import { createHash, sign } from 'node:crypto';

/** A signature over these bytes: 64 bytes of Ed25519. */
/** @typedef {(bytes: Buffer) => Buffer} Signer */
/** @typedef {{ key: Buffer, created: number }} Public the 32 bytes of a public key, and its time in seconds since 1970 */

const EDDSA = 22;
const SHA512 = 10;
/** Kinds of signatures: RFC 4880, section 5.2.1. */
const BINARY = 0x00;
const TEXT = 0x01;
const POSITIVE = 0x13;
const OID = Buffer.from('092b06010401da470f01', 'hex');

const u16 = n => Buffer.from([n >> 8, n & 255]);
const u32 = n => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n);
  return bytes;
};

/** A number without the zeros at its start, after the count of its bits. */
function mpi(bytes) {
  const start = bytes.findIndex(byte => byte !== 0);
  const number = start < 0 ? Buffer.alloc(0) : bytes.subarray(start);
  return Buffer.concat([u16(number.length === 0 ? 0 : number.length * 8 - Math.clz32(number[0]) + 24), number]);
}

const packet = (tag, body) => Buffer.concat([Buffer.from([0xc0 | tag, 255]), u32(body.length), body]);
const subpacket = (type, body) => Buffer.concat([Buffer.from([body.length + 1, type]), body]);

/** @param {Public} key */
const keyBody = ({ key, created }) =>
  Buffer.concat([
    Buffer.from([4]),
    u32(created),
    Buffer.from([EDDSA]),
    OID,
    mpi(Buffer.concat([Buffer.from([0x40]), key])),
  ]);

const ofKey = body => Buffer.concat([Buffer.from([0x99]), u16(body.length), body]);

/**
 * The fingerprint, by which apt, dnf and makepkg name a key.
 * @param {Public} key
 */
export function fingerprint(key) {
  return createHash('sha1')
    .update(ofKey(keyBody(key)))
    .digest('hex')
    .toUpperCase();
}

/** A signature packet of a kind over what goes before it, made at a time, with further facts about a certificate. */
function signature(kind, before, { key, created, signer }, { time, further = [] }) {
  const print = Buffer.from(fingerprint({ key, created }), 'hex');
  const hashed = Buffer.concat([
    subpacket(33, Buffer.concat([Buffer.from([4]), print])),
    subpacket(2, u32(time)),
    ...further,
  ]);
  const start = Buffer.concat([Buffer.from([4, kind, EDDSA, SHA512]), u16(hashed.length), hashed]);
  const digest = createHash('sha512')
    .update(before)
    .update(start)
    .update(Buffer.concat([Buffer.from([4, 255]), u32(start.length)]))
    .digest();
  const made = signer(digest);
  const unhashed = subpacket(16, print.subarray(12));
  const numbers = [mpi(made.subarray(0, 32)), mpi(made.subarray(32))];
  return packet(2, Buffer.concat([start, u16(unhashed.length), unhashed, digest.subarray(0, 2), ...numbers]));
}

/**
 * A certificate, which says whose key it is, that it signs, and until when.
 * @param {Public} key
 * @param {string} owner such as `Name <mail>`
 * @param {number} expires in seconds since 1970
 * @param {Signer} signer of the key itself
 */
export function certificate(key, owner, expires, signer) {
  const body = keyBody(key);
  const id = Buffer.from(owner);
  const before = Buffer.concat([ofKey(body), Buffer.from([0xb4]), u32(id.length), id]);
  const facts = [subpacket(27, Buffer.from([3])), subpacket(9, u32(expires - key.created))];
  return Buffer.concat([
    packet(6, body),
    packet(13, id),
    signature(POSITIVE, before, { ...key, signer }, { time: key.created, further: facts }),
  ]);
}

/** A key with which to sign, and the way to do so. */
/** @typedef {Public & { signer: Signer }} Signing */

/**
 * A detached signature of a file.
 * @param {Buffer} bytes
 * @param {Signing[]} keys
 * @param {number} time in seconds since 1970
 */
export function detached(bytes, keys, time) {
  return Buffer.concat(keys.map(key => signature(BINARY, bytes, key, { time })));
}

/**
 * A text with the signatures in it (RFC 4880, section 7), as InRelease is.
 * @param {string} text ends with a line break
 * @param {Signing[]} keys
 * @param {number} time in seconds since 1970
 */
export function clearsigned(text, keys, time) {
  const lines = text.replace(/\n$/, '').split('\n');
  const canonical = Buffer.from(lines.map(line => line.replace(/[ \t]+$/, '')).join('\r\n'));
  const signatures = keys.map(key => signature(TEXT, canonical, key, { time }));
  const escaped = lines.map(line => (line.startsWith('-') ? `- ${line}` : line)).join('\n');
  const head = '-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n';
  return `${head}${escaped}\n${armored('SIGNATURE', Buffer.concat(signatures))}`;
}

/**
 * Packets as text (RFC 4880, section 6).
 * @param {'SIGNATURE' | 'PUBLIC KEY BLOCK'} what
 * @param {Buffer} packets
 */
export function armored(what, packets) {
  const lines = packets.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  const sum = Buffer.from([crc24(packets) >> 16, (crc24(packets) >> 8) & 255, crc24(packets) & 255]).toString('base64');
  return `-----BEGIN PGP ${what}-----\n\n${lines}\n=${sum}\n-----END PGP ${what}-----\n`;
}

function crc24(bytes) {
  let crc = 0xb704ce;
  for (const byte of bytes) {
    crc ^= byte << 16;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x800000 ? (crc << 1) ^ 0x1864cfb : crc << 1;
  }
  return crc & 0xffffff;
}

/**
 * The way to sign with a private key of Node.
 * @param {import('node:crypto').KeyObject} key
 * @returns {Signer}
 */
export const signerOf = key => bytes => sign(null, bytes, key);
