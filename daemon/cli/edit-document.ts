// Has the user's editor change a text.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Context } from './context.ts';
import { Failure } from './errors.ts';

/** @param file takes the text meanwhile @throws Failure where the editor fails */
export async function edited({ env }: Pick<Context, 'env'>, file: string, text: string): Promise<string> {
  writeFileSync(file, text, { mode: 0o600 });
  const editor = env.VISUAL || env.EDITOR;
  // as git and crontab do: the variable may have arguments
  const command = editor ? `${editor} "$1"` : 'sensible-editor "$1" 2>/dev/null || vi "$1"';
  const child = spawn('sh', ['-c', command, 'sh', file], { stdio: 'inherit' });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return readFileSync(file, 'utf8');
  throw new Failure(`The editor ended with ${signal ?? `exit status ${code}`}. Nothing was changed.`, {
    hint: 'Choose another one with the variable EDITOR.',
  });
}
