// The capabilities of a release follow from its number; every recorded number is read.
import assert from 'node:assert/strict';
import test from 'node:test';
import { capabilitiesOf, parseVersion } from '../../../../daemon/warp/cli/version.ts';
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
  const table: [string | null, protocol: boolean, masqueOptions: boolean, httpProxy: boolean][] = [
    ['2024.9.346', false, false, false],
    ['2024.12.554', true, false, false],
    ['2025.4.928', true, false, false],
    ['2025.4.929', true, true, false],
    ['2025.8.779', true, true, true],
    ['2026.10.1', true, true, true],
    [null, true, true, true],
  ];
  for (const [version, protocol, masqueOptions, httpProxy] of table)
    assert.deepEqual(capabilitiesOf(version), { json: true, protocol, masqueOptions, httpProxy }, String(version));
});

test('a release with other names for its commands has no capabilities', () => {
  for (const version of ['0.2.0', '2022.4.235', '2023.7.159.0', '2024.2.62', '2024.6.497', '2024.9.345.9'])
    assert.equal(capabilitiesOf(version), null, version);
});
