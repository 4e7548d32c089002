// Proofs of the checks of Culvert itself and of the desktop.
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { KillSwitch } from '../../../../daemon/api/schema.ts';
import {
  configuration,
  daemon,
  display,
  killSwitch,
  panel,
  pendingChanges,
  port,
  remoteAccess,
  socketDirectory,
  storage,
  tray,
} from '../../../../daemon/doctor/checks/culvert.ts';
import { culvertPackages } from '../../../../daemon/doctor/checks/packages.ts';
import type { CulvertFacts } from '../../../../daemon/doctor/world/world.ts';
import { rawKey } from '../../../../data/repository/keys.mjs';
import { armored, certificate, signerOf } from '../../../../data/repository/openpgp.mjs';
import { BLOCKING, CULVERT, NOW, snapshot, tree, withPrograms, world } from '../../../support/doctor/world.ts';
import { listen } from '../../../support/listen.ts';
import type { Ends } from '../../../support/temporary.ts';
import { type Case, proofs } from './cases.ts';

const own = (t: Ends, facts: Partial<CulvertFacts>) => world(t, { culvert: { ...CULVERT, ...facts } });
const unconfirmed: KillSwitch['unconfirmed'] = {
  setAt: '2026-11-21T12:00:00.000Z',
  confirmBy: '2026-11-21T12:00:30.000Z',
  previous: { enabled: false, allowLan: false },
};
const gjs = (t: Ends, found: object) =>
  world(t, { env: { ...withPrograms(t, { gjs: `echo '${JSON.stringify(found)}'` }), DISPLAY: ':9' } });

async function health(t: Ends, pid: number): Promise<number> {
  const server = createServer((_, reply) => reply.end(JSON.stringify({ pid })));
  return listen(t, server);
}

/** A machine whose runtime directory has this mode. */
function runtime(t: Ends, mode: number) {
  const root = tree(t, { [`${CULVERT.runtime}/lock`]: '' });
  chmodSync(`${root}${CULVERT.runtime}`, mode);
  return world(t, { root });
}

const SUBSCRIPTION = '/usr/share/keyrings/culvert-archive-keyring.pgp';
const DNF_KEYS = '/etc/pki/rpm-gpg/RPM-GPG-KEY-culvert';
const DAY_S = 86_400;

/** A certificate that expires so many days from now. */
function expiresIn(days: number) {
  const created = NOW / 1000 - 1000 * DAY_S;
  const { privateKey } = generateKeyPairSync('ed25519');
  return certificate({ key: rawKey(privateKey), created }, 'x', NOW / 1000 + days * DAY_S, signerOf(privateKey));
}

/**
 * A machine that subscribes to the repository of Culvert.
 * @param keys days from now until each key expires
 * @param index the last index that apt accepted
 */
function subscribed(t: Ends, keys: number[], index = '') {
  const root = tree(t, {
    '/etc/apt/sources.list.d/culvert.sources': `Types: deb\nURIs: https://culvert.example/my_packages/\nSuites: stable\nSigned-By: ${SUBSCRIPTION}\n`,
    '/var/lib/apt/lists/culvert.example_my%5fpackages_dists_stable_InRelease': index,
  });
  if (keys.length > 0) {
    mkdirSync(`${root}/usr/share/keyrings`, { recursive: true });
    writeFileSync(`${root}${SUBSCRIPTION}`, Buffer.concat(keys.map(expiresIn)));
  }
  return world(t, { root });
}

/** The same for dnf, whose keys are text. */
const subscribedByDnf = (t: Ends, keys: number[], address = 'https://culvert.example/my_packages/rpm/stable') =>
  world(t, {
    root: tree(t, {
      '/etc/yum.repos.d/culvert.repo': `[culvert]\nbaseurl=${address}\ngpgkey=file://${DNF_KEYS}\n`,
      [DNF_KEYS]: keys.map(days => armored('PUBLIC KEY BLOCK', expiresIn(days))).join(''),
    }),
  });

