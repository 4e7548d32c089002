// Makes a signed release in a temporary directory, and runs culvert-manifest on it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { TestContext } from 'node:test';
import { runCommandLine } from '../../../manifest/cli/program.ts';
import type { RefusalCode } from '../../../manifest/errors.ts';
import { keyId } from '../../../manifest/keys.ts';
import { formatSidecar, signedBytes } from '../../../manifest/signatures.ts';
import { temporary } from '../temporary.ts';
import { buildManifest } from './bundle.ts';

export { temporary };

export interface Run {
  exit: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  input?: string | Buffer;
  /** Words before the program: `['strace', …]`. */
  prefix?: readonly string[];
  bundle?: string;
  cwd?: string;
}

/** Runs `culvert-manifest`. */
export function run(args: readonly string[], { env, input, prefix = [], bundle, cwd }: RunOptions = {}): Promise<Run> {
  const argv = [...prefix, process.execPath, bundle ?? buildManifest(), ...args];
  const { NODE_EXTRA_CA_CERTS: _, SOURCE_DATE_EPOCH: __, ...inherited } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(argv[0]!, argv.slice(1), { env: { ...inherited, ...env }, cwd, stdio: 'pipe' });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', chunk => (output.stdout += chunk));
    child.stderr.on('data', chunk => (output.stderr += chunk));
    child.stdin.on('error', () => {}); // it need not read
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', exit => resolve({ exit, ...output }));
  });
}

/**
 * For tables of cases: the first one of each refusal runs in the program, which shows that message and status get there,
 * the others in this process. A start of the program takes ten times as long.
 */
export function firstStarts(): (refusal: RefusalCode | 'usage') => (args: readonly string[]) => Promise<Run> {
  const started = new Set<string>();
  return refusal => {
    if (started.has(refusal)) return runHere;
    started.add(refusal);
    return run;
  };
}

/** Runs the command line of `culvert-manifest` in this process. */
export async function runHere(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  const output = { stdout: '', stderr: '' };
  const exit = await runCommandLine(args, {
    env,
    now: Date.now,
    worker: buildManifest(),
    version: '0.0.0-test',
    stdout: { write: text => (output.stdout += text) },
    stderr: { write: text => (output.stderr += text) },
  });
  return { exit, ...output };
}

export const key = generateKeyPairSync('ed25519').privateKey;
export const otherKey = generateKeyPairSync('ed25519').privateKey;
const DAY = 86_400_000;
const at = (days: number) => `${new Date(Date.now() + days * DAY).toISOString().slice(0, 19)}Z`;
export const yesterday = at(-1);
export const day = at;

export interface Release {
  directory: string;
  manifest: string;
  sidecar: string;
  publicKey: string;
  /** The manifest's object, to be changed and written again. */
  object: Record<string, unknown> & { artifacts: Record<string, unknown>[] };
}

export const CONTENTS: Record<string, string> = {
  'culvert-1.2.3.AppImage': 'an image\n'.repeat(1000),
  'culvert-1.2.3.tar.gz': 'a tarball\n'.repeat(500),
  'culvert-amd64.deb': 'a package\n',
};

export const STATEMENT = {
  serial: 12,
  expires_at: at(60),
  channel: 'stable',
  minimum_version: '1.0.0',
};

/** Three artifacts, their manifest, its sidecar, and the public key; made without the program under test. */
export function makeRelease(t: Pick<TestContext, 'after'>): Release {
  const directory = temporary(t);
  for (const [name, text] of Object.entries(CONTENTS)) fs.writeFileSync(path.join(directory, name), text);
  const publicKey = path.join(directory, 'release.pub');
  fs.writeFileSync(publicKey, pem(key));
  const release: Release = {
    directory,
    manifest: path.join(directory, 'release-manifest.v1.json'),
    sidecar: path.join(directory, 'release-manifest.v1.json.sig'),
    publicKey,
    object: {
      schema: 'https://culvert.example/schemas/release-manifest.v1.json',
      project: 'culvert',
      tag: 'v1.2.3',
      generated_at: yesterday,
      artifacts: Object.entries(CONTENTS).map(([name, text]) => ({
        name,
        size: text.length,
        sha256: createHash('sha256').update(text).digest('hex'),
      })),
    },
  };
  write(release, JSON.stringify(release.object));
  return release;
}

/** Writes these bytes as the manifest, and signs them, so that only what they say can be refused. */
export function write(release: Release, bytes: string | Buffer, statement: unknown = STATEMENT, signer = key): void {
  fs.writeFileSync(release.manifest, bytes);
  fs.writeFileSync(release.sidecar, seal(Buffer.from(bytes), statement, signer));
}

/** A valid signature over any statement, even one that `sign` would refuse; text is taken as it is. */
export function seal(manifest: Buffer, statement: unknown, signer: KeyObject = key): Buffer {
  const bytes = Buffer.isBuffer(statement) ? statement : Buffer.from(`${JSON.stringify(statement)}\n`);
  const id = keyId(signer);
  const signature = sign(null, signedBytes(id, bytes, manifest), signer);
  return formatSidecar({ signatures: [{ keyId: id, signature }], statement: bytes });
}

export function pem(privateKey: KeyObject): string {
  const jwk = privateKey.export({ format: 'jwk' });
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(jwk.x!, 'base64url')]);
  return `-----BEGIN PUBLIC KEY-----\n${spki.toString('base64')}\n-----END PUBLIC KEY-----\n`;
}

/** Everything below a directory: kind, mode, size, times and content, to notice any change. */
export function snapshot(directory: string): string {
  const lines = fs.readdirSync(directory, { recursive: true, withFileTypes: true }).map(entry => {
    const file = path.join(entry.parentPath, entry.name);
    const stat = fs.lstatSync(file, { bigint: true });
    const small = entry.isFile() && stat.size < 1 << 24;
    const content = small ? createHash('sha256').update(fs.readFileSync(file)).digest('hex') : '';
    return [file, stat.mode, stat.size, stat.ino, entry.isDirectory() ? '' : stat.mtimeNs, content].join(' ');
  });
  return lines.sort().join('\n');
}

/** Compares two snapshots, and names only the files that differ. */
export function assertSameFiles(after: string, before: string): void {
  const [now, then] = [after, before].map(text => text.split('\n'));
  const without = (lines: readonly string[], others: readonly string[]) => lines.filter(line => !others.includes(line));
  assert.deepEqual({ left: without(now!, then!), gone: without(then!, now!) }, { left: [], gone: [] });
}
