// Reads an account's credentials from their sources, and stores new credentials in the Secret Service or in a 0600 file.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errno, reason } from '../../daemon/core/errors.ts';
import { readOptional } from '../../daemon/core/files.ts';
import { randomHex } from '../../daemon/core/hash.ts';
import { failureOf, runHelper } from '../../daemon/core/run-helper.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { withLock, writeAtomic } from '../system/files.ts';
import { expandHome } from '../system/notation.ts';
import type { Account } from './config.ts';
import { keysIn, referenceIn } from './key-texts.ts';
import { NAME, type Paths } from './paths.ts';

export interface Slot {
  cli: string;
  account: string;
  variable: string;
}

/** Limit of execve(2), MAX_ARG_STRLEN (128 KiB), less room for the variable's name. */
const MAX_BYTES = 127 * 1024;
/** The Secret Service either answers immediately or waits for a hidden prompt; gh(1) uses the same limit. */
const KEYRING_TIMEOUT_MS = 3_000;
/** secret-tool silently truncates longer secrets. */
const KEYRING_MAX_BYTES = 8_191;

/** Time limit for a source in the wrapper's commands; the configuration sets the limit for runs. */
export const SOURCE_TIMEOUT_MS = 15_000;

const SEVERAL =
  'it holds several keys, and an account has one; `culvert-wrap accounts import` makes an account of each';

export type Resolved = { ok: true; env: Record<string, string> } | { ok: false; problem: string };

/**
 * Reads every source of an account. Reports an empty source as a problem, because CLIs fall back to a stored login if
 * their variable is empty.
 * @param env environment for `env:` sources and for `command:`
 * @param timeoutMs time limit for `command:` and `pass:`
 */
export async function resolveAccount(account: Account, env: NodeJS.ProcessEnv, timeoutMs: number): Promise<Resolved> {
  const result: Record<string, string> = {};
  // a source command that calls the CLI must get the original, or it would recurse forever
  const marked = { ...env };
  addRun(marked, { cli: account.cli, account: account.name });
  for (const [variable, source] of Object.entries(account.env)) {
    try {
      const slot = { cli: account.cli, account: account.name, variable };
      const value = await readSource(source, slot, { env: marked, timeoutMs });
      assertCredential(value);
      if (keysIn(value, variable).length > 1) throw new Error(SEVERAL);
      result[variable] = value;
    } catch (error) {
      return { ok: false, problem: `${variable} from ${describeSource(source)}: ${reason(error)}` };
    }
  }
  return { ok: true, env: result };
}

/** Reports whether reading the credentials of an account starts a program. */
export function startsProgram(account: Pick<Account, 'env'>): boolean {
  return Object.values(account.env).some(source => !source.startsWith('env:') && !source.startsWith('file:'));
}

/** Reports whether a user's command provides a credential, which may then change with each call. */
export function mayMint(account: Pick<Account, 'env'>): boolean {
  return Object.values(account.env).some(source => source.startsWith('command:'));
}

/** Describes a source without private parts: for a command, only its program. */
export function describeSource(source: string): string {
  return source.startsWith('command:') ? `command:${source.slice(8).trim().split(/\s/)[0]} …` : source;
}

/**
 * Refuses values unfit for an environment variable or a header, and references to a credential.
 * @throws Error without the value
 */
export function assertCredential(value: string): void {
  if (value.trim() === '') throw new Error('it is empty');
  if (/[\n\r\0]/.test(value)) throw new Error('it contains a line break or a NUL');
  if (/[\x00-\x1f\x7f-\x9f]/.test(value)) throw new Error('it contains a control character, perhaps of an arrow key');
  if (value.includes('\ufffd')) throw new Error('it is not UTF-8 text');
  if (Buffer.byteLength(value) > MAX_BYTES) throw new Error('it is longer than an environment variable may be');
  const reference = referenceIn(value);
  if (reference !== undefined) throw new Error(reference);
}

export type SecretPlace = 'keyring' | 'file';

/** Returns the source for a value that `storeSecret` stores. */
export function sourceOf(slot: Slot, place: SecretPlace, paths: Paths): string {
  return place === 'keyring' ? 'keyring:' : `file:${secretFile(paths, slot.cli)}#${fileKey(slot)}`;
}

/** Reports whether a source refers to a place where `storeSecret` stores. */
export function isStored(source: string, slot: Slot, paths: Paths): boolean {
  return (['keyring', 'file'] as const).some(place => source === sourceOf(slot, place, paths));
}

/**
 * Stores a credential.
 * @throws WrapError `keyring-unavailable`, `not-stored`
 */
export async function storeSecret(slot: Slot, value: string, place: SecretPlace, paths: Paths): Promise<void> {
  if (place === 'file') editEnvFile(secretFile(paths, slot.cli), fileKey(slot), value);
  else await storeInKeyring(slot, value);
}

