// The daemon takes what a sign-in let through from the root service, once, when it has ended.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { HistorySignIn } from '../../../../daemon/api/killswitch.ts';
import { createSignedIn } from '../../../../daemon/killswitch/client/signed-in.ts';
import { SIGN_INS_FILE } from '../../../../daemon/killswitch/report.ts';
import { setLoginPage } from '../../../support/killswitch/login-page.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { until } from '../../../support/until.ts';

test('each sign-in that ended is recorded once, and nothing is asked without one', { skip: missing }, async t => {
  const stage = await setLoginPage('form');
  t.after(stage.end);
  const recorded: HistorySignIn[] = [];
  const record = (signIn: HistorySignIn) => void recorded.push(signIn);
  const places = { ...stage.places, busctl: '/nowhere/busctl' };
  const signIns = createSignedIn(places, record);
  assert.equal(await signIns.last(), null);
  const window = await stage.open();
  assert.equal(await signIns.last(), null);
  await window.close();
  // the helper does not wait long for a busy root service
  await until(() => existsSync(join(places.run, SIGN_INS_FILE)));
  await assert.rejects(signIns.last(), /busctl is missing/);

  places.busctl = stage.places.busctl;
  await Promise.all([signIns.take(), signIns.take()]);
  assert.deepEqual(
    recorded.map(({ ended, hosts }) => ({ ended, hosts })),
    [{ ended: 'closed', hosts: [] }],
  );
  assert.deepEqual(await signIns.last(), recorded[0]);
  assert.equal(await createSignedIn(stage.places, record).last(), null);
});
