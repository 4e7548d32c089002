// One listening child of the tunnel CLI (`-l status`): its messages, its silence, and its end.
import type { ChildProcess } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { afterExit, signalGroup, startChild } from '../cli/child.ts';
import type { Printed } from '../parse/output.ts';
import { createSplitter } from './messages.ts';
import { type Pace, paceMessages } from './pace.ts';

/** The end of a listening child. */
export interface Ended extends Printed {
  args: string[];
  /** ISO 8601. */
  at: string;
  durationMs: number;
  /** It was ended because it printed more than can be processed. */
  flooded: boolean;
}

export interface Listener {
  /** Resolves when the child has printed a message, or ended. */
  spoken: Promise<void>;
  /** Ends the child without calling any handler. Resolves when it is gone, at most 400 ms later. */
  stop(): Promise<void>;
}

interface Handlers {
  /** A JSON document or a block of text; called synchronously as it arrives. */
  onMessage(text: string): void;
  /** The child has printed nothing for a second. */
  onIdle(): void;
  /** The child ended, or was ended because it flooded. */
  onEnd(ended: Ended): void;
}

const IDLE_MS = 1000;
const TERM_MS = 200;
/** Kept of each stream, for the log. */
const KEPT_CHARACTERS = 4096;

/** Starts `file ARGS` as a listener. */
export function startListener(
  command: { file: string; args: string[]; env: NodeJS.ProcessEnv; pace?: Pace | undefined },
  handlers: Handlers,
): Listener {
  const { file, args, env, pace } = command;
  const child = startChild(file, args, env);
  const started = performance.now();
  const at = new Date().toISOString();
  const splitter = createSplitter();
  const decoder = new StringDecoder('utf8');
  const { promise: spoken, resolve: speak } = resolvable();
  const idle = setTimeout(handlers.onIdle, IDLE_MS).unref();
  let [stdout, stderr] = ['', ''];
  let over = false;

  const onMessages = (messages: string[]) => {
    for (const message of messages) if (!over) handlers.onMessage(message);
    clearTimeout(idle);
    speak();
  };
  const split = (chunk: Buffer) => {
    const text = decoder.write(chunk);
    stdout = (stdout + text).slice(-KEPT_CHARACTERS);
    return splitter.push(text);
  };
  const onFlood = () => {
    void endGroup(child);
    end({ flooded: true, stderr: 'It printed more than can be processed, and was ended.' });
  };
  const endPacing = child.stdout && paceMessages(child.stdout, split, { onMessages, onFlood }, pace);
  const keep = (chunk: Buffer) => {
    stderr = (stderr + chunk).slice(-KEPT_CHARACTERS);
    return [];
  };
  const endDraining = child.stderr && paceMessages(child.stderr, keep, { onMessages: () => {}, onFlood }, pace);

  function close() {
    over = true;
    clearTimeout(idle);
    speak();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }

  function end({ flooded, stderr: cause }: { flooded: boolean; stderr?: string }) {
    if (over) return;
    endPacing?.();
    endDraining?.();
    const rest = flooded ? [] : splitter.end();
    if (rest.length > 0) onMessages(rest);
    close();
    const durationMs = Math.round(performance.now() - started);
    handlers.onEnd({ args, at, durationMs, stdout, stderr: cause ?? stderr, exitCode: child.exitCode, flooded });
  }

  child.once('error', error => end({ flooded: false, stderr: error.message }));
  child.once('close', () => end({ flooded: false }));
  child.once('exit', () => afterExit(TERM_MS, () => end({ flooded: false })).unref());

  return {
    spoken,
    stop() {
      close();
      return endGroup(child);
    },
  };
}

/** Asks the child's process group to end, then kills it. */
function endGroup(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return resolve();
    const kill = setTimeout(() => signalGroup(child, 'SIGKILL'), TERM_MS);
    const giveUp = setTimeout(resolve, TERM_MS * 2);
    child.once('exit', () => {
      clearTimeout(kill);
      clearTimeout(giveUp);
      signalGroup(child, 'SIGKILL'); // processes that the child left in its group
      resolve();
    });
    signalGroup(child, 'SIGTERM');
  });
}

function resolvable(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>(done => {
    resolve = done;
  });
  return { promise, resolve };
}
