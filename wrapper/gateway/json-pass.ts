// Reads and changes texts of a JSON document while it passes, and holds no more of it than one of them.
import { parseJson } from '../run/rules/classify.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const LIST = 0x5b;
const LIST_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
/** Most bytes of a text that is read. A longer one passes as it is. */
const LONGEST = 8_192;

/** An object or a list that has begun. */
interface Frame {
  isList: boolean;
  /** The key of the value that comes or has come, or its place in the list. */
  name: string;
  isKey: boolean;
}

/** @returns the text in place of the value, or `undefined` to leave it */
type Edit = (path: string, value: string) => string | undefined;

/**
 * A document that passes in parts.
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
  #isText = false;
  #isEscaped = false;
  /** The text that is read, with its quotes. */
  #held: Buffer | undefined;

  /** @param paths of texts, such as `data.0.id` */
  constructor(paths: readonly string[], edit: Edit) {
    this.#paths = new Set(paths);
    this.#edit = edit;
    this.#deepest = Math.max(0, ...paths.map(path => path.split('.').length));
  }

  /** @returns what can be passed on */
  write(chunk: Buffer): Buffer {
    const out: Buffer[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (!this.#isText) {
        if (chunk[at] !== QUOTE) this.#step(chunk[at]!);
        else if (this.#begin()) {
          out.push(chunk.subarray(from, at));
          from = at;
        }
        continue;
      }
      at = this.#endOfText(chunk, at);
      if (at === chunk.length) break;
      this.#isText = false;
      if (!this.#held) continue;
      out.push(this.#read(Buffer.concat([this.#held, chunk.subarray(from, at + 1)])));
      from = at + 1;
    }
    const rest = chunk.subarray(from);
    if (!this.#held) out.push(rest);
    else {
      this.#held = Buffer.concat([this.#held, rest]);
      if (this.#held.length > LONGEST) out.push(this.end());
    }
    return out.length === 1 ? out[0]! : Buffer.concat(out);
  }

  /** The start of a text that has not ended. */
  end(): Buffer {
    const held = this.#held ?? Buffer.alloc(0);
    this.#held = undefined;
    return held;
  }

  /** The place of the quote at the end of a text, or the end of the chunk. */
  #endOfText(chunk: Buffer, start: number): number {
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

  /** Begins a text. @returns whether it is read */
  #begin(): boolean {
    this.#isText = true;
    const frame = this.#frame;
    if (!frame || !(frame.isKey || this.#paths.has(this.#path))) return false;
    this.#held = Buffer.alloc(0);
    return true;
  }

  /** @returns the text to pass on */
  #read(text: Buffer): Buffer {
    this.#held = undefined;
    const value = parseJson(text.toString());
    const frame = this.#frame!;
    if (typeof value !== 'string') return text;
    if (frame.isKey) frame.name = value;
    const edited = frame.isKey ? undefined : this.#edit(this.#path, value);
    return edited === undefined ? text : Buffer.from(JSON.stringify(edited));
  }

  #step(byte: number): void {
    if (byte === LIST || byte === OBJECT) {
      this.#depth += 1;
      const isList = byte === LIST;
      if (this.#depth <= this.#deepest) this.#frames.push({ isList, name: isList ? '0' : '', isKey: !isList });
    } else if (byte === LIST_END || byte === OBJECT_END) {
      this.#depth = Math.max(0, this.#depth - 1);
      if (this.#depth < this.#frames.length) this.#frames.pop();
    } else if (byte === COMMA || byte === COLON) this.#goOn(byte);
  }

  #goOn(byte: number): void {
    const frame = this.#frame;
    if (!frame) return;
    frame.isKey = !frame.isList && byte === COMMA;
    if (frame.isList) frame.name = String(Number(frame.name) + 1);
    else if (frame.isKey) frame.name = '';
  }

  /** The object or list in which the document is, if it is as deep as a path. */
  get #frame(): Frame | undefined {
    return this.#depth === this.#frames.length ? this.#frames.at(-1) : undefined;
  }

  get #path(): string {
    return this.#frames.map(({ name }) => name).join('.');
  }
}
