// The capabilities of a release follow from its number; every recorded number is read.
import assert from 'node:assert/strict';
import test from 'node:test';
import { capabilitiesOf, compareVersions, parseVersion } from '../../../../daemon/warp/cli/version.ts';
import { recordings } from '../../../support/daemon/recordings.ts';

test('every recorded answer of --version is read', () => {
  const answers = recordings.filter(row => row.argv[0] === '--version');
  assert.ok(answers.length >= 5);
  for (const { stdout, version } of answers) assert.equal(parseVersion(stdout), version);
  assert.equal(parseVersion('WARP 0.2.0\n'), '0.2.0');
});

test('text without a version has none', () => {
  for (const text of ['', 'warp-cli', 'error 12', '1.2.3.4.5', '162.159.198.2:443'])
    assert.equal(parseVersion(text), null);
});

test('capabilities begin with the release that brought them', () => {
  const table: [string | null, grouped: boolean, json: boolean, protocol: boolean, httpProxy: boolean][] = [
    ['0.2.0', false, false, false, false],
    ['2022.4.235', false, false, false, false],
    ['2023.7.159.0', false, false, false, false],
    ['2024.2.62', true, false, false, false],
    ['2024.6.497', true, false, false, false],
    ['2024.9.346', true, true, false, false],
    ['2024.12.554', true, true, true, false],
    ['2025.8.779', true, true, true, true],
    ['2026.10.1', true, true, true, true],
    [null, true, true, true, true],
  ];
  for (const [version, grouped, json, protocol, httpProxy] of table) {
    assert.deepEqual(capabilitiesOf(version), { grouped, json, protocol, httpProxy }, String(version));
  }
});

test('numbers compare as numbers', () => {
  assert.ok(compareVersions('2024.12.1', '2024.9.999') > 0);
  assert.ok(compareVersions('2024.9', '2024.9.0.1') < 0);
  assert.equal(compareVersions('2024.9.0', '2024.9'), 0);
  assert.ok(compareVersions('2023.9.0.1', '2024.1') < 0);
  assert.ok(compareVersions('2024.9.1.2', '2024.9.1.1') > 0);
  assert.ok(compareVersions('2024.9.2.0', '2024.9.1.1') > 0);
});
