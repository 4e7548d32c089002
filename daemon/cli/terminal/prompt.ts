// Asks at the terminal: for a yes, for consent to further consequences, and for secrets, which never come from the command line,
// since other users can read that.
import { text as readAll } from 'node:stream/consumers';
import type { Context, Options } from '../context.ts';
import { Failure, usage } from '../errors.ts';

/**
 * One line without its end.
 * @throws Failure for an empty one, one with more lines, or Ctrl+C.
 */
export async function readSecret(context: Context, name: string): Promise<string> {
  const text = context.stdin.isTTY ? await prompt(context, name) : (await readAll(context.stdin)).replace(/\r?\n$/, '');
  if (text.trim() === '')
    throw usage(`No ${name} was given.`, `Pipe it in, or run the command on a terminal and type it.`);
  if (/[\r\n]/.test(text)) throw usage(`The ${name} has more than one line.`);
  return text.trim();
}

/** Input and output are a terminal, and the output is not meant for a program. */
export function isAttended({ stdin, stderr, json }: Context): boolean {
  return Boolean(stdin.isTTY && stderr.isTTY && !json);
}

/**
 * Asks before a change that goes further than its command says, or can't be undone.
 * @param consequence says what changes, in whole sentences
 * @throws Failure after a no; without a terminal unless `--yes` was given
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

/** Asks on a terminal; elsewhere the answer is no. */
export async function confirm(context: Context, question: string): Promise<boolean> {
  if (!context.stdin.isTTY) return false;
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: context.stdin, output: context.stderr });
  const closed = new Promise<string>(resolve => lines.once('close', () => resolve(''))); // Ctrl+C, Ctrl+D
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `), closed]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

/**
 * Asks with Node's line editor and shows nothing of what is typed, so that arrow keys and the like edit instead of
 * ending up in the secret.
 * @throws Failure for Ctrl+C, and for Ctrl+D on an empty line.
 */
async function prompt({ stdin, stderr }: Context, name: string): Promise<string> {
  const [{ createInterface }, { Writable }] = await Promise.all([import('node:readline'), import('node:stream')]);
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: hidden, terminal: true, historySize: 0 });
  stderr.write(`${name} (not shown): `); // the terminal no longer echoes
  try {
    return await new Promise((resolve, reject) => {
      const stop = () => reject(new Failure('Nothing was changed.', { code: 'interrupted' }));
      lines.once('line', resolve);
      lines.once('SIGINT', stop);
      lines.once('close', stop);
    });
  } finally {
    lines.close();
    stderr.write('\n');
  }
}
