// Replaces an account's key in data for a program with text of the same length.
import { Transform, type TransformCallback } from 'node:stream';
import { formsOf } from '../system/redact.ts';

/** Time for which a possible start of a key is held until its rest arrives. */
const HOLD_MS = 100;
/** The same time for a start too long to be chance, because a provider or a network may pause there. */
const LONG_HOLD_MS = 5_000;
const CHANCE_BYTES = 4;

/** Hides a key in a stream, even across chunks, in every form that programs use. */
export class Mask extends Transform {
  readonly #forms: readonly Buffer[];
  readonly #placeholder: string;
  #held: Buffer = Buffer.alloc(0);
  #timer: NodeJS.Timeout | undefined;

  constructor(key: string, placeholder: string) {
    super();
    this.#forms = formsIn(key);
    this.#placeholder = placeholder;
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    clearTimeout(this.#timer);
    const whole = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk;
    const data = hideForms(whole, this.#forms, this.#placeholder);
    const end = data.length - Math.max(0, ...this.#forms.map(form => startOf(form, data)));
    this.#held = data.subarray(end);
    const holdMs = this.#held.length > CHANCE_BYTES ? LONG_HOLD_MS : HOLD_MS;
    if (this.#held.length > 0) this.#timer = setTimeout(() => this.#release(), holdMs);
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

/** Replaces each key with the placeholder, cut or padded to the key's length, in a copy. Bytes without a key are not copied. */
export function hide(bytes: Buffer, key: string, placeholder: string): Buffer {
  return hideForms(bytes, formsIn(key), placeholder);
}

function formsIn(key: string): Buffer[] {
  return key === '' ? [] : formsOf(key).map(form => Buffer.from(form));
}

function hideForms(bytes: Buffer, forms: readonly Buffer[], placeholder: string): Buffer {
  let data = bytes;
  for (const form of forms) {
    let place = data.indexOf(form);
    if (place < 0) continue;
    if (data === bytes) data = Buffer.from(bytes);
    const mask = Buffer.from(placeholder.padEnd(form.length, '*'));
    for (; place >= 0; place = data.indexOf(form, place + form.length)) mask.copy(data, place, 0, form.length);
  }
  return data;
}

/** Returns the length of the longest suffix of the bytes that is a prefix of a key. */
function startOf(key: Buffer, bytes: Buffer): number {
  for (let length = Math.min(key.length - 1, bytes.length); length > 0; length--) {
    const place = bytes.length - length;
    if (bytes[place] === key[0] && bytes.compare(key, 0, length, place) === 0) return length;
  }
  return 0;
}
