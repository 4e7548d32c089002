// Implements `culvert-manifest sign`, `minisign` and `keygen`, which handle private keys.
import { spawnSync } from 'node:child_process';
import { verify as verifySignature } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import valid from 'semver/functions/valid.js';
import { errno, reason } from '../../daemon/core/errors.ts';
import { escaped } from '../../daemon/core/printable.ts';
import { buildTime } from '../create.ts';
import { Refusal, type RefusalCode, usage } from '../errors.ts';
import { KEY_LIMIT, readSecret, readSmall, sameFile, writeWhole } from '../files.ts';
import { generateKey, publicOf, readPrivateKey, readPublicKey, type VerifyKey } from '../keys.ts';
import { minisign, minisignKeyText } from '../minisign.ts';
import { dateTime, isDateTime, MANIFEST_LIMIT } from '../schema.ts';
import {
  addSignature,
  formatStatement,
  type Purpose,
  SIDECAR_LIMIT,
  type Sidecar,
  type Signer,
  signerOf,
  splitSidecar,
} from '../signatures.ts';
import { releaseTrust, verifySidecar } from '../verify.ts';
import { type Context, describeRelease, note, print, printJson, releaseSentence } from './output.ts';

const MAKE_AGAIN = 'Make it again with "culvert-manifest create", and sign that.';

export interface SignOptions {
  key: string;
  signer?: string;
  serial?: number;
  expires: string;
  channel: Purpose;
  minimumVersion: string;
  revoke: string[];
  force?: boolean;
  add?: boolean;
  out?: string;
  json?: boolean;
}

/** Hints for maintainers; the usual hints of these refusals address users who verify a release. */
const HINTS: Partial<Record<RefusalCode, string>> = {
  'manifest-too-large': MAKE_AGAIN,
  'manifest-malformed': MAKE_AGAIN,
  'manifest-invalid': MAKE_AGAIN,
  'schema-unknown': MAKE_AGAIN,
  'project-foreign': MAKE_AGAIN,
  'name-foreign': MAKE_AGAIN,
  'name-unsafe': MAKE_AGAIN,
  'name-duplicate': MAKE_AGAIN,
  'sidecar-too-large': 'Sign without --add, which makes a new sidecar.',
  'sidecar-malformed': 'Sign without --add, which makes a new sidecar.',
  'sidecar-invalid': 'Nothing was signed. Correct what is named, and sign again; --help lists the options.',
  'signature-invalid': 'Nothing was signed. Check that --key is the public key of the one that --signer uses.',
  expired: 'Nothing was signed. Give a later time with --expires, such as 90d, and check the clock of this machine.',
  'not-yet-valid': 'Nothing was signed. Check the clock of this machine, and SOURCE_DATE_EPOCH.',
  'serial-future': 'Nothing was signed. Leave --serial out, which makes it the time in seconds, or check the clock.',
};

/** @throws Refusal with a hint for maintainers */
export async function sign(file: string, options: SignOptions, context: Context) {
  try {
    await signRelease(file, options, context);
  } catch (error) {
    const hint = error instanceof Refusal && HINTS[error.code];
    if (!hint) throw error;
    throw new Refusal(error.code, error.message, { cause: error, hint });
  }
}

async function signRelease(file: string, options: SignOptions, context: Context) {
  const out = options.out ?? `${file}.sig`;
  if (sameFile(file, out)) throw usage('The sidecar would replace the manifest.');
  const now = buildTime(context.env, context.now());
  const manifest = readSmall(file, 'manifest', MANIFEST_LIMIT, 'manifest-too-large');
  const { key, sign } = await openSigner(options);
  const sidecar = options.add ? existingSidecar(out) : newSidecar(manifest, options, now);
  const bytes = addSignature(sidecar, manifest, key.id, sign);
  // verify the sidecar as an updater would, before it is written
  const trust = releaseTrust();
  const pinned = trust.keys.some(({ id }) => id === key.id);
  const expected = { ...(pinned ? { ...trust, threshold: 1 } : { keys: [key] }), now };
  verifySidecar<Purpose>(manifest, bytes, expected);
  // an installation that does not know a revocation yet requires a signer of a higher rank
  const release = verifySidecar<Purpose>(manifest, bytes, { ...expected, revoked: [] });
  writeWhole(out, bytes, { mode: 0o644, replace: true });
  if (options.json) printJson(context, { ok: true, out, ...describeRelease(release) });
  else print(context, `${out}: ${release.version}, ${releaseSentence(release)}`);
  if (!pinned)
    note(context, `The key ${key.id} is not pinned in this build, so installations of it refuse the release.`);
  const missing = (trust.threshold ?? 1) - release.signers.length;
  if (pinned && missing > 0)
    note(context, `Installations need ${missing} more: sign with another key, and with --add.`);
}

function newSidecar(manifest: Buffer, options: SignOptions, now: number): Sidecar {
  const { channel, minimumVersion, revoke } = options;
  if (valid(minimumVersion) !== minimumVersion) {
    throw usage(`--minimum-version is "${escaped(minimumVersion)}"; it must be a version such as 1.2.3.`);
  }
  if (!options.force) checkRevoked(revoke);
  const statement = {
    serial: options.serial ?? Math.floor(now / 1000),
    expires_at: parseExpiry(options.expires, now),
    channel,
    minimum_version: minimumVersion,
    ...(revoke.length > 0 ? { revoked: revoke } : {}),
  };
  return { signatures: [], statement: formatStatement(statement, manifest) };
}

