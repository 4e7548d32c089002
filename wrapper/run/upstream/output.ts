// Holds an attempt's output until it counts, and streams it from the commit point on.
import { KeptBytes, PIECE, relay, relayRest, type Source, writeAll } from './pipes.ts';

export interface OutputOptions {
  /** True if no other account follows, so stderr need not be held. */
  last: boolean;
  /** Bytes of stdout, and milliseconds after its first byte, after which the output is committed. */
  commit: { bytes: number; afterMs: number; stderrAfterMs: number };
  /** True if the upstream may ask the user on stderr; then half a line followed by silence is shown early. */
  showsPrompts: boolean;
  patterns: OutputPatterns;
  /** Called once when the output is committed. */
  onCommit(): void;
}

/** Functions that search output; the texts may contain terminal control sequences. */
export interface OutputPatterns {
  /** Returns the job ids in a text; absent if the command creates no jobs. */
  jobs?: ((text: string) => string[]) | undefined;
  /** Returns the passages that a rule for stderr could match. */
  failures(text: string): string[];
}

/** Length of the silence after half a line that means a question to the user. */
const PROMPT_MS = 200;
const NEWLINE = Buffer.from('\n');

interface Sources {
  stdout?: Source | undefined;
  stderr?: Source | undefined;
}

/** The output of one attempt. */
export class HeldOutput {
  /** True once output has been shown, so no other attempt can replace this attempt. */
  committed = false;
  /** Ids of jobs that the upstream has created. */
  readonly jobs: string[] = [];
  readonly #sources: Sources;
  readonly #options: OutputOptions;
  readonly #texts: { stdout: OutputText; stderr: OutputText };
  readonly #held = new KeptBytes();
  /** Held output, in the order of its arrival. */
  #segments: { fd: 1 | 2; at: number; length: number }[] = [];
  #stdoutHeld = 0;
  #windowOpen = false;
  #stderrTimed = false;
  #stderrLive: boolean;
  /** The time of stderr's latest half line, in `performance.now()` time. */
  #halfLineAt: number | undefined;
  #promptTimer: NodeJS.Timeout | undefined;
  /** True once a failure was seen on a live stderr; the rest is held back. */
  #failureSeen = false;
  #relayed: Promise<void> | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #ended: Promise<unknown>;

