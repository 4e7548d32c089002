// Runs `culvert config`, which shows and changes keys, and `culvert settings`, which exports and applies settings files.
import { ApiError } from '../../../api/client.ts';
import type { Config, ConfigPatch, ConfigResponse } from '../../../api/schema.ts';
import type { SettingsDiff } from '../../../api/settings-file.ts';
import { printable } from '../../../core/printable.ts';
import { settingsLines } from '../../../view/pages/settings-file.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show, showDocument } from '../../context.ts';
import { consent, isAttended } from '../../dialog.ts';
import { readDocument, writeDocument } from '../../document.ts';
import { EXIT, Failure, usage } from '../../errors.ts';
import { askToKeep, keepingOf, limited } from '../../keep.ts';
import { CONFIG_KEYS } from '../../labels.ts';
import { columns } from '../../layout.ts';

type Value = string | number | boolean;

export const list: Run = async context => {
  const response = await context.client.call('GET /api/config');
  show(context, response, settings => {
    // values can be long, so they come last
    const rows = Object.keys(settings.sources).map(key => [
      key,
      settings.sources[key]!,
      (String(lookup(settings.config, key)) || '(empty)') +
        (settings.restartRequired.includes(key) ? ' (changed; restart needed)' : ''),
    ]);
    const { bold, dim } = context.style;
    const paint = [bold, dim, (t: string) => t];
    return columns(
      [['KEY', 'SOURCE', 'VALUE'], ...rows],
      (text, column, row) => (row ? paint[column]! : dim)(text),
      context.width,
    );
  });
  sayProblems(context, response);
  return EXIT.ok;
};

export const get: Run = async (context, [key]) => {
  const { config, sources } = await context.client.call('GET /api/config');
  known(key!);
  const value = lookup(config, key!)!;
  show(context, { ok: true, key, value, source: sources[key!] }, () => String(value));
  return EXIT.ok;
};

export const set: Run = async (context, [key, text], options) => {
  const { config } = await context.client.call('GET /api/config');
  known(key!);
  return change(context, key!, convert(key!, text!, lookup(config, key!)!), options.session === true);
};

export const unset: Run = async (context, [key], options) => {
  known(key!);
  return change(context, key!, null, options.session === true);
};

async function change(context: Context, key: string, value: Value | null, session: boolean): Promise<number> {
  const response = await post(context, key, value, session);
  if (context.json) show(context, response, () => '');
  const [now, source] = [String(lookup(response.config, key)), response.sources[key]!];
  const layer = session ? 'session' : 'user';
  const where = session ? 'until the daemon restarts' : `in ${context.paths.userConfig}`;
  context.say(
    value === null ? `${key} is no longer set ${where}; it is ${now} (${source}).` : `${key} = ${value}, ${where}.`,
  );
  if (value !== null && source !== layer) {
    context.say(`It stays ${now}: the ${source} layer overrides it. ${await overriddenBy(key, source)}`);
  }
  if (response.restartRequired.includes(key)) context.say('It takes effect after a restart: culvert restart');
  sayProblems(context, response);
  return EXIT.ok;
}

async function post(context: Context, key: string, value: Value | null, session: boolean): Promise<ConfigResponse> {
  const [group, name] = key.split('.') as [string, string];
  const body = { [group]: { [name]: value } } as ConfigPatch;
  try {
    return await context.client.call(session ? 'POST /api/config/session' : 'POST /api/config/user', { body });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, errors, detail } = error.problem;
    if (code === 'key-not-settable') throw byHand(context, key, value, error);
    if (code === 'invalid-body' && errors?.length) {
      const { expected } = await import('../../../config/types.ts');
      throw new Failure(`${key} can't be ${JSON.stringify(value)}.`, {
        code: 'usage',
        hint: `Expected ${expected(key)}.`,
        cause: error,
      });
    }
    if (code === 'config-broken') {
      throw new Failure(detail, { hint: `Correct ${context.paths.userConfig}, or use --session.`, cause: error });
    }
    throw error;
  }
}

/** Returns the failure for keys that control access to the daemon or its programs: only the file's owner may set them. */
function byHand({ paths }: Context, key: string, value: Value | null, cause: unknown): Failure {
  const [group, name] = key.split('.') as [string, string];
  const edit =
    value === null
      ? `remove "${name}" from "${group}" in ${paths.userConfig}`
      : `put ${JSON.stringify({ [group]: { [name]: value } })} into ${paths.userConfig}`;
  return new Failure(`${key} can't be changed through the running daemon.`, {
    hint: `Edit the file: ${edit}; then: culvert restart`,
    cause,
  });
}

/** Converts the text to the type of the key's current value. */
function convert(key: string, text: string, current: Value): Value {
  if (typeof current === 'boolean') {
    if (/^(true|on|yes|1)$/i.test(text)) return true;
    if (/^(false|off|no|0)$/i.test(text)) return false;
    throw usage(`${key} is true or false, not "${text}".`);
  }
  if (typeof current === 'number') {
    if (/^-?\d{1,15}$/.test(text)) return Number(text);
    throw usage(`${key} is a whole number, not "${text}".`);
  }
  return text;
}

function lookup(config: Config, key: string): Value | undefined {
  const [group, name] = key.split('.') as [string, string];
  return (config as unknown as Record<string, Record<string, Value>>)[group]?.[name];
}

function known(key: string): void {
  if (Object.hasOwn(CONFIG_KEYS, key)) return;
  const near = Object.keys(CONFIG_KEYS).filter(name => {
    const [a, b] = [name.toLowerCase(), key.toLowerCase()];
    return a === b || a.split('.')[1] === b.split('.').at(-1) || a.startsWith(b);
  });
  throw usage(
    `There is no key "${key}".`,
    near.length ? `Did you mean ${near.join(' or ')}?` : 'See: culvert config list',
  );
}

async function overriddenBy(key: string, source: string): Promise<string> {
  if (source === 'session') return `Undo that with: culvert config unset --session ${key}`;
  if (source !== 'environment') return '';
  const { variableOf } = await import('../../../config/keys.ts');
  return `It comes from ${variableOf(key)} or the daemon's command line.`;
}

function sayProblems(context: Context, { problems }: ConfigResponse): void {
  for (const { file, line, key, message } of problems) {
    context.say(printable(`${file}${line === null ? '' : `:${line}`}: ${key ? `${key}: ` : ''}${message}`));
  }
}

export const exportSettings: Run = async (context, [file], options) => {
  const exported = await context.client.call('GET /api/settings/export');
  const left = exported.stale?.map(({ part }) => (part === 'settings' ? 'settings of WARP' : 'split tunnel')) ?? [];
  if (left.length) context.say(`Left out, because WARP did not report them: ${left.join(', ')}.`);
  if (file === undefined || file === '-') {
    showDocument(context, exported, ({ toml }) => toml.trimEnd());
    return EXIT.ok;
  }
  writeDocument(file, exported.toml, { mode: 0o600, force: options.force === true });
  if (context.json) show(context, exported, () => '');
  context.say(`Wrote ${file}.`);
  return EXIT.ok;
};

/** Exits with 1 if the file differs or has mistakes, like diff(1). */
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
    // the daemon refuses a file with mistakes or from a demo
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
