// `culvert connect`, `disconnect` and `toggle`: ask, and if wanted wait until the tunnel is where it was asked to be.
import { Unreachable } from '../api/client.ts';
import type { ConnectionState, Status } from '../api/schema.ts';
import { type Context, type Options, type Run, show } from './context.ts';
import { EXIT, Failure, hindered, usage } from './exit.ts';
import { createProgress } from './progress.ts';
import { fold, type Shown, statusLine } from './statusline.ts';
import { printable } from './terminal.ts';
import { STATES } from './vocabulary.ts';

type Direction = 'connect' | 'disconnect';

export const connect: Run = (context, _, options) => go(context, 'connect', options);
export const disconnect: Run = (context, _, options) => go(context, 'disconnect', options);

export const toggle: Run = async (context, _, options) => {
  const { status } = await context.client.call('GET /api/snapshot');
  if (status.state === 'unknown' && !status.blocked) {
    throw new Failure('The state of the tunnel is not known, so it cannot be turned round.', {
      hint: 'Say which: culvert connect, or culvert disconnect',
    });
  }
  return go(context, isUp(status.state) ? 'disconnect' : 'connect', options);
};

async function go(context: Context, action: Direction, options: Options): Promise<number> {
  const seconds = secondsOf(options.timeout);
  if (options.wait) return wait(context, action, seconds);
  const response = await context.client.call('POST /api/action', { body: { action } });
  if (context.json) show(context, response, () => '');
  context.say(action === 'connect' ? 'Connecting.' : 'Disconnecting.');
  return EXIT.ok;
}

/** Listens before it asks, so that no phase is missed, and ends at the goal, at a failure or when time is up. */
async function wait(context: Context, action: Direction, seconds: number): Promise<number> {
  const stream = await context.client.events();
  const progress = createProgress(context);
  const judge = createJudge(action);
  let shown: Shown | null = null;
  let limit: NodeJS.Timeout | undefined;
  let doubt: NodeJS.Timeout | undefined;
  try {
    const ending = await new Promise<Ending>((end, fail) => {
      let accepted = false;
      const consider = ({ status }: Shown) => {
        clearTimeout(doubt);
        const verdict = judge(status);
        if (!accepted) return;
        if (verdict === 'reached' || verdict === 'failed') end(verdict);
        else progress.step(phase(status));
        if (verdict === 'doubtful') doubt = setTimeout(end, DOUBT_MS, 'failed');
      };
      const ask = async () => {
        await context.client.call('POST /api/action', { body: { action } });
        accepted = true;
        if (shown) consider(shown);
      };
      const listen = async () => {
        for await (const event of stream.events) {
          const first = shown === null;
          shown = fold(shown, event);
          if (shown && (event.event === 'status' || event.event === 'snapshot')) consider(shown);
          if (first) ask().catch(fail);
        }
        end('cut');
      };
      limit = setTimeout(end, seconds * 1000, 'late');
      context.signal.addEventListener('abort', () => end('stopped'), { once: true });
      listen().catch(fail);
    });
    progress.end();
    return conclude(context, action, ending, shown, seconds);
  } finally {
    progress.end();
    clearTimeout(limit);
    clearTimeout(doubt);
    stream.close();
  }
}

/** `cut`: the daemon ended the stream. `stopped`: the user no longer waits. */
type Ending = 'reached' | 'failed' | 'late' | 'cut' | 'stopped';
/** `Unable` may be a phase between two attempts of the tunnel client: believed when it lasts this long. */
const DOUBT_MS = 5000;

function conclude(context: Context, action: Direction, ending: Ending, shown: Shown | null, seconds: number): number {
  if (ending === 'stopped') {
    context.say(`No longer waiting; the tunnel goes on ${action}ing.`);
    return EXIT.interrupted;
  }
  if (ending === 'cut' || !shown) throw new Unreachable('The daemon ended while the tunnel was being waited for.');
  if (ending === 'reached') {
    show(context, shown.status, () => statusLine(shown, context.style));
    return EXIT.ok;
  }
  const wanted = `The tunnel did not ${action}`;
  const { blocked } = shown.status;
  if (blocked) throw hindered(wanted, blocked);
  throw new Failure(
    `${wanted}${ending === 'late' ? ` within ${seconds} s` : ''}. Its state is: ${phase(shown.status)}.`,
    {
      hint: 'See what was tried with: culvert logs',
    },
  );
}

export type Verdict = 'reached' | 'failed' | 'doubtful' | 'pending';

/**
 * Judges each status that comes after the action was accepted. The goal's opposite counts as a failure only
 * once the tunnel was seen to move: right after the action, the old state may still be reported.
 */
export function createJudge(action: Direction): (status: Status) => Verdict {
  const goal: ConnectionState = action === 'connect' ? 'connected' : 'disconnected';
  const opposite: ConnectionState = action === 'connect' ? 'disconnected' : 'connected';
  const moving: ConnectionState = action === 'connect' ? 'connecting' : 'disconnecting';
  let moved = false;
  return status => {
    if (status.state === goal) return 'reached';
    if (status.blocked) return 'failed';
    if (status.state === moving) moved = true;
    if (status.state === 'unable') return 'doubtful';
    return moved && status.state === opposite ? 'failed' : 'pending';
  };
}

/** `Connecting: Establishing connection to 162.159.198.2:443`. */
function phase({ state, reason }: Status): string {
  return reason ? `${STATES[state]}: ${printable(reason.text)}` : STATES[state];
}

function isUp(state: ConnectionState): boolean {
  return state === 'connected' || state === 'connecting';
}

function secondsOf(text: string | boolean | undefined): number {
  if (typeof text !== 'string') return 60;
  if (!/^\d{1,5}$/.test(text) || Number(text) === 0)
    throw usage(`--timeout takes seconds, from 1 to 99999; not "${text}".`);
  return Number(text);
}
