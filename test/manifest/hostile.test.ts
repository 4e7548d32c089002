// Hostile manifests, sidecars and artifacts: each is refused with its own code and exit status, and changes nothing on disk.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer } from 'node:net';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import { REFUSALS, type RefusalCode } from '../../manifest/errors.ts';
import {
  CONTENTS,
  day,
  firstStarts,
  key,
  makeRelease,
  otherKey,
  type Release,
  run,
  STATEMENT,
  seal,
  snapshot,
  write,
} from '../support/manifest/release.ts';

type Case = [what: string, code: RefusalCode, spoil: (release: Release) => void | Promise<void>, args?: string[]];

const [image, tarball, deb] = Object.keys(CONTENTS) as [string, string, string];
const MIB = 1024 * 1024;

/** Changes the manifest's object and signs the result, so that the signature is not what refuses it. */
const object = (change: (o: Release['object']) => unknown) => (release: Release) => {
  change(release.object);
  write(release, JSON.stringify(release.object));
};
/** `undefined` leaves the key out. */
const field = (name: string, value: unknown) => object(o => Object.assign(o, { [name]: value }));
const item = (name: string, value: unknown) => object(o => Object.assign(o.artifacts[0]!, { [name]: value }));
const text = (change: (text: string) => string | Buffer) => (release: Release) =>
  write(release, change(JSON.stringify(release.object)));
const statement = (change: object) => (release: Release) =>
  write(release, JSON.stringify(release.object), { ...STATEMENT, ...change });
const rawStatement = (bytes: string | Buffer) => (release: Release) =>
  write(release, JSON.stringify(release.object), Buffer.from(bytes));
const sidecar = (change: (bytes: Buffer) => string | Buffer) => (release: Release) =>
  fs.writeFileSync(release.sidecar, change(fs.readFileSync(release.sidecar)));
const artifact = (change: (file: string) => unknown) => async (release: Release) => {
  await change(path.join(release.directory, image));
};
const flip = (bytes: Buffer, bit: number) => {
  bytes[bit >> 3]! ^= 1 << (bit & 7);
  return bytes;
};

