// The state that the updater keeps across checks: revoked keys, serials, and whether the source still answers.
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { UpdateCheck } from '../../../daemon/api/schema.ts';
import type { Problem } from '../../../daemon/problem.ts';
import { describeSource } from '../../../daemon/update/report.ts';
import type { UpdaterOptions } from '../../../daemon/update/update.ts';
import { keyId, publicOf } from '../../../manifest/keys.ts';
import { addSignature, signerOf, splitSidecar } from '../../../manifest/signatures.ts';
import { day, key, otherKey, pem } from '../../support/manifest/release.ts';
import { until } from '../../support/until.ts';
import {
  createSource,
  createUpdater,
  type Ends,
  MANIFEST,
  publish,
  SIDECAR,
  temporary,
  write,
} from '../../support/update/source.ts';

const DAY = 86_400_000;
const [daily, locked] = [key, otherKey].map(secret => ({ ...publicOf(secret), key: createPublicKey(pem(secret)) })) as [
  ReturnType<typeof publicOf>,
  ReturnType<typeof publicOf>,
];
const trust = () => ({ keys: [daily, locked] });
const deb = { 'culvert-2.0.0.deb': Buffer.from('a package') };

async function setUp(t: Ends, options: Partial<UpdaterOptions> = {}) {
  const source = await createSource(t);
  const home = temporary(t);
  const start = () => createUpdater(t, source, { format: 'deb', trust, ...options }, { home });
  return { source, home, start, updater: await start() };
}

test('a release of the locked key revokes the daily one, also after a restart of the daemon', async t => {
  const { source, start, updater } = await setUp(t);
  const stolen = publish(source, '2.0.0', deb, { serial: 500 });
  assert.equal((await updater.updates.check(true)).latest, '2.0.0');
  // the maintainer answers with a release that the thief can't make; its serial is lower than what the thief used
  const mended = publish(
    source,
    '2.0.1',
    { 'culvert-2.0.1.deb': Buffer.from('mended') },
    { serial: 100, signer: otherKey },
  );
  const revoking = { ...mended.statement, revoked: [daily.id] };
  write(source, Buffer.from(JSON.stringify(mended.object)), revoking, otherKey);
  const found = await updater.updates.check(true);
  assert.deepEqual([found.latest, found.problem], ['2.0.1', null]);
  // the thief is back, with a chosen serial
  write(source, Buffer.from(JSON.stringify(stolen.object)), { ...stolen.statement, serial: 600 }, key);
  for (const { updates } of [updater, await start()])
    assert.equal((await updates.check(true)).problem?.code, 'key-revoked');
  const kept = JSON.parse(fs.readFileSync(path.join(updater.state, 'update.json'), 'utf8'));
  assert.deepEqual([kept.revoked, kept.serials], [[daily.id], { stable: 100 }]);
});

test('a revocation is kept even where the release itself cannot be installed', async t => {
  const { source, updater } = await setUp(t);
  const release = publish(source, '2.0.0', deb, { signer: otherKey });
  write(source, Buffer.from(JSON.stringify(release.object)), { ...release.statement, revoked: [daily.id] }, otherKey);
  await assert.rejects(updater.updates.apply(), (error: Problem) => error.code === 'update-not-applicable');
  const kept = JSON.parse(fs.readFileSync(path.join(updater.state, 'update.json'), 'utf8'));
  assert.deepEqual(kept.revoked, [daily.id]);
});

test('a new installation does not trust a key that was revoked before it was built', async t => {
  const trust = () => ({ keys: [daily, locked], revoked: [daily.id] });
  const { source, updater } = await setUp(t, { trust });
  publish(source, '2.0.0', deb);
  assert.equal((await updater.updates.check(true)).problem?.code, 'key-revoked');
});

test('with a threshold of two, one stolen key releases nothing', async t => {
  const { source, updater } = await setUp(t, { trust: () => ({ keys: [daily, locked], threshold: 2 }) });
  publish(source, '2.0.0', deb);
  assert.equal((await updater.updates.check(true)).problem?.code, 'signatures-missing');
  const files = (name: string) => source.files.get(`/releases/stable/${name}`) as Buffer;
  const both = addSignature(splitSidecar(files(SIDECAR))!, files(MANIFEST), keyId(otherKey), signerOf(otherKey));
  source.files.set(`/releases/stable/${SIDECAR}`, both);
  const found = await updater.updates.check(true);
  assert.deepEqual([found.problem, found.manifest?.signer?.split(', ').length], [null, 2]);
});

test('a serial raised to the end of the numbers is refused, and does not lock out later releases', async t => {
  const { source, updater } = await setUp(t);
  publish(source, '2.0.0', deb, { serial: Number.MAX_SAFE_INTEGER });
  assert.equal((await updater.updates.check(true)).problem?.code, 'serial-future');
  publish(source, '2.0.0', deb, { serial: Math.floor(Date.now() / 1000) });
  assert.equal((await updater.updates.check(true)).problem, null);
});

