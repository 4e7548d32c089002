// Talks to the person who runs a command: asks and shows progress on the terminal, and notifies the desktop if a menu entry
// started the command. Secrets never come from the command line, which other users can read.
import { text as readAll } from 'node:stream/consumers';
import { printable } from '../core/printable.ts';
import { ask, askHidden, isYes } from '../core/prompt.ts';
import { createStyle, wantsColor } from '../core/terminal.ts';
import { APP_ID } from '../system/installation.ts';
import type { Context, Options } from './context.ts';
import { Failure, usage } from './errors.ts';

/**
 * Reads a secret of one line, without the line break.
 * @throws Failure for an empty secret, several lines, or Ctrl+C.
 */
export async function readSecret(context: Context, name: string): Promise<string> {
  const text = context.stdin.isTTY ? await typed(context, name) : (await readAll(context.stdin)).replace(/\r?\n$/, '');
  if (text.trim() === '')
    throw usage(`No ${name} was given.`, `Pipe it in, or run the command on a terminal and type it.`);
  if (/[\r\n]/.test(text)) throw usage(`The ${name} has more than one line.`);
  return text.trim();
}

/** Returns true if stdin and stderr are a terminal, and `--json` is not set. */
export function isAttended({ stdin, stderr, json }: Context): boolean {
  return Boolean(stdin.isTTY && stderr.isTTY && !json);
}

/**
 * Asks before a change that can't be undone, or that does more than its command says.
 * @param consequence the changes, in whole sentences
 * @throws Failure if the user refuses, or without a terminal unless `--yes` was given
 */
export async function consent(
  context: Context,
  { yes }: Options,
  { consequence, question }: { consequence: string; question: string },
): Promise<void> {
  if (yes === true) return;
  if (!isAttended(context)) throw usage(consequence, 'Without a terminal, confirm with --yes.');
  context.say(consequence);
  if (!(await confirm(context, question))) throw new Failure('Nothing was changed.');
}

/** Asks a question on a terminal; without one, the answer is no. */
export async function confirm(context: Context, question: string): Promise<boolean> {
  if (!context.stdin.isTTY) return false;
  return isYes(await ask(context, `${question} [y/N] `));
}

/** Asks a question on a terminal that has a third way. Ctrl+C and Ctrl+D choose it. */
export async function yesNoCancel(context: Context, question: string): Promise<'yes' | 'no' | 'cancel'> {
  const answer = await ask(context, `${question} [y/n/C] `);
  return isYes(answer) ? 'yes' : /^no?$/i.test(answer) ? 'no' : 'cancel';
}

/** @throws Failure for Ctrl+C, and for Ctrl+D on an empty line */
async function typed(context: Context, name: string): Promise<string> {
  const values = await askHidden(context, [`${name} (not shown): `]);
  if (!values) throw new Failure('Nothing was changed.', { code: 'interrupted' });
  return values[0]!;
}

export interface Progress {
  /** Shows the phase that has begun, once per phase. */
  step(text: string): void;
  /** Clears the progress line. */
  end(): void;
}

const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const CLEAR = '\r\x1b[2K';

export function createProgress({ stderr, env, json, say }: Context): Progress {
  let phase = '';
  if (!stderr.isTTY || json || env.TERM === 'dumb') {
    return {
      step(text) {
        if (text !== phase) say(text);
        phase = text;
      },
      end() {},
    };
  }
  const style = createStyle(wantsColor(stderr, env));
  let frame = 0;
  const draw = () => {
    if (!phase) return;
    const room = Math.max(10, (stderr.columns || 80) - 3);
    stderr.write(`${CLEAR}${style.cyan(FRAMES[frame++ % FRAMES.length]!)} ${phase.slice(0, room)}`);
  };
  const timer = setInterval(draw, 100);
  return {
    step(text) {
      phase = text;
      draw();
    },
    end() {
      clearInterval(timer);
      if (phase) stderr.write(CLEAR);
    },
  };
}

const NOTIFY_MS = 3000;

/** Shows a notification on a desktop if no stream is a terminal. Never rejects. */
export async function announce(context: Context, title: string, text: string) {
  const { env } = context;
  if (!isDesktopOnly(context)) return;
  // the body is markup
  const [summary, body] = [printable(title), printable(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;')];
  const sent = await succeeds(
    'notify-send',
    ['--app-name=Culvert', '--icon=org.culvert.Culvert', '--', summary, body],
    env,
  );
  if (sent) return;
  // The Desktop Notifications Specification, section 9: app, id to replace, icon, summary, body, actions, hints, time
  const bus = ['call', '--session', '--dest', 'org.freedesktop.Notifications'];
  const call = ['--object-path', '/org/freedesktop/Notifications', '--method', 'org.freedesktop.Notifications.Notify'];
  const words = ['Culvert', '0', 'org.culvert.Culvert', summary, body, '[]', '{}', '-1'];
  await succeeds(
    'gdbus',
    [...bus, ...call, '--', ...words.map((word, at) => (at > 2 && at < 5 ? gvariant(word) : word))],
    env,
  );
}

/** Opens a page of the window if no stream is a terminal. Never rejects. */
export async function openPage(context: Context, page: string) {
  if (isDesktopOnly(context)) await succeeds('gapplication', ['action', APP_ID, page], context.env);
}

function isDesktopOnly({ stdin, stdout, stderr, env, json }: Context): boolean {
  if (json || stdin.isTTY || stdout.isTTY || stderr.isTTY) return false;
  return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

async function succeeds(file: string, args: string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  const { runHelper } = await import('../core/run-helper.ts');
  return (await runHelper([file, ...args], { env, timeoutMs: NOTIFY_MS })).exit === 0;
}

/** Quotes a string in GVariant's text format. */
const gvariant = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
