// The daemon follows the organization's certificate: lists are written again, and clients hear when it is gone.
import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createState } from '../../../daemon/state/store.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { keepTrustLists } from '../../../daemon/trust/index.ts';
import { authority, machine, ROOTS, read } from '../../support/trust/organization.ts';
import { until } from '../../support/until.ts';

type Machine = ReturnType<typeof machine>;

/** A daemon's part for the certificate, on this machine. */
function follow(t: TestContext, pc: Machine) {
  const state = createState({ available: false, path: null, version: null, emulated: false });
  const place = { root: pc.root, owner: process.getuid!() };
  const lists = keepTrustLists({ env: pc.env, paths: paths(pc.env), state, say: line => assert.fail(line) }, place);
  lists.start();
  t.after(() => lists.stop());
  return { state, trust: () => state.snapshot().trust! };
}

/** True where the list of all authorities has this text. */
const bundleHas = (pc: Machine, text: string) =>
  read(path.join(pc.home, '.local/state/culvert/trust/bundle.pem')).includes(text);

test('writes the lists again when it starts and when the account changes', async t => {
  const pc = machine(t);
  const [one, two] = [authority(t), authority(t)];
  pc.install(one);
  await pc.trust().apply(['curl']);
  pc.install(two);
  const { state, trust } = follow(t, pc);
  await until(() => bundleHas(pc, two.pem) && !bundleHas(pc, one.pem));
  state.set('account', { ...state.snapshot().account, registered: false });
  await until(() => !bundleHas(pc, two.pem));
  // the CLI may name the type of the account, and no organization
  state.set('account', { ...state.snapshot().account, registered: true, organization: null, type: 'Team' });
  await until(() => bundleHas(pc, two.pem));
  state.set('account', { ...state.snapshot().account, registered: false });
  await until(() => trust().removalDue);
  assert.deepEqual(trust(), { offered: true, removalDue: true });
});

test('writes the lists again when a file of either source changes, and says when the certificate is gone', async t => {
  const pc = machine(t);
  pc.install(authority(t));
  const { trust } = follow(t, pc);
  await until(() => trust().offered);
  await pc.trust().apply(['curl']);
  const [first] = ROOTS;
  await until(() => bundleHas(pc, first!));
  pc.write('/etc/ssl/certs/ca-certificates.crt', `${ROOTS.slice(1).join('\n')}\n`);
  await until(() => !bundleHas(pc, first!));
  assert.equal(trust().removalDue, false);
  pc.withdraw();
  await until(() => trust().removalDue);
  await pc.trust().undo();
  await until(() => !trust().offered && !trust().removalDue);
});

test('takes a certificate out of the lists when it expires, and says so', async t => {
  const pc = machine(t);
  const lasting = authority(t);
  pc.install(lasting);
  await pc.trust().apply(['curl']);
  const expiring = authority(t, { until: new Date(Date.now() + 3_000) });
  pc.install(expiring);
  const { trust } = follow(t, pc);
  await until(() => trust().removalDue);
  for (const { pem } of [lasting, expiring]) assert.ok(!bundleHas(pc, pem));
});
