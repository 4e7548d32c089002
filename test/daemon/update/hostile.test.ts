// Hostile manifests, sidecars and downloads over a real connection: each is refused with its own code, by the check and by
// the update alike, and nothing on the disk is changed.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import type { ServerResponse } from 'node:http';
import * as os from 'node:os';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Problem } from '../../../daemon/problem.ts';
import type { Limits } from '../../../daemon/update/fetch.ts';
import { day, key, otherKey, seal, snapshot } from '../../support/manifest/release.ts';
import { FULL } from '../../support/thoroughness.ts';
import {
  createSource,
  createUpdater,
  type Ends,
  MANIFEST,
  publish,
  type Release,
  type Serve,
  SIDECAR,
  type Source,
  script,
  temporary,
  write,
} from '../../support/update/source.ts';

const IMAGE = `culvert-2.0.0-${os.machine()}.AppImage`;
const MIB = 1 << 20;
const PATIENT: Limits = { stallMs: 20_000, metadataMs: 20_000, bytesPerSecond: 1 };
const HASTY: Limits = { stallMs: 250, metadataMs: 20_000, bytesPerSecond: 1 };
const SHORT: Limits = { stallMs: 20_000, metadataMs: 400, bytesPerSecond: 1e9 };

interface Spoiled {
  source: Source;
  release: Release;
  /** The file on the source, by name. */
  file(name: string): Buffer;
  serve(name: string, how: Buffer | Serve | undefined): void;
}
type Case = [what: string, code: string, spoil: (to: Spoiled) => void, limits?: Limits];

/** Changes the manifest's object and signs the result, so that the signature is not what refuses it. */
const object =
  (change: (o: Release['object']) => unknown) =>
  ({ source, release }: Spoiled) => {
    change(release.object);
    write(source, Buffer.from(JSON.stringify(release.object)), release.statement);
  };
const field = (name: string, value: unknown) => object(o => Object.assign(o, { [name]: value }));
const item = (name: string, value: unknown) => object(o => Object.assign(o.artifacts[0]!, { [name]: value }));
const text =
  (change: (text: string) => string | Buffer) =>
  ({ source, release }: Spoiled) =>
    write(source, Buffer.from(change(JSON.stringify(release.object))), release.statement);
const statement =
  (change: object) =>
  ({ source, release }: Spoiled) =>
    write(source, Buffer.from(JSON.stringify(release.object)), { ...release.statement, ...change });
const sidecar =
  (change: (bytes: Buffer) => string | Buffer) =>
  ({ file, serve }: Spoiled) =>
    serve(SIDECAR, Buffer.from(change(file(SIDECAR))));
/** Answers one of the three files in another way. */
const served =
  (name: string, how: (response: ServerResponse, content: Buffer) => void) =>
  ({ file, serve }: Spoiled) => {
    const content = file(name);
    serve(name, (_, response) => how(response, content));
  };
/** Writes bytes instead of a response. */
const raw = (name: string, bytes: (content: Buffer) => string | Buffer, then: 'end' | 'hang' = 'end') =>
  served(name, (response, content) => {
    const socket = response.socket!;
    socket.write(bytes(content));
    if (then === 'end') socket.end();
  });
