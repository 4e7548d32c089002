// Reads secrets: from a terminal without echo, or one line each from a pipe. Never from an argument.
import { readFileSync } from 'node:fs';
import { EXIT, reason, WrapError } from '../errors.ts';

/**
 * One value per label, in that order.
 * @throws WrapError `no-secret` when one is missing, `bad-credential` when a pipe holds more lines than asked for,
 *   `interrupted` on Ctrl-C
 */
export async function askSecrets(labels: readonly string[]): Promise<string[]> {
  if (labels.length === 0) return [];
  if (!process.stdin.isTTY) return fromPipe(labels);
  const values: string[] = [];
  for (const label of labels) values.push(await fromTerminal(label));
  return values;
}

function fromPipe(labels: readonly string[]): string[] {
  let text: string;
  try {
    text = readFileSync(0, 'utf8');
  } catch (error) {
    throw new WrapError('no-secret', EXIT.noInput, `stdin can't be read: ${reason(error)}`, { cause: error });
  }
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/);
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

function fromTerminal(label: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { stdin, stderr } = process;
    stderr.write(`${label}: `);
    stdin.setRawMode(true);
    stdin.setEncoding('utf8');
    let value = '';
    const finish = (act: () => void) => {
      stdin.setRawMode(false);
      stdin.pause();
      stdin.off('data', read);
      stderr.write('\n');
      act();
    };
    const read = (chunk: string) => {
      for (const char of chunk) {
        if (char === '\r' || char === '\n') return finish(() => resolve(value));
        if (char === '\x03' || char === '\x04') {
          return finish(() => reject(new WrapError('interrupted', EXIT.failure, 'nothing was stored')));
        }
        if (char === '\x7f' || char === '\b') value = value.slice(0, -1);
        else if (char === '\x15') value = '';
        else value += char;
      }
    };
    stdin.on('data', read);
    stdin.resume();
  });
}
