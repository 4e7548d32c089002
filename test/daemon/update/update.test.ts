// The updater over a real connection: checks, updates, rollbacks, and what goes wrong with them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import type { UpdateCheck } from '../../../daemon/api/schema.ts';
import type { Problem } from '../../../daemon/problem.ts';
import type { UpdaterOptions } from '../../../daemon/update/update.ts';
import { otherKey, snapshot } from '../../support/manifest/release.ts';
import { missing } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';
import {
  createSource,
  createUpdater,
  type Ends,
  MANIFEST,
  publish,
  script,
  smallDisk,
  temporary,
} from '../../support/update/source.ts';

const image = (version: string) => `culvert-${version}-${os.machine()}.AppImage`;

/** A home with an AppImage of version 1.0.0, and a source that has 2.0.0. */
async function setUp(t: Ends, means: Partial<UpdaterOptions> = {}, env: Record<string, string> = {}) {
  const source = await createSource(t);
  const home = temporary(t);
  const file = path.join(home, 'Culvert.AppImage');
  fs.writeFileSync(file, script('1.0.0'), { mode: 0o755 });
  publish(source, '2.0.0', { [image('2.0.0')]: script('2.0.0') });
  const as = (version: string) =>
    createUpdater(t, source, { format: 'appimage', version, ...means }, { home, env: { APPIMAGE: file, ...env } });
  return { source, home, file, as, updater: await as('1.0.0') };
}

async function problemOf(work: Promise<unknown>): Promise<Problem> {
  return work.then(
    () => assert.fail('it was not refused'),
    (error: Problem) => error,
  );
}

const progressOf = (events: { event: string; data: unknown }[]) =>
  events.filter(({ event }) => event === 'update').flatMap(({ data }) => (data as UpdateCheck).progress ?? []);

