// Caches notice each change of their files, also two within one tick of the kernel's clock.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { settledStampAt, stampAt, versionAt } from '../../../daemon/core/file-version.ts';
import { pathsFor } from '../../../wrapper/store/paths.ts';
import { settledStampOf, stampOf } from '../../../wrapper/store/plan.ts';
import { stateStamp } from '../../../wrapper/store/state.ts';
import { gatewayStamp } from '../../../wrapper/store/tokens.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

/** Uses of a file's time that are no cache, by file, and what they are. */
const OTHER_USES: Record<string, string> = {
  'daemon/core/file-version.ts': 'the one way',
  'daemon/core/lock.ts': 'how long a turn has been taken',
  'daemon/doctor/checks/packages.ts': 'says how old a key is',
  'daemon/doctor/diagnose/analyze.ts': 'stands for a file of a report',
  'daemon/doctor/world/files.ts': 'passes it to a check',
  'daemon/history/day-files.ts': 'the time of the last entry',
  'manifest/artifacts.ts': 'refuses a file that changes while it is read',
  'wrapper/loader.ts': 'the order in which old files are removed',
  'wrapper/shims/install.ts': 'kept, so that it can be set again',
  'wrapper/shims/move-file.ts': 'kept through a move',
  'wrapper/shims/uninstall.ts': 'set again',
  'wrapper/store/installs.ts': 'kept, so that it can be set again',
  'wrapper/system/files.ts': 'how long a lock or a temporary file has been there',
};

test('no other cache relies on the time of a file', () => {
  const uses = ['daemon', 'gnome', 'wrapper', 'manifest']
    .flatMap(part => readdirSync(part, { recursive: true, encoding: 'utf8' }).map(name => join(part, name)))
    .filter(file => file.endsWith('.ts'))
    .filter(file => /\b[mc]time(?:Ms|Ns)?\b|time::modified/.test(readFileSync(file, 'utf8')));
  assert.deepEqual(uses.sort(), Object.keys(OTHER_USES));
});

const directory = (t: { after(end: () => void): void }) => {
  const home = temporary(t, 'version');
  return { paths: pathsFor({ HOME: home }), catalog: join(home, 'providers.toml'), file: join(home, 'file') };
};
type Place = ReturnType<typeof directory>;

const CACHES: Record<string, { file(place: Place): string; version(place: Place): string | null }> = {
  'configuration of a plan': { file: ({ paths }) => paths.config, version: stampOf },
  'catalog of the user': { file: ({ paths }) => paths.userCatalog, version: stampOf },
  'shipped catalog': { file: ({ catalog }) => catalog, version: stampOf },
  'state of a gateway': {
    file: ({ paths }) => join(paths.accounts, 'x.json'),
    version: ({ paths }) => stateStamp(paths, 'x'),
  },
  'tokens of a gateway': {
    file: ({ paths }) => join(paths.gateways, 'x.json'),
    version: ({ paths }) => gatewayStamp(paths, 'x'),
  },
  'certificates and replaced shims': { file: ({ file }) => file, version: ({ file }) => stampAt(file) },
  'caches of the daemon': { file: ({ file }) => file, version: ({ file }) => versionAt(file) },
};

for (const [name, { file, version }] of Object.entries(CACHES))
  test(`two changes within one tick have two versions: ${name}`, async t => {
    const place = directory(t);
    const path = file(place);
    mkdirSync(dirname(path), { recursive: true });
    // on a busy machine a tick is over before both changes are made
    await until(() => {
      const now = Date.now();
      const write = (text: string) => {
        writeFileSync(path, text);
        utimesSync(path, now / 1000, now / 1000);
        return version(place);
      };
      const versions = [write('1'), write('2')];
      if (Date.now() - now > 10) return false;
      assert.notEqual(versions[0], versions[1]);
      return true;
    });
  });

test('a version that is stored is found again, and it shows the next change', t => {
  const place = directory(t);
  mkdirSync(dirname(place.paths.config), { recursive: true });
  for (let round = 0; round < 10; round++) {
    writeFileSync(place.paths.config, String(round));
    const stored = settledStampOf(place);
    assert.equal(stampOf(place), stored);
    assert.equal(settledStampAt(place.paths.config), stampAt(place.paths.config));
    writeFileSync(place.paths.config, String((round + 1) % 10));
    assert.notEqual(stampOf(place), stored);
  }
});