const PACKAGES: Case[] = [
  ...proofs(culvertPackages, 'files', [
    { title: 'no subscription', verdict: 'not-applicable', world: t => world(t, { root: tree(t) }) },
    {
      title: 'keys that hold, one of them for a month',
      verdict: 'ok',
      shows: /expire at 2027-06-09.*holds until 2026-12-01/s,
      world: t => subscribed(t, [29, 200], 'Valid-Until: Tue, 01 Dec 2026 00:00:00 UTC\n'),
    },
    {
      title: 'the last key expires within a month',
      verdict: 'notice',
      shows: /expire at 2026-12-20/,
      fix: /https:\/\/culvert\.example\/my_packages\/culvert-archive-keyring\.pgp/,
      world: t => subscribed(t, [3, 29]),
    },
    {
      title: 'keys that have expired',
      verdict: 'problem',
      shows: /expired at 2026-11-20.*apt refuses updates/s,
      fix: /curl/,
      world: t => subscribed(t, [-1, -2]),
    },
    {
      title: 'no file of keys',
      verdict: 'problem',
      shows: /keyring\.pgp is missing/,
      fix: /curl/,
      world: t => subscribed(t, []),
    },
    {
      title: 'a list that has expired',
      verdict: 'problem',
      shows: /expired at 2026-11-20.*sudo apt update.*maintainer has to sign it again/s,
      fix: null,
      world: t => subscribed(t, [200], 'Valid-Until: Fri, 20 Nov 2026 00:00:00 UTC\n'),
    },
    {
      title: 'keys of dnf, one of which holds',
      verdict: 'ok',
      shows: /RPM-GPG-KEY-culvert expire at 2027-06-09/,
      world: t => subscribedByDnf(t, [-1, 200]),
    },
    {
      title: 'the last key of dnf expires within a month',
      verdict: 'notice',
      shows: /expire at 2026-12-20.*dnf then refuses updates/s,
      fix: /RPM-GPG-KEY-culvert","https:\/\/culvert\.example\/my_packages\/culvert-archive-keyring\.asc/,
      world: t => subscribedByDnf(t, [3, 29]),
    },
    {
      title: 'a repository of dnf elsewhere',
      verdict: 'unknown',
      shows: /culvert\.repo names no address/,
      world: t => subscribedByDnf(t, [200], 'https://culvert.example/'),
    },
  ]),
];