test('a check reports the newest release, its signer, and how to install it', async t => {
  const { updater } = await setUp(t);
  const { checkedAt, manifest, source, ...found } = await updater.updates.check(true);
  assert.equal(source.state, 'ok');
  assert.deepEqual(found, {
    ok: true,
    current: '1.0.0',
    channel: 'stable',
    latest: '2.0.0',
    updateAvailable: true,
    problem: null,
    applicable: true,
    command: null,
    previous: null,
    progress: null,
  });
  assert.ok(Math.abs(Date.parse(checkedAt) - Date.now()) < 60_000);
  assert.deepEqual([manifest?.tag, manifest?.signed, manifest?.signer], ['v2.0.0', true, 'test']);
  assert.match(manifest!.generatedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
  assert.equal(updater.events.at(-1)?.event, 'update');
});

test('an update replaces the file, keeps its mode, and the way back restores it; then the version is not offered again', async t => {
  const { updater, as, file, home } = await setUp(t);
  const before = [fs.readFileSync(file), fs.statSync(file).ino] as const;
  assert.deepEqual(await updater.updates.apply(), { ok: true, from: '1.0.0', to: '2.0.0' });
  assert.deepEqual(fs.readFileSync(file), script('2.0.0'));
  assert.equal(fs.statSync(file).mode & 0o777, 0o755);
  assert.deepEqual(fs.readdirSync(home).sort(), ['.Culvert.AppImage.previous', '.local', 'Culvert.AppImage']);
  assert.deepEqual(fs.readdirSync(updater.state), ['update.json']);
  await new Promise(setImmediate);
  assert.equal(updater.restarts(), 1);
  const phases = progressOf(updater.events);
  assert.deepEqual([...new Set(phases.map(({ phase }) => phase))], ['downloading', 'verifying', 'installing']);
  assert.ok(phases.every(({ received, total }) => received <= total && total === script('2.0.0').length));
  assert.equal((updater.events.at(-1)!.data as UpdateCheck).progress, null);

  const second = await as('2.0.0');
  const found = await second.updates.check();
  assert.deepEqual([found.updateAvailable, found.previous], [false, '1.0.0']);
  assert.deepEqual(await second.updates.rollback(), { ok: true, from: '2.0.0', to: '1.0.0' });
  assert.deepEqual([fs.readFileSync(file), fs.statSync(file).ino], before);

  const first = await as('1.0.0');
  const declined = await first.updates.check();
  assert.deepEqual([declined.latest, declined.updateAvailable, declined.previous], ['2.0.0', false, null]);
  assert.equal((await problemOf(first.updates.rollback())).extras.reason, 'nothing-previous');
  // an explicit request still installs it
  assert.equal((await first.updates.apply()).to, '2.0.0');
});

test('a newer release than the one rolled back is offered', async t => {
  const { updater, as, source } = await setUp(t);
  await updater.updates.apply();
  await (await as('2.0.0')).updates.rollback();
  publish(source, '2.0.1', { [image('2.0.1')]: script('2.0.1') }, { serial: 13 });
  const found = await (await as('1.0.0')).updates.check();
  assert.deepEqual([found.latest, found.updateAvailable], ['2.0.1', true]);
});

test('with nothing newer, an update says so and fetches nothing', async t => {
  const { as, source } = await setUp(t);
  const { updates } = await as('2.0.0');
  const problem = await problemOf(updates.apply());
  assert.deepEqual([problem.code, problem.extras.reason], ['update-not-applicable', 'up-to-date']);
  assert.ok(!source.asked.some(url => url.endsWith('.AppImage')));
});

test('an answer is cached for minutes unless a fresh one is requested, and shared by concurrent requests', async t => {
  let now = Date.now();
  const { updater, source } = await setUp(t, { now: () => now });
  const asked = () => source.asked.filter(url => url.endsWith(MANIFEST)).length;
  await Promise.all([updater.updates.check(), updater.updates.check(true), updater.updates.check()]);
  assert.equal(asked(), 1);
  now += 10 * 60_000;
  await updater.updates.check();
  assert.equal(asked(), 1);
  await updater.updates.check(true);
  assert.equal(asked(), 2);
  now += 16 * 60_000;
  await updater.updates.check();
  assert.equal(asked(), 3);
  now -= 3_600_000; // the clock was set back
  await updater.updates.check();
  assert.equal(asked(), 4);
});

test('a failure is forgotten sooner than an answer', async t => {
  let now = Date.now();
  const { updater, source } = await setUp(t, { now: () => now });
  const manifest = source.files.get(`/releases/stable/${MANIFEST}`)!;
  source.files.delete(`/releases/stable/${MANIFEST}`);
  assert.equal((await updater.updates.check()).problem?.code, 'release-missing');
  source.files.set(`/releases/stable/${MANIFEST}`, manifest);
  assert.equal((await updater.updates.check()).problem?.code, 'release-missing');
  now += 31_000;
  assert.equal((await updater.updates.check()).latest, '2.0.0');
});

test('a serial below the highest one seen in its channel is refused', async t => {
  const { updater, as, source } = await setUp(t);
  publish(source, '3.0.0-beta.1', { [image('3.0.0-beta.1')]: script('3.0.0-beta.1') }, { channel: 'beta', serial: 40 });
  await updater.updates.check();
  const beta = await createUpdater(
    t,
    source,
    { format: 'source' },
    { home: updater.home, env: { CULVERT_UPDATES_CHANNEL: 'beta' } },
  );
  assert.equal((await beta.updates.check()).latest, '3.0.0-beta.1');
  const kept = JSON.parse(fs.readFileSync(path.join(updater.state, 'update.json'), 'utf8'));
  assert.deepEqual(kept.serials, { stable: 12, beta: 40 });

  publish(source, '2.0.1', { [image('2.0.1')]: script('2.0.1') }, { serial: 11 });
  assert.equal((await (await as('1.0.0')).updates.check()).problem?.code, 'serial-older');
  publish(source, '2.0.1', { [image('2.0.1')]: script('2.0.1') }, { serial: 12 });
  assert.equal((await (await as('1.0.0')).updates.check()).latest, '2.0.1');
});

test('a beta in the place of the stable release is refused', async t => {
  const { updater, source } = await setUp(t);
  publish(source, '3.0.0-beta.1', { [image('3.0.0-beta.1')]: script('3.0.0-beta.1') }, { channel: 'beta', serial: 40 });
  for (const name of [MANIFEST, `${MANIFEST}.sig`])
    source.files.set(`/releases/stable/${name}`, source.files.get(`/releases/beta/${name}`)!);
  assert.equal((await updater.updates.check()).problem?.code, 'channel-other');
});

test('a state that cannot be read is refused, and left as it is', async t => {
  const { updater, file } = await setUp(t);
  fs.mkdirSync(updater.state, { recursive: true });
  const memory = path.join(updater.state, 'update.json');
  for (const text of [
    '',
    '{"serials":',
    '[]',
    'null',
    '{"serials":{"stable":"12"},"declined":null,"previous":null}',
    '{}',
  ]) {
    fs.writeFileSync(memory, text);
    const before = snapshot(updater.home);
    assert.equal((await updater.updates.check(true)).problem?.code, 'state-broken', text);
    assert.equal((await problemOf(updater.updates.apply())).extras.reason, 'state-broken', text);
    assert.equal(snapshot(updater.home), before);
  }
  assert.deepEqual(fs.readFileSync(file), script('1.0.0'));
});

test('a build without keys refuses every release', async t => {
  const { updater } = await setUp(t, { trust: () => ({ keys: [] }) });
  const { problem } = await updater.updates.check();
  assert.equal(problem?.code, 'key-unknown');
  assert.match(problem!.detail, /this build pins no release key yet/);
});

test('a release signed by an unknown key is refused even when everything else fits', async t => {
  const { updater, source, file } = await setUp(t);
  publish(source, '9.0.0', { [image('9.0.0')]: script('9.0.0') }, { serial: 99, signer: otherKey });
  assert.equal((await problemOf(updater.updates.apply())).extras.reason, 'key-unknown');
  assert.deepEqual(fs.readFileSync(file), script('1.0.0'));
});

test('a second update is refused while one is in progress', async t => {
  const { updater } = await setUp(t);
  const first = updater.updates.apply();
  assert.equal((await problemOf(updater.updates.apply())).code, 'busy');
  assert.equal((await problemOf(updater.updates.rollback())).code, 'busy');
  assert.equal((await first).to, '2.0.0');
});

test('an update is refused while another process makes one', async t => {
  const { updater, file } = await setUp(t);
  fs.mkdirSync(updater.state, { recursive: true });
  // as its holder would: this very process
  const started = fs.readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')[19];
  fs.writeFileSync(path.join(updater.state, 'lock'), `${process.pid} ${started}`);
  const problem = await problemOf(updater.updates.apply());
  assert.equal(problem.code, 'busy');
  assert.match(problem.message, new RegExp(`Process ${process.pid} `));
  assert.deepEqual(fs.readFileSync(file), script('1.0.0'));
  // the lock of a process that is gone does not count
  fs.writeFileSync(path.join(updater.state, 'lock'), '999999999 1');
  assert.equal((await updater.updates.apply()).to, '2.0.0');
});

test('a stopping daemon ends a download and leaves no file behind', async t => {
  const { updater, source, file, home } = await setUp(t);
  const begun = new Promise<void>(resolve => {
    source.files.set(`/releases/stable/${image('2.0.0')}`, (_, response) => {
      response.writeHead(200).write(script('2.0.0').subarray(0, 100));
      resolve();
    });
  });
  const applying = problemOf(updater.updates.apply());
  await begun;
  await updater.updates.stop();
  assert.equal((await applying).extras.reason, 'stopped');
  assert.deepEqual(
    fs.readdirSync(home).filter(name => name.startsWith('.C')),
    [],
  );
  assert.deepEqual(fs.readFileSync(file), script('1.0.0'));
});

test('with updates.checkOnStartup a check is made after the start, and a failure is published as well', async t => {
  const { as, source } = await setUp(t, { startupMs: 5 });
  const updater = await as('1.0.0');
  const asked = () => source.asked.filter(url => url.endsWith(MANIFEST)).length;
  updater.updates.start();
  await until(() => updater.events.length > 0);
  assert.equal((updater.events[0]!.data as UpdateCheck).latest, '2.0.0');
  assert.equal(asked(), 1);
  source.files.clear();
  const failing = await as('1.0.0');
  failing.updates.start();
  await until(() => failing.events.length > 0);
  const { problem, source: found } = failing.events[0]!.data as UpdateCheck;
  assert.deepEqual([problem?.code, found.state], ['release-missing', 'ok']);
  await failing.updates.stop();

  const off = await setUp(t, { startupMs: 0 }, { CULVERT_UPDATES_CHECK_ON_STARTUP: 'false' });
  off.updater.updates.start();
  await new Promise(resolve => setTimeout(resolve, 50));
  assert.deepEqual(off.source.asked, []);
});

test('a command with the signed digest is offered if the daemon cannot replace the installation', async t => {
  const source = await createSource(t);
  const artifacts = {
    'culvert-2.0.0.deb': Buffer.from('a package'),
    'culvert-2.0.0-daemon.deb': Buffer.from('another package'),
    'culvert-2.0.0-archive-keyring.deb': Buffer.from('keys'),
    'culvert-2.0.0-source.tar.gz': Buffer.from('source'),
    'culvert-2.0.0-recipes.tar.gz': Buffer.from('recipes'),
  };
  publish(source, '2.0.0', artifacts);
  const digests = Object.fromEntries(
    Object.entries(artifacts).map(([name, content]) => [
      name,
      execFileSync('sha256sum', { input: content, encoding: 'utf8' }).slice(0, 64),
    ]),
  );
  const commands: Record<string, RegExp> = {
    // an installation without a panel
    deb: new RegExp(
      `${['daemon', 'archive-keyring']
        .map(part => `culvert-2\\.0\\.0-${part}\\.deb`)
        .map((name, at) => {
          const digest = digests[['culvert-2.0.0-daemon.deb', 'culvert-2.0.0-archive-keyring.deb'][at]!];
          return `curl -fLO ${source.url}/stable/${name} && echo '${digest}  ${name}' \\| sha256sum -c && `;
        })
        .join('')}sudo apt install \\./culvert-2\\.0\\.0-daemon\\.deb \\./culvert-2\\.0\\.0-archive-keyring\\.deb$`,
    ),
    system: new RegExp(`${digests['culvert-2.0.0-source.tar.gz']}.*sudo meson install`),
    rpm: new RegExp(
      `${digests['culvert-2.0.0-source.tar.gz']}.*/data/rpm/build\\.sh .*sudo rpm -U culvert-daemon\\.rpm culvert-archive-keyring\\.rpm$`,
    ),
    arch: new RegExp(
      `${digests['culvert-2.0.0-recipes.tar.gz']}.*cd culvert-2\\.0\\.0-recipes && { gpg --import \\*\\.asc; makepkg -si; }$`,
    ),
    source: /git pull && \.\/culvert-tool build$/,
  };
  for (const [format, expected] of Object.entries(commands)) {
    const { updates } = await createUpdater(t, source, { format: format as UpdaterOptions['format'] });
    const found = await updates.check();
    assert.deepEqual([found.updateAvailable, found.applicable, found.previous], [true, false, null]);
    assert.match(found.command!, expected);
    const problem = await problemOf(updates.apply());
    assert.equal(problem.code, 'update-not-applicable');
    assert.equal(problem.extras.hint, `Run: ${found.command}`);
    assert.equal((await problemOf(updates.rollback())).code, 'update-not-applicable');
  }
});

test('an AppImage that cannot be replaced says why', async t => {
  const source = await createSource(t);
  publish(source, '2.0.0', { [image('2.0.0')]: script('2.0.0') });
  const means = { format: 'appimage' } as const;
  const extracted = await createUpdater(t, source, means);
  assert.equal((await extracted.updates.check()).applicable, false);
  assert.match((await problemOf(extracted.updates.apply())).message, /APPIMAGE is not set/);
  const gone = await createUpdater(t, source, means, { env: { APPIMAGE: path.join(missing(t), 'x.AppImage') } });
  const check = await gone.updates.check();
  assert.deepEqual([check.problem, check.latest, check.applicable, check.previous], [null, '2.0.0', false, null]);
  assert.match((await problemOf(gone.updates.apply())).message, /can't be replaced: No such file or directory/);
});

test('an AppImage behind a link is replaced, and the link stays', async t => {
  const { source, file, home } = await setUp(t);
  fs.mkdirSync(path.join(home, 'Desktop'));
  const link = path.join(home, 'Desktop', 'Culvert');
  fs.symlinkSync(file, link);
  const { updates } = await createUpdater(t, source, { format: 'appimage' }, { home, env: { APPIMAGE: link } });
  await updates.apply();
  assert.equal(fs.readlinkSync(link), file);
  assert.deepEqual(fs.readFileSync(file), script('2.0.0'));
});

test('a full disk is reported before anything is fetched', async t => {
  const disk = smallDisk(t);
  if (disk === null) return t.skip('mounting a file system needs the rights of root');
  const { source, updater } = await setUp(t);
  const file = path.join(disk, 'Culvert.AppImage');
  fs.writeFileSync(file, script('1.0.0'), { mode: 0o755 });
  const { updates } = await createUpdater(
    t,
    source,
    { format: 'appimage' },
    { home: updater.home, env: { APPIMAGE: file } },
  );
  const problem = await problemOf(updates.apply());
  assert.equal(problem.extras.reason, 'disk-full');
  assert.match(problem.message, /has \d\.\d MB free; the update needs 1[67]\.\d MB/);
  assert.ok(!source.asked.some(url => url.endsWith('.AppImage')));
  assert.deepEqual(fs.readdirSync(disk), ['Culvert.AppImage']);
});

test('without a source nothing is asked, and a check says where updates come from', async t => {
  const source = await createSource(t);
  const { updates } = await createUpdater(t, { ...source, url: '' }, {});
  const { problem, source: state, updateAvailable } = await updates.check(true);
  assert.deepEqual([problem?.code, state.state, updateAvailable], ['no-source', 'ok', false]);
  assert.match(problem!.detail, /no source of updates.*Updates come with git or with your packages/);
});