test('an expired or refused source is reported immediately, and an unreachable one after 7 days', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  const stateOf = (code: string | null, failingSince: number | null) =>
    describeSource((code && { code, detail: '' }) || null, { answeredAt: null, failingSince }, now).state;
  assert.equal(stateOf(null, null), 'ok');
  assert.equal(stateOf('no-source', 1), 'ok', 'a copy that asks nobody has no source that fails');
  assert.equal(stateOf('expired', null), 'expired');
  for (const code of ['signature-invalid', 'key-unknown', 'key-revoked', 'serial-older', 'state-broken', 'failed'])
    assert.equal(stateOf(code, null), 'refused', code);
  for (const code of ['network-failed', 'release-missing', 'timeout', 'redirected', 'certificate-invalid']) {
    assert.equal(stateOf(code, null), 'ok', code);
    assert.equal(stateOf(code, now - 7 * DAY + 1), 'ok', code);
    assert.equal(stateOf(code, now - 7 * DAY), 'unreachable', code);
  }
});

test('the daemon checks once a day, and publishes that the source has failed for a week', async t => {
  let now = Date.now();
  const { source, updater, start } = await setUp(t, { now: () => now, startupMs: 1, tickMs: 1 });
  const release = publish(source, '2.0.0', deb);
  write(source, Buffer.from(JSON.stringify(release.object)), { ...release.statement, expires_at: day(300) });
  const asked = () => source.asked.filter(url => url.endsWith(MANIFEST)).length;
  const latest = () => updater.events.at(-1)?.data as UpdateCheck;
  const after = async (ms: number) => {
    const before = asked();
    now += ms;
    await until(() => asked() > before && Date.parse(latest().checkedAt) === now);
  };
  updater.updates.start();
  await until(() => updater.events.length === 1);
  assert.deepEqual([latest().source.state, asked()], ['ok', 1]);
  now += 20 * 3_600_000; // not yet due
  await new Promise(resolve => setTimeout(resolve, 20));
  assert.equal(asked(), 1);
  await after(8 * 3_600_000);
  source.files.clear();
  await after(2 * DAY);
  assert.deepEqual([latest().problem?.code, latest().source.state], ['release-missing', 'ok']);
  await updater.updates.stop();
  // a restart of the daemon does not start the count again
  now += 7 * DAY;
  const second = await start();
  second.updates.start();
  await until(() => second.events.length > 0);
  const { source: found } = second.events[0]!.data as UpdateCheck;
  assert.equal(found.state, 'unreachable');
  assert.ok(Date.parse(found.lastAnswerAt!) < now - 8 * DAY);
  publish(source, '2.0.0', deb);
  write(source, Buffer.from(JSON.stringify(release.object)), { ...release.statement, expires_at: day(300) });
  assert.equal((await second.updates.check(true)).source.state, 'ok');
});

test('an expired release is a state that the check reports', async t => {
  const { source, updater } = await setUp(t);
  const release = publish(source, '2.0.0', deb);
  write(source, Buffer.from(JSON.stringify(release.object)), { ...release.statement, expires_at: day(-0.5) });
  const found = await updater.updates.check(true);
  assert.deepEqual([found.problem?.code, found.source.state], ['expired', 'expired']);
});

test('a release that is being published, with its new manifest and the old signature, is fetched again', async t => {
  const { source, updater } = await setUp(t);
  publish(source, '2.0.0', deb);
  const files = (name: string) => source.files.get(`/releases/stable/${name}`) as Buffer;
  const old = files(SIDECAR);
  publish(source, '2.0.1', { 'culvert-2.0.1.deb': Buffer.from('newer') }, { serial: 13 });
  const fresh = files(SIDECAR);
  let served = 0;
  source.files.set(`/releases/stable/${SIDECAR}`, (_, response) => response.end(served++ === 0 ? old : fresh));
  assert.equal((await updater.updates.check(true)).latest, '2.0.1');
  assert.equal(served, 2);
  source.files.set(`/releases/stable/${SIDECAR}`, old);
  assert.equal((await updater.updates.check(true)).problem?.code, 'signature-invalid');
});

test('many checks in a row are answered without asking the source each time, and an update is then refused', async t => {
  let now = Date.now();
  const { source, updater } = await setUp(t, { now: () => now, format: 'appimage' });
  publish(source, '2.0.0', deb);
  for (let i = 0; i < 150; i++) assert.equal((await updater.updates.check(true)).problem, null);
  assert.equal(source.asked.filter(url => url.endsWith(MANIFEST)).length, 100);
  now += 5_000;
  await updater.updates.check(true);
  assert.equal(source.asked.filter(url => url.endsWith(MANIFEST)).length, 101);
});

test('a Culvert built from source says so instead of asking the source for an update', async t => {
  const { source, updater } = await setUp(t, { format: 'source' });
  await assert.rejects(updater.updates.apply(), (error: Problem) => {
    assert.equal(error.code, 'update-not-applicable');
    assert.match(error.message, /built from source/);
    assert.match(error.extras.hint!, /git pull && \.\/culvert-tool build$/);
    return true;
  });
  assert.deepEqual(source.asked, []);
});
