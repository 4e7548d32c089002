// `culvert metrics`: off with what to do, then what GET /api/metrics answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { culvert, startHome } from '../../../support/daemon/command.ts';
import { readMetrics, valueIn } from '../../../support/metrics/openmetrics.ts';

test('says how to turn the metrics on, and prints them', async t => {
  const { home, metrics } = await startHome(t);
  t.after(() => metrics.stop());
  const off = await culvert(home, ['metrics']);
  assert.notEqual(off.code, 0);
  assert.match(off.stderr, /The metrics are off\..*culvert config set metrics\.enabled true/s);
  assert.equal((await culvert(home, ['config', 'set', 'metrics.enabled', 'true'])).code, 0);
  const { stdout } = await culvert(home, ['metrics']);
  assert.equal(valueIn(readMetrics(stdout), 'culvert_warp_event_streams'), 0);
  const json = JSON.parse((await culvert(home, ['metrics', '--json'])).stdout);
  assert.equal(json.ok, true);
  assert.ok(readMetrics(json.text).length > 10);
});
