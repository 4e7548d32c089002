// Implements the commands of `culvert-manifest` that need no private key: each reads files, calls one function, and prints.
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import valid from 'semver/functions/valid.js';
import { escaped } from '../../daemon/core/printable.ts';
import { type Finding, verifyDirectory } from '../artifacts.ts';
import { buildTime, createManifest } from '../create.ts';
import { EXIT, REFUSALS, Refusal, usage } from '../errors.ts';
import { isMissing, KEY_LIMIT, readSmall, sameFile, writeWhole } from '../files.ts';
import { readPublicKey, type VerifyKey } from '../keys.ts';
import { jsonSchema, MANIFEST_LIMIT, type Manifest, readManifest } from '../schema.ts';
import { type Purpose, SIDECAR_LIMIT } from '../signatures.ts';
import { releaseTrust, verifySidecar } from '../verify.ts';
import {
  type Context,
  describeRelease,
  note,
  print,
  printJson,
  progressLine,
  releaseSentence,
  size,
} from './output.ts';

interface Json {
  json?: boolean;
}

export async function create(files: string[], options: Json & { out: string; tag?: string }, context: Context) {
  const { out, tag } = options;
  if (tag === '') throw usage('The tag is empty.');
  if (files.some(file => sameFile(file, out))) {
    throw usage(`${out} is one of the artifacts and would be replaced.`);
  }
  const time = buildTime(context.env, context.now());
  const progress = progressLine(context.stderr, 'hashing', context.now);
  const { manifest, bytes } = await createManifest({
    files,
    tag,
    time,
    worker: context.worker,
    progress: progress.show,
  }).finally(progress.clear);
  writeWhole(out, bytes, { mode: 0o644, replace: true });
  if (options.json) printJson(context, { ok: true, out, artifacts: manifest.artifacts.length, bytes: total(manifest) });
  else print(context, `${out}: ${summary(manifest)}`);
  if (existsSync(`${out}.sig`)) note(context, `${out}.sig signs the previous manifest. Sign again.`);
}

export interface VerifyOptions extends Json {
  dir?: string;
  artifacts: boolean;
  signature?: string | boolean;
  requireSignature?: boolean;
  key: string[];
  threshold?: number;
  channel?: Purpose;
  lastSerial?: number;
  installed?: string;
}

/** @returns the exit status */
export async function verify(file: string, options: VerifyOptions, context: Context): Promise<number> {
  const bytes = readSmall(file, 'manifest', MANIFEST_LIMIT, 'manifest-too-large');
  const sidecar = findSidecar(file, options);
  const release = sidecar && verifySidecar(bytes, sidecar, expectations(options, context));
  const manifest = release?.manifest ?? readManifest(bytes);
  const findings = options.artifacts ? await checkArtifacts(manifest, options.dir ?? dirname(file), context) : [];
  const faulty = findings.filter(({ fault }) => fault);
  if (options.json) {
    printJson(context, {
      ok: faulty.length === 0,
      manifest,
      signature: release ? describeRelease(release) : null,
      artifacts: findings.map(({ artifact, fault }) => ({ name: artifact.name, ok: !fault, problem: fault ?? null })),
    });
  } else {
    print(context, `${file}: ${summary(manifest)}, made ${manifest.generated_at}`);
    print(context, release ? releaseSentence(release) : sidecarSkipped(options));
    if (options.artifacts) report(findings, context);
  }
  const first = faulty[0]?.fault;
  return first ? REFUSALS[first.code][0] : EXIT.success;
}

export function schema(context: Context) {
  printJson(context, jsonSchema());
}

function findSidecar(file: string, options: VerifyOptions): Buffer | undefined {
  const wanted =
    typeof options.signature === 'string' ||
    options.requireSignature ||
    options.key.length > 0 ||
    options.threshold !== undefined ||
    options.channel !== undefined ||
    options.lastSerial !== undefined ||
    options.installed !== undefined;
  if (options.signature === false) {
    if (wanted) throw usage('--no-signature contradicts the options that need a signature.');
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
    throw usage(`--installed is "${escaped(installed)}"; it must be a version such as 1.2.3.`);
  }
  const keys: VerifyKey[] = options.key.map(file =>
    readPublicKey(readSmall(file, 'public key', KEY_LIMIT, 'key-invalid'), file),
  );
  return {
    ...(keys.length > 0 ? { keys } : releaseTrust()),
    ...(options.threshold === undefined ? {} : { threshold: options.threshold }),
    // the real time instead of SOURCE_DATE_EPOCH: a variable must not make an expired release valid
    now: context.now(),
    lastSerial: options.lastSerial,
    channels: channel && [channel],
    installed,
  };
}

async function checkArtifacts(manifest: Manifest, directory: string, context: Context): Promise<Finding[]> {
  const progress = progressLine(context.stderr, 'verifying', context.now);
  return verifyDirectory(manifest, directory, context.worker, progress.show).finally(progress.clear);
}

function report(findings: readonly Finding[], context: Context): void {
  for (const { artifact, fault } of findings) {
    if (fault) context.stderr.write(`  ${artifact.name} ${fault.detail} [${fault.code}]\n`);
  }
  const codes = new Set(findings.flatMap(({ fault }) => fault?.code ?? []));
  for (const code of codes) context.stderr.write(`  ${code}: ${REFUSALS[code][1]}\n`);
  const good = findings.filter(({ fault }) => !fault).length;
  print(context, `${good} of ${findings.length} artifacts are as the manifest says`);
}

function sidecarSkipped({ signature }: VerifyOptions): string {
  return signature === false ? 'signature not verified, as asked' : 'not signed, so it is unknown who made it';
}

function summary(manifest: Manifest): string {
  const { tag, artifacts } = manifest;
  const count = `${artifacts.length} artifact${artifacts.length === 1 ? '' : 's'}`;
  return `${tag === undefined ? 'untagged' : escaped(tag)}, ${count}, ${size(total(manifest))}`;
}

function total({ artifacts }: Manifest): number {
  return artifacts.reduce((sum, artifact) => sum + artifact.size, 0);
}
