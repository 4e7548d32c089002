// Reads and changes strings in a JSON stream, and buffers only one string at a time.
import { parseJson } from '../run/rules/classify.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const LIST = 0x5b;
const LIST_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
/** Maximum size of a string to edit, in bytes. A longer string passes unchanged. */
const MAX_STRING_BYTES = 8_192;

const NOTHING = Buffer.alloc(0);

/** An open object or list. */
interface Frame {
  isList: boolean;
  /** Key of the current value, or its index in the list. */
  name: string;
  isKey: boolean;
}

/** @returns the new value, or `undefined` to keep the value */
type Edit = (path: string, value: string) => string | undefined;

/**
 * Edits strings of a document that arrives in chunks.
 *
 *     const json = new JsonPass(['next', 'data.id'], (path, value) => path === 'next' ? 'elsewhere' : undefined);
 *     for (const chunk of chunks) send(json.write(chunk));
 *     send(json.end());
 */
export class JsonPass {
  readonly #paths: ReadonlySet<string>;
  readonly #edit: Edit;
  /** Depth of the longest path. */
  readonly #deepest: number;
  #depth = 0;
  readonly #frames: Frame[] = [];
  #isInString = false;
  #isEscaped = false;
  /** Use of the current string. A key passes immediately, and a value is held until its end. */
  #use: 'key' | 'value' | undefined;
  /** The part of the current string from earlier chunks, if it has a use. */
  #held: Buffer = NOTHING;

  /** @param paths paths of the strings to edit, such as `data.0.id` */
  constructor(paths: readonly string[], edit: Edit) {
    this.#paths = new Set(paths);
    this.#edit = edit;
    this.#deepest = Math.max(0, ...paths.map(path => path.split('.').length));
  }

  /** @returns the bytes that can be passed on */
  write(chunk: Buffer): Buffer {
    const out: Buffer[] = [];
    // start of the bytes to pass on, and start of the string
    let from = 0;
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (!this.#isInString) {
        if (chunk[at] !== QUOTE) this.#readStructure(chunk[at]!);
        else {
          this.#beginString();
          start = at;
        }
        continue;
      }
      at = this.#endOfString(chunk, at);
      if (at === chunk.length) break;
      this.#isInString = false;
      if (!this.#use) continue;
      if (this.#use === 'value') out.push(chunk.subarray(from, start));
      const text = this.#endString(this.#join(chunk.subarray(start, at + 1)));
      if (!text) continue;
      out.push(text);
      from = at + 1;
    }
    if (this.#isInString && this.#use) from = this.#hold(chunk, { from, start, out });
    out.push(chunk.subarray(from));
    return out.length === 1 ? out[0]! : Buffer.concat(out);
  }

  /** @returns the held part of an unfinished value */
  end(): Buffer {
    const held = this.#use === 'value' ? this.#held : NOTHING;
    this.#held = NOTHING;
    this.#use = undefined;
    return held;
  }

  /** Holds the start of a string at the end of a chunk. @returns the start of the remaining bytes to pass on */
  #hold(chunk: Buffer, { from, start, out }: { from: number; start: number; out: Buffer[] }): number {
    const isValue = this.#use === 'value';
    if (isValue) out.push(chunk.subarray(from, start));
    this.#held = this.#join(chunk.subarray(start));
    if (this.#held.length > MAX_STRING_BYTES) out.push(this.end());
    return isValue ? chunk.length : from;
  }

  #join(bytes: Buffer): Buffer {
    return this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
  }

  /** Returns the index of a string's closing quote, or the chunk's length. */
  #endOfString(chunk: Buffer, start: number): number {
    let at = start;
    let isEscaped = this.#isEscaped;
    for (; at < chunk.length; at += 1) {
      if (isEscaped) isEscaped = false;
      else if (chunk[at] === BACKSLASH) isEscaped = true;
      else if (chunk[at] === QUOTE) break;
    }
    this.#isEscaped = isEscaped;
    return at;
  }

  #beginString(): void {
    this.#isInString = true;
    const frame = this.#frame;
    if (frame?.isKey) this.#use = 'key';
    else this.#use = frame && this.#paths.has(this.#path) ? 'value' : undefined;
  }

  /** Edits a value, or keeps a key's name. @returns the value to pass on; undefined for a key, which has passed already */
  #endString(bytes: Buffer): Buffer | undefined {
    const text = bytes.toString();
    // most strings need no parser
    const value = text.includes('\\') ? parseJson(text) : text.slice(1, -1);
    const isKey = this.#use === 'key';
    this.#held = NOTHING;
    this.#use = undefined;
    if (isKey) this.#frame!.name = typeof value === 'string' ? value : '';
    if (isKey) return undefined;
    const edited = typeof value === 'string' ? this.#edit(this.#path, value) : undefined;
    return edited === undefined ? bytes : Buffer.from(JSON.stringify(edited));
  }

  #readStructure(byte: number): void {
    if (byte === LIST || byte === OBJECT) {
      this.#depth += 1;
      const isList = byte === LIST;
      if (this.#depth <= this.#deepest) this.#frames.push({ isList, name: isList ? '0' : '', isKey: !isList });
    } else if (byte === LIST_END || byte === OBJECT_END) {
      this.#depth = Math.max(0, this.#depth - 1);
      if (this.#depth < this.#frames.length) this.#frames.pop();
    } else if (byte === COMMA || byte === COLON) this.#nextItem(byte);
  }

  #nextItem(byte: number): void {
    const frame = this.#frame;
    if (!frame) return;
    frame.isKey = !frame.isList && byte === COMMA;
    if (frame.isList) frame.name = String(Number(frame.name) + 1);
    else if (frame.isKey) frame.name = '';
  }

  /** The innermost open object or list, unless it is deeper than every path. */
  get #frame(): Frame | undefined {
    return this.#depth === this.#frames.length ? this.#frames.at(-1) : undefined;
  }

  get #path(): string {
    return this.#frames.map(({ name }) => name).join('.');
  }
}
