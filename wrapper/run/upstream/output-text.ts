// Keeps as much of a stream's text as the catalog's rules need, whatever its length.

const HEAD = 64 * 1024;
const TAIL = 64 * 1024;
const MAX_SEARCHED = 16 * 1024 * 1024;
const OVERLAP = 1024;
const NEWLINE = 10;

/**
 * The text of one stream: its beginning, its end, and from between only what a rule could match. It keeps bytes and
 * makes text of them when asked: as strings, a flood would leave its garbage among V8's long-lived objects.
 */
export class OutputText {
  /** The first bytes, each piece as it came. */
  readonly #head: Buffer[] = [];
  #headLength = 0;
  /** The last bytes, in a buffer that is used again; empty until the head is full. */
  #tail: Buffer = Buffer.alloc(0);
  #tailLength = 0;
  #searched = 0;
  /** Length of the piece that came last. */
  #latest = 0;
  readonly #matches: string[] = [];
  readonly #findMatches: (text: string) => string[];

  /** @param findMatches the passages of a text that a rule could match */
  constructor(findMatches: (text: string) => string[]) {
    this.#findMatches = findMatches;
  }

  /** @param chunk is copied */
  push(chunk: Buffer): void {
    this.#latest = chunk.length;
    const room = HEAD - this.#headLength;
    const first = room > 0 ? chunk.subarray(0, room) : undefined;
    if (first) {
      this.#head.push(Buffer.from(first));
      this.#headLength += first.length;
    }
    if (chunk.length > room) this.#keepLast(first ? chunk.subarray(room) : chunk);
  }

  /** The piece that came last, with the end of what came before it, for patterns that lie across both. */
  recent(): string {
    const size = this.#latest + OVERLAP;
    const tail = this.#tail.subarray(Math.max(0, this.#tailLength - size), this.#tailLength);
    if (tail.length === size || this.#searched > 0) return tail.toString('utf8');
    return Buffer.concat([...this.#head, tail])
      .subarray(-size)
      .toString('utf8');
  }

  toString(): string {
    const tail = this.#tail.subarray(0, this.#tailLength);
    if (this.#matches.length === 0) return Buffer.concat([...this.#head, tail]).toString('utf8');
    return [Buffer.concat(this.#head).toString('utf8'), ...this.#matches, tail.toString('utf8')].join('\n');
  }

  #keepLast(bytes: Buffer): void {
    const length = this.#tailLength + bytes.length;
    if (length > this.#tail.length) {
      const larger = Buffer.alloc(Math.max(length, 3 * TAIL));
      this.#tail.copy(larger, 0, 0, this.#tailLength);
      this.#tail = larger;
    }
    bytes.copy(this.#tail, this.#tailLength);
    this.#tailLength = length;
    const size = Math.max(TAIL, this.#latest + OVERLAP);
    if (length > size + TAIL) this.#shorten(size);
  }

  #shorten(length: number): void {
    const latest = this.#tailLength - length;
    const cut = this.#tail.lastIndexOf(NEWLINE, latest) + 1 || latest;
    if (this.#searched < MAX_SEARCHED) {
      this.#matches.push(...this.#findMatches(this.#tail.toString('utf8', 0, cut)).slice(0, 8));
    }
    this.#searched += cut;
    this.#tail.copyWithin(0, cut, this.#tailLength);
    this.#tailLength -= cut;
  }
}
