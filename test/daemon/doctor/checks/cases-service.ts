// Proofs of the checks of the tunnel client: its service, registration, files, packages and version.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, truncateSync } from 'node:fs';
import type { RegistrationCause } from '../../../../daemon/api/schema.ts';
import { knowledgeFiles, knownIssues, unknownValues } from '../../../../daemon/doctor/checks/issues.ts';
import { clock, nftFeatures, resources, serviceJournal } from '../../../../daemon/doctor/checks/machine.ts';
import { packageRepository } from '../../../../daemon/doctor/checks/packages.ts';
import { registrationStuck, service, sessionExpiry, tunnelCli } from '../../../../daemon/doctor/checks/registration.ts';
import { registration } from '../../../../daemon/doctor/checks/registration-cause.ts';
import { inEnglish } from '../../../../daemon/view/message.ts';
import { POLICY_FILE } from '../../../../daemon/warp/parse/policy-file.ts';
import {
  ENV,
  type Fixture,
  KNOWLEDGE,
  onlyPrograms,
  snapshot,
  tree,
  withPrograms,
  world,
} from '../../../support/doctor/world.ts';
import { type Ends, temporary } from '../../../support/temporary.ts';
import { type Case, proofs } from './cases.ts';

const reason = (code: string | null, words: string) => ({ reason: { code, text: words } });
const missing = (why: string) => ({
  status: {
    state: 'unable' as const,
    blocked: 'not-registered' as const,
    ...reason('RegistrationMissing', `Registration Missing due to: ${why}`),
  },
  account: { registered: false, type: null, organization: null, managed: null },
});
/** Cause that a daemon finds that may not read the policy file. */
const HIDDEN = { code: 'policy-hidden' as const, managed: true, organization: null, host: null, evidence: [] };
/** Cause of a failed attempt to register. */
const ATTEMPT = { ...HIDDEN, code: 'api-unreachable' as const, managed: false };
/** Other causes that it finds, which are those of an organization to it, and the fixes of a doctor that reads the file. */
const HIDDEN_CAUSES: [cause: Pick<RegistrationCause, 'code' | 'evidence'>, why: string, fix: RegExp | null][] = [
  [{ code: 'unknown-to-api', evidence: [] }, 'Does not exist in API', /\[\["warp-cli","registration","new"\]\]/],
  [{ code: 'changed', evidence: [] }, 'Invalidated', /\[\["warp-cli","registration","new"\]\]/],
  [{ code: 'removed', evidence: [] }, 'Revoked', null],
  [
    { code: 'old-registration', evidence: [inEnglish('Error: Old registration is still around.')] },
    'Daemon Startup',
    /\[\["warp-cli","registration","delete"\],\["warp-cli","registration","new"\]\]/,
  ],
];
const organization = { account: { registered: true, type: 'team', organization: 'example', managed: true } };

const systemd1 = (load: string, active: string) => ({
  'org.freedesktop.systemd1': {
    '/org/freedesktop/systemd1/unit/warp_2dsvc_2eservice': {
      'org.freedesktop.systemd1.Unit': {
        LoadState: ['s', `"${load}"`] as [string, string],
        ActiveState: ['s', `"${active}"`] as [string, string],
        UnitFileState: ['s', '"disabled"'] as [string, string],
      },
    },
  },
});

/** A finished read of the tunnel CLI. */
const answered = (argv: string[], stdout: string) => ({
  ok: true,
  argv: ['warp-cli', ...argv],
  exitCode: 0,
  stdout,
  stderr: '',
  durationMs: 1,
  at: '2026-01-01T00:00:00.000Z',
});

/** The files of /proc for a warp-svc with this memory. */
function warpSvc(memoryKb: number, descriptors: number): Fixture {
  const fds = Array.from({ length: descriptors }, (_, at) => [`/proc/55/fd/${at}`, { link: '/dev/null' }] as const);
  return {
    '/proc/55/comm': 'warp-svc\n',
    '/proc/55/status': `Name:\twarp-svc\nVmRSS:\t  ${memoryKb} kB\nCapEff:\t0000000000001000\n`,
    '/proc/55/stat': `55 (warp-svc) S ${'0 '.repeat(18)}4711 0 0\n`,
    '/proc/55/limits':
      'Limit                     Soft Limit           Hard Limit           Units\nMax open files            100                  4096                 files\n',
    ...Object.fromEntries(fds),
  };
}