/** Rejects ids that are not pinned: a mistyped id would silently revoke nothing. */
function checkRevoked(ids: readonly string[]): void {
  const { keys } = releaseTrust();
  const unknown = ids.find(id => !keys.some(key => key.id === id));
  if (unknown === undefined) return;
  const pinned = keys.map(({ id, name }) => `${id} (${escaped(name)})`).join(', ') || 'none';
  throw new Refusal('key-unknown', `The key ${escaped(unknown)} is not pinned. Pinned: ${pinned}.`, {
    hint: 'Nothing was signed. Give the id of a pinned key; --force revokes one that only older versions pin.',
  });
}

function existingSidecar(path: string): Sidecar {
  const sidecar = splitSidecar(readSmall(path, 'sidecar', SIDECAR_LIMIT, 'sidecar-too-large'));
  if (sidecar) return sidecar;
  throw new Refusal('sidecar-malformed', `${path} does not begin with a signature.`);
}

/** Opens the key to sign with. With `--signer`, the private key never enters this process. */
async function openSigner({
  key,
  signer,
}: Pick<SignOptions, 'key' | 'signer'>): Promise<{ key: VerifyKey; sign: Signer }> {
  if (signer !== undefined) {
    const publicKey = readPublicKey(readSmall(key, 'public key', KEY_LIMIT, 'key-invalid'), key);
    return { key: publicKey, sign: bytes => runSigner(signer, bytes) };
  }
  const pem = key === '-' ? await readStandardInput() : readSecret(key);
  const privateKey = readPrivateKey(pem, key === '-' ? 'standard input' : key);
  return { key: publicOf(privateKey), sign: signerOf(privateKey) };
}

/** @param command a shell command that reads the bytes from stdin and writes the raw signature to stdout */
function runSigner(command: string, bytes: Buffer): Buffer {
  const words = ['-c', command];
  const { error, status, signal, stdout } = spawnSync('/bin/sh', words, {
    input: bytes,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // a signer may stop reading early
  const cause = errno(error) === 'EPIPE' ? undefined : error;
  const failure = cause
    ? reason(cause)
    : signal
      ? `it was ended by ${signal}`
      : status
        ? `exit status ${status}`
        : null;
  if (failure !== null) throw new Refusal('signer-failed', `The signer did not sign: ${failure}.`, { cause });
  const signature = stdout;
  if (signature.length === 64) return signature;
  throw new Refusal('signer-failed', `The signer wrote ${signature.length} bytes; an Ed25519 signature has 64.`);
}

export interface MinisignOptions {
  key: string;
  signer?: string;
  json?: boolean;
}

/**
 * Writes FILE.minisig next to each file, and replaces an older one.
 * @throws Refusal `input-unreadable`, `input-not-regular`, `signature-invalid`, `output-failed`, and those of {@link openSigner}
 */
export async function signFiles(files: string[], options: MinisignOptions, context: Context) {
  const { key, sign } = await openSigner(options);
  // a signer may use another key than the named key
  const probe = Buffer.from('culvert-manifest minisign');
  if (!verifySignature(null, probe, key.key, sign(probe)))
    throw new Refusal('signature-invalid', 'The signer uses another key.', { hint: HINTS['signature-invalid'] });
  const texts: { out: string; text: string }[] = [];
  for (const file of files) texts.push({ out: `${file}.minisig`, text: await minisign(file, key, sign) });
  for (const { out, text } of texts) writeWhole(out, Buffer.from(text), { mode: 0o644, replace: true });
  const publicKey = minisignKeyText(key);
  if (options.json) printJson(context, { ok: true, publicKey, signatures: texts.map(({ out }) => out) });
  else for (const { out } of texts) print(context, `${out}: check it with minisign -V -P ${publicKey}`);
}

export function keygen(name: string, options: { json?: boolean }, context: Context) {
  const repository = repositoryAround(resolve(name));
  if (repository) {
    throw new Refusal(
      'key-in-repository',
      `${name}.key would be in the repository ${repository}, where it could be committed.`,
    );
  }
  const files = { private: `${name}.key`, public: `${name}.pub` };
  // write both files or neither
  for (const file of Object.values(files)) {
    if (existsSync(file)) throw new Refusal('output-exists', `${file} already exists.`);
  }
  const { privatePem, publicPem, pinned, id } = generateKey(basename(name));
  writeWhole(files.public, Buffer.from(publicPem), { mode: 0o644, replace: false });
  try {
    writeWhole(files.private, Buffer.from(privatePem), { mode: 0o600, replace: false });
  } catch (error) {
    rmSync(files.public);
    throw error;
  }
  if (options.json)
    return printJson(context, { ok: true, id, privateKey: files.private, publicKey: files.public, pinned });
  print(context, `${files.private}: the private key, not encrypted. Keep it secret, and keep a copy.`);
  print(context, `${files.public}: the public key ${id}.`);
  print(context, `To pin it, add this to releaseKeys.pinned in data/project.json:`);
  print(context, `  ${JSON.stringify(pinned)}`);
}

/** Converts a number of days from now, such as `90d`, or a date and time to a date and time. */
function parseExpiry(text: string, now: number): string {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  if (days) return dateTime(now + Number(days) * 86_400_000);
  if (isDateTime(text)) return text;
  throw usage(`--expires is "${escaped(text)}"; it must be a time such as 2027-01-31T00:00:00Z, or days such as 90d.`);
}

async function readStandardInput(): Promise<Buffer> {
  if (process.stdin.isTTY) throw usage('A key cannot be typed: pipe it to --key -.');
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > KEY_LIMIT)
      throw new Refusal('key-invalid', `The key on standard input has more than ${KEY_LIMIT} bytes.`);
  }
  return Buffer.concat(chunks);
}

function repositoryAround(path: string): string | undefined {
  for (let at = dirname(path); ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
    if (at === dirname(at)) return undefined;
  }
}
