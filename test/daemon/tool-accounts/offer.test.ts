// Clients offer tool accounts only where culvert-wrap has something to do.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createState } from '../../../daemon/state/store.ts';
import { commandsIn, createToolOffer } from '../../../daemon/tool-accounts/offer.ts';
import { loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import { pathsFor } from '../../../wrapper/store/paths.ts';
import { temporary } from '../../support/temporary.ts';

const catalog = 'wrapper/catalog/providers';

function setUp(t: TestContext, keptMs = 0) {
  const home = temporary(t, 'offer');
  const bin = join(home, 'bin');
  mkdirSync(bin);
  const env = { HOME: home, PATH: bin };
  const state = createState({ available: true, path: null, version: null, emulated: false });
  const offer = createToolOffer({ env, state }, { catalog, keptMs });
  const put = (name: string) => writeFileSync(join(bin, name), '#!/bin/sh\n', { mode: 0o755 });
  const write = (file: string, text: string) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  const isOffered = () => {
    offer.refresh();
    return state.snapshot().toolAccounts.offered;
  };
  return { isOffered, put, write, paths: pathsFor(env), bin };
}

test('offers them with a tool of the catalog on PATH, but not for npm', t => {
  const { isOffered, put } = setUp(t);
  assert.equal(isOffered(), false);
  put('npm');
  put('ls');
  assert.equal(isOffered(), false);
  put('firecrawl');
  assert.equal(isOffered(), true);
});

test('offers them with a tool in a directory that may be searched but not listed', t => {
  const { isOffered, put, bin } = setUp(t);
  put('npm');
  chmodSync(bin, 0o711);
  const isOfferedToOthers = () => {
    if (process.getuid!() !== 0) {
      chmodSync(bin, 0o311);
      return isOffered();
    }
    process.seteuid!(65_534);
    try {
      return isOffered();
    } finally {
      process.seteuid!(0);
    }
  };
  chmodSync(dirname(bin), 0o711);
  assert.equal(isOfferedToOthers(), false);
  put('firecrawl');
  assert.equal(isOfferedToOthers(), true);
});

test('offers them for a tool of the user’s own catalog', t => {
  const { isOffered, put, write, paths } = setUp(t);
  put('own-tool');
  write(paths.userCatalog, "[providers.own]\nbin = 'own-tool'\n");
  assert.equal(isOffered(), true);
});

test('offers them once a shim is installed', t => {
  const { isOffered, write, paths, bin } = setUp(t);
  write(paths.installs, JSON.stringify({ npm: { bin: join(bin, 'npm'), original: '/opt/npm', kind: 'beside' } }));
  assert.equal(isOffered(), true);
});

test('reads them again only after a time, however many clients come', t => {
  const { isOffered, put } = setUp(t, 600_000);
  assert.equal(isOffered(), false);
  put('tvly');
  assert.equal(isOffered(), false);
});

test('finds the same commands as the catalog itself has', () => {
  const { providers } = loadCatalog(catalog, '/nowhere/providers.toml');
  assert.deepEqual(
    commandsIn([catalog, '/nowhere/providers.toml']),
    Object.values(providers).map(({ bin }) => bin),
  );
});
