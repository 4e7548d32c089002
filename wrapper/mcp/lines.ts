// Splits a stream of bytes into lines and keeps every byte of them.

/** A longer line is a mistake of the program that wrote it, and would fill the memory. */
const LONGEST_LINE = 64 * 1024 * 1024;

/** Collects chunks and gives whole lines, each with its line feed. */
export class Lines {
  readonly #longest: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(longest = LONGEST_LINE) {
    this.#longest = longest;
  }

  /** The lines that end in this chunk, or `undefined` when one is too long. */
  add(chunk: Buffer): Buffer[] | undefined {
    const lines: Buffer[] = [];
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      const part = chunk.subarray(start, end < 0 ? chunk.length : end + 1);
      if (this.#length + part.length > this.#longest) return undefined;
      if (part.length > 0) {
        this.#parts.push(part);
        this.#length += part.length;
      }
      if (end < 0) return lines;
      lines.push(this.rest());
      start = end + 1;
    }
  }

  /** The bytes behind the last line feed. */
  rest(): Buffer {
    const whole = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#length = 0;
    return whole;
  }
}
