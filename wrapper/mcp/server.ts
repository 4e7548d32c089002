// Runs an MCP server as a child process: lines in both directions, and an end as the protocol has it.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { End, SignalForwarding } from '../context.ts';
import { killTree } from '../run/upstream/signals.ts';
import { Lines } from './lines.ts';

/** Time for a server to end after its input was closed, and again after SIGTERM. */
const END_MS = 5_000;

interface Handlers {
  line(line: Buffer, server: Server): void;
  /** Its input takes more again. */
  drain(): void;
  end(server: Server, end: End, error?: Error): void;
}

/** One process of the server. After `stop` its lines go nowhere. */
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
    // The server is ending; its `close` says how.
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

  /** @returns false if its input takes no more for now; the line is kept all the same */
  write(line: Buffer): boolean {
    return !this.#child.stdin.writable || this.#child.stdin.write(line);
  }

  pause(): void {
    this.#child.stdout.pause();
  }

  resume(): void {
    this.#child.stdout.resume();
  }

  /** Its lines and its end say nothing from now on. */
  silence(): void {
    this.#isStopped = true;
    this.resume();
  }

  /** Closes its input, and ends it where that is not enough. */
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
    // a process that it left behind may hold the pipe
    if (signal === 'SIGKILL') this.#child.stdout.destroy();
  }
}
