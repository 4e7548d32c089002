// Tests the comparison of versions of the tunnel client.
import assert from 'node:assert/strict';
import test from 'node:test';
import { compareVersions } from '../../../daemon/view/versions.ts';

test('numbers compare as numbers', () => {
  assert.ok(compareVersions('2024.12.1', '2024.9.999') > 0);
  assert.ok(compareVersions('2024.9', '2024.9.0.1') < 0);
  assert.equal(compareVersions('2024.9.0', '2024.9'), 0);
  assert.ok(compareVersions('2023.9.0.1', '2024.1') < 0);
  assert.ok(compareVersions('2024.9.1.2', '2024.9.1.1') > 0);
  assert.ok(compareVersions('2024.9.2.0', '2024.9.1.1') > 0);
});
