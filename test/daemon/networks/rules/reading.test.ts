// Networks and rules are read: without an answer, late, with a mistake, and for a question.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { cafe, home, other, RULES, stage } from '../../../support/networks/stage.ts';
import { until } from '../../../support/until.ts';

test('a read without an answer keeps the networks as they were, and is repeated', async t => {
  const { go, networks, silence, state, said, words } = stage(t);
  await networks().set({ document: RULES });
  await go(home);
  await networks().answer({ rule: 'home', answer: 'always' });
  words();
  silence(1);
  assert.deepEqual(await go(other), [], 'the last reading');
  await until(() => state.snapshot().networks?.links[0]?.name === 'Wired');
  assert.deepEqual(said, ['Networks: NetworkManager does not answer']);
});

test('a gateway that a rule could be for is asked for, three times at most for each change', async t => {
  const { go, networks, greeted, state } = stage(t);
  const unknown = { ...home, gateway: '192.0.2.1' };
  await go(unknown);
  await networks().set({ document: RULES });
  assert.deepEqual(greeted, [], 'no rule names a gateway');
  await networks().set({ document: '[[network]]\nname = "own"\ngateway = "02:00:00:00:00:01"\nwarp = "connect"\n' });
  await until(() => greeted.length === 3);
  await networks().read();
  assert.equal(greeted.length, 3, 'not for a mere look');
  await go({ ...unknown, gatewayHardware: '02:00:00:00:00:01' });
  assert.deepEqual([greeted.length, state.snapshot().networks?.decision.links[0]?.rule], [3, 'own']);
});

test('a beacon that does not answer is asked again, three times at most for each change', async t => {
  const { go, networks, asked, move } = stage(t);
  const beacon = `{address = "192.0.2.1:8443", sha256 = "${'ab'.repeat(32)}"}`;
  await go(home);
  await networks().set({ document: `[[network]]\nname = "lab"\nbeacon = ${beacon}\nwarp = "connect"\n` });
  await until(() => asked() === 3);
  await move(cafe);
  await until(() => asked() === 6);
});

test('a slow read is not followed after a later one', async t => {
  const { go, networks, delay, reads, move, state } = stage(t);
  await go(cafe);
  const before = reads();
  const release = delay();
  const reading = networks().read();
  await until(() => reads() === before + 1);
  const moved = move(home);
  await until(() => reads() === before + 2);
  release();
  await Promise.all([reading, moved]);
  assert.equal(state.snapshot().networks?.links[0]?.name, 'Home');
});

test('refuses a document with a mistake, or of an older revision, and applies none of it', async t => {
  const { networks, paths } = stage(t);
  const { revision } = await networks().read();
  await assert.rejects(networks().set({ document: `${RULES}[[network]]\n` }), { code: 'document-invalid' });
  assert.equal(existsSync(paths.networks), false);
  await networks().set({ document: RULES, ifRevision: revision });
  await assert.rejects(networks().set({ document: '', ifRevision: revision }), { code: 'precondition-failed' });
  assert.equal(readFileSync(paths.networks, 'utf8'), RULES);
});

test('says what would happen elsewhere, and with other rules, and changes nothing', async t => {
  const { go, networks, words } = stage(t);
  await go(home);
  const elsewhere = { kind: 'wifi', name: 'Hotel' } as const;
  const tried = await networks().whatIf({ network: elsewhere, document: RULES });
  assert.deepEqual(tried.decision.links, [{ device: 'what-if', rule: 'cafes' }]);
  assert.deepEqual((await networks().whatIf({ document: RULES })).decision.links, [{ device: 'wlan0', rule: 'home' }]);
  assert.deepEqual((await networks().whatIf({ network: elsewhere })).decision.links, [
    { device: 'what-if', rule: null },
  ]);
  assert.deepEqual([words(), (await networks().whatIf({ document: '[[' })).invalid.length], [[], 1]);
});

test('without rules, nothing is watched and nothing is published', async t => {
  const { networks, state } = stage(t);
  networks().start();
  assert.equal(state.snapshot().networks, null);
});