const KEYRING = '/usr/share/keyrings/cloudflare-warp-archive-keyring.gpg';
const list = (suite: string, key = KEYRING) => ({
  '/etc/apt/sources.list.d/cloudflare-client.list': `deb [signed-by=${key}] https://pkg.cloudflareclient.com/ ${suite} main\n`,
  '/etc/os-release': 'ID=debian\nVERSION_CODENAME=bookworm\n',
});

/** A keyring with a key made at this time, which is good for so many days. */
function keyring(t: Ends, madeAt: string, days: number): string {
  const home = temporary(t, 'gpg');
  mkdirSync(`${home}/home`, { mode: 0o700 });
  const gpg = (...args: string[]) =>
    spawnSync('gpg', ['--homedir', `${home}/home`, '--batch', '--quiet', '--pinentry-mode', 'loopback', ...args], {
      encoding: 'latin1',
    });
  const made = gpg(
    '--faked-system-time',
    madeAt,
    '--passphrase',
    '',
    '--quick-gen-key',
    'Example <a@example.org>',
    'ed25519',
    'sign',
    `${days}d`,
  );
  if (made.status !== 0) throw new Error(made.stderr);
  gpg('--output', `${home}/key.gpg`, '--export');
  spawnSync('gpgconf', ['--homedir', `${home}/home`, '--kill', 'all']);
  return readFileSync(`${home}/key.gpg`, 'latin1');
}

function withKey(t: Ends, suite: string, key: string): string {
  const root = tree(t, list(suite));
  mkdirSync(`${root}/usr/share/keyrings`, { recursive: true });
  spawnSync('tee', [`${root}${KEYRING}`], { input: Buffer.from(key, 'latin1') });
  return root;
}

