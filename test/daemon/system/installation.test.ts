// The format of an installation, and its path that outlives an update.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { installFormat, stablePrefix } from '../../../daemon/system/installation.ts';
import { temporary } from '../../support/temporary.ts';

test('a package is what its file says', t => {
  const data = temporary(t);
  const file = join(data, 'install-format');
  assert.equal(installFormat('system', data), 'system', 'without a file');
  for (const name of ['deb', 'rpm', 'arch'] as const) {
    writeFileSync(file, `${name}\n`);
    assert.equal(installFormat('system', data), name);
    for (const build of ['user', 'appimage', 'source'] as const) assert.equal(installFormat(build, data), build);
  }
  for (const text of ['', 'user\n', 'rpm deb', '../rpm']) {
    writeFileSync(file, text);
    assert.equal(installFormat('system', data), 'system', JSON.stringify(text));
  }
});

test('a prefix of a version is named by what stays', () => {
  for (const [prefix, stable] of [
    ['/home/a/.local/share/culvert/versions/1.2.3', '/home/a/.local/share/culvert/current'],
    ['/usr', '/usr'],
    ['/opt/versions/1.2.3', '/opt/versions/1.2.3'],
  ] as const)
    assert.equal(stablePrefix(prefix), stable);
});
