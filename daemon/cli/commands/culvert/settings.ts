// `culvert settings`: tunnel settings, routes and Culvert's own configuration as one file.
import type { SettingsDiff } from '../../../api/settings-file.ts';
import { printable } from '../../../system/printable.ts';
import { settingsLines } from '../../../view/pages/settings-file.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show, showDocument } from '../../context.ts';
import { EXIT } from '../../errors.ts';
import { askToKeep, keepingOf, limited } from '../../keep.ts';
import { readDocument } from '../../read-document.ts';
import { consent, isAttended } from '../../terminal/prompt.ts';
import { writeDocument } from '../../write-document.ts';

export const exportSettings: Run = async (context, [file], options) => {
  const exported = await context.client.call('GET /api/settings/export');
  if (file === undefined || file === '-') {
    showDocument(context, exported, ({ toml }) => toml.trimEnd());
    return EXIT.ok;
  }
  writeDocument(file, exported.toml, { mode: 0o600, force: options.force === true });
  if (context.json) show(context, exported, () => '');
  context.say(`Wrote ${file}.`);
  return EXIT.ok;
};

/** Exit status 1 where the file differs or has mistakes, as diff(1) has it. */
export const diffSettings: Run = async (context, [file]) => {
  const difference = await context.client.call('POST /api/settings/diff', {
    body: { toml: await readDocument(context, file) },
  });
  const same = difference.changes.length + difference.invalid.length === 0;
  show(context, { ...difference, ok: same }, () => describe(context, difference) || 'Nothing differs.');
  return same ? EXIT.ok : EXIT.failure;
};

export const applySettings: Run = async (context, [file], options) => {
  const keeping = keepingOf(context, options);
  const toml = await readDocument(context, file);
  let allowDemo = options.demoFile === true;
  const isAsking = isAttended(context) && file !== undefined && file !== '-';
  if (options.yes !== true && (isAsking || (!isAttended(context) && !keeping.isWanted))) {
    const difference = await context.client.call('POST /api/settings/diff', { body: { toml } });
    // the daemon refuses a file with mistakes, and one of a demo
    const isRefused = difference.invalid.length > 0 || (difference.fromDemo && !allowDemo && !isAsking);
    if (difference.changes.length && !isRefused) {
      const text = [describe(context, difference), ...(difference.fromDemo && !allowDemo ? [FROM_DEMO] : [])].join(
        '\n',
      );
      const keys = [...new Set(difference.changes.map(({ key }) => key))].join(', ');
      const consequence = isAsking ? text : `This sets ${keys}. To see more: culvert settings diff.`;
      await consent(context, options, { consequence, question: 'Set this?' });
      allowDemo ||= isAsking;
    }
  }
  const done = await context.client.call('POST /api/settings/apply', {
    body: { toml, ...limited(keeping), ...(allowDemo ? { allowDemo } : {}) },
  });
  return conclude(context, done, keeping);
};

const FROM_DEMO = 'This file was exported from a demo, and does not describe a machine.';

export const undoSettings: Run = async (context, _, options) => {
  const keeping = keepingOf(context, options);
  const done = await context.client.call('POST /api/settings/undo', { body: limited(keeping) });
  return conclude(context, done, keeping);
};

async function conclude(context: Context, done: SettingsDiff, keeping: ReturnType<typeof keepingOf>): Promise<number> {
  if (context.json) show(context, done, () => '');
  for (const { key, reason } of done.skipped) context.say(printable(`Left out: ${key} ${reason}.`));
  context.say(
    done.changes.length ? `Set ${[...new Set(done.changes.map(({ key }) => key))].join(', ')}.` : 'Nothing differs.',
  );
  return askToKeep(context, undefined, keeping);
}

function describe({ style }: Context, difference: SettingsDiff): string {
  const styles = { invalid: style.red, change: (text: string) => text, skipped: style.dim };
  return settingsLines(difference, english)
    .map(({ kind, mark, text }) => styles[kind](`${mark} ${printable(text)}`))
    .join('\n');
}
