// `culvert-wrap catalog update`: a newer catalog is shown, applied in one step, used, and reverted.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { knowledgeSources, loadKnowledge } from '../../../daemon/doctor/knowledge.ts';
import { commandsIn } from '../../../daemon/tool-accounts/offer.ts';
import { keyId as idOf } from '../../../manifest/keys.ts';
import { signedEntriesText, updateStateFile } from '../../../wrapper/catalog/files.ts';
import { readUpdated } from '../../../wrapper/catalog/updated.ts';
import { pathsFor } from '../../../wrapper/store/paths.ts';
import { serve } from '../../support/listen.ts';
import { moments } from '../../support/moments.ts';
import { missing } from '../../support/temporary.ts';
import { KEYS } from '../../support/wrapper/release-keys.ts';
import { buildWrapper, type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';
import { at, edited, makeCatalog, TEXTS, withEntry, withMore } from '../../support/wrapper/signed-catalog.ts';

const CHECKED = 'checked = { version = "1.23.3", on = 2026-11-22 }';
const NEWTOOL =
  '[providers.newtool]\nbin = "newtool"\ninject = ["NEWTOOL_API_KEY"]\nhosts = { names = ["api.newtool.dev"] }\n';
/** One entry with newer rules, one new tool, one bug of WARP more. */
const FILES: Record<string, string> = {
  ...withMore(NEWTOOL),
  'known-issues.toml': `${TEXTS['known-issues.toml']}
[[issue]]
id = "of-today"
title = "A bug of today"
severity = "low"
symptom = "It is new."
advice = "Update WARP."
`,
};
FILES['providers.toml'] = edited(
  FILES['providers.toml']!,
  CHECKED,
  'checked = { version = "1.30.0", on = 2026-12-01 }',
);

function put(box: Sandbox, name: string, bytes: Buffer): string {
  const file = path.join(box.home, name);
  fs.writeFileSync(file, bytes);
  return file;
}

const shown = async (box: Sandbox, cli: string) => (await box.json('catalog', 'show', cli)).provider;
const origins = async (box: Sandbox): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await box.json('catalog', 'list')).providers.map((each: Record<string, string>) => [each.cli, each.origin]),
  );