  constructor(sources: Sources, options: OutputOptions) {
    this.#sources = sources;
    this.#options = options;
    this.#stderrLive = options.last;
    this.#texts = { stdout: new OutputText(() => []), stderr: new OutputText(options.patterns.failures) };
    sources.stdout?.listen(chunk => this.#onStdout(chunk));
    sources.stderr?.listen(chunk => this.#onStderr(chunk));
    this.#ended = Promise.all([sources.stdout?.ended, sources.stderr?.ended]);
  }

  get stdout(): string {
    return this.#texts.stdout.toString();
  }

  get stderr(): string {
    return this.#texts.stderr.toString();
  }

  /** Resolves once both streams have ended and their data was forwarded, at the latest after `graceMs`. */
  async drained(graceMs: number): Promise<void> {
    // a delayed event loop runs timers before pipes, so one more turn reads the rest of the output
    const grace = new Promise<void>(resolve => this.#after(graceMs, () => setImmediate(resolve)));
    await Promise.race([this.#ended.then(() => this.#relayed), grace]);
    for (const timer of [...this.#timers, this.#promptTimer]) clearTimeout(timer);
  }

  /** Shows the held output. Calls `beforeWriting` first if writing may block. */
  release(beforeWriting: () => void): void {
    if (this.#segments.length > 0) beforeWriting();
    this.#show();
    if (!this.committed) relayRest(1, this.#sources.stdout);
    relayRest(2, this.#sources.stderr);
  }

  /** Closes the streams and discards the held output. */
  dispose(): void {
    this.#sources.stdout?.close();
    this.#sources.stderr?.close();
    this.#segments = [];
    this.#held.clear();
  }

  #onStdout(chunk: Buffer): void {
    if (this.committed) return;
    this.#hold(1, chunk);
    this.#stdoutHeld += chunk.length;
    this.#texts.stdout.push(chunk);
    this.#findJobs(this.#texts.stdout);
    if (this.#stdoutHeld >= this.#options.commit.bytes) this.#commit();
    else if (!this.#windowOpen && this.stdout.trim() !== '') {
      this.#windowOpen = true;
      this.#after(this.#options.commit.afterMs, () => this.#commit());
    }
  }

  #onStderr(chunk: Buffer): void {
    if (!this.#stderrLive && !this.#stderrTimed) {
      this.#stderrTimed = true;
      this.#after(this.#options.commit.stderrAfterMs, () => this.#showStderr());
    }
    this.#noteHalfLine(chunk);
    this.#texts.stderr.push(chunk);
    if (this.#stderrLive && !this.#holdsBack(chunk)) writeAll(2, chunk);
    else this.#hold(2, chunk);
    if (this.jobs.length === 0) this.#findJobs(this.#texts.stderr);
  }

  /**
   * Recognizes questions. The rules get a line end after an answered question, because the answer's line end is not in this
   * stream.
   */
  #noteHalfLine(chunk: Buffer): void {
    const at = performance.now();
    if (this.#halfLineAt !== undefined && at - this.#halfLineAt >= PROMPT_MS) this.#texts.stderr.push(NEWLINE);
    const isHalf = !/[\r\n]$/.test(chunk.toString('latin1', Math.max(0, chunk.length - 1)));
    this.#halfLineAt = isHalf ? at : undefined;
    clearTimeout(this.#promptTimer);
    if (isHalf && this.#options.showsPrompts && !this.#stderrLive) {
      this.#promptTimer = setTimeout(() => this.#showStderr(), PROMPT_MS);
    }
  }

  /** Reports whether a piece of a live stderr belongs to a failure after which another account may still succeed. */
  #holdsBack(chunk: Buffer): boolean {
    if (this.#options.last || this.committed) return false;
    this.#failureSeen ||= this.#options.patterns.failures(chunk.toString('utf8')).length > 0;
    return this.#failureSeen;
  }

  #findJobs(text: OutputText): void {
    const { jobs } = this.#options.patterns;
    for (const id of jobs?.(text.recent()) ?? []) {
      if (this.jobs.includes(id)) continue;
      this.jobs.push(id);
      this.#commit();
    }
  }

  #commit(): void {
    if (this.committed) return;
    this.committed = true;
    this.#options.onCommit();
    this.#stderrLive = true;
    this.#show(2);
    const held = Array.from(this.#take(1), ({ chunk }) => Buffer.from(chunk));
    if (this.#sources.stdout) this.#relayed = relay(1, this.#sources.stdout, Buffer.concat(held));
    this.#held.clear();
  }

  /** Shows stderr live from now on, unless it already reports a failure. */
  #showStderr(): void {
    if (this.committed || this.#options.patterns.failures(this.stderr).length > 0) return;
    this.#stderrLive = true;
    this.#show(2);
  }

  #hold(fd: 1 | 2, chunk: Buffer): void {
    const offset = this.#held.length;
    try {
      this.#held.append(chunk);
    } catch {
      // The temporary directory is full; showing output early is better than losing it.
      this.#commit();
      writeAll(fd, chunk);
      return;
    }
    const last = this.#segments.at(-1);
    if (last?.fd === fd && last.at + last.length === offset) last.length += chunk.length;
    else this.#segments.push({ fd, at: offset, length: chunk.length });
  }

  #show(only?: 1 | 2): void {
    for (const { fd, chunk } of this.#take(only)) writeAll(fd, chunk);
  }

  /**
   * Removes the held output of one or both descriptors, and yields it in the order of its arrival. A chunk is valid until the
   * next chunk.
   */
  *#take(only?: 1 | 2): Generator<{ fd: 1 | 2; chunk: Buffer }> {
    const taken = this.#segments.filter(({ fd }) => only === undefined || fd === only);
    this.#segments = this.#segments.filter(segment => !taken.includes(segment));
    const buffer = Buffer.alloc(PIECE);
    for (const { fd, at, length } of taken) {
      for (let offset = 0; offset < length; ) {
        const chunk = this.#held.read(at + offset, buffer).subarray(0, length - offset);
        offset += chunk.length;
        yield { fd, chunk };
      }
    }
  }

  #after(ms: number, act: () => void): void {
    this.#timers.push(setTimeout(act, ms));
  }
}

const HEAD = 64 * 1024;
const TAIL = 64 * 1024;
const MAX_SEARCHED = 16 * 1024 * 1024;
const OVERLAP = 1024;
const LINE_FEED = 10;

/**
 * The text of one stream: its beginning, its end, and from the middle only text that a rule could match. It keeps bytes and
 * decodes them on demand: as strings, a flood would leave garbage among V8's long-lived objects.
 */
export class OutputText {
  /** The first bytes, in the pieces as they arrived. */
  readonly #head: Buffer[] = [];
  #headLength = 0;
  /** The last bytes, in a reused buffer; empty until the head is full. */
  #tail: Buffer = Buffer.alloc(0);
  #tailLength = 0;
  #searched = 0;
  /** Length of the latest piece. */
  #latest = 0;
  readonly #matches: string[] = [];
  readonly #findMatches: (text: string) => string[];

  /** @param findMatches returns the passages of a text that a rule could match */
  constructor(findMatches: (text: string) => string[]) {
    this.#findMatches = findMatches;
  }

  /** @param chunk a piece, which is copied */
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

  /** Returns the latest piece and the end of the text before it, for patterns that span both. */
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
    const cut = this.#tail.lastIndexOf(LINE_FEED, latest) + 1 || latest;
    if (this.#searched < MAX_SEARCHED) {
      this.#matches.push(...this.#findMatches(this.#tail.toString('utf8', 0, cut)).slice(0, 8));
    }
    this.#searched += cut;
    this.#tail.copyWithin(0, cut, this.#tailLength);
    this.#tailLength -= cut;
  }
}