const manifests: Case[] = [
  ['an empty manifest', 'manifest-malformed', text(() => '')],
  ['a manifest cut in half', 'manifest-malformed', text(t => t.slice(0, t.length / 2))],
  ['a manifest without its last brace', 'manifest-malformed', text(t => t.slice(0, -1))],
  ['a manifest with text behind it', 'manifest-malformed', text(t => `${t}x`)],
  ['a manifest with two documents', 'manifest-malformed', text(t => t + t)],
  ['a byte order mark', 'manifest-malformed', text(t => `\ufeff${t}`)],
  ['UTF-16', 'manifest-malformed', text(t => Buffer.from(t, 'utf16le'))],
  ['bytes that are no UTF-8', 'manifest-malformed', text(t => Buffer.from(t.replace('v1.2.3', 'v\xff'), 'latin1'))],
  [
    'an overlong encoding of a slash',
    'manifest-malformed',
    text(t => Buffer.from(t.replace('1.2.3.A', '\xc0\xaf'), 'latin1')),
  ],
  ['a comment', 'manifest-malformed', text(t => `${t} // yes`)],
  ['a comma too many', 'manifest-malformed', text(t => t.replace(/\}$/, ',}'))],
  ['a NUL byte behind the document', 'manifest-malformed', text(t => `${t}\0`)],
  ['NaN as a size', 'manifest-malformed', text(t => t.replace(/"size":\d+/, '"size":NaN'))],
  ['a duplicate key', 'manifest-malformed', text(t => t.replace('{', '{"project":"other",'))],
  ['a duplicate key of an artifact', 'manifest-malformed', text(t => t.replace('"size"', '"size":1,"size"'))],
  ['a duplicate key, once escaped', 'manifest-malformed', text(t => t.replace('{', '{"\\u0074ag":"v9.9.9",'))],
  ['an HTML page', 'manifest-malformed', text(() => '<!doctype html><title>404</title>')],
  ['a manifest over the limit', 'manifest-too-large', text(t => t + ' '.repeat(MIB))],
  [
    'a manifest that goes on for a gigabyte',
    'manifest-too-large',
    r => {
      write(r, JSON.stringify(r.object));
      fs.truncateSync(r.manifest, 1024 * MIB);
    },
  ],
  ['brackets 500,000 deep', 'manifest-invalid', text(() => '['.repeat(500_000) + ']'.repeat(500_000))],
  [
    'objects 100,000 deep',
    'manifest-invalid',
    text(t => t.replace('{', `{"a":${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)},`)),
  ],
  ['brackets 500,000 deep, unclosed', 'manifest-malformed', text(() => '['.repeat(500_000))],
  ['null', 'manifest-invalid', text(() => 'null')],
  ['a list', 'manifest-invalid', text(t => `[${t}]`)],
  ['an empty object', 'manifest-invalid', text(() => '{}')],
  ['an unknown key', 'manifest-invalid', field('serial', 13)],
  ['an unknown key named __proto__', 'manifest-invalid', text(t => t.replace('{', '{"__proto__":{"tag":"v9.9.9"},'))],
  ['an unknown key of an artifact', 'manifest-invalid', item('url', 'https://example.net/x')],
  ['no schema', 'manifest-invalid', field('schema', undefined)],
  ['a schema that is a number', 'manifest-invalid', field('schema', 1)],
  [
    'a later version of the schema',
    'schema-unknown',
    field('schema', 'https://culvert.example/schemas/release-manifest.v2.json'),
  ],
  ['a schema from elsewhere', 'schema-unknown', field('schema', 'https://example.net/release-manifest.v1.json')],
  ['no project', 'manifest-invalid', field('project', undefined)],
  ['another project', 'project-foreign', field('project', 'culverts')],
  ['the project in capitals', 'project-foreign', field('project', 'Culvert')],
  ['an empty tag', 'manifest-invalid', field('tag', '')],
  ['a tag that is null', 'manifest-invalid', field('tag', null)],
  ['no date', 'manifest-invalid', field('generated_at', undefined)],
  ['a date that is a number', 'manifest-invalid', field('generated_at', 1763700000)],
  ['a date without a time', 'date-invalid', field('generated_at', '2026-11-21')],
  ['a date without a zone', 'date-invalid', field('generated_at', '2026-11-21T12:00:00')],
  ['30 February', 'date-invalid', field('generated_at', '2026-02-30T12:00:00Z')],
  ['29 February outside a leap year', 'date-invalid', field('generated_at', '2100-02-29T12:00:00Z')],
  ['month 13', 'date-invalid', field('generated_at', '2026-13-01T12:00:00Z')],
  ['hour 24', 'date-invalid', field('generated_at', '2026-11-21T24:00:00Z')],
  ['a leap second in the morning', 'date-invalid', field('generated_at', '2016-12-31T09:59:60Z')],
  ['an offset of 25 hours', 'date-invalid', field('generated_at', '2026-11-21T12:00:00+25:00')],
  ['a year of five digits', 'date-invalid', field('generated_at', '12026-11-21T12:00:00Z')],
  ['a date with a line break behind it', 'date-invalid', field('generated_at', '2026-11-21T12:00:00Z\n')],
  ['no artifacts', 'manifest-invalid', field('artifacts', undefined)],
  ['an empty list of artifacts', 'manifest-invalid', field('artifacts', [])],
  ['artifacts as an object', 'manifest-invalid', field('artifacts', { 0: {} })],
  ['an artifact that is text', 'manifest-invalid', field('artifacts', [image])],
  ['a size of 0', 'manifest-invalid', item('size', 0)],
  ['a negative size', 'manifest-invalid', item('size', -1)],
  ['half a byte', 'manifest-invalid', item('size', 8999.5)],
  ['a size as text', 'manifest-invalid', item('size', '9000')],
  ['an infinite size', 'manifest-invalid', text(t => t.replace(/"size":\d+/, '"size":1e999'))],
  ['no size', 'manifest-invalid', item('size', undefined)],
  ['a digest in capitals', 'manifest-invalid', item('sha256', 'A'.repeat(64))],
  ['a digest of 63 digits', 'manifest-invalid', item('sha256', 'a'.repeat(63))],
  ['a digest of 65 digits', 'manifest-invalid', item('sha256', 'a'.repeat(65))],
  ['a digest with a line break behind it', 'manifest-invalid', item('sha256', `${'a'.repeat(64)}\n`)],
  ['an empty digest', 'manifest-invalid', item('sha256', '')],
  ['a name that is a list', 'manifest-invalid', item('name', [image])],
];

