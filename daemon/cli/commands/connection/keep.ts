// `culvert keep`, `revert` and `extend`: changes that would revert automatically.

import { SUBJECTS } from '../../../api/actions.ts';
import type { Change, Subject } from '../../../api/changes.ts';
import { printable } from '../../../system/printable.ts';
import { changeText } from '../../../view/states/changes.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show } from '../../context.ts';
import { seconds } from '../../duration.ts';
import { EXIT, usage } from '../../errors.ts';

export const keep: Run = async (context, [subject]) => {
  const left = await context.client.call('POST /api/changes/confirm', { body: named(subject) });
  return conclude(context, left, 'The change is kept.');
};

export const revert: Run = async (context, [subject]) => {
  const left = await context.client.call('POST /api/changes/revert', { body: named(subject) });
  return conclude(context, left, 'The previous value is restored.');
};

export const extend: Run = async (context, [duration = '', subject]) => {
  const body = { ...named(subject), seconds: seconds(duration, 'extend') };
  const left = await context.client.call('POST /api/changes/extend', { body });
  return conclude(context, left, '');
};

function conclude(context: Context, left: { changes: Change[] }, done: string): number {
  if (context.json) show(context, left, () => '');
  const lines = [done, ...left.changes.map(change => printable(changeText(change, english)))];
  context.say(lines.filter(Boolean).join('\n'));
  return EXIT.ok;
}

function named(word: string | undefined): { subject?: Subject } {
  if (word === undefined) return {};
  const subject = SUBJECTS.find(name => name.toLowerCase() === word.toLowerCase());
  if (!subject) throw usage(`There is no change of "${word}".`, `Choose one of: ${SUBJECTS.join(', ')}`);
  return { subject };
}
