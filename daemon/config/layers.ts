// Merges the five layers of the configuration key by key, and reports the layer of each key and the problems of each file.
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config, ConfigLayer, ConfigPatch, ConfigProblem, ConfigResponse } from '../api/schema.ts';
import { errno, FileError, reason } from '../core/errors.ts';
import { makeDirectory } from '../core/files.ts';
import { Problem } from '../problem.ts';
import { N_ } from '../view/translator.ts';
import { DEFAULTS, flatten, KEYS, type Layer, variableOf } from './keys.ts';
import { linkChain, watchFile } from './watch-file.ts';

const REMOTE = ['webui.allowRemote', 'webui.address'];
/** Keys that take effect at the next start: a running daemon can't move its listeners. */
const AT_START = ['server.port', 'server.bind', ...REMOTE, 'warp.cli'];
/** Keys never set over HTTP: they move listeners, choose a program, or open the daemon to others. */
const NOT_OVER_HTTP = new Set(AT_START);

export interface Settings {
  readonly config: Config;
  response(): ConfigResponse;
  /** Returns a tag that changes with the response. */
  etag(): string;
  /** Overrides keys until the daemon ends; null removes an override. @throws Problem key-not-settable */
  setSession(patch: ConfigPatch): void;
  /** Changes the user's file, keeping its layout. @throws Problem key-not-settable, config-broken, config-not-writable */
  setUser(patch: ConfigPatch): Promise<void>;
  /** Calls `changed` after every change, including the user's own edits of the files. */
  watch(changed: (response: ConfigResponse) => void): { close(): void };
}

/**
 * Reads all layers. Ignores a broken file, or only its invalid keys, and lists the `problems`.
 * @param flags keys given on the command line; they override the environment and are reported as part of it.
 * @throws Error naming variable, value and expected type when an environment variable does not parse.
 */
export async function loadConfig(
  files: { system: string; user: string },
  env: NodeJS.ProcessEnv,
  flags: Layer = {},
): Promise<Settings> {
  const environment = { ...(await readEnvironment(env)), ...flags };
  const session: Layer = {};
  const listeners = new Set<(response: ConfigResponse) => void>();
  let layers = await readFiles();
  const atStart = merge(layers.values).config;
  const started = Date.now();
  let changes = 0;
  /** Edits of the user's file, one after the other: parallel edits would lose each other's changes. */
  let lastEdit: Promise<void> = Promise.resolve();
  /** Number of reads begun, and number of the latest used read. */
  let [begun, taken] = [0, 0];

  async function readFiles() {
    const [system, user] = await Promise.all([readLayer(files.system), readLayer(files.user)]);
    return {
      values: { system: system.layer, user: user.layer, environment, session },
      problems: [...system.problems, ...user.problems],
    };
  }
  function response(): ConfigResponse {
    const { config, sources } = merge(layers.values);
    const restartRequired = AT_START.filter(key => lookup(config, key) !== lookup(atStart, key));
    return { ok: true, config, sources, restartRequired, problems: layers.problems };
  }
  function publish() {
    changes++;
    for (const listener of listeners) listener(response());
  }
  async function reload(always = false) {
    const turn = ++begun;
    const read = await readFiles();
    // a read that began later saw newer files, and may have ended first
    const changed = turn > taken && JSON.stringify(read) !== JSON.stringify(layers);
    taken = Math.max(taken, turn);
    if (changed) layers = read;
    if (changed || always) publish();
  }

  return {
    get config() {
      return merge(layers.values).config;
    },
    response,
    etag: () => `"${started}.${changes}"`,
    setSession(patch) {
      for (const [key, value] of settable(patch)) {
        if (value === null) delete session[key];
        else session[key] = value;
      }
      publish();
    },
    async setUser(patch) {
      const changes = settable(patch);
      const edited = lastEdit.then(() => editFile(files.user, changes));
      lastEdit = edited.catch(() => {});
      await edited;
      // publish even an unchanged value: its effect, such as the autostart entry, may be gone
      await reload(true);
    },
    watch(changed) {
      listeners.add(changed);
      const unwatch = [files.system, files.user].map(file => watchFile(file, () => void reload()));
      return {
        close() {
          listeners.delete(changed);
          for (const stop of unwatch) stop();
        },
      };
    },
  };
}

/** Merges layers key by key; higher layers override lower layers. */
function merge(layers: Record<Exclude<ConfigLayer, 'default'>, Layer>): {
  config: Config;
  sources: Record<string, ConfigLayer>;
} {
  const config = structuredClone(DEFAULTS) as unknown as Record<string, Record<string, unknown>>;
  const sources: Record<string, ConfigLayer> = {};
  for (const key of KEYS) {
    sources[key] = 'default';
    for (const name of ['system', 'user', 'environment', 'session'] as const) {
      if (!Object.hasOwn(layers[name], key)) continue;
      const [group, leaf] = key.split('.') as [string, string];
      config[group]![leaf] = layers[name][key];
      sources[key] = name;
    }
  }
  return { config: config as unknown as Config, sources };
}

