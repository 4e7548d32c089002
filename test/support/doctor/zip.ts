// Writes ZIP archives as a stranger would, with every field as the test wants it (APPNOTE 6.3.10, 4.3).
import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  name: string;
  content: string | Buffer;
  /** Unix mode with the type of file; a regular file by default. */
  mode?: number;
  /** A size that the directory claims in place of the real one. */
  claimedSize?: number;
}

/** A hundred thousand entries are empty, and each compressor takes longer than their bytes. */
const EMPTY = deflateRawSync('');

export function zip(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, mode = 0o100644, claimedSize } of entries) {
    const raw = Buffer.from(content as string);
    const data = raw.length === 0 ? EMPTY : deflateRawSync(raw);
    const bytes = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2); // names are UTF-8
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc(raw), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(claimedSize ?? raw.length, 18);
    common.writeUInt16LE(bytes.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, bytes, data]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((mode << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), common, rest, bytes]));
    locals.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 4);
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  const many = entries.length > 0xffff ? zip64(entries.length, central.length, offset) : Buffer.alloc(0);
  return Buffer.concat([...locals, central, many, Buffer.from('PK\x05\x06'), end]);
}

/** The record and its locator for more entries than the usual end can count (4.3.14 and 4.3.15). */
function zip64(entries: number, size: number, offset: number): Buffer {
  const record = Buffer.alloc(52);
  record.writeUInt32LE(44, 0);
  record.writeUInt16LE(45, 8);
  record.writeUInt16LE(45, 10);
  for (const [at, value] of [
    [20, entries],
    [28, entries],
    [36, size],
    [44, offset],
  ] as const)
    record.writeBigUInt64LE(BigInt(value), at);
  const locator = Buffer.alloc(16);
  locator.writeBigUInt64LE(BigInt(offset + size), 4);
  locator.writeUInt32LE(1, 12);
  return Buffer.concat([Buffer.from('PK\x06\x06'), record, Buffer.from('PK\x06\x07'), locator]);
}

/** Node 20 has no crc32 before 20.15. */
function crc(bytes: Buffer): number {
  if (typeof crc32 === 'function') return crc32(bytes);
  let value = ~0;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return ~value >>> 0;
}
