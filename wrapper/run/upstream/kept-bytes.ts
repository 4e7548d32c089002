// Keeps bytes for later: the first megabyte in memory, all of them in an unlinked file once there are more.
import { closeSync, mkdtempSync, openSync, readSync, rmdirSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = 1024 * 1024;
/** The longest result of a read. */
export const PIECE = 65_536;

/** A growing byte string that can be read from any offset. */
export class KeptBytes {
  #chunks: Buffer[] = [];
  #file: number | undefined;
  #total = 0;

  /** Number of bytes appended. */
  get length(): number {
    return this.#total;
  }

  /**
   * @param chunk is copied
   * @throws the system's error when the bytes outgrow memory and the temporary directory is full
   */
  append(chunk: Buffer): void {
    if (this.#file === undefined && this.#total + chunk.length <= IN_MEMORY) this.#chunks.push(Buffer.from(chunk));
    else {
      this.#file ??= this.#spill();
      writeAt(this.#file, chunk, this.#total);
    }
    this.#total += chunk.length;
  }

  /**
   * Up to 64 KiB from `offset` on; empty at the end.
   * @param into a buffer of `PIECE` bytes to read a file into, for many reads whose results are used immediately: V8 collects
   * buffers only when they sum up to 64 MiB
   */
  read(offset: number, into?: Buffer): Buffer {
    if (offset >= this.#total) return Buffer.alloc(0);
    if (this.#file !== undefined) {
      const length = Math.min(PIECE, this.#total - offset);
      const buffer = into ?? Buffer.alloc(length);
      return buffer.subarray(0, readSync(this.#file, buffer, 0, length, offset));
    }
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all.subarray(offset, offset + PIECE);
  }

  /** Gives the memory and the file back. */
  clear(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#chunks = [];
    this.#total = 0;
  }

  #spill(): number {
    const dir = mkdtempSync(join(tmpdir(), 'culvert-wrap-'));
    const file = join(dir, 'kept');
    const fd = openSync(file, 'wx+', 0o600);
    unlinkSync(file);
    rmdirSync(dir);
    writeAt(fd, Buffer.concat(this.#chunks), 0);
    this.#chunks = [];
    return fd;
  }
}

function writeAt(fd: number, data: Buffer, position: number): void {
  for (let at = 0; at < data.length; ) at += writeSync(fd, data, at, data.length - at, position + at);
}
