// A missing gdbus is reported once; a system without a bus is not, because nothing reports a network there either.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { monitorNetworks } from '../../../../daemon/networks/links/monitor.ts';
import { temporary } from '../../../support/temporary.ts';
import { until } from '../../../support/until.ts';

test('says once that gdbus is missing', async t => {
  const reasons: string[] = [];
  const monitor = monitorNetworks(
    { PATH: temporary(t, 'empty') },
    () => {},
    reason => void reasons.push(reason),
  );
  t.after(() => monitor.stop());
  await until(() => reasons.length > 0);
  const other = monitorNetworks(
    { PATH: temporary(t, 'empty') },
    () => {},
    () => reasons.push('again'),
  );
  other.stop();
  assert.equal(reasons.length, 1);
});
