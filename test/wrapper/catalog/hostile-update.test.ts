// Catalogs that must not be taken: forged, replayed, oversized, and signed ones that reach further than this version does.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import type { ServerResponse } from 'node:http';
import * as path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { saveUpdateState } from '../../../daemon/update/update-state.ts';
import { keyId as idOf, pinnedKeys } from '../../../manifest/keys.ts';
import { verifyCatalog } from '../../../wrapper/catalog/release.ts';
import { CATALOG_LIMIT } from '../../../wrapper/catalog/updated.ts';
import type { WrapError } from '../../../wrapper/system/errors.ts';
import { serve } from '../../support/listen.ts';
import { assertSameFiles, snapshot } from '../../support/manifest/release.ts';
import { KEYS, PINS, STRANGER } from '../../support/wrapper/release-keys.ts';
import { type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';
import { at, edited, makeCatalog, type Wanted, withEntry, withMore } from '../../support/wrapper/signed-catalog.ts';

const CHECKED = 'checked = { version = "1.23.3", on = 2026-11-22 }';

/** Tries to take a file or an address, and returns the code of the refusal. Nothing below the home may have changed. */
async function refusal(box: Sandbox, source: Buffer | string): Promise<string> {
  const file = path.join(box.home, 'hostile');
  if (typeof source !== 'string') fs.writeFileSync(file, source);
  const before = snapshot(box.home);
  const { stdout, stderr, exit } = await box.wrap([
    'catalog',
    'update',
    typeof source === 'string' ? source : file,
    '--yes',
    '--json',
  ]);
  assertSameFiles(snapshot(box.home), before);
  assert.notEqual(exit, 0, stdout);
  assert.doesNotMatch(stderr, /unexpected error/);
  const { ok, error } = JSON.parse(stdout);
  assert.equal(ok, false);
  assert.ok(error.hint, error.code);
  return error.code;
}

/** Catalogs that no first update takes. */
const FORGED: Record<string, { code: string; wanted?: Wanted; bytes?: () => Buffer }> = {
  'without a signature': { code: 'unsigned', wanted: { after: each => ({ ...each, sidecar: '' }) } },
  'signed with another key': { code: 'key-unknown', wanted: { signer: STRANGER } },
  'signed with a key that this version revokes': { code: 'key-revoked', wanted: { signer: KEYS.stolen } },
  'with another text than the signed one': {
    code: 'catalog-damaged',
    wanted: { after: each => ({ ...each, files: { ...each.files, ...withEntry(CHECKED, '') } }) },
  },
  'with a manifest that was changed': {
    code: 'signature-invalid',
    wanted: { after: each => ({ ...each, manifest: edited(each.manifest, 'v0.2.7', 'v9.2.7') }) },
  },
  'with a longer life than was signed': {
    code: 'signature-invalid',
    wanted: {
      after: each => ({ ...each, sidecar: edited(each.sidecar, /"expires_at":"\d{4}/, '"expires_at":"2099') }),
    },
  },
  'with a file that the manifest does not list': {
    code: 'catalog-damaged',
    wanted: { after: each => ({ ...each, files: { ...each.files, 'journal.toml': '' } }) },
  },
  expired: { code: 'expired', wanted: { statement: { expires_at: at(-0.5) } } },
  'made in the future': { code: 'not-yet-valid', wanted: { manifest: { generated_at: at(10) } } },
  'with a serial of the future': { code: 'serial-future', wanted: { statement: { serial: 9_999_999_999 } } },
  'valid for years': { code: 'sidecar-invalid', wanted: { statement: { expires_at: at(900) } } },
  'that is a release': { code: 'channel-other', wanted: { statement: { channel: 'stable' } } },
  'for a later version': { code: 'version-unreachable', wanted: { statement: { minimum_version: '0.2.0' } } },
  'of a later form': {
    code: 'catalog-unknown-form',
    wanted: { files: withMore('[providers.newtool]\nbin = "newtool"\nof_tomorrow = 1\n') },
  },
  'that is no TOML': { code: 'catalog-unknown-form', wanted: { files: { 'codes.toml': '[[' } } },
  'of a million levels': { code: 'catalog-malformed', bytes: () => Buffer.from('['.repeat(1_000_000)) },
  'with deep TOML': { code: 'catalog-unknown-form', wanted: { files: { 'codes.toml': `a = ${'['.repeat(50_000)}` } } },
  'with a key twice': {
    code: 'catalog-malformed',
    bytes: () => Buffer.from(`{"format":"x",${makeCatalog().toString().slice(1)}`),
  },
  'of too many bytes': { code: 'input-unreadable', bytes: () => Buffer.alloc(CATALOG_LIMIT + 1, ' ') },
  'that is compressed': { code: 'catalog-malformed', bytes: () => gzipSync(Buffer.alloc(10_000_000)) },
  empty: { code: 'catalog-malformed', bytes: () => Buffer.alloc(0) },
  // rules.test.ts has what else is forbidden
  'with another program': {
    code: 'catalog-forbidden',
    wanted: { files: withEntry('bin = "firecrawl"', 'bin = "sh"') },
  },
};

test('a forged, foreign, expired or oversized catalog is refused by its code, and changes no file', async t => {
  const box = sandbox(t);
  for (const [what, { code, wanted, bytes }] of Object.entries(FORGED)) {
    assert.equal(await refusal(box, bytes?.() ?? makeCatalog(wanted)), code, what);
  }
  const manifest = JSON.parse(JSON.parse(makeCatalog().toString()).manifest);
  manifest.artifacts.push({ name: 'culvert-program.sh', size: 1, sha256: 'a'.repeat(64) });
  assert.equal(await refusal(box, makeCatalog({ manifest })), 'catalog-foreign');
});

test('an older catalog, and another one with the serial of the one in use, are refused, also after that was reverted', async t => {
  const box = sandbox(t);
  const file = path.join(box.home, 'good');
  fs.writeFileSync(file, makeCatalog({ statement: { serial: 500 } }));
  assert.equal((await box.json('catalog', 'update', file, '--yes')).applied, true);
  for (const revert of [false, true]) {
    if (revert) await box.wrap(['catalog', 'update', '--revert']);
    assert.equal(await refusal(box, makeCatalog({ statement: { serial: 499 } })), 'serial-older');
    assert.equal(
      await refusal(box, makeCatalog({ statement: { serial: 500 }, files: withEntry(CHECKED, '') })),
      'serial-reused',
    );
  }
});

test('a catalog of this version that was made before its build is refused, because no program would use it', () => {
  const now = Date.now();
  const generated_at = at(-2);
  const made = Date.parse(generated_at) / 1_000;
  const bytes = makeCatalog({ manifest: { generated_at } });
  const trust = { keys: pinnedKeys(JSON.parse(PINS)), threshold: 1 };
  const take = (shippedAt: number, installed: string) =>
    verifyCatalog(bytes, { ...trust, now, installed, shippedAt, seen: undefined }).release.version;
  assert.throws(
    () => take(made + 1, '0.2.7'),
    (error: WrapError) => error.code === 'version-older' && /brings a newer catalog/.test(error.hint ?? ''),
  );
  for (const [shippedAt, installed] of [
    [0, '0.2.7'],
    [made, '0.2.7'],
    [made + 1, '0.2.6'],
  ] as const)
    assert.equal(take(shippedAt, installed), '0.2.7');
});

test('a key counts for nothing once a catalog or a release has revoked it', async t => {
  const byRelease = sandbox(t);
  saveUpdateState({ state: path.join(byRelease.home, '.local/state/culvert') }, { revoked: [idOf(KEYS.current)] });
  assert.equal(await refusal(byRelease, makeCatalog()), 'key-revoked');

  const byCatalog = sandbox(t);
  const file = path.join(byCatalog.home, 'next');
  fs.writeFileSync(file, makeCatalog({ signer: KEYS.next, statement: { revoked: [idOf(KEYS.current)] } }));
  assert.equal((await byCatalog.json('catalog', 'update', file, '--yes')).applied, true);
  assert.equal(await refusal(byCatalog, makeCatalog({ statement: { serial: 2_000 } })), 'key-revoked');
  // and a key can revoke only those below it
  const lower = sandbox(t);
  assert.equal(await refusal(lower, makeCatalog({ statement: { revoked: [idOf(KEYS.next)] } })), 'sidecar-invalid');
});

test('a pipe, a directory, a device and a missing file are named, and never waited for', async t => {
  const box = sandbox(t);
  const pipe = path.join(box.home, 'pipe');
  execFileSync('mkfifo', [pipe]);
  fs.symlinkSync('/dev/zero', path.join(box.home, 'zero'));
  for (const source of [pipe, box.home, path.join(box.home, 'zero'), path.join(box.home, 'none')])
    assert.equal(await refusal(box, source), 'input-unreadable', source);
});

test('an address without TLS, a redirect to another scheme or host, and an endless or encoded answer are refused', async t => {
  const box = sandbox(t);
  const good = makeCatalog();
  const endless = (response: ServerResponse): void => {
    if (response.destroyed) return;
    if (response.write(Buffer.alloc(1 << 20, ' '))) setImmediate(endless, response);
    else response.once('drain', () => endless(response));
  };
  const answers: Record<string, (response: ServerResponse) => unknown> = {
    '/loop': response => response.writeHead(302, { location: '/loop' }).end(),
    '/encoded': response => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(good)),
    '/none': response => response.writeHead(404).end(),
    '/large': response => response.writeHead(200, { 'content-length': CATALOG_LIMIT + 1 }).end(),
    '/cut': response => {
      response.writeHead(200, { 'content-length': good.length });
      response.write(good.subarray(0, 9), () => response.destroy());
    },
    '/endless': endless,
  };
  const address = await serve(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://x');
    const to = searchParams.get('to');
    if (to === null) answers[pathname]!(response);
    else response.writeHead(302, { location: to }).end();
  });
  const cases: [source: string, code: string][] = [
    ['http://catalogs.example/culvert-catalog.json', 'address-insecure'],
    ['ftp://127.0.0.1/x', 'address-insecure'],
    ['file:///etc/passwd', 'address-insecure'],
    ['https://user:secret@127.0.0.1/x', 'address-insecure'],
    [`${address}/?to=${encodeURIComponent('file:///etc/passwd')}`, 'redirected'],
    [`${address}/?to=${encodeURIComponent('http://169.254.169.254/latest')}`, 'redirected'],
    [`${address}/?to=${encodeURIComponent('https://127.0.0.1:1/x')}`, 'redirected'],
    [`${address}/loop`, 'redirected'],
    [`${address}/encoded`, 'fetch-failed'],
    [`${address}/none`, 'fetch-failed'],
    [`${address}/large`, 'fetch-failed'],
    [`${address}/cut`, 'fetch-failed'],
    [`${address}/endless`, 'fetch-failed'],
    ['http://127.0.0.1:1/closed', 'fetch-failed'],
  ];
  for (const [source, code] of cases) assert.equal(await refusal(box, source), code, source);
});