const names: Case[] = (
  [
    ['another project’s prefix', 'name-foreign', 'other-1.2.3.tar.gz'],
    ['a prefix in capitals', 'name-foreign', 'Culvert-1.2.3.tar.gz'],
    ['the prefix alone', 'name-foreign', 'culvert-'],
    ['the prefix and a line break', 'name-foreign', 'culvert-\n'],
    ['the prefix without its dash', 'name-foreign', 'culvert.tar.gz'],
    ['an empty name', 'name-foreign', ''],
    ['dots alone', 'name-foreign', '..'],
    ['the way up', 'name-foreign', '../culvert-1.tar.gz'],
    ['an absolute path', 'name-foreign', '/etc/culvert-1'],
    ['a leading dot', 'name-foreign', '.culvert-1'],
    ['an option', 'name-foreign', '--culvert-1'],
    ['the way up behind the prefix', 'name-unsafe', 'culvert-/../../etc/passwd'],
    ['a separator', 'name-unsafe', 'culvert-a/b'],
    ['a separator at the end', 'name-unsafe', 'culvert-a/'],
    ['a backslash', 'name-unsafe', 'culvert-..\\b'],
    ['two dots', 'name-unsafe', 'culvert-..'],
    ['a NUL', 'name-unsafe', 'culvert-a\0.tar.gz'],
    ['a line break and a path behind it', 'name-unsafe', 'culvert-a\n/../../x'],
    ['an escape sequence for the terminal', 'name-unsafe', 'culvert-\x1b[2Ja'],
    ['a right-to-left override', 'name-unsafe', 'culvert-\u202egnp.exe'],
    ['half a surrogate pair', 'name-unsafe', 'culvert-\ud800'],
    ['a line separator', 'name-unsafe', 'culvert-a\u2028b'],
    ['256 bytes', 'name-unsafe', `culvert-${'a'.repeat(248)}`],
    ['256 bytes in 132 characters', 'name-unsafe', `culvert-${'é'.repeat(124)}`],
  ] as const
).map(([what, code, name]) => [`a name with ${what}`, code, item('name', name)]);

