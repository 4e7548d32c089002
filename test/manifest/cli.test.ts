// The command line as people and scripts meet it: help, mistakes, keys, what is signed and what is not.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import { progressLine } from '../../manifest/cli/output.ts';
import { REFUSALS, type RefusalCode } from '../../manifest/errors.ts';
import type { PinnedKey } from '../../manifest/keys.ts';
import { jsonSchema } from '../../manifest/schema.ts';
import { buildManifest } from '../support/manifest/bundle.ts';
import {
  day,
  firstStarts,
  key,
  makeRelease,
  pem,
  type Release,
  run,
  runHere,
  STATEMENT,
  snapshot,
  temporary,
  write,
} from '../support/manifest/release.ts';

const privatePem = key.export({ type: 'pkcs8', format: 'pem' }) as string;

function secret({ directory }: Release, content: string | Buffer = privatePem, mode = 0o600): string {
  const file = path.join(directory, 'secret.key');
  fs.writeFileSync(file, content);
  fs.chmodSync(file, mode);
  return file;
}

describe('help', () => {
  test('names every command and every exit status', async () => {
    const { exit, stdout } = await run(['--help']);
    assert.equal(exit, 0);
    for (const command of ['create', 'sign', 'minisign', 'verify', 'schema', 'keygen'])
      assert.match(stdout, new RegExp(`\\n  ${command} `));
    for (const [code, [status]] of Object.entries(REFUSALS))
      assert.match(stdout, new RegExp(`\\n  ${status} +${code}\\n`));
  });

  test('gives each refusal its own status', () => {
    const statuses = Object.values(REFUSALS).map(([status]) => status);
    assert.equal(new Set(statuses).size, statuses.length);
    assert.ok(statuses.every(status => status > 2 && status < 126));
  });

  test('lists the options of a command', async () => {
    for (const command of ['create', 'sign', 'minisign', 'verify', 'schema', 'keygen']) {
      const { exit, stdout } = await runHere([command, '--help']);
      assert.equal(exit, 0);
      assert.match(stdout, new RegExp(`Usage: culvert-manifest ${command} .*--json`, 's'));
    }
  });

  test('suggests the word that was meant', async () => {
    const word = await run(['verfy']);
    assert.deepEqual([word.exit, word.stderr], [2, "error: unknown command 'verfy'\n(Did you mean verify?)\n"]);
    const option = await run(['verify', 'x', '--no-signatur']);
    assert.equal(option.exit, 2);
    assert.match(option.stderr, /Did you mean --no-signature/);
  });

  test('comes with the version', async () => {
    assert.deepEqual(await run(['--version']), { exit: 0, stdout: 'culvert-manifest 0.0.0-test\n', stderr: '' });
  });
});

test('schema prints the JSON Schema', async () => {
  const { exit, stdout } = await run(['schema']);
  assert.equal(exit, 0);
  assert.deepEqual(JSON.parse(stdout), jsonSchema());
});

