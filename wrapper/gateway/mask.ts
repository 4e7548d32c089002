// Hides the key of an account in what goes to a program: a text of the same length stands in its place.
import { Transform, type TransformCallback } from 'node:stream';
import { countPassed } from '../system/buffers.ts';

/** Time for which the start of what may be a key waits for the rest of it. */
const HOLD_MS = 100;

/** Hides a key in a stream, wherever its chunks begin. */
export class Mask extends Transform {
  readonly #key: Buffer;
  readonly #placeholder: string;
  #held: Buffer = Buffer.alloc(0);
  #timer: NodeJS.Timeout | undefined;

  constructor(key: string, placeholder: string) {
    super();
    this.#key = Buffer.from(key);
    this.#placeholder = placeholder;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    clearTimeout(this.#timer);
    countPassed(chunk.length);
    const data = hide(this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk, this.#key, this.#placeholder);
    const end = data.length - startOf(this.#key, data);
    this.#held = data.subarray(end);
    if (this.#held.length > 0) this.#timer = setTimeout(() => this.#release(), HOLD_MS);
    if (end > 0) this.push(data.subarray(0, end));
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#release();
    done();
  }

  #release(): void {
    clearTimeout(this.#timer);
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    if (rest.length > 0 && !this.destroyed) this.push(rest);
  }
}

/** The same bytes, or a copy in which the placeholder, cut or filled to the length of the key, is in the place of each key. */
export function hide(bytes: Buffer, key: Buffer, placeholder: string): Buffer {
  const { length } = key;
  let place = length === 0 ? -1 : bytes.indexOf(key);
  if (place < 0) return bytes;
  const copy = Buffer.from(bytes);
  const mask = Buffer.from(placeholder.padEnd(length, '*'));
  for (; place >= 0; place = copy.indexOf(key, place + length)) mask.copy(copy, place, 0, length);
  return copy;
}

/** Length of the longest end of the bytes that is the start of a key. */
function startOf(key: Buffer, bytes: Buffer): number {
  for (let length = Math.min(key.length - 1, bytes.length); length > 0; length--) {
    const place = bytes.length - length;
    if (bytes[place] === key[0] && bytes.compare(key, 0, length, place) === 0) return length;
  }
  return 0;
}
