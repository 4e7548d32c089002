// Applies or undoes the fix of a file below a directory, in a test or in a program that the test kills.
import { readFileSync } from 'node:fs';
import { message } from '../../../daemon/doctor/check.ts';
import { fileFix } from '../../../daemon/doctor/file-fix.ts';
import { applyFix, type FixContext, undoLast } from '../../../daemon/doctor/fixes.ts';
import { createTools } from '../../../daemon/doctor/world/tools.ts';

export type Act = 'apply' | 'undo';

/** Writes `new` into `file` below a directory, or undoes that. */
export async function act(directory: string, what: Act): Promise<void> {
  const path = `${directory}/file`;
  const hands: FixContext = {
    tools: createTools({ env: process.env, signal: new AbortController().signal }),
    journal: `${directory}/state/undo.json`,
    async runAction() {},
  };
  if (what === 'undo') return void (await undoLast(hands));
  const fix = fileFix(message('Change'), path, { before: readFileSync(path, 'utf8'), content: 'new\n' }, false)!;
  await applyFix({ id: 'test', fix } as Parameters<typeof applyFix>[0], hands);
}
