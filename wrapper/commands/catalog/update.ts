// Implements `catalog update`: takes a signed catalog, shows what it changes, applies it in one step, and reverts it.
import { closeSync, constants, fstatSync, openSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import { reason } from '../../../daemon/core/errors.ts';
import { readText, readUpTo } from '../../../daemon/core/files.ts';
import { isRecord, isText, parseJson } from '../../../daemon/core/shape.ts';
import project from '../../../data/project.json' with { type: 'json' };
import { releaseTrust } from '../../../manifest/verify.ts';
import { storedFile, updateStateFile } from '../../catalog/files.ts';
import { refused, type SignedCatalog, verifyCatalog } from '../../catalog/release.ts';
import {
  CATALOG_LIMIT,
  CATALOG_NAME,
  INSTALLED,
  readStored,
  readUpdateState,
  type UpdateState,
} from '../../catalog/updated.ts';
import type { Context } from '../../context.ts';
import { fetchFile } from '../../manage/fetch.ts';
import { callerEnvironment } from '../../run/accounts/ready.ts';
import { NAME, type Paths } from '../../store/paths.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { assertPrivate, createDirectory, withLock, writeAtomic } from '../../system/files.ts';
import { emit } from '../print.ts';
import { confirm } from '../prompt.ts';
import { checkContents, type Difference, differenceOf } from './difference.ts';

interface UpdateOptions {
  json?: boolean;
  yes?: boolean;
  revert?: boolean;
}

/**
 * `catalog update [FILE|ADDRESS]`: verifies a catalog, shows the difference, and takes it after a yes.
 * @param source a file or an address; without, the project's own
 * @throws WrapError `no-source`, `input-unreadable`, `catalog-state-broken`, `not-stored`, those of `fetchFile`, `verifyCatalog` and
 *   `checkContents`, and `nothing-to-revert`
 */
export async function updateCatalog(
  source: string | undefined,
  options: UpdateOptions,
  context: Context,
): Promise<void> {
  if (options.revert) return revert(options, context);
  const bytes = await readSource(source, context);
  const state = stateOf(context.paths);
  const signed = verifyCatalog(bytes, { ...trustOf(context), seen: state });
  checkContents(signed.files, context);
  const difference = differenceOf(signed.files, context);
  const isKnown = state?.current === signed.digest && state.checkedBy === INSTALLED;
  if (!options.json) process.stdout.write(`${describe(signed, difference, isKnown)}\n`);
  const applied = !isKnown && (await isWanted(options));
  if (applied) apply(signed, bytes, context.paths);
  if (options.json) emit(true, { ...summary(signed), ...difference, applied, current: isKnown || applied }, '');
  else if (applied) say('taken; `culvert-wrap catalog update --revert` reverts it');
  else if (!isKnown) say('nothing was changed; --yes takes it');
}

function trustOf({ paths, now }: Pick<Context, 'paths' | 'now'>) {
  const trust = releaseTrust();
  const revoked = [...(trust.revoked ?? []), ...revokedByReleases(paths)];
  return { ...trust, revoked, now: now(), installed: INSTALLED };
}

async function isWanted({ yes, json }: UpdateOptions): Promise<boolean> {
  return yes === true || (!json && isatty(0) && isatty(2) && (await confirm('Take it? [y/N] ')));
}

/** Reads a file, or fetches it. */
async function readSource(source: string | undefined, context: Context): Promise<Buffer> {
  const from = source ?? projectAddress();
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(from)) {
    if (!URL.canParse(from)) throw unreadable(from, 'it is no address');
    const { redirectHosts } = project.releases;
    return fetchFile(new URL(from), { env: callerEnvironment(context.env), limit: CATALOG_LIMIT, redirectHosts });
  }
  let fd: number | undefined;
  try {
    // a pipe without a writer would block
    fd = openSync(from, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(fd).isFile()) throw new Error(`${from} is not a regular file`);
    return readUpTo(fd, CATALOG_LIMIT, () => new Error(`${from} has more than ${CATALOG_LIMIT} bytes`));
  } catch (error) {
    throw unreadable(from, reason(error), error);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Returns the address of the project's newest catalog, as those of its releases (daemon/update/release.ts). */
function projectAddress(): string {
  const { source }: { source: string } = project.releases;
  if (source === '')
    throw new WrapError('no-source', EXIT.noInput, 'this build knows no address of catalogs', {
      hint: 'name a file or an address: culvert-wrap catalog update https://…',
    });
  const pattern = source.includes('{name}') ? source : `${source.replace(/\/+$/, '')}/{channel}/{name}`;
  return pattern.replaceAll('{channel}', 'catalog').replaceAll('{name}', CATALOG_NAME);
}

function unreadable(from: string, why: string, cause?: unknown): WrapError {
  return new WrapError('input-unreadable', EXIT.noInput, `the catalog can't be read: ${why}`, {
    hint: `check ${from}; nothing was changed`,
    cause,
  });
}

/** @throws WrapError `catalog-state-broken`: without the state, an old catalog could pass for a new one */
function stateOf({ catalogUpdates }: Paths): UpdateState | undefined {
  try {
    return readUpdateState(catalogUpdates);
  } catch (error) {
    throw new WrapError(
      'catalog-state-broken',
      EXIT.config,
      `the catalogs seen before can't be read: ${reason(error)}`,
      {
        hint: `if you trust the source, remove ${updateStateFile(catalogUpdates)} and try again`,
        cause: error,
      },
    );
  }
}

/**
 * Returns the keys that a release has revoked, as the updater of this user keeps them (daemon/update/update-state.ts). Without that
 * file, or with another form of it, there are none.
 */
function revokedByReleases({ state }: Paths): string[] {
  const file = join(dirname(state), NAME.replace(/-wrap$/, ''), 'update.json');
  const stored = parseJson(readText(file));
  return isRecord(stored) && Array.isArray(stored.revoked) ? stored.revoked.filter(isText) : [];
}

/** Stores a catalog, and then puts it in use by replacing one file, so that a kill at any time leaves the old one or the new one. */
function apply(signed: SignedCatalog, bytes: Buffer, { catalogUpdates: directory }: Paths): void {
  const { release, digest, manifest } = signed;
  change(directory, state => {
    // another run may have taken a newer one while this one asked
    if (state && release.serial < state.serial && release.revoked.length === 0)
      throw refused('serial-older', `serial ${state.serial} was taken meanwhile`, { hint: 'try again' });
    if (state && release.serial === state.serial && manifest !== state.manifest)
      throw refused('serial-reused', `another catalog with serial ${state.serial} was taken meanwhile`, {
        hint: 'do not use it; report it',
      });
    writeAtomic(storedFile(directory, digest), bytes);
    // a stolen key may have signed the catalog before
    const before = state?.current === digest ? (state.previous ?? null) : (state?.current ?? null);
    const previous = release.revoked.length === 0 ? before : null;
    const kept = Object.entries(state?.signers ?? {}).filter(([name]) => name === previous);
    return {
      current: digest,
      previous,
      serial: release.serial,
      manifest,
      revoked: [...new Set([...(state?.revoked ?? []), ...release.revoked])],
      signers: { ...Object.fromEntries(kept), [digest]: release.signers.map(({ id }) => id) },
      checkedBy: INSTALLED,
    };
  });
}

/**
 * `catalog update --revert`: uses the catalog before the last update again, if it still passes, or else that of this version. An
 * older one is refused afterwards as before.
 */
function revert(options: UpdateOptions, context: Context): void {
  const { paths } = context;
  const directory = paths.catalogUpdates;
  const nothing = () =>
    new WrapError('nothing-to-revert', EXIT.noInput, 'there is no update of the catalog to revert', {
      hint: 'only the last update can be reverted; a file that you keep can be taken again',
    });
  stateOf(paths);
  let current: string | null = null;
  change(directory, state => {
    if (state?.previous === undefined) throw nothing();
    const { previous, ...rest } = state;
    const problem = previous === null ? undefined : problemOf(previous, state, context);
    if (problem !== undefined) say(`the catalog before the last update is not used: ${problem}`);
    current = problem === undefined ? previous : null;
    // the catalog before passed the checks of this version just now
    return { ...rest, current, checkedBy: INSTALLED };
  });
  const what = current === null ? 'the catalog of this version' : 'the catalog before the last update';
  emit(options.json, { reverted: true, shipped: current === null }, `${what} is in use again`);
}

/** Returns why a stored catalog can't be used anymore: its key was revoked, it has expired, or this version forbids its contents. */
function problemOf(digest: string, { revoked }: UpdateState, context: Context): string | undefined {
  try {
    const trust = trustOf(context);
    const bytes = readStored(context.paths.catalogUpdates, digest);
    const known = { ...trust, revoked: [...trust.revoked, ...revoked], seen: undefined };
    checkContents(verifyCatalog(bytes, known).files, context);
    return undefined;
  } catch (error) {
    return reason(error).split('\n')[0];
  }
}

/** Replaces the state under a lock, and removes catalogs that it does not name. */
function change(directory: string, next: (state: UpdateState | undefined) => UpdateState): void {
  createDirectory(directory);
  assertPrivate(directory);
  const file = updateStateFile(directory);
  withLock(file, () => {
    const state = next(readUpdateState(directory));
    writeAtomic(file, `${JSON.stringify(state)}\n`);
    const kept = [state.current, state.previous].map(digest => `${digest}.json`);
    const old = readdirSync(directory).filter(name => /^\.?[0-9a-f]{64}\.json/.test(name) && !kept.includes(name));
    for (const name of old) rmSync(join(directory, name), { force: true });
  });
}

function summary({ release, files }: SignedCatalog) {
  const { version, serial, expiresAt, manifest, signers } = release;
  return { version, serial, generatedAt: manifest.generated_at, expiresAt, signers, files: Object.keys(files) };
}

function describe(signed: SignedCatalog, { entries, knowledge, patch }: Difference, isKnown: boolean): string {
  const { release } = signed;
  const keys = release.signers.map(({ id, name }) => `${name} (${id})`).join(' and ');
  const head = `catalog of ${release.manifest.generated_at}, serial ${release.serial}, signed with ${keys}, valid until ${release.expiresAt}`;
  if (isKnown) return `${head}\nIt is in use.`;
  const lines = [
    ...entries.map(({ cli, change: what, fields, checked }) => {
      const versions =
        checked.before === checked.after ? '' : `; checked with ${checked.after} instead of ${checked.before}`;
      return what === 'added'
        ? `  ${cli}: new, checked with ${checked.after}`
        : `  ${cli}: ${fields.join(', ')}${versions}`;
    }),
    ...knowledge.map(
      ({ file, added, changed, removed }) => `  ${file}: ${added} new, ${changed} changed, ${removed} removed`,
    ),
  ];
  if (lines.length === 0) return `${head}\nIt changes nothing.`;
  return [head, ...lines, '', patch].join('\n').trimEnd();
}
