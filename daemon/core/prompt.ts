// Asks questions on a terminal, and asks for secrets without an echo.

export interface Terminal {
  stdin: NodeJS.ReadStream;
  stderr: NodeJS.WriteStream;
}

/** A key as readline's parser describes it (see `readline.emitKeypressEvents`). */
interface Key {
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
}

/** Returns the line that the user types, trimmed; empty after Ctrl+C and Ctrl+D. */
export async function ask({ stdin, stderr }: Terminal, question: string): Promise<string> {
  const { createInterface } = await import('node:readline');
  if (stdin.isRaw) stdin.setRawMode(false); // a command that asks for a secret may have hidden what is typed
  const lines = createInterface({ input: stdin, output: stderr });
  const answer = await new Promise<string>(resolve => {
    lines.question(question, resolve);
    lines.once('close', () => resolve(''));
  });
  lines.close();
  return answer.trim();
}

/** Returns true for `y` and `yes`. */
export const isYes = (answer: string) => /^y(?:es)?$/i.test(answer);

/**
 * Asks for lines without an echo, and for no further line after an empty one.
 * @returns null after Ctrl+C, and after Ctrl+D at an empty prompt
 */
export async function askHidden(terminal: Terminal, questions: readonly string[]): Promise<string[] | null> {
  const { stdin } = terminal;
  stdin.setRawMode(true);
  try {
    const { emitKeypressEvents } = await import('node:readline');
    emitKeypressEvents(stdin);
    const values: string[] = [];
    for (const question of questions) {
      const value = await readHidden(terminal, question);
      if (value === null) return null;
      values.push(value);
      if (value === '') break;
    }
    return values;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
  }
}

/** Reads a line in raw mode. Escape sequences, such as those of arrow keys, are ignored. */
function readHidden({ stdin, stderr }: Terminal, question: string): Promise<string | null> {
  return new Promise(resolve => {
    let value = '';
    const finish = (result: string | null) => {
      stdin.off('keypress', onKey).off('end', stop);
      process.off('SIGCONT', resume);
      stderr.write('\n');
      resolve(result);
    };
    const stop = () => finish(null);
    const onKey = (text: string | undefined, key: Key) => {
      if (key.name === 'return' || key.name === 'enter') return finish(value);
      if (key.ctrl) {
        if (key.name === 'c' || (key.name === 'd' && value === '')) return stop();
        if (key.name === 'u') value = '';
        if (key.name === 'w') value = value.slice(0, value.trimEnd().lastIndexOf(' ') + 1);
        if (key.name === 'h') value = withoutLast(value);
        if (key.name === 'z') suspend();
      } else if (key.name === 'backspace') value = withoutLast(value);
      else if (!key.meta && text && !/[\x00-\x1f\x7f]/.test(text)) value += text;
    };
    const suspend = () => {
      stdin.setRawMode(false);
      process.once('SIGCONT', resume);
      process.kill(process.pid, 'SIGTSTP');
    };
    const resume = () => {
      stdin.setRawMode(true);
      stderr.write(question);
    };
    stdin.on('keypress', onKey).on('end', stop).resume();
    stderr.write(question);
  });
}

function withoutLast(text: string): string {
  return [...text].slice(0, -1).join('');
}