const head = (length: number | string, more = '') => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n${more}\r\n`;
const forever = (response: ServerResponse, piece: Buffer) => {
  const pump = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', pump);
  pump();
};

const manifests: Case[] = [
  ['an empty manifest', 'manifest-malformed', text(() => '')],
  ['a manifest cut in half, and signed so', 'manifest-malformed', text(t => t.slice(0, t.length / 2))],
  ['a manifest with text behind it', 'manifest-malformed', text(t => `${t}x`)],
  ['a byte order mark', 'manifest-malformed', text(t => `\ufeff${t}`)],
  ['bytes that are not UTF-8', 'manifest-malformed', text(t => Buffer.from(t.replace('v2', 'v\xff'), 'latin1'))],
  ['a duplicate key', 'manifest-malformed', text(t => t.replace('{', '{"project":"other",'))],
  ['an HTML page, signed', 'manifest-malformed', text(() => '<!doctype html>')],
  ['brackets 100,000 deep', 'manifest-invalid', text(() => '['.repeat(1e5) + ']'.repeat(1e5))],
  ['a list', 'manifest-invalid', text(t => `[${t}]`)],
  ['an unknown key', 'manifest-invalid', field('serial', 13)],
  ['a key named __proto__', 'manifest-invalid', text(t => t.replace('{', '{"__proto__":{"tag":"v9.9.9"},'))],
  ['an unknown key of an artifact', 'manifest-invalid', item('url', 'https://example.net/x')],
  ['a later schema', 'schema-unknown', field('schema', 'https://culvert.example/schemas/release-manifest.v2.json')],
  ['another project', 'project-foreign', field('project', 'culverts')],
  ['no tag', 'tag-not-version', field('tag', undefined)],
  ['a tag that is not a version', 'tag-not-version', field('tag', 'latest')],
  ['a date without a zone', 'date-invalid', field('generated_at', '2026-11-21T12:00:00')],
  ['30 February', 'date-invalid', field('generated_at', '2026-02-30T12:00:00Z')],
  ['a date that is a number', 'manifest-invalid', field('generated_at', 1763700000)],
  ['no artifacts', 'manifest-invalid', field('artifacts', [])],
  ['a size of 0', 'manifest-invalid', item('size', 0)],
  ['a negative size', 'manifest-invalid', item('size', -1)],
  ['a size as text', 'manifest-invalid', item('size', '2000')],
  ['half a byte', 'manifest-invalid', item('size', 0.5)],
  ['a digest in capitals', 'manifest-invalid', item('sha256', 'A'.repeat(64))],
  ['a digest of 63 digits', 'manifest-invalid', item('sha256', 'a'.repeat(63))],
  ['a name with another project’s prefix', 'name-foreign', item('name', 'other-2.0.0.AppImage')],
  ['a name with a way up', 'name-foreign', item('name', '../culvert-2.0.0')],
  ['an absolute name', 'name-foreign', item('name', '/etc/culvert-2')],
  ['a hidden name', 'name-foreign', item('name', '.culvert-2')],
  ['an option as a name', 'name-foreign', item('name', '--culvert-2')],
  ['a name with a way up behind the prefix', 'name-unsafe', item('name', 'culvert-/../../etc/passwd')],
  ['a name with a separator', 'name-unsafe', item('name', 'culvert-a/b')],
  ['a name with a backslash', 'name-unsafe', item('name', 'culvert-..\\b')],
  ['a name with two dots', 'name-unsafe', item('name', 'culvert-..')],
  ['a name with a NUL', 'name-unsafe', item('name', 'culvert-a\0.AppImage')],
  ['a name with a line break', 'name-unsafe', item('name', 'culvert-a\nb')],
  ['a name that steers a terminal', 'name-unsafe', item('name', 'culvert-\x1b[2J')],
  ['a name of 256 bytes', 'name-unsafe', item('name', `culvert-${'a'.repeat(248)}`)],
  ['a duplicate name', 'name-duplicate', object(o => o.artifacts.push({ ...o.artifacts[0]! }))],
];

const sidecars: Case[] = [
  ['no sidecar', 'unsigned', ({ serve }) => serve(SIDECAR, undefined)],
  ['an empty sidecar', 'sidecar-malformed', sidecar(() => '')],
  ['a sidecar cut within its signature', 'sidecar-malformed', sidecar(b => b.subarray(0, 100))],
  ['a sidecar cut within its statement', 'signature-invalid', sidecar(b => b.subarray(0, -20))],
  ['a sidecar with a byte too many', 'signature-invalid', sidecar(b => `${b} `)],
  ['a sidecar of another version', 'sidecar-malformed', sidecar(b => String(b).replace('sidecar 1', 'sidecar 2'))],
  ['another algorithm', 'sidecar-malformed', sidecar(b => String(b).replace('ed25519', 'none   '))],
  [
    'a signature of zeros',
    'signature-invalid',
    sidecar(b => String(b).replace(/ [0-9a-f]{128}/, ` ${'0'.repeat(128)}`)),
  ],
  ['a higher serial under the old signature', 'signature-invalid', sidecar(b => String(b).replace(':12', ':99'))],
  ['a sidecar that is JSON', 'sidecar-malformed', sidecar(() => '{"signature":"x"}')],
  [
    'a manifest changed after it was signed',
    'signature-invalid',
    ({ file, serve }) => serve(MANIFEST, Buffer.concat([file(MANIFEST), Buffer.from(' ')])),
  ],
  [
    'an unknown key',
    'key-unknown',
    ({ source, release }) => write(source, Buffer.from(JSON.stringify(release.object)), release.statement, otherKey),
  ],
  [
    'an unknown key under the name of a known one',
    'signature-invalid',
    ({ file, serve, source, release }) => {
      const known = file(SIDECAR).toString('latin1').split(' ')[3]!;
      write(source, Buffer.from(JSON.stringify(release.object)), release.statement, otherKey);
      serve(
        SIDECAR,
        Buffer.from(
          file(SIDECAR)
            .toString('latin1')
            .replace(/(?<=ed25519 )\S+/, known),
        ),
      );
    },
  ],
  [
    'the sidecar of another manifest',
    'signature-invalid',
    ({ serve, release }) => serve(SIDECAR, seal(Buffer.from('{}'), release.statement, key)),
  ],
  ['a statement with an unknown key', 'sidecar-invalid', statement({ url: 'https://example.net' })],
  ['a serial as text', 'sidecar-invalid', statement({ serial: '12' })],
  ['a serial of 2^53', 'sidecar-invalid', statement({ serial: 2 ** 53 })],
  ['an unknown channel', 'sidecar-invalid', statement({ channel: 'nightly' })],
  ['an expiry that is not a date', 'sidecar-invalid', statement({ expires_at: 'never' })],
  ['an expiry in the year 9999', 'sidecar-invalid', statement({ expires_at: '9999-12-31T23:59:59Z' })],
  ['an expired release', 'expired', statement({ expires_at: day(-0.5) })],
  ['a release from the future', 'not-yet-valid', field('generated_at', day(3))],
  ['an older serial', 'serial-older', statement({ serial: 6 })],
  ['a beta for a stable user', 'channel-other', statement({ channel: 'beta' })],
  ['a version that needs a newer one first', 'version-unreachable', statement({ minimum_version: '1.5.0' })],
  [
    'an older version',
    'version-older',
    ({ source, release }) => {
      release.object.tag = 'v0.9.0';
      const older = { ...release.statement, minimum_version: '0.1.0' };
      write(source, Buffer.from(JSON.stringify(release.object)), older);
    },
  ],
];

const transports: Case[] = [
  ['no release', 'release-missing', ({ serve }) => serve(MANIFEST, undefined)],
  ['a release that is gone', 'release-missing', served(MANIFEST, r => void r.writeHead(410).end())],
  ['a server that fails', 'http-status', served(MANIFEST, r => void r.writeHead(500).end('sorry'))],
  ['a server that wants a password', 'http-status', served(MANIFEST, r => void r.writeHead(401).end())],
  ['an empty answer', 'http-status', served(MANIFEST, r => void r.writeHead(204).end())],
  [
    'a part of the file',
    'http-status',
    served(
      MANIFEST,
      (r, c) => void r.writeHead(206, { 'content-range': `bytes 0-9/${c.length}` }).end(c.subarray(0, 10)),
    ),
  ],
  [
    'a redirect to another host',
    'redirected',
    served(MANIFEST, r => void r.writeHead(302, { location: 'https://example.net/m.json' }).end()),
  ],
  [
    'a redirect to another scheme',
    'redirected',
    served(MANIFEST, r => void r.writeHead(301, { location: 'file:///etc/passwd' }).end()),
  ],
  [
    'a redirect to itself',
    'redirected',
    served(MANIFEST, r => void r.writeHead(307, { location: `/releases/stable/${MANIFEST}` }).end()),
  ],
  ['a redirect to nowhere', 'redirected', served(SIDECAR, r => void r.writeHead(303).end())],
  [
    'a redirect with a terminal sequence',
    'redirected',
    raw(MANIFEST, () => 'HTTP/1.1 302 Found\r\nlocation: http://a/\x9b2J\r\ncontent-length: 0\r\n\r\n'),
  ],
  ['“not modified”, unasked', 'redirected', served(MANIFEST, r => void r.writeHead(304).end())],
  ['a manifest that claims to be huge', 'too-large', raw(MANIFEST, () => head(1e12), 'hang')],
  ['a manifest over the limit', 'too-large', served(MANIFEST, r => void r.end(Buffer.alloc(2 * MIB, 0x20)))],
  ['an endless manifest', 'too-large', served(MANIFEST, r => forever(r, Buffer.alloc(65_536, 0x20)))],
  ['an endless sidecar', 'too-large', served(SIDECAR, r => forever(r, Buffer.alloc(65_536, 0x61)))],
  [
    'a manifest cut short',
    'truncated',
    raw(MANIFEST, c => Buffer.concat([Buffer.from(head(c.length)), c.subarray(0, 50)])),
  ],
  [
    'chunks cut short',
    'truncated',
    raw(MANIFEST, () => 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"sch'),
  ],
  [
    'a gzip bomb, declared',
    'encoded',
    served(MANIFEST, r => void r.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(64 * MIB)))),
  ],
  [
    'a manifest in brotli',
    'encoded',
    served(MANIFEST, (r, c) => void r.writeHead(200, { 'content-encoding': 'br' }).end(c)),
  ],
  [
    'a gzip bomb, undeclared',
    'signature-invalid',
    served(MANIFEST, r => void r.writeHead(200).end(gzipSync(Buffer.alloc(64 * MIB)))),
  ],
  [
    'encodings in a row',
    'encoded',
    served(SIDECAR, (r, c) => void r.writeHead(200, { 'content-encoding': 'identity, gzip' }).end(c)),
  ],
  ['a protocol other than HTTP', 'response-malformed', raw(MANIFEST, () => 'SSH-2.0-OpenSSH_9.2\r\n')],
  ['HTTP of another age', 'response-malformed', raw(MANIFEST, () => 'HTTP/9.9 200 OK\r\n\r\n')],
  [
    'two lengths that differ',
    'response-malformed',
    raw(MANIFEST, c => head(c.length, `content-length: ${c.length + 1}\r\n`)),
  ],
  [
    'a length and chunks',
    'response-malformed',
    raw(MANIFEST, c => `${head(c.length, 'transfer-encoding: chunked\r\n')}5\r\nhello\r\n0\r\n\r\n`),
  ],
  ['a length that is negative', 'response-malformed', raw(MANIFEST, () => head(-1))],
  [
    'a chunk of no number',
    'response-malformed',
    raw(MANIFEST, () => 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
  ],
  ['a header without end', 'response-malformed', raw(MANIFEST, () => `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(MIB)}`)],
  [
    'headers without end',
    'response-malformed',
    raw(MANIFEST, () => `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(100_000)}`),
  ],
  ['a NUL in a header', 'response-malformed', raw(MANIFEST, () => head(5, 'x: a\0b\r\n'))],
  [
    'another protocol',
    'response-malformed',
    raw(
      MANIFEST,
      () => 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
      'hang',
    ),
  ],
  ['a connection that is closed at once', 'network-failed', raw(MANIFEST, () => '')],
  ['a connection that is reset', 'network-failed', served(MANIFEST, r => void r.socket!.resetAndDestroy())],
  ['a server that says nothing', 'stalled', served(MANIFEST, () => {}), HASTY],
  ['a server that stalls within a header', 'stalled', raw(MANIFEST, () => 'HTTP/1.1 200 OK\r\nx', 'hang'), HASTY],
  [
    'a server that stalls within the manifest',
    'stalled',
    raw(MANIFEST, c => Buffer.concat([Buffer.from(head(c.length)), c.subarray(0, 50)]), 'hang'),
    HASTY,
  ],
  [
    'a server that sends a byte now and then',
    'timeout',
    served(SIDECAR, (response, content) => {
      response.writeHead(200);
      let at = 0;
      const timer = setInterval(() => response.write(content.subarray(at, ++at)), 20);
      response.on('close', () => clearInterval(timer));
    }),
    SHORT,
  ],
  [
    'hints without an answer',
    'timeout',
    served(MANIFEST, response => {
      const timer = setInterval(() => response.writeProcessing(), 20);
      response.on('close', () => clearInterval(timer));
    }),
    SHORT,
  ],
];

const downloads: Case[] = [
  ['an artifact that is not there', 'release-missing', ({ serve }) => serve(IMAGE, undefined)],
  ['no artifact for this format', 'artifact-not-listed', item('name', 'culvert-2.0.0-pdp11.AppImage')],
  ['an artifact too large for any disk', 'artifact-too-large', item('size', 2 ** 40)],
  ['an artifact that is longer', 'too-large', served(IMAGE, (r, c) => void r.end(Buffer.concat([c, c])))],
  ['an artifact that is one byte longer', 'too-large', served(IMAGE, (r, c) => void r.end(`${c}x`))],
  ['an endless artifact', 'too-large', served(IMAGE, r => forever(r, Buffer.alloc(65_536)))],
  [
    'an endless artifact in chunks',
    'too-large',
    served(IMAGE, r => {
      r.writeHead(200, { 'transfer-encoding': 'chunked' });
      forever(r, Buffer.alloc(65_536));
    }),
  ],
  ['an artifact that is shorter', 'truncated', served(IMAGE, (r, c) => void r.end(c.subarray(0, -1)))],
  [
    'an artifact whose connection breaks',
    'truncated',
    raw(IMAGE, c => Buffer.concat([Buffer.from(head(c.length)), c.subarray(0, 1000)])),
  ],
  [
    'an artifact without a length that ends early',
    'truncated',
    raw(IMAGE, c => Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n'), c.subarray(0, 1000)])),
  ],
  ['an empty artifact', 'truncated', served(IMAGE, r => void r.writeHead(200, { 'content-length': 0 }).end())],
  ['another file of that size', 'artifact-hash', served(IMAGE, (r, c) => void r.end(Buffer.alloc(c.length, 0x20)))],
  ['the version before under the new name', 'artifact-hash', served(IMAGE, r => void r.end(script('1.9.9')))],
  ['a wrong digest, signed', 'artifact-hash', item('sha256', 'a'.repeat(64))],
  ['a size that is too small, signed', 'too-large', item('size', 100)],
  [
    'an encoded artifact',
    'encoded',
    served(IMAGE, (r, c) => void r.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(c))),
  ],
  [
    'an artifact that is elsewhere',
    'redirected',
    served(IMAGE, r => void r.writeHead(302, { location: 'http://169.254.169.254/' }).end()),
  ],
  [
    'an artifact that stalls',
    'stalled',
    raw(IMAGE, c => Buffer.concat([Buffer.from(head(c.length)), c.subarray(0, 1000)]), 'hang'),
    HASTY,
  ],
  ['a program that cannot be run', 'program-broken', program(Buffer.from('\x7fELF no'))],
  ['a program that calls itself otherwise', 'program-broken', program(script('6.6.6'))],
  [
    'a program that fails',
    'program-broken',
    program(Buffer.from('#!/bin/sh\necho culvert 2.0.0\n[ "$1" = --version ]\n')),
  ],
];

/** A release that is in order, but for what it installs. */
function program(content: Buffer) {
  return ({ source }: Spoiled) => void publish(source, '2.0.0', { [IMAGE]: content });
}

async function setUp(t: Ends, spoil: Case[2], limits = PATIENT) {
  const source = await createSource(t);
  const home = temporary(t);
  const image = path.join(home, 'Culvert.AppImage');
  fs.writeFileSync(image, script('1.0.0'), { mode: 0o755 });
  const state = path.join(home, '.local/state/culvert');
  fs.mkdirSync(state, { recursive: true });
  // a release has been seen before
  fs.writeFileSync(path.join(state, 'update.json'), '{"serials":{"stable":11},"declined":null,"previous":null}');
  const release = publish(source, '2.0.0', { [IMAGE]: script('2.0.0') });
  const at = (name: string) => `/releases/stable/${name}`;
  spoil({
    source,
    release,
    file: name => source.files.get(at(name)) as Buffer,
    serve: (name, how) => void (how ? source.files.set(at(name), how) : source.files.delete(at(name))),
  });
  const updater = await createUpdater(t, source, { format: 'appimage', limits }, { home, env: { APPIMAGE: image } });
  return { source, updater, home };
}

async function refusal(work: Promise<unknown>): Promise<{ code: string; reason: string | undefined; detail: string }> {
  try {
    await work;
  } catch (error) {
    const { code, message, extras } = error as Problem;
    return { code, reason: extras?.reason, detail: message };
  }
  throw new assert.AssertionError({ message: 'it was not refused' });
}

for (const [kind, cases] of Object.entries({ manifests, sidecars, transports })) {
  describe(`hostile ${kind}`, { concurrency: 4 }, () => {
    for (const [what, code, spoil, limits] of cases) {
      test(`${what}: ${code}`, async t => {
        const { updater, home, source } = await setUp(t, spoil, limits);
        const before = snapshot(home);
        const check = await updater.updates.check(true);
        assert.equal(check.problem?.code, code, check.problem?.detail);
        assert.match(check.problem!.detail, /^[^\x00-\x1f\x7f-\x9f]{20,1000}\.$/u);
        const shown = { latest: check.latest, updateAvailable: check.updateAvailable, manifest: check.manifest };
        assert.deepEqual(shown, { latest: null, updateAvailable: false, manifest: null });
        const refused = await refusal(updater.updates.apply());
        assert.deepEqual([refused.code, refused.reason], ['update-refused', code], refused.detail);
        assert.equal(snapshot(home), before);
        assert.ok(!source.asked.some(url => url.endsWith('.AppImage')), 'nothing was fetched on its word');
        assert.equal(updater.restarts(), 0);
      });
    }
  });
}

describe('hostile downloads', { concurrency: 4 }, () => {
  for (const [what, code, spoil, limits] of downloads) {
    test(`${what}: ${code}`, async t => {
      const { updater, home } = await setUp(t, spoil, limits);
      const before = snapshot(home);
      const refused = await refusal(updater.updates.apply());
      assert.deepEqual([refused.code, refused.reason], ['update-refused', code], refused.detail);
      assert.equal(snapshot(home), before);
      assert.equal(updater.restarts(), 0);
      const { progress } = await updater.updates.check();
      assert.equal(progress, null);
    });
  }
});

test('one bit flipped anywhere in manifest, sidecar or artifact is refused', async t => {
  // at a fixed place, so that a failure repeats
  let flip: (name: string, place: number) => number = () => 0;
  const { updater, home } = await setUp(t, ({ file, serve }) => {
    const whole = new Map([MANIFEST, SIDECAR, IMAGE].map(name => [name, file(name)]));
    flip = (name, place) => {
      for (const [each, content] of whole) serve(each, content);
      const bytes = Buffer.from(whole.get(name)!);
      const bit = Math.floor(place * bytes.length * 8);
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      serve(name, bytes);
      return bit;
    };
  });
  const before = snapshot(home);
  const codes: Record<string, RegExp> = {
    [MANIFEST]: /^signature-invalid$/,
    [SIDECAR]: /^(signature-invalid|sidecar-malformed|key-unknown)$/,
    [IMAGE]: /^artifact-hash$/,
  };
  for (const [name, expected] of Object.entries(codes)) {
    const count = FULL ? 25 : 4;
    for (let i = 0; i < count; i++) {
      const bit = flip(name, (i + i / count) / count);
      const refused = await refusal(updater.updates.apply());
      assert.match(refused.reason!, expected, `${name}, bit ${bit}: ${refused.detail}`);
      assert.equal(snapshot(home), before);
    }
  }
});

test('the release that the other cases spoil is accepted when it is whole', async t => {
  const { updater, home } = await setUp(t, () => {});
  assert.deepEqual(await updater.updates.apply(), { ok: true, from: '1.0.0', to: '2.0.0' });
  assert.deepEqual(fs.readFileSync(path.join(home, 'Culvert.AppImage')), script('2.0.0'));
});