const sidecars: Case[] = [
  ['no sidecar', 'unsigned', r => fs.rmSync(r.sidecar)],
  ['an empty sidecar', 'sidecar-malformed', sidecar(() => '')],
  ['a sidecar cut within its signature', 'sidecar-malformed', sidecar(b => b.subarray(0, 100))],
  ['a sidecar cut within its statement', 'signature-invalid', sidecar(b => b.subarray(0, -20))],
  ['a sidecar cut behind its signature', 'signature-invalid', sidecar(b => b.subarray(0, b.indexOf('\n') + 1))],
  ['a sidecar with a byte too many', 'signature-invalid', sidecar(b => `${b} `)],
  ['a sidecar over the limit', 'sidecar-too-large', sidecar(b => `${b}${' '.repeat(4096)}`)],
  ['a sidecar with its line ends changed', 'sidecar-malformed', sidecar(b => b.toString().replaceAll('\n', '\r\n'))],
  ['a sidecar of version 2', 'sidecar-malformed', sidecar(b => b.toString().replace('sidecar 1', 'sidecar 2'))],
  ['another algorithm', 'sidecar-malformed', sidecar(b => b.toString().replace('ed25519', 'none   '))],
  [
    'a signature in capitals',
    'sidecar-malformed',
    sidecar(b => b.toString().replace(/ [0-9a-f]{128}/, s => s.toUpperCase())),
  ],
  [
    'a signature of zeros',
    'signature-invalid',
    sidecar(b => b.toString().replace(/ [0-9a-f]{128}/, ` ${'0'.repeat(128)}`)),
  ],
  ['a sidecar that is JSON', 'sidecar-malformed', sidecar(() => JSON.stringify({ signature: 'x', ...STATEMENT }))],
  [
    'a higher serial under the old signature',
    'signature-invalid',
    sidecar(b => b.toString().replace('"serial":12', '"serial":99')),
  ],
  ['a manifest changed after it was signed', 'signature-invalid', r => fs.appendFileSync(r.manifest, ' ')],
  ['a manifest that is not JSON, unsigned as well', 'signature-invalid', r => fs.writeFileSync(r.manifest, '{')],
  [
    'bytes moved from the statement to the manifest',
    'signature-invalid',
    r => {
      const [bytes, json] = [fs.readFileSync(r.sidecar), fs.readFileSync(r.manifest)];
      fs.writeFileSync(r.sidecar, bytes.subarray(0, -5));
      fs.writeFileSync(r.manifest, Buffer.concat([bytes.subarray(-5), json]));
    },
  ],
  ['an unknown key', 'key-unknown', r => write(r, JSON.stringify(r.object), STATEMENT, otherKey)],
  [
    'an unknown key under the name of a known one',
    'signature-invalid',
    r => {
      const known = fs.readFileSync(r.sidecar, 'latin1').split(' ')[3]!;
      write(r, JSON.stringify(r.object), STATEMENT, otherKey);
      const forged = fs.readFileSync(r.sidecar, 'latin1').replace(/(?<=ed25519 )\S+/, known);
      fs.writeFileSync(r.sidecar, forged);
    },
  ],
  [
    'the sidecar of another manifest',
    'signature-invalid',
    r => fs.writeFileSync(r.sidecar, seal(Buffer.from('{}'), STATEMENT, key)),
  ],
  ['a statement that is not JSON', 'sidecar-invalid', rawStatement('serial=12\n')],
  ['a statement that is not UTF-8', 'sidecar-invalid', rawStatement(Buffer.from([0x7b, 0xff, 0x7d]))],
  ['a statement that is null', 'sidecar-invalid', rawStatement('null')],
  [
    'a statement with a key twice',
    'sidecar-invalid',
    rawStatement(JSON.stringify(STATEMENT).replace('{', '{"serial":99,')),
  ],
  ['a statement with an unknown key', 'sidecar-invalid', statement({ url: 'https://example.net' })],
  ['a statement without a serial', 'sidecar-invalid', statement({ serial: undefined })],
  ['a serial of 0', 'sidecar-invalid', statement({ serial: 0 })],
  ['a serial as text', 'sidecar-invalid', statement({ serial: '12' })],
  ['a serial of 2^53', 'sidecar-invalid', statement({ serial: 2 ** 53 })],
  ['an unknown channel', 'sidecar-invalid', statement({ channel: 'nightly' })],
  ['a minimum version that is none', 'sidecar-invalid', statement({ minimum_version: 'latest' })],
  ['a minimum version newer than the release', 'sidecar-invalid', statement({ minimum_version: '1.2.4' })],
  ['an expiry that is not a date', 'sidecar-invalid', statement({ expires_at: 'never' })],
  ['an expiry that does not exist', 'sidecar-invalid', statement({ expires_at: '2027-02-29T00:00:00Z' })],
  ['an expiry before the release', 'sidecar-invalid', statement({ expires_at: day(-2) })],
  ['an expiry in the year 9999', 'sidecar-invalid', statement({ expires_at: '9999-12-31T23:59:59Z' })],
  ['an expired release', 'expired', statement({ expires_at: day(-0.5) })],
  ['a release from the future', 'not-yet-valid', field('generated_at', day(3))],
  ['an older serial', 'serial-older', () => {}, ['--last-serial', '13']],
  ['a serial that uses up the numbers', 'serial-future', statement({ serial: Number.MAX_SAFE_INTEGER })],
  ['one signature of two', 'signatures-missing', () => {}, ['--threshold', '2']],
  ['another channel', 'channel-other', () => {}, ['--channel', 'beta']],
  ['no tag', 'tag-not-version', field('tag', undefined)],
  ['a tag that is not a version', 'tag-not-version', field('tag', 'latest')],
  ['a version older than the installed one', 'version-older', () => {}, ['--installed', '1.3.0']],
  ['an installed version that is too old', 'version-unreachable', () => {}, ['--installed', '0.9.0']],
];

