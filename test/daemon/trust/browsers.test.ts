// The organization's certificate in the databases of browsers: added, renewed, withdrawn, and undone byte for byte.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { withPrograms } from '../../support/doctor/world.ts';
import { FULL } from '../../support/thoroughness.ts';
import { authority, isThere, machine } from '../../support/trust/organization.ts';

const skip = !existsSync('/usr/bin/certutil');
const OLD = '.pki/nssdb';
const CURRENT = '.local/share/pki/nssdb';
const PROFILE = '.mozilla/firefox/abc.default';

/** A machine on which both browsers count as installed. */
function withBrowsers(t: TestContext) {
  const pc = machine(t, withPrograms(t, { chromium: 'exit 0', firefox: 'exit 0' }));
  const at = (place: string) => path.join(pc.home, place);
  const certutil = (place: string, ...args: string[]) =>
    execFileSync('certutil', ['-d', `sql:${at(place)}`, ...args], { encoding: 'utf8' });
  return {
    pc,
    at,
    certutil,
    /** A database, as a browser makes it. */
    make(place: string) {
      mkdirSync(at(place), { recursive: true });
      certutil(place, '-N', '--empty-password');
    },
    /** Certificates of Culvert in a database. */
    names: (place: string) => [...certutil(place, '-L').matchAll(/^(.*\(Culvert\))\s+C,,/gm)].map(([, name]) => name),
    bytes: (place: string) =>
      readdirSync(at(place)).map(name => [name, readFileSync(path.join(at(place), name), 'hex')]),
  };
}

test('the databases of browsers have the certificate, and are as they were after the undo', { skip }, async t => {
  const { pc, at, make, names, bytes } = withBrowsers(t);
  make(CURRENT);
  make(PROFILE);
  pc.install(authority(t));
  const before = [bytes(CURRENT), bytes(PROFILE)];
  const trust = pc.trust();
  const verdicts = async () => (await trust.report(['chromium', 'firefox'])).tools.map(({ verdict }) => verdict);
  const { tools } = await trust.report(['chromium', 'firefox']);
  assert.deepEqual(
    tools.map(({ verdict, changes }) => [verdict, changes.map(({ target }) => target)]),
    [
      ['does-not-trust', [at(CURRENT)]],
      ['does-not-trust', [at(PROFILE)]],
    ],
  );
  assert.match(
    tools[0]!.changes[0]!.diff,
    /^\+certutil -A -d sql:\S+ -t C,, -n 'Organization [0-9A-F]{16} \(Culvert\)'/m,
  );
  assert.match(tools[1]!.administrator.join('\n'), /policies\.json/);
  await trust.apply(['chromium', 'firefox']);
  assert.deepEqual([names(CURRENT).length, names(PROFILE).length], [1, 1]);
  assert.deepEqual(await verdicts(), ['trusts', 'trusts']);
  await trust.undo();
  assert.deepEqual([bytes(CURRENT), bytes(PROFILE)], before);
});

test('a database at the old path counts; without any, it is made there, and removed', {
  skip,
}, async t => {
  const { pc, at, make, names } = withBrowsers(t);
  pc.install(authority(t));
  const trust = pc.trust();
  await trust.apply(['chromium']);
  assert.equal(names(OLD).length, 1);
  await trust.undo();
  assert.ok(!existsSync(at('.pki')));
  make(OLD);
  make(CURRENT);
  await trust.apply(['chromium']);
  assert.deepEqual([names(OLD).length, names(CURRENT).length], [1, 0]);
});

test('a renewed certificate replaces the old one, and a withdrawn one goes; what a browser added since stays', {
  skip,
}, async t => {
  const { pc, make, names, certutil } = withBrowsers(t);
  const [one, two, own] = [authority(t), authority(t), authority(t, { subject: '/CN=own' })];
  make(OLD);
  pc.install(one);
  const trust = pc.trust();
  await trust.apply(['chromium']);
  const [first] = names(OLD);
  pc.install(two);
  await trust.refresh();
  assert.equal(names(OLD).length, 1);
  assert.notEqual(names(OLD)[0], first);
  execFileSync('certutil', ['-d', `sql:${path.join(pc.home, OLD)}`, '-A', '-t', 'C,,', '-n', 'own', '-a'], {
    input: own.pem,
  });
  pc.withdraw();
  await trust.refresh();
  assert.deepEqual(names(OLD), []);
  await trust.undo();
  assert.match(certutil(OLD, '-L'), /^own\s+C,,/m);
});

const CHROMIUM = ['--headless', '--no-sandbox', '--disable-gpu', '--dump-dom'];
/** Real browsers: the row, the program, a database of it, and how it opens an address. */
const REAL: [id: string, program: string, database: string | null, args: (url: URL, home: string) => string[]][] = [
  ['chromium', 'chromium', OLD, ({ href }) => [...CHROMIUM, href]],
  ['chromium', 'chromium', CURRENT, ({ href }) => [...CHROMIUM, href]],
  ['chromium', 'chromium', null, ({ href }) => [...CHROMIUM, href]],
  [
    'firefox',
    'firefox-esr',
    PROFILE,
    ({ href }, home) => [
      '--headless',
      '--profile',
      path.join(home, PROFILE),
      '--screenshot',
      path.join(home, 'picture.png'),
      href,
    ],
  ],
];

for (const [id, program, database, args] of REAL)
  test(`${program} opens the site only while the certificate is in ${database ?? 'a new database'}`, {
    skip: skip || !FULL || !isThere(program, '--version'),
  }, async t => {
    const { pc, make } = withBrowsers(t);
    if (database) make(database);
    const organization = authority(t);
    pc.install(organization);
    const site = await organization.serve();
    const env = { ...pc.env, PATH: process.env.PATH };
    const isReached = () => site.isReachedBy(env, program, url => args(url, pc.home));
    assert.equal(await isReached(), false);
    await pc.trust().apply([id]);
    assert.equal(await isReached(), true);
    await pc.trust().undo();
    assert.equal(await isReached(), false);
  });
