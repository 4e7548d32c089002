// Reads a secret from a prompt that shows nothing, or from a pipe: never from the command line, which others can see.
import { text as readAll } from 'node:stream/consumers';
import type { Context } from './context.ts';
import { Failure, usage } from './exit.ts';

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

function prompt({ stdin, stderr }: Context, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = '';
    const finish = (act: () => void) => {
      stdin.off('data', onData).pause();
      stdin.setRawMode(false);
      stderr.write('\n');
      act();
    };
    const onData = (data: Buffer) => {
      for (const key of data.toString('utf8')) {
        if (key === '\r' || key === '\n' || key === '\x04') return finish(() => resolve(typed));
        if (key === '\x03') return finish(() => reject(new Failure('Nothing was changed.', { code: 'interrupted' })));
        if (key === '\x7f' || key === '\b') typed = [...typed].slice(0, -1).join('');
        else if (key === '\x15') typed = '';
        else if (key >= ' ') typed += key;
      }
    };
    stdin.setRawMode(true); // before the prompt, so that nothing typed at its sight is echoed
    stdin.on('data', onData).resume();
    stderr.write(`${name} (not shown): `);
  });
}
