// Tests the emulator's command line: its list of words, refusals, and each action's command.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ACTION_NAMES, type ActionName, actionRequest } from '../../../daemon/api/actions.ts';
import { parse } from '../../../daemon/emulator/commands.ts';
import { generationOf } from '../../../daemon/emulator/version.ts';
import { planAction } from '../../../daemon/warp/actions/commands.ts';
import { capabilitiesOf, readArgv } from '../../../daemon/warp/cli/version.ts';
import { ACTION_VALUES } from '../../support/daemon/action-values.ts';
import { type Emulator, emulator } from '../../support/daemon/emulator.ts';

const VERSIONS = ['2024.9.346', '2025.9.558', '2026.7.1377.0'];

/** Routes, domains and a token that the emulator knows, and another mode and protocol than a new one has. */
const VALUES: typeof ACTION_VALUES = {
  ...ACTION_VALUES,
  setMode: 'warp+doh',
  setProtocol: 'WireGuard',
  setRegistrationToken: 'com.cloudflare.warp://acme.cloudflareaccess.com/auth?token=aaaa.bbbb.cccc',
  removeFallbackDomain: 'intranet',
  removeSplitRange: '10.0.0.0/8',
  setTrustedEthernet: 'disable',
};
/** Conditions of an action, as words for `--emulate`. */
const STAGE: Partial<Record<ActionName, string[]>> = {
  register: ['registration=null'],
  registerOrganization: ['registration=null'],
  setRegistrationToken: ['registration=null', 'enrolling=acme'],
  removeSplitIp: ['settings.ips=[{"value":"192.0.2.7/32","description":"CLI exclude"}]'],
  removeSplitHost: ['settings.hosts=[{"value":"a.example","description":"CLI exclude"}]'],
  removeTrustedSsid: ['settings.ssids=["home"]'],
  allowLocalNetwork: ['organization=acme'],
  setVirtualNetwork: [
    'vnets=[{"id":"00000000-0000-0000-0000-000000000000","name":"a","description":"","default":true}]',
  ],
};

/** The daemon's command for each action that a release supports. */
function commandsFor(version: string): [name: ActionName, argv: string[]][] {
  return ACTION_NAMES.flatMap(name => {
    try {
      const { argv } = planAction(actionRequest(name, VALUES[name]), capabilitiesOf(version)!);
      return argv.length > 0 ? [[name, argv] as [ActionName, string[]]] : [];
    } catch (error) {
      assert.match(String(error), /has no command/, name);
      return [];
    }
  });
}

