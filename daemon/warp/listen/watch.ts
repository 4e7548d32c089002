// Keeps a listening child of the tunnel CLI running, which reports changes as they happen.
import { failureOf } from '../parse/output.ts';
import { type Ended, type Listener, type Pace, startListener } from './listener.ts';

/** Ways to listen to a CLI, best first. `poll` periodically reads the status of a CLI that can't listen. */
export type Form = 'json' | 'text' | 'poll';

interface Listening {
  file: string;
  /** The best form to try. */
  form: Form;
  acceptTerms: boolean;
}

export interface Watch {
  /** Listens to this CLI instead of the previous CLI. */
  listen(to: Listening): void;
  /** Ends the child. Resolves when it is gone, at most 400 ms later. */
  stop(): Promise<void>;
  /** Tries again now instead of at the end of the pause. */
  retry(): void;
  /**
   * Tries now, because the service answers again, but only once until a child has run for a while. Until then pauses grow,
   * so a CLI that answers but ends every listener is not restarted without a pause.
   * @returns true if a new child is about to report the status; a living child is silent while nothing changes
   */
  hasten(): boolean;
  /** Returns the form in use while its child lives; null during a pause; always `poll` for a CLI that can't listen. */
  form(): Form | null;
  /** Resolves when the present child has printed a message or ended; without a child, immediately. */
  spoken(): Promise<void>;
}

interface Options {
  env: NodeJS.ProcessEnv;
  /** Receives a JSON document or a block of text from the child, synchronously on arrival. */
  onMessage: (text: string) => void;
  /** Called if the child prints nothing in its first second: this release may report only changes. */
  onIdle: () => void;
  /** Called when the child ended, or was ended because it flooded. */
  onEnd: (ended: Ended) => void;
  /** Reads the status once; resolves with true if it changed. */
  poll: () => Promise<boolean>;
  /** In ms: the first pause between tries, the longest pause, and the lifetime of a child that resets the pause. */
  pauses?: { first: number; longest: number; goodLife: number };
  pace?: Pace;
}

/** If two children in a row end within this time with exit code 0, the CLI does not keep listening. */
const SHORT_LIFE_MS = 1000;
/** Factor of the pause after a flood, even if the child lived long. */
const FLOOD_PAUSE_FACTOR = 10;

/** Creates a watch, which does not listen yet. */
export function createWatch(options: Options): Watch {
  const { env, onMessage, onIdle, onEnd, poll } = options;
  const pauses = options.pauses ?? { first: 100, longest: 30_000, goodLife: 10_000 };
  let target: Listening | null = null;
  let listener: Listener | null = null;
  let timer: NodeJS.Timeout | undefined;
  let pause = pauses.first;
  let shortLives = 0;
  let hastened = false;

  function start() {
    clearTimeout(timer);
    if (!target) return;
    if (target.form === 'poll') return void pollOnce(target);
    const { form, file, acceptTerms } = target;
    const args = [...(acceptTerms ? ['--accept-tos'] : []), ...(form === 'json' ? ['-j'] : []), '-l', 'status'];
    listener = startListener(
      { file, args, env, pace: options.pace },
      {
        onMessage,
        onIdle,
        onEnd(ended) {
          listener = null;
          onEnd(ended);
          again(ended);
        },
      },
    );
  }

  function again({ stderr, exitCode, durationMs, flooded }: Ended) {
    if (!target) return;
    const refused = !flooded && failureOf({ stdout: '', stderr, exitCode })?.kind === 'unsupported';
    shortLives = durationMs < SHORT_LIFE_MS && exitCode === 0 ? shortLives + 1 : 0;
    if (refused || shortLives >= 2) {
      shortLives = 0;
      target = { ...target, form: target.form === 'json' ? 'text' : 'poll' };
      return start();
    }
    if (durationMs >= pauses.goodLife) hastened = false;
    if (flooded) pause = Math.max(pause, pauses.first * FLOOD_PAUSE_FACTOR);
    else if (durationMs >= pauses.goodLife) pause = pauses.first;
    timer = setTimeout(start, pause);
    pause = Math.min(pause * 2, pauses.longest);
  }

  async function pollOnce(own: Listening) {
    const changed = await poll();
    if (target !== own) return;
    pause = changed ? Math.max(pauses.first, 1000) : Math.min(pause * 2, pauses.longest);
    clearTimeout(timer);
    timer = setTimeout(start, pause);
  }

  async function stop() {
    clearTimeout(timer);
    target = null;
    const own = listener;
    listener = null;
    await own?.stop();
  }

  return {
    listen(to) {
      void stop();
      target = to;
      pause = pauses.first;
      shortLives = 0;
      start();
    },
    stop,
    retry() {
      if (!target || listener) return;
      pause = pauses.first;
      start();
    },
    hasten() {
      if (!target || listener || hastened) return false;
      hastened = true;
      start();
      return true;
    },
    form: () => (target?.form === 'poll' ? 'poll' : listener && target ? target.form : null),
    spoken: () => listener?.spoken ?? Promise.resolve(),
  };
}
