// Keeps one listening child of the tunnel CLI, whose lines tell every change the moment it happens.
import type { ChildProcess } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { signalGroup, startChild } from './child.ts';
import { createSplitter } from './messages.ts';
import { failureOf, type Printed } from './parse.ts';

/** How a CLI can be listened to, best first. `poll` means that it can't: its status is then asked for. */
export type Form = 'json' | 'text' | 'poll';

export interface Listening {
  file: string;
  /** The best form to try. */
  form: Form;
  acceptTerms: boolean;
}

/** The end of a listening child. */
export interface Ended extends Printed {
  args: string[];
  /** ISO 8601. */
  at: string;
  durationMs: number;
}

export interface Watch {
  /** Listens to this CLI from now on, in place of any other. */
  listen(to: Listening): void;
  /** Ends the child. Resolves when it is gone, at most 400 ms later. */
  stop(): Promise<void>;
  /** Tries again now instead of at the end of the pause. */
  retry(): void;
  /** The form in use while its child lives; null during a pause, and always `poll` where nothing listens. */
  form(): Form | null;
  /** Resolves when the present child has said something or ended, or when there is none. */
  spoken(): Promise<void>;
}

interface Options {
  env: NodeJS.ProcessEnv;
  /** A message of the child: a JSON document or a block of text. Called synchronously as it arrives. */
  onMessage: (text: string) => void;
  /** The child lives and has said nothing for a second: this release may speak of changes only. */
  onSilence: () => void;
  /** The child ended by itself. */
  onEnd: (ended: Ended) => void;
  /** Asks for the status once; resolves to whether it changed. */
  poll: () => Promise<boolean>;
  /** Pauses between two tries, in ms: the first, the longest, and the life after which the first applies again. */
  pauses?: { first: number; longest: number; goodLife: number };
}

/** Two ends in a row this soon, without a complaint, mean that the CLI does not stay to listen. */
const SHORT_LIFE_MS = 1000;
const SILENCE_MS = 1000;
const KEPT = 4096;
const TERM_MS = 200;

/** A watch that listens to nothing yet. */
export function createWatch(options: Options): Watch {
  const { env, onMessage, onSilence, onEnd, poll } = options;
  const pauses = options.pauses ?? { first: 100, longest: 30_000, goodLife: 10_000 };
  let target: Listening | null = null;
  let child: ChildProcess | null = null;
  let timer: NodeJS.Timeout | undefined;
  let pause = pauses.first;
  let shortLives = 0;
  let speech = resolvable();

  const listen = () => {
    clearTimeout(timer);
    if (!target) return;
    if (target.form === 'poll') {
      void pollOnce(target);
      return;
    }
    const { form, file, acceptTerms } = target;
    const args = [...(acceptTerms ? ['--accept-tos'] : []), ...(form === 'json' ? ['-j'] : []), '-l', 'status'];
    const own = startChild(file, args, env);
    child = own;
    speech = resolvable();
    const { resolve } = speech;
    const started = performance.now();
    const at = new Date().toISOString();
    const splitter = createSplitter();
    const decoder = new StringDecoder('utf8');
    const tell = (messages: string[]) => {
      if (child !== own) return;
      for (const message of messages) onMessage(message);
      if (messages.length === 0) return;
      clearTimeout(silence);
      resolve();
    };
    const silence = setTimeout(() => {
      if (child === own) onSilence();
    }, SILENCE_MS).unref();
    let stdout = '';
    let stderr = '';
    own.stdout?.on('data', (chunk: Buffer) => {
      const text = decoder.write(chunk);
      tell(splitter.push(text));
      stdout = (stdout + text).slice(-KEPT);
    });
    own.stderr?.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk).slice(-KEPT);
    });

    let over = false;
    const end = (cause?: Error) => {
      if (over) return;
      over = true;
      clearTimeout(silence);
      tell(splitter.end());
      resolve();
      own.stdout?.destroy();
      own.stderr?.destroy();
      if (child !== own) return;
      child = null;
      const durationMs = Math.round(performance.now() - started);
      onEnd({ args, at, durationMs, stdout, stderr: cause ? cause.message : stderr, exitCode: own.exitCode });
      if (target) again({ stdout: '', stderr, exitCode: own.exitCode }, durationMs);
    };
    own.once('error', end);
    own.once('close', () => end());
    // A grandchild may hold stdout open; the child itself has no more to say.
    own.once('exit', () => setTimeout(end, TERM_MS).unref());
  };

  const again = (printed: Printed, lived: number) => {
    if (!target) return;
    const refused = failureOf(printed)?.kind === 'unsupported';
    shortLives = lived < SHORT_LIFE_MS && printed.exitCode === 0 ? shortLives + 1 : 0;
    if (refused || shortLives >= 2) {
      shortLives = 0;
      target = { ...target, form: target.form === 'json' ? 'text' : 'poll' };
      listen();
      return;
    }
    if (lived >= pauses.goodLife) pause = pauses.first;
    timer = setTimeout(listen, pause);
    pause = Math.min(pause * 2, pauses.longest);
  };

  const pollOnce = async (own: Listening) => {
    const changed = await poll();
    if (target !== own) return;
    pause = changed ? Math.max(pauses.first, 1000) : Math.min(pause * 2, pauses.longest);
    clearTimeout(timer);
    timer = setTimeout(listen, pause);
  };

  const stop = async () => {
    clearTimeout(timer);
    target = null;
    const own = child;
    child = null;
    speech.resolve();
    if (own) await endGroup(own);
  };

  return {
    listen(to) {
      void stop();
      target = to;
      pause = pauses.first;
      shortLives = 0;
      listen();
    },
    stop,
    retry() {
      if (!target || child) return;
      pause = pauses.first;
      listen();
    },
    form: () => (target?.form === 'poll' ? 'poll' : child && target ? target.form : null),
    spoken: () => (child ? speech.promise : Promise.resolve()),
  };
}

/** Asks the group to end, then kills it. */
function endGroup(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return resolve();
    const kill = setTimeout(() => signalGroup(child, 'SIGKILL'), TERM_MS);
    const giveUp = setTimeout(resolve, TERM_MS * 2);
    child.once('exit', () => {
      clearTimeout(kill);
      clearTimeout(giveUp);
      // Whatever the child left in its group goes with it.
      signalGroup(child, 'SIGKILL');
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