const REGISTRATION: Case[] = [
  ...proofs(tunnelCli, 'snapshot', [
    {
      title: 'no tunnel CLI',
      verdict: 'problem',
      tunnel: { tunnelCli: { available: false, path: null, version: null } },
    },
    {
      title: 'a tunnel CLI that is too old',
      verdict: 'problem',
      shows: /2023\.7\.159 is too old: install version 2024\.9\.346 or newer/,
      tunnel: { tunnelCli: { version: '2023.7.159' }, status: { blocked: 'cli-too-old' } },
    },
    { title: 'an installed tunnel CLI', verdict: 'ok' },
  ]),
  ...proofs(clock, 'files', [
    {
      title: 'a clock that was not synchronized yet',
      verdict: 'notice',
      shows: /has not synchronized the clock/,
      files: { '/run/systemd/timesync/.keep': '' },
    },
    { title: 'a synchronized clock', verdict: 'ok', files: { '/run/systemd/timesync/synchronized': '' } },
  ]),
  {
    check: service,
    how: 'bus',
    title: 'a service that does not run',
    verdict: 'problem',
    shows: /warp-svc\.service is inactive, and at start: disabled/,
    fix: /"enable","--now","warp-svc"/,
    bus: systemd1('loaded', 'inactive'),
    tunnel: { status: { state: 'unknown', blocked: 'service-stopped' } },
  },
  {
    check: service,
    how: 'bus',
    title: 'a service that systemd runs, and that does not answer',
    verdict: 'problem',
    shows: /is active[\s\S]*The WARP service is running, but does not answer/,
    fix: /"restart","warp-svc"/,
    bus: systemd1('loaded', 'active'),
    tunnel: { status: { state: 'unknown', blocked: 'service-hangs' } },
  },
  ...(['inactive', 'failed'] as const).map(
    (active): Case => ({
      check: service,
      how: 'bus',
      title: `a WARP that does not answer, and whose unit is ${active}`,
      verdict: 'problem',
      shows: /is (inactive|failed)[\s\S]*WARP does not answer\. Restart its service/,
      bus: systemd1('loaded', active),
      tunnel: { status: { state: 'unknown', blocked: 'service-hangs' } },
    }),
  ),
  ...proofs(service, 'snapshot', [
    {
      title: 'a program of WARP that crashes',
      verdict: 'problem',
      shows: /panicked at main\.rs/,
      fix: /"restart","warp-svc"/,
      tunnel: {
        status: { state: 'unknown', raw: 'thread panicked at main.rs', ...reason('ProgramFailed', 'It failed') },
      },
    },
    {
      title: 'a state that could not be read again',
      verdict: 'problem',
      shows: /did not answer[\s\S]*last known at/,
      tunnel: { status: { state: 'connected', lastKnown: { at: '2020-11-21T09:59:00.000Z', said: null } } },
    },
    { title: 'a service that answers', verdict: 'ok' },
  ]),
  ...proofs(registration, 'snapshot', [
    {
      title: 'a device that was never registered',
      verdict: 'problem',
      fix: /"actions":\[\{"action":"register"\}\]/,
      tunnel: missing('Daemon Startup'),
    },
    {
      title: 'a registration that the server does not know',
      verdict: 'problem',
      fix: /"actions":\[\{"action":"register"\}\]/,
      tunnel: missing('Does not exist in API'),
    },
    {
      title: 'a device that its organization removed',
      verdict: 'problem',
      shows: /Your organization removed this device\./,
      fix: null,
      tunnel: missing('Revoked'),
    },
    { title: 'a registered device', verdict: 'ok', shows: /^free/ },
  ]),
  ...proofs(registration, 'files', [
    {
      title: 'a file that belongs to another user',
      verdict: 'problem',
      shows: /belongs to user \d+, with mode 77/,
      fix: /"chown","root:root".*"chmod","600".*"undo":.*"chmod","77".*"restart"/,
      files: { [POLICY_FILE]: { text: '<dict/>', mode: 0o077 } },
      tunnel: { ...missing('Daemon Startup'), tunnelCli: { version: '2026.6.822.0' } },
    },
    {
      title: 'a link in place of the file',
      verdict: 'problem',
      fix: /"sh","-c",.*"restart".*"undo":\[\["ln".*"restart"/,
      files: { [POLICY_FILE]: { link: '/etc/mdm.xml' } },
      tunnel: missing('Daemon Startup'),
    },
    {
      title: 'a policy file that names an organization',
      verdict: 'problem',
      shows: /names the organization “acme”\. Sign in/,
      fix: /"register","--organization","acme"/,
      files: { [POLICY_FILE]: '<dict><key>organization</key><string>acme</string></dict>' },
      tunnel: missing('Daemon Startup'),
    },
    {
      title: 'a policy file without an organization, which only root may read',
      verdict: 'problem',
      shows: /This device is not registered\./,
      fix: /\[\["warp-cli","registration","new"\]\]/,
      files: { [POLICY_FILE]: '<dict><key>override_warp_endpoint</key><string>203.0.113.1:2408</string></dict>' },
      tunnel: { ...missing('Daemon Startup'), status: { ...missing('Daemon Startup').status, registration: HIDDEN } },
    },
    {
      // as a user's daemon reported the attempt, before the file existed
      title: 'a failed attempt, and a file that only root may read',
      verdict: 'problem',
      shows: /can’t reach Cloudflare to register.*Only root may read the management file/s,
      fix: /deployment\/firewall/,
      world(t) {
        const given = world(t, {
          root: tree(t, { [POLICY_FILE]: '<dict/>' }),
          tunnel: snapshot({ status: { ...missing('Daemon Startup').status, registration: ATTEMPT } }),
        });
        // a test that runs as root may read every file
        const hidden = { ...given.files.policyFile(POLICY_FILE)!, uid: 0, text: null };
        return { ...given, owner: 0, files: { ...given.files, policyFile: () => hidden } };
      },
    },
    {
      title: 'a failed attempt, and a file with a fault',
      verdict: 'problem',
      shows: /management file is not filled in.*can’t reach Cloudflare to register/s,
      fix: /mdm-deployment\/parameters/,
      files: { [POLICY_FILE]: '<dict><key>organization</key><string>$TEAM</string></dict>' },
      tunnel: { ...missing('Daemon Startup'), status: { ...missing('Daemon Startup').status, registration: ATTEMPT } },
    },
    ...HIDDEN_CAUSES.map(([cause, why, fix]): Pick<Case, 'title' | 'verdict' | 'fix' | 'files' | 'tunnel'> => {
      const told = { ...HIDDEN, code: cause.code, evidence: cause.evidence };
      return {
        title: `such a file, for a daemon that may not read it and tells ${cause.code}`,
        verdict: 'problem',
        fix,
        files: { [POLICY_FILE]: '<dict><key>override_warp_endpoint</key><string>203.0.113.1:2408</string></dict>' },
        tunnel: { ...missing(why), status: { ...missing(why).status, registration: told } },
      };
    }),
  ]),
  ...proofs(registrationStuck, 'snapshot', [
    {
      title: 'a registration that has been checking for two hours',
      verdict: 'problem',
      shows: /7200 s/,
      tunnel: {
        tunnelCli: { version: '2026.6.822.0' },
        status: { state: 'unable', ...reason(null, 'Checking your organization configuration') },
      },
    },
    {
      title: 'a registration that has just begun',
      verdict: 'ok',
      world: t =>
        world(t, {
          now: () => Date.parse('2026-11-21T10:00:20.000Z'),
          tunnel: snapshot({
            tunnelCli: { version: '2026.6.822.0' },
            status: { state: 'unable', ...reason(null, 'Checking your organization configuration') },
          }),
        }),
    },
  ]),
  ...proofs(sessionExpiry, 'snapshot', [
    {
      title: 'a session that has ended',
      verdict: 'problem',
      tunnel: { ...organization, status: { ...reason('AuthenticationExpired', 'Authentication Expired') } },
    },
    {
      title: 'a session that ends in an hour',
      verdict: 'notice',
      tunnel: { ...organization, settings: { session_expires_at: '2026-11-21T13:00:00Z' } },
    },
    {
      title: 'a session that ends in a week',
      verdict: 'ok',
      tunnel: { ...organization, settings: { session_expires_at: '2026-11-28T13:00:00Z' } },
    },
  ]),
];

const MACHINE: Case[] = [
  {
    check: nftFeatures,
    how: 'programs',
    title: 'a kernel without sets',
    verdict: 'problem',
    shows: /Could not process rule/,
    world: t => {
      const nft = 'echo "Error: Could not process rule: No such file or directory" >&2; exit 1';
      return world(t, { env: withPrograms(t, { nft, unshare: nft }) });
    },
  },
  {
    check: nftFeatures,
    how: 'process',
    title: 'a service without the right to change the network',
    verdict: 'problem',
    shows: /without CAP_NET_ADMIN/,
    files: { '/proc/55/comm': 'warp-svc\n', '/proc/55/status': 'Name:\twarp-svc\nCapEff:\t0000000000000400\n' },
  },
  {
    check: nftFeatures,
    how: 'process',
    title: 'the same service as a local proxy, which writes no rules',
    verdict: 'not-applicable',
    files: { '/proc/55/comm': 'warp-svc\n', '/proc/55/status': 'Name:\twarp-svc\nCapEff:\t0000000000000400\n' },
    tunnel: { settings: { Mode: 'proxy' } },
  },
  {
    check: nftFeatures,
    how: 'process',
    title: 'the service of a container on this machine',
    verdict: 'ok',
    world: t =>
      world(t, {
        env: ENV,
        root: tree(t, {
          '/proc/55/comm': 'warp-svc\n',
          '/proc/55/status': 'Name:\twarp-svc\nNSpid:\t55\t7\nCapEff:\t0000000000000400\n',
        }),
      }),
  },
  {
    check: nftFeatures,
    how: 'programs',
    title: 'the kernel of this machine',
    verdict: 'ok',
    world: t => world(t, { env: ENV }),
  },
  ...proofs(resources, 'process', [
    {
      title: 'a service that grows by 100 MiB an hour',
      verdict: 'notice',
      shows: /memory: 400 MiB, \+100 MiB an hour/,
      world: t =>
        world(t, {
          root: tree(t, warpSvc(400 * 1024, 5)),
          samples: [
            {
              at: Date.parse('2026-11-21T10:00:00.000Z'),
              started: '4711',
              memoryBytes: 200 * 2 ** 20,
              descriptors: 5,
              logBytes: null,
            },
          ],
        }),
    },
    {
      title: 'a service with almost no descriptors left',
      verdict: 'problem',
      shows: /descriptors: 95 of 100/,
      files: warpSvc(60 * 1024, 95),
    },
  ]),
  {
    check: resources,
    how: 'files',
    title: 'logs of 3 GiB',
    verdict: 'problem',
    shows: /logs: 3072 MiB/,
    world: t => {
      const root = tree(t, { '/var/lib/cloudflare-warp/cfwarp_service_log.txt': '' });
      truncateSync(`${root}/var/lib/cloudflare-warp/cfwarp_service_log.txt`, 3 * 2 ** 30);
      return world(t, { root });
    },
  },
  {
    check: resources,
    how: 'process',
    title: 'a service that keeps its size',
    verdict: 'ok',
    world: t =>
      world(t, {
        root: tree(t, warpSvc(60 * 1024, 20)),
        samples: [
          {
            at: Date.parse('2026-11-21T10:00:00.000Z'),
            started: '4711',
            memoryBytes: 61 * 2 ** 20,
            descriptors: 5,
            logBytes: null,
          },
        ],
      }),
  },
];

const PACKAGES: Case[] = [
  ...proofs(packageRepository, 'files', [
    {
      title: 'a key that has expired',
      verdict: 'problem',
      shows: /every key in it has expired/,
      fix: /pubkey\.gpg/,
      world: t => world(t, { root: withKey(t, 'bookworm', keyring(t, '20240101T000000', 30)) }),
    },
    {
      title: 'a key from before the change, in the form of text',
      verdict: 'problem',
      shows: /from 2025-06-01, before the change/,
      files: { ...list('bookworm'), [KEYRING]: { text: 'key', at: new Date('2025-06-01T00:00:00Z') } },
    },
    {
      title: 'a release that is not served, in the form of deb822',
      verdict: 'problem',
      shows: /does not serve buster/,
      world: t =>
        world(t, {
          root: tree(t, {
            '/etc/apt/sources.list.d/warp.sources':
              'Types: deb\nURIs: https://pkg.cloudflareclient.com/\nSuites: buster\nComponents: main\n',
          }),
        }),
    },
    {
      title: 'a key that is good',
      verdict: 'ok',
      world: t => world(t, { root: withKey(t, 'bookworm', keyring(t, '20260101T000000', 3650)) }),
    },
  ]),
  ...proofs(knownIssues, 'snapshot', [
    {
      title: 'proxy mode in a version whose connections stall',
      verdict: 'problem',
      shows: /Connections stall in proxy mode/,
      tunnel: { tunnelCli: { version: '2026.3.846.0' }, settings: { Mode: 'proxy' } },
    },
    { title: 'the newest version', verdict: 'ok' },
  ]),
  ...proofs(unknownValues, 'snapshot', [
    {
      title: 'a state, a setting and an answer of a newer version',
      verdict: 'notice',
      shows:
        /-j status: status: Hibernating\n.*-j settings: new_key: 7\n.*tunnel stats: answer: Statistics\n.*Version 2026\.8\.2100\.0 of WARP.*culvert diagnose record/s,
      tunnel: {
        commands: {
          status: answered(['-j', 'status'], '{"status":"Hibernating"}'),
          settings: answered(['-j', 'settings'], '{"settings":{"operation_mode":"warp","new_key":7}}'),
          tunnelStats: answered(['-j', 'tunnel', 'stats'], 'Statistics\n'),
        },
      },
      fix: null,
    },
    {
      title: 'a refusal, and answers that are known',
      verdict: 'ok',
      tunnel: {
        commands: {
          status: answered(['-j', 'status'], '{"status":"Connected","reason":"NetworkHealthy"}'),
          trustedSsids: { ...answered(['-j', 'trusted', 'ssid', 'list'], 'No moon'), ok: false },
        },
      },
    },
  ]),
  ...proofs(knowledgeFiles, 'files', [
    {
      title: 'an entry that cannot be used',
      verdict: 'notice',
      world: t => world(t, { knowledge: { ...KNOWLEDGE, problems: ['known-issues.toml: entry 3 is not used'] } }),
    },
    { title: 'the shipped files', verdict: 'ok', shows: /knows \d+ bugs, \d+ codes, \d+ limits, \d+ lines/ },
  ]),
];

const printed = (file: string) => `cat ${new URL(`../../../fixtures/journal/${file}.txt`, import.meta.url).pathname}`;
const ignored = { status: { state: 'disconnected' as const, ...reason('ConnectIgnored', 'x') } };

const NOT_ALLOWED = 'echo "Hint: You are currently not seeing messages from other users." >&2';

/** A case with what `journalctl` does, and what the tunnel reports. */
function journalCase(
  [title, verdict, journalctl, shows]: readonly [string, Case['verdict'], string, RegExp],
  tunnel: Parameters<typeof snapshot>[0],
): Case {
  return {
    check: serviceJournal,
    how: 'programs',
    title,
    verdict,
    shows,
    world: t => world(t, { env: { ...ENV, ...withPrograms(t, { journalctl }) }, tunnel: snapshot(tunnel) }),
  };
}

/** The journal of a tunnel that is down for another reason. */
const OTHER_JOURNAL: Case[] = (
  [
    ['a journal without the service, of a tunnel that is off', 'not-applicable', ':', /no line of the service/],
    [
      'a journal without a known line, of a tunnel that is off',
      'ok',
      printed('service-hangs'),
      /no error that Culvert/,
    ],
    ['a journal that this user may not read, of a tunnel that is off', 'unknown', NOT_ALLOWED, /may not read/],
  ] as const
).map(row => journalCase(row, { status: { state: 'disconnected', ...reason('Manual', 'x') } }));

/** A tunnel that does not come up, and what `journalctl` prints or says. */
const JOURNAL: Case[] = (
  [
    ['a service without nft', 'problem', printed('nft-missing'), /did not find the program nft.*/s],
    ['a policy file that is a link', 'problem', printed('policy-is-a-link'), /symbolic link/],
    [
      'an API that cannot be reached',
      'problem',
      printed('api-unreachable'),
      /could not reach Cloudflare’s server for registration on TCP port 443/,
    ],
    [
      'a client that is too old for the API',
      'problem',
      `echo 'JsonError(Error("no variant of enum ExcludeOrInclude found in flattened data"'`,
      /Update WARP/,
    ],
    [
      'a journal without the service',
      'problem',
      ':',
      /accepts each request to connect, but does not.*could not be read/s,
    ],
    ['a journal without a known line', 'problem', printed('service-hangs'), /does not connect.*no error that Culvert/s],
    ['a journal that this user may not read', 'problem', NOT_ALLOWED, /does not connect.*could not be read/s],
    [
      'a secret in the journal',
      'problem',
      `echo 'API error for X: TimedOut token=eyJhbGciOiJIUzI1NiJ9.e30.c2VjcmV0'`,
      /token=(?!eyJ)/,
    ],
  ] as const
).map(row => journalCase(row, ignored));

/** The way out of each line about the firewall. */
const FIREWALL: Case[] = (
  [
    ['a service that found no nft, on Debian', printed('nft-missing'), /\["apt-get","install","nftables"\].*warp-svc/],
    ['rules that nft refused', 'echo "Failed to run NFT command"', /\["culvert","doctor","--only","nft-features"\]/],
    ['rules that were refused', 'echo "could not apply firewall rules"', /\["nft","list","ruleset"\]/],
  ] as const
).map(([title, journalctl, fix]) => ({
  ...journalCase([title, 'problem', journalctl, /firewall rules/], ignored),
  fix,
  world: (t: Ends) =>
    world(t, {
      env: { ...ENV, ...onlyPrograms(t, { journalctl: `PATH=/usr/bin:/bin; ${journalctl}` }) },
      root: tree(t, { '/etc/os-release': 'ID=linuxmint\nID_LIKE="ubuntu debian"\n' }),
      tunnel: snapshot(ignored),
    }),
}));

export const SERVICE_CASES: Case[] = [
  ...FIREWALL,
  ...REGISTRATION,
  ...MACHINE,
  ...PACKAGES,
  ...JOURNAL,
  ...OTHER_JOURNAL,
];
