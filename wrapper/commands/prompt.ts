// Reads secrets from a terminal without echo or from a pipe, but never from arguments, and asks questions.
import { closeSync, constants, openSync, readSync } from 'node:fs';
import * as readline from 'node:readline';
import { isatty } from 'node:tty';
import { reason } from '../../daemon/core/errors.ts';
import { EXIT, WrapError } from '../system/errors.ts';

/** A key as readline's parser describes it (see `readline.emitKeypressEvents`). */
interface Key {
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
}

/**
 * Turns echo off when stdin is a terminal. Until then, the terminal shows typed text, so call it before any slow work.
 * @returns a function that turns echo on again
 */
function hideTyping(): () => void {
  if (!isatty(0)) return () => {};
  process.stdin.setRawMode(true);
  return () => process.stdin.setRawMode(false);
}

/**
 * Reads one value per label, in the order of the labels.
 * @throws WrapError `no-secret` when a value is missing, `bad-credential` when a pipe has too many lines or text that is not
 *   UTF-8, `interrupted` on Ctrl-C or Ctrl-D
 */
export async function askSecrets(labels: readonly string[]): Promise<string[]> {
  if (labels.length === 0) return [];
  if (!isatty(0)) return fromPipe(labels);
  const show = hideTyping();
  try {
    dropTyped();
    const values: string[] = [];
    for (const label of labels) values.push((await askHidden(label)) || missing(label));
    return values;
  } finally {
    show();
    process.stdin.pause();
  }
}

/** Asks a question at a terminal. Any answer but `y` or `yes` means no. */
export async function confirm(question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test(await ask(question));
}

/** Asks a question at a terminal with echo, and returns the trimmed answer. */
export async function ask(question: string): Promise<string> {
  if (process.stdin.isRaw) process.stdin.setRawMode(false);
  const dialog = readline.createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>(resolve => {
    dialog.question(question, resolve);
    dialog.on('close', () => resolve(''));
  });
  dialog.close();
  return answer.trim();
}

/** Reads values from stdin as a stream, because another process may have made it non-blocking, and the writer may be slow. */
async function fromPipe(labels: readonly string[]): Promise<string[]> {
  const chunks: Buffer[] = [];
  let text: string;
  try {
    for await (const chunk of process.stdin) chunks.push(chunk);
    text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (error instanceof TypeError) {
      throw new WrapError('bad-credential', EXIT.data, 'the credential is not UTF-8 text', {
        hint: 'copy the key again',
      });
    }
    throw new WrapError('no-secret', EXIT.noInput, `stdin can't be read: ${reason(error)}`, { cause: error });
  }
  const whole = text.replace(/\r?\n$/, '');
  // several lines for one variable may be a list of keys
  if (labels.length === 1) return [whole || missing(labels[0]!)];
  const lines = whole.split(/\r?\n/);
  if (lines.length > labels.length) {
    throw new WrapError('bad-credential', EXIT.data, 'the credential contains a line break', {
      hint: 'copy the key again, on one line',
    });
  }
  return labels.map((label, index) => lines[index] || missing(label));
}

function missing(label: string): never {
  throw new WrapError('no-secret', EXIT.noInput, `no value for ${label} was given`, {
    hint: 'type it at the prompt, or pipe it in on a line of its own',
  });
}

/** Discards text that was typed before the prompt, because the terminal showed it. */
function dropTyped(): void {
  const buffer = Buffer.alloc(4096);
  let terminal: number | undefined;
  try {
    terminal = openSync('/proc/self/fd/0', constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    while (readSync(terminal, buffer) > 0);
  } catch {
    // EAGAIN: no more text
  } finally {
    if (terminal !== undefined) closeSync(terminal);
    buffer.fill(0);
  }
}

/** Asks for one value without echo. Escape sequences, such as those of arrow keys, are ignored. */
function askHidden(label: string): Promise<string> {
  const { stdin, stderr } = process;
  return new Promise((resolve, reject) => {
    let value = '';
    const prompt = () => stderr.write(`${label}: `);
    const finish = (act: () => void) => {
      stdin.off('keypress', onKey);
      process.off('SIGCONT', resume);
      stderr.write('\n');
      act();
    };
    const resume = () => {
      stdin.setRawMode(true);
      prompt();
    };
    const interrupted = () =>
      finish(() => reject(new WrapError('interrupted', EXIT.failure, 'interrupted; nothing was stored')));
    const onKey = (text: string | undefined, key: Key) => {
      if (key.name === 'return' || key.name === 'enter') return finish(() => resolve(value));
      if (key.ctrl) {
        if (key.name === 'c' || (key.name === 'd' && value === '')) return interrupted();
        if (key.name === 'u' || key.name === 'w') value = '';
        if (key.name === 'h') value = dropLast(value);
        if (key.name === 'z') suspend();
        return;
      }
      if (key.name === 'backspace') value = dropLast(value);
      else if (!key.meta && text && !/[\x00-\x1f\x7f]/.test(text)) value += text;
    };
    const suspend = () => {
      stdin.setRawMode(false);
      process.once('SIGCONT', resume);
      process.kill(process.pid, 'SIGTSTP');
    };
    readline.emitKeypressEvents(stdin);
    stdin.on('keypress', onKey);
    stdin.resume();
    prompt();
  });
}

function dropLast(text: string): string {
  return [...text].slice(0, -1).join('');
}