export const CULVERT_CASES: Case[] = [
  ...PACKAGES,
  ...proofs(daemon, 'snapshot', [
    { title: 'no daemon', verdict: 'problem', world: t => own(t, { daemon: null }) },
    {
      title: 'a daemon of another version',
      verdict: 'notice',
      world: t => own(t, { daemon: { version: '1.0.0', pid: 1, port: null } }),
    },
    { title: 'a daemon of this version', verdict: 'ok', world: t => own(t, {}) },
  ]),
  ...proofs(socketDirectory, 'files', [
    {
      title: 'a directory that others can enter',
      verdict: 'problem',
      shows: /mode 755/,
      fix: /"chmod","700"/,
      world: t => runtime(t, 0o755),
    },
    { title: 'a private directory', verdict: 'ok', world: t => runtime(t, 0o700) },
  ]),
  ...proofs(port, 'HTTP server', [
    {
      title: 'another program at the port of the daemon',
      verdict: 'problem',
      world: async t => own(t, { daemon: { version: '1.2.3', pid: 4, port: await health(t, 5) } }),
    },
    {
      title: 'the daemon at its port',
      verdict: 'ok',
      world: async t => own(t, { daemon: { version: '1.2.3', pid: 4, port: await health(t, 4) } }),
    },
  ]),
  {
    check: configuration,
    how: 'snapshot',
    title: 'a broken line',
    verdict: 'problem',
    shows: /config\.json, line 2/,
    world: t =>
      own(t, { configuration: { problems: ['/x/config.json, line 2: a comma is missing'], restartRequired: [] } }),
  },
  {
    check: configuration,
    how: 'files',
    title: 'a file that others may change',
    verdict: 'problem',
    shows: /config\.json can be changed by others \(owner \d+, mode 646\)/,
    world: t => {
      const root = tree(t, { [CULVERT.userConfig]: '{}' });
      chmodSync(`${root}${CULVERT.userConfig}`, 0o646);
      return world(t, { root });
    },
  },
  { check: configuration, how: 'snapshot', title: 'a good file', verdict: 'ok', world: t => own(t, {}) },
  ...(
    [
      ['space', /state\/culvert \(\/home\) can't be written.*The disk is full/s],
      ['inodes', /no free inodes/],
      ['read-only', /file system is read-only/],
      ['denied', /no permission to write/],
    ] as const
  ).map(
    ([kind, shows]): Case => ({
      check: storage,
      how: 'files',
      title: `directories that can't be written: ${kind}`,
      verdict: 'problem',
      shows,
      async world(t) {
        const real = await world(t);
        return { ...real, files: { ...real.files, obstacle: async () => ({ kind, at: '/home' }) } };
      },
    }),
  ),
  {
    check: storage,
    how: 'files',
    title: 'directories that can be written, or made',
    verdict: 'ok',
    world: t => own(t, {}),
  },
  {
    check: pendingChanges,
    how: 'snapshot',
    title: 'a daemon that could not read its changes',
    verdict: 'problem',
    shows: /\/state\/changes\.json can't be read/,
    tunnel: { lostChanges: { file: '/state/changes.json' } },
  },
  {
    check: pendingChanges,
    how: 'files',
    title: 'a broken file, without a daemon',
    verdict: 'problem',
    shows: /changes\.json\.broken can't be read/,
    files: { [CULVERT.brokenChanges]: '' },
  },
  { check: pendingChanges, how: 'snapshot', title: 'no lost changes', verdict: 'ok', world: t => own(t, {}) },
  ...proofs(killSwitch, 'snapshot', [
    { title: 'on, without blocking', verdict: 'problem', tunnel: { killSwitch: { ...BLOCKING, active: false } } },
    {
      title: 'paused',
      verdict: 'notice',
      tunnel: { killSwitch: { ...BLOCKING, active: false, pausedUntil: '2026-11-21T12:05:00.000Z' } },
    },
    { title: 'on and blocking', verdict: 'ok', tunnel: { killSwitch: BLOCKING } },
    {
      title: 'not blocking while the machine starts',
      verdict: 'notice',
      tunnel: { killSwitch: { ...BLOCKING, bootGuard: false } },
    },
    {
      title: 'turned on, and not confirmed yet',
      verdict: 'ok',
      tunnel: { killSwitch: { ...BLOCKING, bootGuard: false, unconfirmed } },
    },
  ]),
  ...proofs(remoteAccess, 'snapshot', [
    {
      title: 'remote access without encryption',
      verdict: 'notice',
      shows: /does not encrypt/,
      tunnel: { remoteAccess: { address: null } },
    },
    {
      title: 'a reverse proxy that encrypts',
      verdict: 'ok',
      world: t => world(t, { tunnel: snapshot({ remoteAccess: { address: 'https://culvert.example.org' } }) }),
    },
    { title: 'no remote access', verdict: 'ok' },
  ]),
  ...proofs(display, 'programs', [
    { title: 'no display', verdict: 'notice' },
    { title: 'a display', verdict: 'ok', world: t => gjs(t, {}) },
  ]),
  ...proofs(panel, 'programs', [
    {
      title: 'no libadwaita',
      verdict: 'problem',
      shows: /missing: Adw 1/,
      world: t => gjs(t, { missing: ['Adw 1'], host: true }),
    },
    { title: 'all libraries', verdict: 'ok', world: t => gjs(t, { missing: [], host: true }) },
  ]),
  ...proofs(tray, 'programs', [
    { title: 'no tray host', verdict: 'notice', world: t => gjs(t, { missing: [], host: false }) },
    { title: 'a tray host', verdict: 'ok', world: t => gjs(t, { missing: [], host: true }) },
  ]),
];