const artifacts: Case[] = [
  ['a missing artifact', 'artifact-missing', artifact(file => fs.rmSync(file))],
  ['a truncated artifact', 'artifact-size', artifact(file => fs.truncateSync(file, 8999))],
  ['an empty artifact', 'artifact-size', artifact(file => fs.truncateSync(file, 0))],
  ['an artifact with a byte too many', 'artifact-size', artifact(file => fs.appendFileSync(file, 'x'))],
  ['an artifact of a terabyte', 'artifact-size', artifact(file => fs.truncateSync(file, 1024 ** 4))],
  [
    'an artifact with its first bit flipped',
    'artifact-hash',
    artifact(file => fs.writeFileSync(file, flip(fs.readFileSync(file), 0))),
  ],
  [
    'an artifact with its last bit flipped',
    'artifact-hash',
    artifact(file => fs.writeFileSync(file, flip(fs.readFileSync(file), 9000 * 8 - 1))),
  ],
  ['an artifact of zeros', 'artifact-hash', artifact(file => fs.writeFileSync(file, Buffer.alloc(9000)))],
  ['a wrong digest in the manifest', 'artifact-hash', item('sha256', 'a'.repeat(64))],
  ['a wrong size in the manifest', 'artifact-size', item('size', 8999)],
  ['a size beyond exact numbers', 'artifact-size', item('size', 2 ** 60)],
  [
    'two artifacts that stand for each other',
    'artifact-size',
    r => {
      const swap = path.join(r.directory, 'swap');
      fs.renameSync(path.join(r.directory, image), swap);
      fs.renameSync(path.join(r.directory, tarball), path.join(r.directory, image));
      fs.renameSync(swap, path.join(r.directory, tarball));
    },
  ],
  [
    'a symbolic link to the right content',
    'artifact-not-regular',
    artifact(file => {
      fs.renameSync(file, `${file}.real`);
      fs.symlinkSync(`${file}.real`, file);
    }),
  ],
  [
    'a dangling symbolic link',
    'artifact-not-regular',
    artifact(file => replace(file, () => fs.symlinkSync('nowhere', file))),
  ],
  [
    'a symbolic link to itself',
    'artifact-not-regular',
    artifact(file => replace(file, () => fs.symlinkSync(file, file))),
  ],
  [
    'a symbolic link to /dev/zero',
    'artifact-not-regular',
    artifact(file => replace(file, () => fs.symlinkSync('/dev/zero', file))),
  ],
  ['a directory', 'artifact-not-regular', artifact(file => replace(file, () => fs.mkdirSync(file)))],
  ['a pipe', 'artifact-not-regular', artifact(file => replace(file, () => execFileSync('mkfifo', [file])))],
  ['a socket', 'artifact-not-regular', artifact(file => replace(file, () => listening(file)))],
  ['a name twice', 'name-duplicate', object(o => o.artifacts.push({ ...o.artifacts[0] }))],
  [
    'a name twice with different content',
    'name-duplicate',
    object(o => o.artifacts.push({ ...o.artifacts[1], name: image })),
  ],
];

