// Deadlines of clients with a window.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadlineOf } from '../../../daemon/api/deadlines.ts';
import { TOOL_CHANGE_MS, TOOL_CHANGES_WAITING } from '../../../daemon/api/limits.ts';

test('a client waits for a change of accounts until all in front had their time', () => {
  assert.ok(deadlineOf('POST', '/api/accounts') > (TOOL_CHANGES_WAITING + 1) * TOOL_CHANGE_MS);
  assert.ok(deadlineOf('POST', '/api/accounts', 1_000) > (TOOL_CHANGES_WAITING + 1) * TOOL_CHANGE_MS);
});

test('reads, and requests to other programs, have the usual time', () => {
  assert.equal(deadlineOf('GET', '/api/accounts'), 60_000);
  assert.equal(deadlineOf('GET', '/api/routes'), 60_000);
  assert.equal(deadlineOf('POST', '/api/routes/preview', 1_000), 1_000);
  assert.equal(deadlineOf('GET', '/', 1_000), 1_000);
});

test('a query does not change the deadline', () => {
  assert.equal(deadlineOf('POST', '/api/trust?x=y'), deadlineOf('POST', '/api/trust'));
  assert.equal(deadlineOf('POST', '/api/trust'), 300_000);
});