test('a reader that stops early is not an error', () => {
  const command = `"$0" "$1" schema | true; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', command, process.execPath, buildManifest()], {
    encoding: 'utf8',
  });
  assert.deepEqual([stdout, stderr], ['0\n', '']);
});

describe('keygen', () => {
  test('makes a pair that openssl understands, the private half readable by its owner only and printed nowhere', async t => {
    const directory = temporary(t);
    const { exit, stdout, stderr } = await run(['keygen', 'release', '--json'], { cwd: directory });
    assert.deepEqual([exit, stderr], [0, '']);
    const { privateKey, publicKey, id, pinned } = JSON.parse(stdout);
    const [secretFile, publicFile] = [path.join(directory, privateKey), path.join(directory, publicKey)];
    assert.equal(fs.statSync(secretFile).mode & 0o777, 0o600);
    const derived = execFileSync('openssl', ['pkey', '-in', secretFile, '-pubout'], { encoding: 'utf8' });
    assert.equal(fs.readFileSync(publicFile, 'utf8'), derived);
    const der = execFileSync('openssl', ['pkey', '-pubin', '-in', publicFile, '-outform', 'DER']);
    assert.equal(pinned.key, der.subarray(-32).toString('base64'));
    const digest = execFileSync('openssl', ['dgst', '-sha256', '-r'], { input: der.subarray(-32), encoding: 'utf8' });
    assert.equal(id, digest.slice(0, 16));
    assert.equal(stdout.includes(fs.readFileSync(secretFile, 'utf8').split('\n')[1]!), false);
  });

  test('overwrites neither half', async t => {
    for (const half of ['release.key', 'release.pub']) {
      const directory = temporary(t);
      fs.writeFileSync(path.join(directory, half), 'mine');
      const before = snapshot(directory);
      const { exit, stderr } = await run(['keygen', path.join(directory, 'release')]);
      assert.equal(exit, REFUSALS['output-exists'][0]);
      assert.match(stderr, new RegExp(`${half} already exists`));
      assert.equal(snapshot(directory), before);
    }
  });

  test('puts no private key into a repository', async t => {
    const directory = temporary(t);
    fs.mkdirSync(path.join(directory, '.git'));
    fs.mkdirSync(path.join(directory, 'keys'));
    const { exit } = await run(['keygen', 'keys/release'], { cwd: directory });
    assert.equal(exit, REFUSALS['key-in-repository'][0]);
    assert.deepEqual(fs.readdirSync(path.join(directory, 'keys')), []);
  });
});

describe('a release from keygen to verify', () => {
  test('is refused until its key is pinned or given, then accepted', async t => {
    const release = makeRelease(t);
    const cwd = release.directory;
    const made = JSON.parse((await run(['keygen', 'mine', '--json'], { cwd })).stdout);
    const signing = ['sign', 'release-manifest.v1.json', '--key', 'mine.key', '--serial', '1', '--expires', '90d'];
    const signed = await run([...signing, '--channel', 'beta', '--minimum-version', '1.0.0', '--json'], { cwd });
    assert.equal(signed.exit, 0, signed.stderr);
    assert.match(signed.stderr, /not pinned in this build/);
    assert.equal(JSON.parse(signed.stdout).channel, 'beta');

    const none = buildManifest({ __RELEASE_KEYS__: '[]' }); // no keys, regardless of those that this repository pins
    const unpinned = await run(['verify', 'release-manifest.v1.json'], { cwd, bundle: none });
    assert.equal(unpinned.exit, REFUSALS['key-unknown'][0]);
    assert.match(unpinned.stderr, /this build pins no release key yet/);
    const given = await run(['verify', 'release-manifest.v1.json', '--key', 'mine.pub'], { cwd });
    assert.deepEqual([given.exit, given.stderr], [0, '']);
    assert.match(given.stdout, /signed with mine\.pub \([0-9a-f]{16}\), serial 1, channel beta/);
    const bundle = buildManifest({ __RELEASE_KEYS__: JSON.stringify([made.pinned]) });
    const pinned = await run(['verify', 'release-manifest.v1.json', '--require-signature'], { cwd, bundle });
    assert.deepEqual([pinned.exit, pinned.stderr], [0, '']);
    assert.match(pinned.stdout, new RegExp(`signed with mine \\(${made.id}\\)`));
    const again = await run(signing, { cwd, bundle });
    assert.equal(again.stderr, '');
  });

  test('is refused for a key that was revoked before the build, which keeps its rank', async t => {
    const release = makeRelease(t);
    const cwd = release.directory;
    const keys: { id: string; pinned: PinnedKey }[] = [];
    for (const name of ['current', 'next'])
      keys.push(JSON.parse((await run(['keygen', name, '--json'], { cwd })).stdout));
    const pinned = (revoked: string) => keys.map(({ pinned }) => ({ ...pinned, revoked: pinned.name === revoked }));
    const build = (revoked: string) => buildManifest({ __RELEASE_KEYS__: JSON.stringify(pinned(revoked)) });
    const sign = (name: string, revoked: string) => {
      const { id } = keys.find(each => each.pinned.name === revoked)!;
      const words = ['sign', release.manifest, '--key', `${name}.key`, '--revoke', id];
      return run(words, { cwd, bundle: build(revoked) });
    };
    const signed = ['sign', release.manifest, '--key', 'current.key'];
    assert.equal((await run(signed, { cwd, bundle: build('') })).exit, 0);
    const verified = await run(['verify', release.manifest], { cwd, bundle: build('current') });
    assert.equal(verified.exit, REFUSALS['key-revoked'][0]);
    assert.equal((await run(signed, { cwd, bundle: build('current') })).exit, REFUSALS['key-revoked'][0]);
    assert.equal((await sign('next', 'current')).exit, 0);
    const lower = await sign('current', 'next');
    assert.match(lower.stderr, /its signers do not outrank that key/, 'which other installations would refuse');
  });

  test('can take the private key from a pipe, for instance from openssl that decrypts it', async t => {
    const release = makeRelease(t);
    const args = ['sign', release.manifest, '--key', '-', '--serial', '7', '--expires', day(10)];
    const { exit, stdout, stderr } = await run(args, { input: privatePem });
    assert.equal(exit, 0, stderr);
    assert.equal(`${stdout}${stderr}`.includes(privatePem.split('\n')[1]!), false);
    assert.equal((await runHere(['verify', release.manifest, '--key', release.publicKey])).exit, 0);
  });

  test('can be signed by a program that holds the key, such as that of a token', async t => {
    const release = makeRelease(t);
    const file = secret(release);
    const signer = `cat >bytes && openssl pkeyutl -sign -inkey ${file} -rawin -in bytes`;
    const before = Math.floor(Date.now() / 1000);
    const args = ['sign', release.manifest, '--key', release.publicKey, '--signer', signer, '--json'];
    const { exit, stdout, stderr } = await run(args, { cwd: release.directory });
    assert.equal(exit, 0, stderr);
    const { serial } = JSON.parse(stdout);
    assert.ok(serial >= before && serial <= before + 600, 'the serial is the time in seconds');
    assert.equal((await runHere(['verify', release.manifest, '--key', release.publicKey])).exit, 0);
  });

  test('can be signed by two keys, one after the other', async t => {
    const release = makeRelease(t);
    const cwd = release.directory;
    const [one, two] = await Promise.all(
      ['one', 'two'].map(async name => JSON.parse((await run(['keygen', name, '--json'], { cwd })).stdout)),
    );
    const both = ['verify', release.manifest, '--key', 'one.pub', '--key', 'two.pub', '--threshold', '2'];
    await run(['sign', release.manifest, '--key', 'one.key'], { cwd });
    assert.equal((await run(both, { cwd })).exit, REFUSALS['signatures-missing'][0]);
    await run(['sign', release.manifest, '--key', 'two.key', '--add'], { cwd });
    const { exit, stdout } = await run([...both, '--json'], { cwd });
    assert.equal(exit, 0, stdout);
    assert.deepEqual(
      JSON.parse(stdout).signature.signers.map(({ id }: { id: string }) => id),
      [one.id, two.id],
    );
  });

  test('is signed alike when SOURCE_DATE_EPOCH is the same', async t => {
    const release = makeRelease(t);
    const args = ['sign', release.manifest, '--key', secret(release), '--serial', '7', '--expires', '30d'];
    const env = { SOURCE_DATE_EPOCH: String(Math.floor(Date.now() / 1000)) };
    await run(args, { env });
    const first = fs.readFileSync(release.sidecar);
    fs.rmSync(release.sidecar);
    await run(args, { env });
    assert.deepEqual(fs.readFileSync(release.sidecar), first);
  });

  test('is reminded of when its manifest is made again', async t => {
    const release = makeRelease(t);
    const file = path.join(release.directory, 'culvert-amd64.deb');
    const { stderr } = await runHere(['create', '--out', release.manifest, file]);
    assert.match(stderr, /signs the previous manifest\. Sign again/);
  });
});

describe('sign refuses, and writes nothing', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const encrypted = key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' });
  const usual = (r: Release) => ['--key', secret(r), '--serial', '13', '--expires', '30d'];
  const keyed = (content: string | Buffer, mode?: number) => (r: Release) => [
    '--key',
    secret(r, content, mode),
    '--serial',
    '13',
    '--expires',
    '30d',
  ];
  const cases: [what: string, expected: RefusalCode | RegExp, args: (r: Release) => string[]][] = [
    ['a private key that others can read', 'key-exposed', keyed(privatePem, 0o640)],
    ['a public key', 'key-invalid', keyed(pem(key))],
    ['an RSA key', 'key-invalid', keyed(rsa)],
    ['an encrypted key', 'key-invalid', keyed(encrypted)],
    ['noise', 'key-invalid', keyed(Buffer.from([0, 1, 2, 3]))],
    ['an empty key', 'key-invalid', keyed('')],
    ['a key of a megabyte', 'key-invalid', keyed('x'.repeat(1 << 20))],
    ['no key', 'input-unreadable', r => [...usual(r), '--key', `${r.directory}/none`]],
    ['a directory as key', 'input-not-regular', r => [...usual(r), '--key', r.directory]],
    ['a release that has expired', 'sidecar-invalid', r => [...usual(r), '--expires', day(-3)]],
    ['a release that expires now', 'expired', r => [...usual(r), '--expires', '0d']],
    ['a release valid for two years', 'sidecar-invalid', r => [...usual(r), '--expires', '730d']],
    ['a minimum version above the release', 'sidecar-invalid', r => [...usual(r), '--minimum-version', '2.0.0']],
    ['an output without its directory', 'output-failed', r => [...usual(r), '--out', `${r.directory}/none/x.sig`]],
    ['a directory as output', 'output-failed', r => [...usual(r), '--out', r.directory]],
    ['a device as output', 'output-failed', r => [...usual(r), '--out', '/dev/full']],
    ['an expiry that is not a time', /--expires is "soon"/, r => [...usual(r), '--expires', 'soon']],
    ['a minimum version that is none', /--minimum-version is "v1"/, r => [...usual(r), '--minimum-version', 'v1']],
    ['a serial of 0', /at least 1/, r => [...usual(r), '--serial', '0']],
    ['a serial that is not a number', /at least 1/, r => [...usual(r), '--serial', '1e3']],
    ['an unknown channel', /Allowed choices are stable, beta/, r => [...usual(r), '--channel', 'nightly']],
    ['the manifest as output', /would replace the manifest/, r => [...usual(r), '--out', r.manifest]],
    ['no key', /--key <file>' not specified/, () => ['--serial', '13']],
    ['a revoked key that is not an id', 'sidecar-invalid', r => [...usual(r), '--force', '--revoke', 'current']],
    ['a revoked key that is not pinned', 'key-unknown', r => [...usual(r), '--revoke', '1d6dc99c3a03a336']],
    [
      'a sidecar to add to that is not there',
      'input-unreadable',
      r => [...usual(r), '--add', '--out', `${r.directory}/none`],
    ],
    ['a signer that fails', 'signer-failed', r => ['--key', r.publicKey, '--signer', 'exit 3']],
    ['a signer that writes something else', 'signer-failed', r => ['--key', r.publicKey, '--signer', 'echo signed']],
    [
      'a signer with another key',
      'signature-invalid',
      r => ['--key', r.publicKey, '--signer', 'head -c 64 /dev/urandom'],
    ],
  ];
  const runner = firstStarts();
  for (const [what, expected, args] of cases) {
    const sign = runner(expected instanceof RegExp ? 'usage' : expected);
    test(what, async t => {
      const release = makeRelease(t);
      const argv = ['sign', release.manifest, ...args(release)];
      const before = snapshot(release.directory);
      const { exit, stdout, stderr } = await sign(argv);
      if (expected instanceof RegExp) assert.match(stderr, expected);
      else assert.match(stderr, new RegExp(`\\[${expected}\\]\n$`));
      assert.equal(exit, expected instanceof RegExp ? 2 : REFUSALS[expected][0]);
      assert.equal(stdout, '');
      assert.equal(stderr.includes(privatePem.split('\n')[1]!), false);
      assert.equal(snapshot(release.directory), before);
    });
  }

  test('hints address the maintainer, not a user who fetched the release', async t => {
    const release = makeRelease(t);
    const mistakes = [
      ['--expires', '730d'],
      ['--expires', '0d'],
      ['--serial', '99999999999'],
      ['--revoke', '1d6dc99c3a03a336'],
      ['--minimum-version', '2.0.0'],
    ];
    for (const mistake of mistakes) {
      const { exit, stderr } = await runHere(['sign', release.manifest, ...usual(release), ...mistake]);
      assert.ok((exit ?? 0) > 2, mistake.join(' '));
      assert.match(stderr, /Nothing was signed/, mistake.join(' '));
      assert.doesNotMatch(stderr, /report it|newer release|[Ff]etch|do not use/i, mistake.join(' '));
    }
    const unknown = await runHere(['sign', release.manifest, ...usual(release), '--revoke', '1d6dc99c3a03a336']);
    assert.match(unknown.stderr, /key 1d6dc99c3a03a336 is not pinned\. Pinned: .*--force/s);
  });

  test('an invalid manifest', async t => {
    const release = makeRelease(t);
    fs.writeFileSync(release.manifest, '{}');
    const old = fs.readFileSync(release.sidecar);
    const { exit } = await runHere(['sign', release.manifest, ...usual(release)]);
    assert.equal(exit, REFUSALS['manifest-invalid'][0]);
    assert.deepEqual(fs.readFileSync(release.sidecar), old);
  });
});

describe('verify', () => {
  test('says that an unsigned manifest is not signed, and still compares the files', async t => {
    const release = makeRelease(t);
    fs.rmSync(release.sidecar);
    const { exit, stdout } = await runHere(['verify', release.manifest]);
    assert.equal(exit, 0);
    assert.match(stdout, /not signed, so it is unknown who made it\n3 of 3 artifacts/);
    assert.equal(JSON.parse((await runHere(['verify', release.manifest, '--json'])).stdout).signature, null);
  });

  test('goes by the real time, whatever a build claims', async t => {
    const release = makeRelease(t);
    write(release, JSON.stringify(release.object), { ...STATEMENT, expires_at: day(-0.5) });
    const env = { SOURCE_DATE_EPOCH: String(Math.floor(Date.parse(day(-0.7)) / 1000)) };
    const { exit } = await runHere(['verify', release.manifest, '--key', release.publicKey], env);
    assert.equal(exit, REFUSALS.expired[0]);
  });

  test('leaves aside what it is asked to leave aside', async t => {
    const release = makeRelease(t);
    fs.writeFileSync(release.sidecar, 'damaged');
    fs.rmSync(path.join(release.directory, 'culvert-amd64.deb'));
    const { exit, stdout } = await runHere(['verify', release.manifest, '--no-signature', '--no-artifacts']);
    assert.equal(exit, 0);
    assert.match(stdout, /signature not verified, as asked\n$/);
  });

  test('finds artifacts in another directory, and a sidecar of another name', async t => {
    const [release, elsewhere] = [makeRelease(t), temporary(t)];
    const moved = path.join(elsewhere, 'm.json');
    fs.renameSync(release.manifest, moved);
    const { exit, stdout } = await run([
      'verify',
      moved,
      '--dir',
      release.directory,
      '--signature',
      release.sidecar,
      '--key',
      release.publicKey,
    ]);
    assert.equal(exit, 0);
    assert.match(stdout, /3 of 3/);
  });

  const cases: [what: string, expected: RefusalCode | 'usage', args: (r: Release) => string[]][] = [
    ['no manifest', 'input-unreadable', r => [`${r.directory}/none.json`]],
    ['a directory as manifest', 'input-not-regular', r => [r.directory]],
    ['a device as manifest', 'input-not-regular', () => ['/dev/zero']],
    ['a pipe as manifest', 'input-not-regular', r => [pipe(r)]],
    ['a pipe as sidecar', 'input-not-regular', r => [r.manifest, '--signature', pipe(r)]],
    ['no sidecar where one is named', 'unsigned', r => [r.manifest, '--signature', `${r.directory}/none`]],
    [
      'no directory of artifacts',
      'input-unreadable',
      r => [r.manifest, '--key', r.publicKey, '--dir', `${r.directory}/none`],
    ],
    [
      'a file as directory of artifacts',
      'input-unreadable',
      r => [r.manifest, '--key', r.publicKey, '--dir', r.manifest],
    ],
    ['no key', 'input-unreadable', r => [r.manifest, '--key', `${r.directory}/none.pub`]],
    ['a private key to verify with', 'key-invalid', r => [r.manifest, '--key', secret(r)]],
    ['a key that is none', 'key-invalid', r => [r.manifest, '--key', r.manifest]],
    ['an installed version that is none', 'usage', r => [r.manifest, '--key', r.publicKey, '--installed', 'new']],
    ['no signature, and a key for it', 'usage', r => [r.manifest, '--no-signature', '--key', r.publicKey]],
    ['an unknown option', 'usage', r => [r.manifest, '--trust-me']],
  ];
  const runner = firstStarts();
  for (const [what, code, args] of cases) {
    const verify = runner(code);
    test(`refuses ${what}: ${code}, as JSON too`, async t => {
      const release = makeRelease(t);
      const argv = ['verify', ...args(release)];
      const before = snapshot(release.directory);
      const { exit, stdout } = await verify([...argv, '--json']);
      assert.equal(JSON.parse(stdout).error.code, code);
      assert.equal(exit, code === 'usage' ? 2 : REFUSALS[code][0]);
      const plain = await verify(argv);
      assert.deepEqual([plain.exit, plain.stdout], [exit, '']);
      assert.notEqual(plain.stderr, '');
      assert.equal(snapshot(release.directory), before);
    });
  }
});

describe('progress', () => {
  test('is one line on a terminal, cut to its width, and gone at the end', () => {
    const written: string[] = [];
    let time = 0;
    const screen = { isTTY: true, columns: 40, write: (text: string) => written.push(text) };
    const { show, clear } = progressLine(screen, 'hashing', () => time);
    show(0, 2e9);
    assert.deepEqual(written, [], 'what is over at once does not flicker');
    time = 2000;
    show(1e9, 2e9);
    assert.deepEqual(written.splice(0), ['\rhashing 50 %  1.0 GB of 2.0 GB  500.0 M\x1b[K']);
    clear();
    clear();
    assert.deepEqual(written, ['\r\x1b[K']);
  });

  test('is not written to a file', () => {
    const { show, clear } = progressLine({ write: () => assert.fail() }, 'hashing', Date.now);
    show(1, 2);
    clear();
  });

  test('appears while large files are hashed on a terminal', async t => {
    const directory = temporary(t);
    const files = [0, 1].map(i => path.join(directory, `culvert-${i}`));
    for (const file of files) {
      fs.writeFileSync(file, '');
      fs.truncateSync(file, 512 * 1024 * 1024); // no disk is used: it is all holes
    }
    const command = [process.execPath, buildManifest(), 'create', '--out', `${directory}/m`, ...files].join(' ');
    const { stdout, status } = spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8' });
    assert.equal(status, 0);
    assert.match(stdout, /\rhashing \d+ % {2}[\d.]+ \w+ of 1\.1 GB/);
    assert.match(stdout, /\r\x1b\[K[^\r\x1b]*2 artifacts, 1\.1 GB/);
  });
});

function pipe({ directory }: Release): string {
  const file = path.join(directory, 'pipe');
  execFileSync('mkfifo', [file]);
  return file;
}