/** Tests the keyring by storing a value; returns the problem, or `undefined` if the keyring works. */
export async function keyringProblem(): Promise<string | undefined> {
  const slot = { cli: 'culvert-wrap', account: 'test', variable: randomHex(4) };
  try {
    await storeInKeyring(slot, 'test');
    return undefined;
  } catch (error) {
    return error instanceof WrapError ? String(reason(error.cause ?? error)) : reason(error);
  } finally {
    await runHelper(['secret-tool', 'clear', ...attributes('keyring:', slot)], { timeoutMs: KEYRING_TIMEOUT_MS });
  }
}

/** Returns stored secrets that no account uses, left by a killed process or a manual edit. */
export function orphanedSecrets(accounts: readonly Account[], paths: Paths): { file: string; key: string }[] {
  const used = new Set(accounts.flatMap(({ env }) => Object.values(env)));
  const files = existsSync(paths.secrets) ? readdirSync(paths.secrets).filter(name => name.endsWith('.env')) : [];
  return files.flatMap(name => {
    const file = join(paths.secrets, name);
    return [...envLines(readOptional(file) ?? '').keys()]
      .filter(key => !used.has(`file:${file}#${key}`))
      .map(key => ({ file, key }));
  });
}

/** Removes an orphaned secret. */
export function removeOrphan({ file, key }: { file: string; key: string }): void {
  editEnvFile(file, key, undefined);
}

/** Removes a stored credential. Ignores missing credentials and sources that are not ours. */
export async function forgetSecret(source: string, slot: Slot, paths: Paths): Promise<void> {
  if (source === 'keyring:') {
    await runHelper(['secret-tool', 'clear', ...attributes('keyring:', slot)], { timeoutMs: KEYRING_TIMEOUT_MS });
  }
  const file = secretFile(paths, slot.cli);
  if (source === `file:${file}#${fileKey(slot)}`) editEnvFile(file, fileKey(slot), undefined);
}

/**
 * Copies an account's stored secrets to its new name; keeps sources that refer elsewhere.
 * @returns the sources under the new name
 */
export async function moveSecrets(
  account: Account,
  to: string,
  env: NodeJS.ProcessEnv,
  paths: Paths,
): Promise<Record<string, string>> {
  const sources: Record<string, string> = {};
  for (const [variable, source] of Object.entries(account.env)) {
    const slot = { cli: account.cli, account: account.name, variable };
    const inFile = source === `file:${secretFile(paths, account.cli)}#${fileKey(slot)}`;
    if (source !== 'keyring:' && !inFile) sources[variable] = source;
    else {
      const value = await readSource(source, slot, { env, timeoutMs: KEYRING_TIMEOUT_MS });
      const place = inFile ? 'file' : 'keyring';
      await storeSecret({ ...slot, account: to }, value, place, paths);
      sources[variable] = sourceOf({ ...slot, account: to }, place, paths);
    }
  }
  return sources;
}

/** Options for reading credentials: see `resolveAccount`. */
interface Reading {
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
}

async function readSource(source: string, slot: Slot, { env, timeoutMs }: Reading): Promise<string> {
  const colon = source.indexOf(':');
  const reference = source.slice(colon + 1);
  switch (source.slice(0, colon)) {
    case 'env':
      if (env[reference] === undefined) throw new Error(`the variable ${reference} is not set`);
      return env[reference];
    case 'file':
      return readFromFile(reference, env);
    case 'keyring':
      return lookUp(source, slot);
    case 'pass':
      // The first line is the password, by the convention of pass(1).
      return (await output(['pass', 'show', '--', reference], env, timeoutMs)).split('\n')[0]!;
    case 'command':
      return output(['sh', '-c', reference], env, timeoutMs);
    default:
      throw new Error('the kind of source is unknown');
  }
}

function readFromFile(spec: string, env: NodeJS.ProcessEnv): string {
  const hash = spec.lastIndexOf('#');
  const file = expandHome(spec.slice(0, hash), env);
  const key = spec.slice(hash + 1);
  const text = readOptional(file);
  if (text === undefined) throw new Error(`the file ${file} does not exist`);
  const value = envLines(text).get(key);
  if (value === undefined) throw new Error(`${file} has no line ${key}=…`);
  return value;
}

/**
 * Parses `KEY=value` lines like shells and dotenv: with optional `export`, optional quotes around the whole value, and an
 * optional comment after a blank.
 */
