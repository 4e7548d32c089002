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

test('finds no version in other text', () => {
  for (const text of ['', 'warp-cli', 'error 12', '1.2.3.4.5', '162.159.198.2:443'])
    assert.equal(parseVersion(text), null);
});

test('capabilities begin with the release that brought them', () => {
  const table: [string | null, protocol: boolean, httpProxy: boolean][] = [
    ['2024.9.346', false, false],
    ['2024.12.554', true, false],
    ['2025.8.779', true, true],
    ['2026.10.1', true, true],
    [null, true, true],
  ];
  for (const [version, protocol, httpProxy] of table)
    assert.deepEqual(capabilitiesOf(version), { json: true, protocol, httpProxy }, String(version));
});

test('a release with other names for its commands has no capabilities', () => {
  for (const version of ['0.2.0', '2022.4.235', '2023.7.159.0', '2024.2.62', '2024.6.497', '2024.9.345.9'])
    assert.equal(capabilitiesOf(version), null, version);
});

test('numbers compare as numbers', () => {
  assert.ok(compareVersions('2024.12.1', '2024.9.999') > 0);
  assert.ok(compareVersions('2024.9', '2024.9.0.1') < 0);
  assert.equal(compareVersions('2024.9.0', '2024.9'), 0);
  assert.ok(compareVersions('2023.9.0.1', '2024.1') < 0);
  assert.ok(compareVersions('2024.9.1.2', '2024.9.1.1') > 0);
  assert.ok(compareVersions('2024.9.2.0', '2024.9.1.1') > 0);
});
