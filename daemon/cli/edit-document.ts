// Has the user change a document in an editor, until it can be applied.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError, Unreachable } from '../api/client.ts';
import { makeDirectory } from '../system/files.ts';
import { assertOwn } from '../system/own-home.ts';
import type { Context } from './context.ts';
import { EXIT, Failure } from './errors.ts';
import { confirm } from './terminal/prompt.ts';

interface Editing {
  document: string;
  /** Name and extension of the file that the editor opens. */
  file: readonly [name: string, extension: string];
  /** Command that applies a file. */
  command: string;
  /** Applies the text, and returns the exit code; null if the text has mistakes, which it has printed. */
  apply(text: string): Promise<number | null>;
}

/** @throws Failure where the editor fails, or the user gives up */
export async function editDocument(context: Context, { document, file, command, apply }: Editing): Promise<number> {
  const { runtime } = context.paths;
  assertOwn(runtime);
  makeDirectory(runtime);
  const path = join(runtime, `${file[0]}-${process.pid}.${file[1]}`);
  let text = document;
  let isKept = false;
  try {
    for (;;) {
      text = await edited(context, path, text);
      if (text === document) {
        context.say('Nothing was changed.');
        return EXIT.ok;
      }
      const code = await apply(text);
      if (code !== null) return code;
      if (!(await confirm(context, 'Edit it again?'))) throw new Failure('Nothing was changed.');
    }
  } catch (error) {
    // keep a text that the daemon refused or did not receive
    isKept = text !== document && (error instanceof ApiError || error instanceof Unreachable);
    if (isKept) context.say(`Your text is kept for now. Set it with: ${command} ${path}`);
    throw error;
  } finally {
    if (!isKept) rmSync(path, { force: true });
  }
}

async function edited({ env }: Context, path: string, text: string): Promise<string> {
  writeFileSync(path, text, { mode: 0o600 });
  const editor = env.VISUAL || env.EDITOR;
  // as git and crontab do: the variable may have arguments
  const command = editor ? `${editor} "$1"` : 'sensible-editor "$1" 2>/dev/null || vi "$1"';
  const child = spawn('sh', ['-c', command, 'sh', path], { stdio: 'inherit' });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return readFileSync(path, 'utf8');
  throw new Failure(`The editor ended with ${signal ?? `exit status ${code}`}. Nothing was changed.`, {
    hint: 'Choose another one with the variable EDITOR.',
  });
}