export function envLines(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([^\s=#]+)\s*=(.*)$/s.exec(line);
    if (!match) continue;
    // `#` begins a comment only after a blank; in `key=a#b` and `key=#b` it is in the value.
    const quoted = /^\s*(["'])(.*?)\1\s*(?:\s#.*)?$/.exec(match[2]!);
    values.set(match[1]!, quoted ? quoted[2]! : match[2]!.replace(/\s#.*$/, '').trim());
  }
  return values;
}

async function output(argv: [string, ...string[]], env: NodeJS.ProcessEnv, timeoutMs: number): Promise<string> {
  const result = await runHelper(argv, { env, timeoutMs });
  if (result.error) {
    throw new Error(errno(result.error) === 'ENOENT' ? `${argv[0]} is not installed` : result.error.message);
  }
  if (result.timedOut) throw new Error(`${argv[0]} gave no answer within ${timeoutMs / 1000} s`);
  // The message omits the output, which may be the credential.
  if (result.exit !== 0) throw new Error(`${argv[0]} ${failureOf(result)}`);
  return result.stdout.replace(/\r?\n$/, '');
}

async function lookUp(source: string, slot: Slot): Promise<string> {
  try {
    return await output(['secret-tool', 'lookup', ...attributes(source, slot)], process.env, KEYRING_TIMEOUT_MS);
  } catch (error) {
    // secret-tool doesn't distinguish these cases.
    const why = /exit status 1$/.test(reason(error))
      ? 'the keyring is locked, not running, or has no such entry'
      : reason(error);
    throw new Error(why, { cause: error });
  }
}

/** Returns a keyring entry's attributes: ours for `keyring:`, else those in `keyring:service=x,user=y`. */
function attributes(source: string, slot: Slot): string[] {
  const own = source.slice('keyring:'.length);
  if (own !== '')
    return own.split(',').flatMap(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
  return ['service', NAME, 'cli', slot.cli, 'account', slot.account, 'variable', slot.variable];
}

async function storeInKeyring(slot: Slot, value: string): Promise<void> {
  const unavailable = (why: string) =>
    new WrapError(
      'keyring-unavailable',
      EXIT.unavailable,
      `the credential could not be stored in the keyring: ${why}`,
      {
        hint: 'unlock or start a Secret Service (and install libsecret-tools), or store it in a 0600 file with --file, or refer to it with --env',
        cause: new Error(why),
      },
    );
  if (Buffer.byteLength(value) > KEYRING_MAX_BYTES) throw unavailable('it is longer than 8191 bytes');
  const label = `--label=culvert-wrap: ${slot.cli} ${slot.account}`;
  const stored = await runHelper(['secret-tool', 'store', label, ...attributes('keyring:', slot)], {
    input: value,
    timeoutMs: KEYRING_TIMEOUT_MS,
  });
  if (stored.error) throw unavailable('secret-tool is not installed');
  if (stored.timedOut) throw unavailable('it gave no answer within 3 s, so it is probably locked');
  // Read the value again: a store that failed silently would lose it.
  const back = stored.exit === 0 ? await lookUp('keyring:', slot).catch(() => undefined) : undefined;
  if (back !== value) throw unavailable('it is locked or not running');
}

function editEnvFile(file: string, key: string, value: string | undefined): void {
  withLock(file, () => {
    const lines = (readOptional(file) ?? '').split('\n').filter(line => line !== '' && !line.startsWith(`${key}=`));
    if (value !== undefined) lines.push(`${key}=${asEnvValue(value)}`);
    writeAtomic(file, lines.map(line => `${line}\n`).join(''));
  });
}

/** Returns a value as `envLines` reads it back, in quotes where needed. @throws WrapError `not-stored` if no quotes keep it */
function asEnvValue(value: string): string {
  const kept = [value, `'${value}'`, `"${value}"`].find(text => envLines(`key=${text}`).get('key') === value);
  if (kept !== undefined) return kept;
  throw new WrapError(
    'not-stored',
    EXIT.cannotCreate,
    'the credential could not be stored in a file: its quotes and "#" do not survive there',
    {
      hint: 'store it in the keyring, or refer to it with --env',
    },
  );
}

function secretFile(paths: Paths, cli: string): string {
  return join(paths.secrets, `${cli}.env`);
}

function fileKey(slot: Slot): string {
  return `${slot.account}/${slot.variable}`;
}

/** Variable with `cli=account` for each run, joined by colons; `=file` may follow, see `ActiveRun`. */
const ACTIVE = 'CULVERT_WRAP_ACTIVE';

interface ActiveRun {
  cli: string;
  account: string;
  /** File that may choose the account for the run's directory; escaped by `encodeURIComponent`. */
  file?: string | undefined;
}

/** Adds a run to an environment. */
export function addRun(env: NodeJS.ProcessEnv, { cli, account, file }: ActiveRun): void {
  const run = `${cli}=${account}${file === undefined ? '' : `=${file}`}`;
  env[ACTIVE] = env[ACTIVE] ? `${env[ACTIVE]}:${run}` : run;
}

/** Returns the innermost run of a CLI around this process; `undefined` outside a run. */
export function innermostRun(env: NodeJS.ProcessEnv, cli: string): ActiveRun | undefined {
  const runs = (env[ACTIVE] ?? '').split(':').map(entry => entry.split('='));
  const run = runs.findLast(([name]) => name === cli);
  return run && { cli, account: run[1] ?? '', file: run[2] };
}