test('an update shows what it changes, and changes nothing without a yes', async t => {
  const box = sandbox(t);
  const file = put(box, 'catalog', makeCatalog({ files: FILES }));
  const { exit, stdout, stderr } = await box.wrap(['catalog', 'update', file]);
  assert.equal(exit, 0, stderr);
  assert.match(stdout, /^catalog of \d{4}-\S+Z, serial 1000, signed with current \([0-9a-f]{16}\), valid until \d{4}-/);
  assert.match(
    stdout,
    /^ {2}firecrawl: checked; checked with 1\.30\.0 \(2026-12-01\) instead of 1\.23\.3 \(2026-11-22\)$/m,
  );
  assert.match(stdout, /^ {2}newtool: new, checked with unknown$/m);
  assert.match(stdout, /^-checked = \{ version = "1\.23\.3", on = 2026-11-22 \}\n\+checked = \{ version = "1\.30\.0"/m);
  assert.match(stderr, /nothing was changed; --yes takes it/);
  assert.equal((await shown(box, 'firecrawl')).checked.version, '1.23.3');
  assert.ok(!fs.existsSync(path.join(box.state, 'catalog')));
});

test('it is used by the wrapper and the daemon, below the entries of the user, until it is reverted', async t => {
  const box = sandbox(t);
  box.provider('firecrawl', 'terms_note = "mine"');
  const paths = pathsFor(box.env);
  const file = put(box, 'catalog', makeCatalog({ files: FILES }));
  const taken = await box.json('catalog', 'update', file, '--yes');
  assert.deepEqual([taken.ok, taken.applied, taken.current], [true, true, true]);
  const entry = await shown(box, 'firecrawl');
  assert.deepEqual([entry.checked.version, entry.terms_note], ['1.30.0', 'mine']);
  const { firecrawl, tvly, newtool } = await origins(box);
  assert.deepEqual([firecrawl, tvly, newtool], ['user', 'signed', 'signed']);
  assert.ok(commandsIn([], signedEntriesText(paths.catalogUpdates)).includes('newtool'));

  const config = path.join(box.home, '.config/culvert/config.toml');
  const known = loadKnowledge(knowledgeSources('data/knowledge', config, box.env));
  assert.ok(known.issues.some(({ id }) => id === 'of-today'));
  assert.deepEqual(known.problems, []);
  assert.match((await box.wrap(['catalog', 'update', file])).stdout, /It is in use/);

  assert.match(
    (await box.wrap(['catalog', 'update', '--revert'])).stdout,
    /the catalog of this version is in use again/,
  );
  assert.equal((await shown(box, 'firecrawl')).checked.version, '1.23.3');
  assert.ok(
    !loadKnowledge(knowledgeSources('data/knowledge', config, box.env)).issues.some(({ id }) => id === 'of-today'),
  );
  const again = await box.json('catalog', 'update', '--revert');
  assert.deepEqual([again.ok, again.error.code], [false, 'nothing-to-revert']);
  // the same one can be taken again
  assert.equal((await box.json('catalog', 'update', file, '--yes')).applied, true);
});

test('the update before is kept as one copy, and nothing else', async t => {
  const box = sandbox(t);
  for (const serial of [1, 2, 3]) {
    const version = `1.30.${serial}`;
    const files = withEntry(CHECKED, `checked = { version = "${version}", on = 2026-12-01 }`);
    const file = put(box, 'catalog', makeCatalog({ files, statement: { serial } }));
    assert.equal((await box.json('catalog', 'update', file, '--yes')).applied, true);
    assert.equal((await shown(box, 'firecrawl')).checked.version, version);
  }
  const stored = fs.readdirSync(path.join(box.state, 'catalog'));
  assert.equal(stored.filter(name => /^[0-9a-f]{64}\.json$/.test(name)).length, 2, stored.join());
  for (const name of stored) assert.equal(fs.statSync(path.join(box.state, 'catalog', name)).mode & 0o777, 0o600, name);
  await box.wrap(['catalog', 'update', '--revert']);
  assert.equal((await shown(box, 'firecrawl')).checked.version, '1.30.2');
});

test('no undo brings back a catalog whose key was revoked', async t => {
  const box = sandbox(t);
  const current = idOf(KEYS.current);
  const take = (serial: number) => {
    const files = withEntry(CHECKED, `checked = { version = "1.30.${serial}", on = 2026-12-01 }`);
    const file = put(box, 'catalog', makeCatalog({ files, statement: { serial } }));
    return box.json('catalog', 'update', file, '--yes');
  };
  const state = path.join(box.state, 'catalog/state.json');
  const stateNow = () => JSON.parse(fs.readFileSync(state, 'utf8'));
  await take(1);
  const stolen = stateNow().current;
  await take(2);
  // as after a revocation by a release, which the state does not contain yet
  fs.writeFileSync(state, JSON.stringify({ ...stateNow(), revoked: [current] }));
  assert.match(readUpdated(pathsFor(box.env).catalogUpdates).problem ?? '', /was revoked/);
  assert.equal(stateNow().previous, stolen);
  const reverted = await box.json('catalog', 'update', '--revert');
  assert.deepEqual([reverted.reverted, reverted.shipped], [true, true]);
  assert.equal((await shown(box, 'firecrawl')).checked.version, '1.23.3');
});

test('after a catalog that revokes a key there is nothing before it to come back to', async t => {
  const box = sandbox(t);
  const take = (serial: number, signer: typeof KEYS.current, statement: object) =>
    box.json(
      'catalog',
      'update',
      put(box, 'catalog', makeCatalog({ signer, statement: { serial, ...statement } })),
      '--yes',
    );
  await take(1, KEYS.current, {});
  const taken = await take(2, KEYS.next, { revoked: [idOf(KEYS.current)] });
  assert.equal(taken.applied, true, JSON.stringify(taken));
  const { previous } = JSON.parse(fs.readFileSync(path.join(box.state, 'catalog/state.json'), 'utf8'));
  assert.equal(previous, null);
});

test('a tool of a catalog gets a shim, and a run that follows an update uses the new rules', async t => {
  const box = sandbox(t);
  const take = async (serial: number, more: string) => {
    const file = put(box, 'catalog', makeCatalog({ files: withMore(`${NEWTOOL}${more}`), statement: { serial } }));
    assert.equal((await box.json('catalog', 'update', file, '--yes')).applied, true);
  };
  await take(1, '');
  box.script('newtool', '#!/bin/sh\necho "$NEWTOOL_API_KEY" >>"$HOME/keys"\necho "Error: no credits" >&2\nexit 1\n');
  box.accounts('newtool', { a: 'nt-a', b: 'nt-b' }, 'NEWTOOL_API_KEY');
  const keys = () => fs.readFileSync(path.join(box.home, 'keys'), 'utf8').trim().split('\n');
  await box.shim('newtool', ['search', 'x']);
  assert.deepEqual(keys(), ['nt-a']);
  await take(2, '[[providers.newtool.rules]]\nclass = "quota"\nexit = [1]\nstderr = "^Error: no credits"\n');
  await box.shim('newtool', ['search', 'x']);
  assert.deepEqual(keys(), ['nt-a', 'nt-a', 'nt-b']);
});

test('it comes from an address as well', async t => {
  const box = sandbox(t);
  const bytes = makeCatalog({ files: FILES });
  const address = await serve(t, (_, response) => response.end(bytes));
  assert.equal((await box.json('catalog', 'update', `${address}/catalog.json`, '--yes')).applied, true);
  const none = await box.json('catalog', 'update');
  assert.equal(none.error.code, 'no-source');
});

test('killed before any of its file operations, it leaves the old catalog or the new one, and can be repeated', async t => {
  const box = sandbox(t);
  const first = put(
    box,
    'first',
    makeCatalog({ files: withEntry(CHECKED, 'checked = { version = "1.30.1", on = 2026-12-01 }') }),
  );
  assert.equal((await box.json('catalog', 'update', first, '--yes')).applied, true);
  const files = withEntry(CHECKED, 'checked = { version = "1.30.2", on = 2026-12-02 }');
  const second = put(box, 'second', makeCatalog({ files, statement: { serial: 2_000 } }));
  const words = ['catalog', 'update', second, '--yes'];
  const all = await moments(t, box.state, [process.execPath, buildWrapper(), ...words], { env: box.env });
  assert.ok(all.length >= 6, `${all.length} moments`);
  const { catalogUpdates } = pathsFor(box.env);
  const seen = new Set<string>();
  for (const { after, restore } of all) {
    restore();
    const { updated, problem } = readUpdated(catalogUpdates, { version: '0.2.7' });
    assert.equal(problem, undefined, after);
    const version = /version = "(1\.30\.\d)"/.exec(updated!.files['providers.toml'])![1]!;
    seen.add(version);
    const { exit, stderr } = await box.wrap(words);
    assert.equal(exit, 0, `${after}: ${stderr}`);
    assert.equal((await shown(box, 'firecrawl')).checked.version, '1.30.2', after);
    await box.wrap(['catalog', 'update', '--revert']);
    assert.equal((await shown(box, 'firecrawl')).checked.version, '1.30.1', after);
  }
  assert.deepEqual([...seen].sort(), ['1.30.1', '1.30.2']);
});

test('a stored catalog that was changed, or that others may change, is not used, and doctor says why', async t => {
  const box = sandbox(t);
  const paths = pathsFor(box.env);
  const file = put(box, 'catalog', makeCatalog({ files: FILES }));
  const damages: [RegExp, (stored: string, state: string) => void][] = [
    [/was changed/, stored => fs.appendFileSync(stored, ' ')],
    [/others can change/, stored => fs.chmodSync(stored, 0o666)],
    [
      /is a symbolic link/,
      stored => {
        fs.renameSync(stored, `${stored}.real`);
        fs.symlinkSync(`${stored}.real`, stored);
      },
    ],
    [/is missing/, stored => fs.rmSync(stored)],
    [
      /not a regular file/,
      stored => {
        fs.rmSync(stored);
        fs.mkdirSync(stored);
      },
    ],
    [/has another form/, (_, state) => fs.writeFileSync(state, '{}')],
  ];
  for (const [why, damage] of damages) {
    fs.rmSync(paths.catalogUpdates, { recursive: true, force: true });
    assert.equal((await box.json('catalog', 'update', file, '--yes')).applied, true);
    const state = path.join(paths.catalogUpdates, 'state.json');
    damage(path.join(paths.catalogUpdates, `${JSON.parse(fs.readFileSync(state, 'utf8')).current}.json`), state);
    assert.equal((await shown(box, 'firecrawl')).checked.version, '1.23.3', String(why));
    const { findings } = JSON.parse((await box.wrap(['doctor', '--json'])).stdout);
    const found = findings.find(({ what }: { what: string }) =>
      what.startsWith('the catalog that you took is not used'),
    );
    assert.match(found?.what ?? '', why);
    assert.equal(found.level, 'problem');
  }
  assert.equal((await box.json('catalog', 'update', file, '--yes')).error.code, 'catalog-state-broken');
});

test("a version's own catalog wins over one of an earlier version, and over an older one of the same version", async t => {
  const box = sandbox(t);
  const { catalogUpdates } = pathsFor(box.env);
  assert.deepEqual(readUpdated(missing(t)), {});
  const generated_at = at(-1);
  const signed = put(box, 'catalog', makeCatalog({ files: FILES, manifest: { generated_at } }));
  await box.json('catalog', 'update', signed, '--yes');
  const made = Date.parse(generated_at) / 1_000;
  const table: [version: string, shippedAt: number, isUsed: boolean][] = [
    ['0.2.7', 0, true],
    ['0.2.7', made - 1, true],
    ['0.2.7', made, true],
    ['0.2.7', made + 1, false],
    ['0.2.6', made + 1, true],
    ['0.2.8', 0, false],
  ];
  for (const [version, shippedAt, isUsed] of table) {
    const read = readUpdated(catalogUpdates, { version, shippedAt });
    assert.deepEqual(
      [read.outdated, read.updated !== undefined, read.problem],
      [isUsed ? undefined : true, isUsed, undefined],
    );
  }
});

test('entries that the rules of another version checked are not used until they are taken again', async t => {
  const box = sandbox(t);
  const { catalogUpdates } = pathsFor(box.env);
  const signed = put(box, 'catalog', makeCatalog({ files: FILES }));
  await box.json('catalog', 'update', signed, '--yes');
  assert.equal((await origins(box)).newtool, 'signed');
  const state = updateStateFile(catalogUpdates);
  const text = fs.readFileSync(state, 'utf8');
  fs.writeFileSync(state, text.replace('"checkedBy":"0.0.0-test"', '"checkedBy":"0.0.0-earlier"'));
  assert.equal((await origins(box)).newtool, undefined);
  assert.match((await box.wrap(['doctor'])).stdout, /is not used: another version of Culvert took the catalog/);
  // nor does the daemon use what it says of WARP
  const config = path.join(box.home, '.config/culvert/config.toml');
  const known = () => loadKnowledge(knowledgeSources('data/knowledge', config, box.env, '0.0.0-test'));
  const ofToday = () => known().issues.some(({ id }) => id === 'of-today');
  assert.equal(ofToday(), false);
  assert.match(known().problems.join(), /another version of Culvert took the catalog/);
  assert.equal((await box.json('catalog', 'update', signed, '--yes')).applied, true);
  assert.equal((await origins(box)).newtool, 'signed');
  assert.equal(ofToday(), true);
});
