// Releases with package repositories, one of which is served, as tests of apt and dnf read them.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
import { certified, rawKey } from '../../../data/repository/keys.mjs';
import { armored, certificate, clearsigned, signerOf } from '../../../data/repository/openpgp.mjs';
import { freePort } from '../ports.ts';
import { temporary } from '../temporary.ts';
import { clone, makeKeys, PASSPHRASE } from './release.ts';

/** This time, in seconds since 1970, as signatures have it. */
export const seconds = () => Math.floor(Date.now() / 1000);

/** A key that no release pins, and its certificate as text. */
export function stranger() {
  const { privateKey } = generateKeyPairSync('ed25519');
  const signing = { key: rawKey(privateKey), created: seconds(), signer: signerOf(privateKey) };
  const own = certificate(signing, 'x <x@x.example>', signing.created + 1000, signing.signer);
  return { signing, block: armored('PUBLIC KEY BLOCK', own) };
}

/**
 * A key of gpg whose certificate has a digest of SHA-1, which no release makes: runs gpg with it.
 * @returns what gpg prints
 */
export function weakKey(t: Pick<TestContext, 'after'>) {
  const home = temporary(t, 'gpg');
  fs.chmodSync(home, 0o700);
  const always = ['--homedir', home, '--batch', '--yes', '--passphrase', '', '--allow-weak-key-signatures'];
  const gpg = (input: string, ...words: string[]) =>
    execFileSync('gpg', [...always, ...words], { input, stdio: ['pipe', 'pipe', 'ignore'] });
  gpg('', '--cert-digest-algo', 'SHA1', '--quick-generate-key', 'weak <w@w.example>', 'rsa2048', 'sign', 'never');
  t.after(() => spawnSync('gpgconf', ['--homedir', home, '--kill', 'all']));
  return gpg;
}

/** The clone in which the releases of a suite are made, and the directory that is served. */
export class Releases {
  /** Served until the end of the suite. */
  readonly published = temporary({ after }, 'published');
  work!: ReturnType<typeof clone>;
  /** Directory of the release keys. */
  keys!: string;

  /** @param made makes the releases, besides 1.0.0 and 1.0.1 */
  constructor(made: (releases: Releases) => void = () => undefined) {
    // kept here, since it would end with the hook that makes it
    const ends: (() => void)[] = [];
    const whole = { after: (end: () => void) => void ends.push(end) } as Pick<TestContext, 'after'>;
    const port = freePort();
    // another process, since this one blocks while apt and dnf run
    const program = join(import.meta.dirname, '../../fixtures/serve-directory.mjs');
    const server = spawn(process.execPath, [program, this.published, String(port)], { stdio: 'ignore' });
    before(() => {
      this.work = clone(whole, '1.0.0', `http://127.0.0.1:${port}`);
      ({ keys: this.keys } = makeKeys(whole, this.work));
      this.release('1.0.0');
      this.release('1.0.1');
      made(this);
    });
    after(() => {
      server.kill();
      for (const end of ends) end();
    });
  }

  /** With --key among the options, these sign; else both keys. */
  release(version: string, ...options: string[]): void {
    const { work, keys } = this;
    work.put('package.json', JSON.stringify({ version }));
    work.put('package-lock.json', JSON.stringify({ version, packages: { '': { version } } }));
    work.put('CHANGELOG.md', `## ${version}\n`);
    work.git('add', '.');
    work.git('commit', '-qm', version);
    const both = options.includes('--key') ? [] : ['--key', join(keys, 'current.key'), '--key', join(keys, 'next.key')];
    const passphrase = ['--passphrase-file', join(keys, 'passphrase')];
    const made = work.run('data/release/release.sh', version, ...both, ...passphrase, ...options);
    assert.equal(made.status, 0, made.stderr);
    console.log(`made ${version}`); // progress, for the runner: a release takes minutes
  }

  /** The repository of a release. */
  at = (version: string) => join(this.work.at, 'dist', version, 'repository');

  publish = (version: string) => {
    fs.rmSync(this.published, { recursive: true, force: true });
    fs.cpSync(this.at(version), this.published, { recursive: true });
  };

  /** Replaces a file that is served. */
  put = (file: string, content: string | Buffer) => fs.writeFileSync(join(this.published, file), content);

  /** A private key, as text. */
  pem = (name: string) =>
    execFileSync('openssl', ['pkey', '-in', join(this.keys, `${name}.key`), '-passin', `pass:${PASSPHRASE}`], {
      encoding: 'utf8',
    });

  pinned = () => certified(JSON.parse(fs.readFileSync(join(this.work.at, 'data/project.json'), 'utf8')));

  signing = (name: string) => {
    const key = createPrivateKey(this.pem(name));
    const { created } = this.pinned().find(each => each.name === name)!;
    return { key: rawKey(key), created, signer: signerOf(key) };
  };

  /** The published index of "stable", unsigned, with something changed. */
  index = (change = (text: string) => text) => {
    const text = fs.readFileSync(join(this.published, 'dists/stable/InRelease'), 'utf8');
    return change(`${/Hash: SHA512\n\n([\s\S]*?\n)-----BEGIN/.exec(text)![1]}`);
  };

  resign = (names: string[], text = this.index()) =>
    this.put('dists/stable/InRelease', clearsigned(text, names.map(this.signing), seconds()));
}
