// What each command does at the edge: reads files, calls the one function that does the work, writes and prints.
import { existsSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import valid from 'semver/functions/valid.js';
import { auditArtifacts, type Finding } from './audit.ts';
import { buildTime, createManifest } from './create.ts';
import { dateTime, isDateTime } from './date.ts';
import { isMissing, KEY_LIMIT, readSecret, readSmall, writeWhole } from './files.ts';
import { generateKey, readPrivateKey, readPublicKey, type VerifyKey } from './keys.ts';
import type { Context } from './program.ts';
import { progressLine, size } from './progress.ts';
import { MANIFEST_LIMIT, readManifest } from './read.ts';
import { printable, REFUSALS, Refusal, UsageError } from './refusals.ts';
import { jsonSchema, type Manifest } from './schema.ts';
import { type Channel, SIDECAR_LIMIT } from './sidecar.ts';
import { signManifest } from './sign.ts';
import { releaseKeys, type Verified, verifySidecar } from './verify.ts';

interface Json {
  json?: boolean;
}

export async function create(files: string[], options: Json & { out: string; tag?: string }, context: Context) {
  const { out, tag } = options;
  if (tag === '') throw new UsageError('The tag is empty.');
  if (files.some(file => sameFile(file, out))) {
    throw new UsageError(`${out} is one of the artifacts and would be replaced.`);
  }
  const time = buildTime(context.env, context.now());
  const progress = progressLine(process.stderr, 'hashing', context.now);
  const { manifest, bytes } = await createManifest({
    files,
    tag,
    time,
    worker: context.worker,
    progress: progress.show,
  }).finally(progress.clear);
  writeWhole(out, bytes, { mode: 0o644, replace: true });
  if (options.json) printJson({ ok: true, out, artifacts: manifest.artifacts.length, bytes: total(manifest) });
  else print(`${out}: ${summary(manifest)}`);
  if (existsSync(`${out}.sig`)) note(`${out}.sig signs what stood there before. Sign again.`);
}

export interface SignOptions extends Json {
  key: string;
  serial: number;
  expires: string;
  channel: Channel;
  minimumVersion: string;
  out?: string;
}

export async function sign(file: string, options: SignOptions, context: Context) {
  const out = options.out ?? `${file}.sig`;
  if (sameFile(file, out)) throw new UsageError('The sidecar would replace the manifest.');
  if (valid(options.minimumVersion) !== options.minimumVersion) {
    throw new UsageError(
      `--minimum-version is "${printable(options.minimumVersion)}"; it must be a version such as 1.2.3.`,
    );
  }
  const now = buildTime(context.env, context.now());
  const expires = expiry(options.expires, now);
  const manifest = readSmall(file, 'manifest', MANIFEST_LIMIT, 'manifest-too-large');
  const pem = options.key === '-' ? await readStandardInput() : readSecret(options.key);
  const key = readPrivateKey(pem, options.key === '-' ? 'standard input' : options.key);
  const { serial, channel, minimumVersion } = options;
  const statement = { serial, expires_at: expires, channel, minimum_version: minimumVersion };
  const { sidecar, publicKey } = signManifest(manifest, statement, key);
  // what was signed is read back as an updater would, before anyone else gets to see it
  const release = verifySidecar(manifest, sidecar, { keys: [publicKey], now });
  writeWhole(out, sidecar, { mode: 0o644, replace: true });
  if (options.json) printJson({ ok: true, out, ...described(release) });
  else print(`${out}: ${release.version}, ${sentence(release)}`);
  if (!releaseKeys().some(({ id }) => id === publicKey.id)) {
    note(`The key ${publicKey.id} is not pinned in this build: installations of it refuse the release.`);
  }
}

export interface VerifyOptions extends Json {
  dir?: string;
  artifacts: boolean;
  signature?: string | boolean;
  requireSignature?: boolean;
  key: string[];
  channel?: Channel;
  lastSerial?: number;
  installed?: string;
}

export async function verify(file: string, options: VerifyOptions, context: Context) {
  const bytes = readSmall(file, 'manifest', MANIFEST_LIMIT, 'manifest-too-large');
  const sidecar = findSidecar(file, options);
  const release = sidecar && verifySidecar(bytes, sidecar, expectations(options, context));
  const manifest = release?.manifest ?? readManifest(bytes);
  const findings = options.artifacts ? await audit(manifest, options.dir ?? dirname(file), context) : [];
  const faulty = findings.filter(({ fault }) => fault);
  if (options.json) {
    printJson({
      ok: faulty.length === 0,
      manifest,
      signature: release ? described(release) : null,
      artifacts: findings.map(({ artifact, fault }) => ({ name: artifact.name, ok: !fault, problem: fault ?? null })),
    });
  } else {
    print(`${file}: ${summary(manifest)}, made ${manifest.generated_at}`);
    print(release ? sentence(release) : sidecarSkipped(options));
    if (options.artifacts) report(findings);
  }
  const first = faulty[0]?.fault;
  if (first) process.exitCode = REFUSALS[first.code][0];
}

export function schema() {
  printJson(jsonSchema());
}

export function keygen(name: string, options: Json) {
  const repository = repositoryAround(resolve(name));
  if (repository) {
    throw new Refusal(
      'key-in-repository',
      `${name}.key would lie in the repository ${repository}, where it could be committed.`,
    );
  }
  const files = { private: `${name}.key`, public: `${name}.pub` };
  // both or neither
  for (const file of Object.values(files)) {
    if (existsSync(file)) throw new Refusal('output-exists', `${file} exists already.`);
  }
  const { privatePem, publicPem, pinned, id } = generateKey(basename(name));
  writeWhole(files.public, Buffer.from(publicPem), { mode: 0o644, replace: false });
  try {
    writeWhole(files.private, Buffer.from(privatePem), { mode: 0o600, replace: false });
  } catch (error) {
    rmSync(files.public);
    throw error;
  }
  if (options.json) return printJson({ ok: true, id, privateKey: files.private, publicKey: files.public, pinned });
  print(`${files.private}: the private key. Keep it secret, and keep a copy.`);
  print(`${files.public}: the public key ${id}.`);
  print(`To pin it, add this line to manifest/release-keys.ts:`);
  print(`  { name: ${quoted(pinned.name)}, key: ${quoted(pinned.key)} },`);
}

function findSidecar(file: string, options: VerifyOptions): Buffer | undefined {
  const wanted =
    typeof options.signature === 'string' ||
    options.requireSignature ||
    options.key.length > 0 ||
    options.channel !== undefined ||
    options.lastSerial !== undefined ||
    options.installed !== undefined;
  if (options.signature === false) {
    if (wanted) throw new UsageError('--no-signature contradicts the options that need a signature.');
    return undefined;
  }
  const path = typeof options.signature === 'string' ? options.signature : `${file}.sig`;
  try {
    return readSmall(path, 'sidecar', SIDECAR_LIMIT, 'sidecar-too-large');
  } catch (error) {
    if (!isMissing(error)) throw error;
    if (wanted) throw new Refusal('unsigned', `The manifest is not signed: there is no ${path}.`);
    return undefined;
  }
}

function expectations(options: VerifyOptions, context: Context) {
  const { installed, channel } = options;
  if (installed !== undefined && valid(installed) === null) {
    throw new UsageError(`--installed is "${printable(installed)}"; it must be a version such as 1.2.3.`);
  }
  const keys: VerifyKey[] = options.key.map(file =>
    readPublicKey(readSmall(file, 'public key', KEY_LIMIT, 'key-invalid'), file),
  );
  return {
    keys: keys.length > 0 ? keys : releaseKeys(),
    // the real time, whatever a build claims: a release must not be kept alive by a variable
    now: context.now(),
    lastSerial: options.lastSerial,
    channels: channel && [channel],
    installed,
  };
}

async function audit(manifest: Manifest, directory: string, context: Context): Promise<Finding[]> {
  const progress = progressLine(process.stderr, 'verifying', context.now);
  return auditArtifacts(manifest, directory, context.worker, progress.show).finally(progress.clear);
}

function report(findings: readonly Finding[]): void {
  for (const { artifact, fault } of findings) {
    if (fault) process.stderr.write(`  ${artifact.name} ${fault.detail} [${fault.code}]\n`);
  }
  const codes = new Set(findings.flatMap(({ fault }) => fault?.code ?? []));
  for (const code of codes) process.stderr.write(`  ${code}: ${REFUSALS[code][1]}\n`);
  const good = findings.filter(({ fault }) => !fault).length;
  print(`${good} of ${findings.length} artifacts are as the manifest says`);
}

function described({ version, serial, expiresAt, channel, minimumVersion, signer }: Verified) {
  return { version, serial, expiresAt, channel, minimumVersion, signer };
}

function sentence({ signer, serial, channel, expiresAt }: Verified): string {
  const key = signer.name === signer.id ? signer.id : `${printable(signer.name)} (${signer.id})`;
  return `signed with ${key}, serial ${serial}, channel ${channel}, expires ${expiresAt}`;
}

function sidecarSkipped({ signature }: VerifyOptions): string {
  return signature === false ? 'signature not verified, as asked' : 'not signed: who made it is unknown';
}

function summary(manifest: Manifest): string {
  const { tag, artifacts } = manifest;
  const count = `${artifacts.length} artifact${artifacts.length === 1 ? '' : 's'}`;
  return `${tag === undefined ? 'untagged' : printable(tag)}, ${count}, ${size(total(manifest))}`;
}

function total({ artifacts }: Manifest): number {
  return artifacts.reduce((sum, artifact) => sum + artifact.size, 0);
}

/** `90d` counts from now; anything else is a date and time. */
function expiry(text: string, now: number): string {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  if (days) return dateTime(now + Number(days) * 86_400_000);
  if (isDateTime(text)) return text;
  throw new UsageError(
    `--expires is "${printable(text)}"; it must be a time such as 2027-01-31T00:00:00Z, or days such as 90d.`,
  );
}

async function readStandardInput(): Promise<Buffer> {
  if (process.stdin.isTTY) throw new UsageError('A key is not typed: pipe it to --key -.');
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

function sameFile(a: string, b: string): boolean {
  if (resolve(a) === resolve(b)) return true;
  const [x, y] = [a, b].map(path => statSync(path, { throwIfNoEntry: false }));
  return x !== undefined && y !== undefined && x.ino === y.ino && x.dev === y.dev;
}

function repositoryAround(path: string): string | undefined {
  for (let at = dirname(path); ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at;
    if (at === dirname(at)) return undefined;
  }
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

function note(line: string): void {
  process.stderr.write(`culvert-manifest: ${line}\n`);
}
