// Runs an MCP server as a child process, passes lines in both directions, and stops it as the protocol asks.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { End, SignalForwarding } from '../context.ts';
import { killTree } from '../run/upstream/attempt.ts';

/** Time that a server gets to exit after its input is closed, and again after SIGTERM. */
const END_MS = 5_000;

interface Handlers {
  line(line: Buffer, server: Server): void;
  /** The server's input accepts data again. */
  drain(): void;
  end(server: Server, end: End, error?: Error): void;
}

/** One process of the server. After `silence`, its output is dropped. */
export class Server {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #ended: Promise<void>;
  hasEnded = false;
  #isStopped = false;

  constructor(
    [program, ...args]: readonly string[],
    { env, signals }: { env: NodeJS.ProcessEnv; signals: SignalForwarding },
    handlers: Handlers,
  ) {
    const lines = new Lines();
    this.#child = signals.forwardTo(() => spawn(program!, args, { env, stdio: ['pipe', 'pipe', 'inherit'] }));
    let failure: Error | undefined;
    // The server is ending; its `close` event reports how.
    this.#child.stdin.on('error', () => {});
    this.#child.stdin.on('drain', () => handlers.drain());
    this.#child.stdout.on('data', (chunk: Buffer) => {
      if (this.#isStopped) return;
      const whole = lines.add(chunk);
      if (!whole) {
        failure = new Error('it wrote a line that is too long');
        this.kill();
      } else for (const line of whole) handlers.line(line, this);
    });
    this.#child.on('error', error => {
      failure ??= error;
    });
    this.#ended = new Promise(resolve => {
      this.#child.on('close', (exit, signal) => {
        this.hasEnded = true;
        resolve();
        if (!this.#isStopped) handlers.end(this, { exit, signal }, failure);
      });
    });
  }

  /** @returns false if the server's input is full for now; Node buffers the line anyway */
  write(line: Buffer): boolean {
    return !this.#child.stdin.writable || this.#child.stdin.write(line);
  }

  pause(): void {
    this.#child.stdout.pause();
  }

  resume(): void {
    this.#child.stdout.resume();
  }

  /** Ignores the server's output and exit from now on. */
  silence(): void {
    this.#isStopped = true;
    this.resume();
  }

  /** Closes the server's input, and kills the server if it keeps running. */
  async stop(): Promise<void> {
    this.#child.stdin.end();
    this.resume();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const timer = setTimeout(() => this.#kill(signal), signal === 'SIGTERM' ? END_MS : END_MS * 2);
      this.#ended.then(() => clearTimeout(timer));
    }
    await this.#ended;
  }

  kill(): void {
    this.#kill('SIGKILL');
  }

  #kill(signal: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) killTree(pid, signal);
    // a process that the server left behind may hold the pipe open
    if (signal === 'SIGKILL') this.#child.stdout.destroy();
  }
}

/** Longest accepted line, in bytes. A longer one is a bug in the program that wrote it, and would fill the memory. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Splits chunks into whole lines, each with its line feed. */
export class Lines {
  readonly #longest: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(longest = MAX_LINE_BYTES) {
    this.#longest = longest;
  }

  /** Returns the lines that end in this chunk, or `undefined` if a line is too long. */
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

  /** Returns the bytes after the last line feed, and forgets them. */
  rest(): Buffer {
    const whole = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#length = 0;
    return whole;
  }
}