/**
 * Reads the layer of the environment. Ignores other `CULVERT_` names (the wrapper's, the emulator's).
 * @throws Error naming variable, value and expected type.
 */
async function readEnvironment(env: NodeJS.ProcessEnv): Promise<Layer> {
  const variables = [...KEYS].map(key => [variableOf(key), key] as const);
  const given = [['CULVERT_WEBUI', 'webui.enabled'] as const, ...variables].filter(([name]) => env[name] !== undefined);
  if (!given.length) return {};
  const types = await import('./types.ts');
  const layer: Layer = {};
  for (const [variable, key] of given) {
    const text = env[variable]!;
    const readings = [text, BOOLEANS[text.toLowerCase()], /^\d+$/.test(text) ? Number(text) : undefined];
    const value = readings.find(reading => types.accepts(key, reading));
    if (value === undefined)
      throw new Error(`${variable}=${text}: expected ${types.expected(key)}. Correct the variable, or unset it.`);
    layer[key] = value;
  }
  return layer;
}
const BOOLEANS: Record<string, boolean> = { '1': true, true: true, yes: true, '0': false, false: false, no: false };

/** Reads the layer of one file. Never rejects: an error becomes a problem. */
async function readLayer(file: string): Promise<{ layer: Layer; problems: ConfigProblem[] }> {
  let text: string;
  try {
    text = readText(file);
  } catch (error) {
    const code = errno(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { layer: {}, problems: [] };
    return {
      layer: {},
      problems: [
        {
          file,
          line: null,
          key: null,
          message: `cannot be read: ${reason(error)}`,
          wording: { text: N_('cannot be read: %s'), values: [reason(error)] },
        },
      ],
    };
  }
  const { read } = await import('./file.ts');
  const { values, problems } = await read(text);
  return { layer: values, problems: problems.map(problem => ({ file, ...problem })) };
}

/** Returns a patch as dotted keys. @throws Problem key-not-settable */
function settable(patch: ConfigPatch): [string, unknown][] {
  const changes = flatten(patch).filter(([key]) => KEYS.has(key));
  const refused = changes.map(([key]) => key).filter(key => NOT_OVER_HTTP.has(key));
  if (refused.length)
    throw new Problem('key-not-settable', `${refused.join(', ')} can't be changed over the API.`, {
      hint: `Set it in the configuration file or as ${variableOf(refused[0]!)}, then restart the daemon.`,
      errors: refused.map(path => ({ path, message: 'not settable over the API' })),
    });
  return changes;
}

async function editFile(file: string, changes: [string, unknown][]): Promise<void> {
  const [{ edit, read }, { default: writeFileAtomic }] = await Promise.all([
    import('./file.ts'),
    import('write-file-atomic'),
  ]);
  let text = '{}\n';
  try {
    text = readText(file);
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw notWritable(file, error);
  }
  const broken = (await read(text)).problems.find(problem => problem.key === null);
  if (broken) throw brokenFile(file, `line ${broken.line}: ${broken.message}`);
  const edited = await edit(text, changes);
  if (typeof edited === 'object') throw brokenFile(file, edited.obstacle);
  try {
    // keep a link: dotfile managers store the file elsewhere
    const target = linkChain(file).at(-1)!;
    makeDirectory(dirname(target));
    await writeFileAtomic(target, edited, { mode: 0o600 });
  } catch (error) {
    throw notWritable(file, error);
  }
}

/** Reads a regular file only: a FIFO would block the daemon forever, and a device would fill its memory. */
function readText(file: string): string {
  const stat = statSync(file);
  if (!stat.isFile()) throw new Error('it is not a regular file');
  if (stat.size > FILE_BYTES) throw new Error(`it has more than ${FILE_BYTES} bytes`);
  return readFileSync(file, 'utf8').replace(/^\uFEFF/, ''); // some editors begin a file with a byte order mark
}
const FILE_BYTES = 1 << 20;

function brokenFile(file: string, what: string): Problem {
  return new Problem('config-broken', `${file}, ${what}. It was left as it is.`, {
    hint: 'Correct the file by hand, then try again.',
  });
}

function notWritable(file: string, cause: unknown): Problem {
  // the error of a directory is already a sentence
  const obstacle = cause instanceof FileError ? cause.message : `${file} could not be written: ${reason(cause)}.`;
  return new Problem(
    'config-not-writable',
    `${obstacle} Nothing was changed.`,
    { hint: 'Check the free space and the permissions of the directory.' },
    cause,
  );
}

function lookup(config: Config, key: string): unknown {
  const [group, leaf] = key.split('.') as [keyof Config, string];
  return (config[group] as Record<string, unknown>)[leaf];
}