describe('a hostile file is refused with its own code, and nothing on disk changes', { concurrency: 2 }, () => {
  const runner = firstStarts();
  for (const [what, code, spoil, args = []] of [...manifests, ...names, ...sidecars, ...artifacts]) {
    const verify = runner(code);
    test(`${what}: ${code}`, async t => {
      const release = makeRelease(t);
      await spoil(release);
      const before = snapshot(release.directory);
      const argv = ['verify', release.manifest, '--key', release.publicKey, '--json', ...args];
      const { exit, stdout, stderr } = await verify(argv);
      const result = JSON.parse(stdout);
      const found = result.error?.code ?? result.artifacts.find((a: { ok: boolean }) => !a.ok)?.problem.code;
      assert.equal(result.ok, false);
      assert.equal(found, code, stdout.slice(0, 2000));
      assert.equal(exit, REFUSALS[code][0]);
      assert.equal(stderr, '');
      assert.equal(snapshot(release.directory), before);
    });
  }

  test('at least 80 of them are tried, and every refusal that verify knows', () => {
    const tried = [...manifests, ...names, ...sidecars, ...artifacts];
    assert.ok(tried.length >= 80, `${tried.length}`);
    const elsewhere = /^(input|output|signer|key-(invalid|exposed|in|revoked)|artifact-(changed|empty|unreadable))/;
    const wanted = Object.keys(REFUSALS).filter(code => !elsewhere.test(code));
    assert.deepEqual(
      wanted.filter(code => !tried.some(([, c]) => c === code)),
      [],
    );
  });

  test('the release that they spoil is accepted', async t => {
    const release = makeRelease(t);
    const strict = ['--channel', 'stable', '--last-serial', '12', '--installed', '1.2.3'];
    const { exit, stderr } = await run(['verify', release.manifest, '--key', release.publicKey, ...strict]);
    assert.deepEqual([exit, stderr], [0, '']);
  });
});

test('every artifact with a fault is named with what is wrong, not only the first', async t => {
  const release = makeRelease(t);
  fs.truncateSync(path.join(release.directory, tarball), 10);
  fs.writeFileSync(path.join(release.directory, deb), 'A package\n');
  const { exit, stdout, stderr } = await run(['verify', release.manifest, '--key', release.publicKey]);
  assert.match(stderr, new RegExp(`${tarball} has 10 bytes instead of 5000 \\[artifact-size\\]`));
  assert.match(stderr, new RegExp(`${deb} has the SHA-256 [0-9a-f]{64} instead of [0-9a-f]{64} \\[artifact-hash\\]`));
  assert.match(stdout, /1 of 3 artifacts are as the manifest says/);
  assert.equal(exit, REFUSALS['artifact-size'][0]);
});

test('an artifact on a failing disk is reported as unreadable', async t => {
  const release = makeRelease(t);
  const file = path.join(release.directory, image);
  const prefix = ['strace', '-o', '/dev/null', '-f', '-P', file, '-e', 'inject=read,pread64:error=EIO'];
  const { exit, stderr } = await run(['verify', release.manifest, '--key', release.publicKey], { prefix });
  assert.match(stderr, /can't be read: Input or output failed/);
  assert.equal(exit, REFUSALS['artifact-unreadable'][0]);
});

function replace(file: string, make: () => unknown): unknown {
  fs.rmSync(file);
  return make();
}

/** A socket file that stays in the directory after its listener is closed. */
async function listening(file: string): Promise<void> {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(file, resolve));
  server.unref();
}
