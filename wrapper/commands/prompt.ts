// Reads secrets from a terminal without echo or from a pipe, but never from arguments, and asks questions.
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { isatty } from 'node:tty';
import { reason } from '../../daemon/core/errors.ts';
import { ask, askHidden, isYes } from '../../daemon/core/prompt.ts';
import { EXIT, WrapError } from '../system/errors.ts';

/**
 * Reads one value per label, in the order of the labels.
 * @throws WrapError `no-secret` when a value is missing, `bad-credential` when a pipe has too many lines or text that is not
 *   UTF-8, `interrupted` on Ctrl-C or Ctrl-D
 */
export async function askSecrets(labels: readonly string[]): Promise<string[]> {
  if (labels.length === 0) return [];
  if (!isatty(0)) return fromPipe(labels);
  process.stdin.setRawMode(true); // until then, the terminal shows typed text
  try {
    dropTyped();
    const questions = labels.map(label => `${label}: `);
    const values = await askHidden(process, questions);
    if (!values) throw new WrapError('interrupted', EXIT.failure, 'interrupted; nothing was stored');
    return labels.map((label, index) => values[index] || missing(label));
  } finally {
    process.stdin.setRawMode(false);
  }
}

/** Asks a question at a terminal. Any answer but `y` or `yes` means no. */
export async function confirm(question: string): Promise<boolean> {
  return isYes(await ask(process, question));
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