describe("the emulator's command line", { concurrency: 2 }, () => {
  let shared: Emulator;
  before(async () => {
    shared = await emulator();
  });
  after(() => shared.remove());

  const fails = async (argv: string[]) => {
    const result = await shared.run(...argv);
    assert.deepEqual([result.stdout, result.exitCode], ['', 2]);
    return result.stderr;
  };

  it('lists its words, all or those below a word', () => {
    const list = (...argv: string[]) => {
      const parsed = parse(argv, generationOf(VERSIONS[0]!));
      assert.ok('exitCode' in parsed);
      return parsed;
    };
    const all = list('--help');
    assert.match(all.stdout, /--emulate help\n\n {2}connect\n/);
    assert.ok(all.stdout.includes('  registration new [ORGANIZATION]\n  registration delete\n'));
    assert.ok(!all.stdout.includes('environment'), 'this release lacks it');
    assert.deepEqual([list('help'), list('-jh')], [all, all]);
    assert.match(list('tunnel', 'ip', '-h').stdout, /\n\n {2}tunnel ip list\n(?: {2}tunnel ip .*\n)+$/);
    const bare = list('tunnel');
    assert.deepEqual([bare.stdout, bare.stderr, bare.exitCode], ['', list('tunnel', 'help').stdout, 2]);
  });

  it('performs the command of every action', async () => {
    const newest = await emulator({ version: VERSIONS.at(-1)! });
    try {
      for (const [name, argv] of commandsFor(VERSIONS.at(-1)!)) {
        await newest.control('reset', ...(STAGE[name] ?? []));
        const { stderr, exitCode } = await newest.run(...argv);
        assert.equal(exitCode, 0, `${name}: ${argv.join(' ')}: ${stderr}`);
      }
    } finally {
      await newest.remove();
    }
  });

  for (const version of VERSIONS) {
    it(`understands the command that the daemon sends for every action to ${version}`, () => {
      for (const [name, argv] of commandsFor(version)) {
        const parsed = parse(argv, generationOf(version));
        if (!('exitCode' in parsed)) continue;
        // Commands that came later are refused as unknown, which the daemon reads as "unsupported by this CLI".
        assert.match(parsed.stderr, /unrecognized subcommand/, name);
        assert.notEqual(version, VERSIONS.at(-1), `${name}: ${parsed.stderr}`);
      }
    });

    it(`answers every read of the daemon as ${version}`, async () => {
      const it_ = await emulator({ version });
      try {
        await it_.run('connect');
        const can = capabilitiesOf(version)!;
        const reads = [
          'status',
          'settings',
          'splitTunnelDump',
          'splitTunnelIps',
          'splitTunnelHosts',
          'registration',
          'tunnelStats',
          'devices',
          'settingsText',
          'trustedSsids',
          'virtualNetworks',
          'localNetworkAccess',
        ] as const;
        for (const read of reads) {
          const argv = readArgv(read, can, true);
          if (!argv) continue;
          const { stdout, stderr, exitCode } = await it_.run(...argv);
          assert.equal(exitCode, 0, `${argv.join(' ')}: ${stderr}`);
          if (argv.includes('-j')) JSON.parse(stdout);
          assert.notEqual(stdout, '', argv.join(' '));
        }
      } finally {
        await it_.remove();
      }
    });
  }

  it('refuses unknown words with the usage of their level', async () => {
    assert.equal(
      await fails(['tunnel', 'exclude', 'list']),
      "error: unrecognized subcommand 'exclude'\n\nUsage: warp-cli tunnel [OPTIONS] <COMMAND>\n\nFor more information, try '--help'.\n",
    );
    assert.match(await fails(['registration', 'shwo']), /^error: unrecognized subcommand 'shwo'\n/);
    assert.match(await fails(['--jsn', 'status']), /^error: unexpected argument '--jsn' found\n/);
    for (const argv of [
      ['debug', 'pcap', 'start'],
      ['generate-completions', 'bash'],
      ['target', 'list', '-pSSH'],
      ['tunnel ip', 'list'],
    ])
      assert.match(await fails(argv), /^error: unrecognized subcommand '/);
  });

  it('refuses values with their grammar, and their absence', async () => {
    assert.equal(
      await fails(['mode', 'off']),
      "error: invalid value 'off' for '<MODE>'\n  [possible values: warp, doh, warp+doh, dot, warp+dot, proxy, tunnel_only]\n\nFor more information, try '--help'.\n",
    );
    assert.match(await fails(['tunnel', 'protocol', 'set', 'masque']), /invalid value 'masque' for '<PROTOCOL>'/);
    assert.match(await fails(['tunnel', 'ip', 'add', '10.0.0.0/8']), /invalid IP address syntax/);
    assert.match(await fails(['tunnel', 'ip', 'add-range', '10.0.0.0/33']), /invalid IP address syntax/);
    assert.match(await fails(['tunnel', 'endpoint', 'set', '1.2.3.4']), /invalid socket address syntax/);
    assert.match(await fails(['proxy', 'port', '70000']), /70000 is not in 0\.\.=65535/);
    assert.match(await fails(['proxy', 'port', 'x']), /invalid digit found in string/);
    assert.equal(
      await fails(['mode']),
      "error: the following required arguments were not provided:\n  <MODE>\n\nUsage: warp-cli mode <MODE>\n\nFor more information, try '--help'.\n",
    );
  });

  it('takes global options before the command only', async () => {
    assert.equal(
      (await shared.run('-vvj', '--accept-tos', '--no-ansi', '--no-paginate', '-t', '5', 'status')).exitCode,
      0,
    );
    assert.equal((await shared.run('status', '--no-paginate')).exitCode, 0);
    for (const option of ['-j', '--accept-tos', '--no-ansi']) {
      assert.match(await fails(['status', option]), new RegExp(`unexpected argument '${option}' found`));
    }
    assert.match(await fails(['mode', '-j']), /unexpected argument '-j' found/);
    assert.match(await fails(['-j']), /^error: 'warp-cli' requires a subcommand but one was not provided/);
  });
});

describe('versions of the emulator', () => {
  for (const [text, version] of [
    ['2025.4.x', '2025.4'],
    ['2023-2024 (unstated)', '2024.12'],
    ['2024.9+', '2024.9'],
    ['2025 (Jul)', '2025.7'],
    ['2025-10 (unstated)', '2025.10'],
    ['unknown', '2026.7.1377.0'],
    ['2026 (Ubuntu 24.04)', '2026.7.1377.0'],
  ] as const)
    it(`takes "${text}" for ${version}`, () => assert.equal(generationOf(text).version, version));

  for (const text of ['2023.3.398', '2024.6.497', '0.2.0 (2021)', '2022 (Apr)'])
    it(`refuses "${text}", which named its commands differently`, async () => {
      assert.throws(() => generationOf(text), /the oldest is 2024\.9\.346/);
      const program = await emulator({ version: text, program: true });
      const { stderr, exitCode } = await program.run('--version');
      await program.remove();
      assert.equal(exitCode, 2);
      assert.match(stderr, /^culvert-emulator: Version \S+ can't be emulated: the oldest is 2024\.9\.346\.\n$/);
    });
});
