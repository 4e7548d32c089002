// Applies the fix of a file below a directory, or takes it back: act.ts DIRECTORY apply|undo. For tests that kill it.
import { readFileSync } from 'node:fs';
import { message } from '../../../daemon/doctor/check.ts';
import { fileFix } from '../../../daemon/doctor/file-fix.ts';
import { applyFix, type Hands, undoLast } from '../../../daemon/doctor/fixes.ts';
import { createTools } from '../../../daemon/doctor/world/tools.ts';

const [directory = '', act = ''] = process.argv.slice(2);
const path = `${directory}/file`;
const hands: Hands = {
  tools: createTools({ env: process.env, signal: new AbortController().signal }),
  journal: `${directory}/state/undo.json`,
  async perform() {},
};
if (act === 'undo') await undoLast(hands);
else {
  const fix = fileFix(message('Change'), path, { before: readFileSync(path, 'utf8'), content: 'new\n' }, false);
  await applyFix({ id: 'test', fix } as Parameters<typeof applyFix>[0], hands);
}
