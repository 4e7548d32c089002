// Keeps one warm `nft -i` process and asks it one request after the other. Starting an nft for each change would take three
// times as long, during which packets leak.

import { message, WordedError } from '../wording.ts';
import { type Child, startChild } from './child.ts';

/** nft answers it with one line of text that no listing and no error contains: it marks the end of a reply. */
const END = { command: 'describe tcp dport', reply: 'payload expression' };
const REPLY_MS = 10_000;

export interface Session {
  /** @returns the lines that nft printed. @throws Error when nft ended, or did not reply within ten seconds */
  ask(commands: string): Promise<string[]>;
  /** Ends the process, when nothing is asked; the next request starts another one. */
  end(): void;
}

interface Request {
  lines: string[];
  done(lines: string[]): void;
  fail(error: Error): void;
}

/**
 * @param nft path of the program
 * @param died called when the process ended; the next request starts another one
 */
export function createSession(nft: string, died: () => void): Session {
  let warm: Child | null = null;
  const waiting: Request[] = [];

  function start(): Child {
    const child = startChild(
      [nft, '-j', '-i'],
      line => child === warm && receive(line),
      () => lost(child),
    );
    return child;
  }

  function receive(line: string): void {
    const reply = waiting[0];
    if (!line.startsWith(END.reply)) reply?.lines.push(line);
    else waiting.shift()?.done(reply!.lines);
  }

  function lost(child: Child): void {
    if (warm !== child) return;
    warm = null;
    const error = new WordedError(message('nft ended before it answered'));
    for (const { fail } of waiting.splice(0)) fail(error);
    died();
  }

  function ask(commands: string): Promise<string[]> {
    warm ??= start();
    const child = warm;
    return new Promise<string[]>((done, fail) => {
      const timer = setTimeout(() => {
        child.kill();
        lost(child); // the end of its output may never be reported either
      }, REPLY_MS);
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          settle(value);
        };
      waiting.push({ lines: [], done: settled(done), fail: settled(fail) });
      child.write(`${commands}\n${END.command}\n`);
    });
  }

  return {
    ask,
    end() {
      const child = warm;
      warm = null;
      child?.kill();
    },
  };
}
