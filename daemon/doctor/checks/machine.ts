// Checks the tunnel service on this machine: its memory, descriptors and logs, its journal, the features of nft, and the clock.
import type { Fix } from '../../api/doctor.ts';
import type { Message } from '../../api/values.ts';
import { serviceLog } from '../../view/client/service-words.ts';
import { N_ } from '../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import type { JournalPattern } from '../knowledge.ts';
import { adminCommands, modeWord, RESTART_WARP, routesTraffic, tunnelOf, vendorPage } from '../world/facts.ts';
import { type Line, readRawJournal, redactLine, seenIn } from '../world/journal.ts';
import { processesNamed } from '../world/sockets.ts';
import { growthPerHour, type Sample, type World } from '../world/world.ts';

const LOG_DIRECTORIES = ['/var/log/cloudflare-warp', '/var/lib/cloudflare-warp'];
const MIB = 1024 * 1024;
const MEMORY_BYTES = 1024 * MIB;
const MEMORY_PER_HOUR = 20 * MIB;
/** Share of used descriptors that leaves too little room. */
const DESCRIPTORS_USED = 0.8;
const LOG_BYTES = 1024 * MIB;
const LOG_PER_HOUR = 100 * MIB;

export const resources: Check = {
  id: 'service-resources',
  title: N_('Memory, descriptors and logs of the WARP service'),
  group: 'service',
  source: 'https://github.com/fscarmen/warp/issues/182',
  async probe(world) {
    const [pid] = await processesNamed(world, 'warp-svc');
    const logBytes = await logSize(world);
    const measured = pid === undefined ? null : await measure(world, pid, logBytes);
    if (!measured && logBytes === null) return notApplicable(message('The WARP service does not run here.'));
    const sample = measured?.sample ?? null;
    if (sample) world.remember(sample);
    const lines = [
      ...(sample ? describeProcess(world, sample, measured?.limit ?? null) : []),
      ...describeLogs(world, logBytes, sample),
    ];
    const evidence = lines.map(({ text }) => text);
    const worst = lines.find(({ bad }) => bad);
    if (!worst) return ok(...evidence);
    return (worst.bad === 'now' ? problem : notice)(
      evidence,
      message(
        'The WARP service uses more resources than it should. Restarting it helps for a while; with a memory limit, systemd does that automatically.',
      ),
      RESTART_WARP,
    );
  },
};

/** `now`: over a limit. `soon`: growing toward a limit. */
type Measured = { text: Message; bad: 'now' | 'soon' | null };

async function measure({ files, now }: World, pid: number, logBytes: number | null) {
  const [status, stat, limits, descriptors] = await Promise.all([
    files.readText(`/proc/${pid}/status`),
    files.readText(`/proc/${pid}/stat`),
    files.readText(`/proc/${pid}/limits`).catch(() => null),
    files.list(`/proc/${pid}/fd`),
  ]);
  if (status === null || stat === null) return null; // the process has ended
  const memory = /^VmRSS:\s*(\d+) kB/m.exec(status)?.[1];
  const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  const limit = /^Max open files\s+(\d+)/m.exec(limits ?? '')?.[1];
  const sample: Sample = {
    at: now(),
    started,
    memoryBytes: memory ? Number(memory) * 1024 : null,
    // the descriptors of another user's process can't be counted
    descriptors: descriptors.length || null,
    logBytes,
  };
  return { sample, limit: limit ? Number(limit) : null };
}

function describeProcess(world: World, sample: Sample, limit: number | null): Measured[] {
  const lines: Measured[] = [];
  const { memoryBytes, descriptors } = sample;
  if (memoryBytes !== null) {
    const growth = growthPerHour(world.samples, sample, ({ memoryBytes: bytes }) => bytes);
    const fast = growth !== null && growth > MEMORY_PER_HOUR;
    lines.push({
      text:
        growth === null
          ? message('memory: %s', mib(memoryBytes))
          : message('memory: %s, %s an hour', mib(memoryBytes), signed(growth)),
      bad: memoryBytes > MEMORY_BYTES ? 'now' : fast ? 'soon' : null,
    });
  }
  if (descriptors !== null) {
    const full = limit !== null && descriptors > limit * DESCRIPTORS_USED;
    const text = limit ? message('descriptors: %d of %d', descriptors, limit) : message('descriptors: %d', descriptors);
    lines.push({ text, bad: full ? 'now' : null });
  }
  return lines;
}

function describeLogs(world: World, logBytes: number | null, sample: Sample | null): Measured[] {
  if (logBytes === null) return [];
  const growth = sample && growthPerHour(world.samples, sample, ({ logBytes: bytes }) => bytes);
  const fast = growth !== null && growth > LOG_PER_HOUR;
  const text =
    growth === null
      ? message('logs: %s', mib(logBytes))
      : message('logs: %s, %s an hour', mib(logBytes), signed(growth));
  return [{ text, bad: logBytes > LOG_BYTES ? 'now' : fast ? 'soon' : null }];
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

function signed(growth: number): string {
  return `${growth >= 0 ? '+' : '-'}${mib(Math.abs(growth))}`;
}

/** Returns the bytes in log files, or null without a visible file. */
async function logSize({ files }: World): Promise<number | null> {
  const sizes = await Promise.all(
    LOG_DIRECTORIES.map(async directory => {
      const names = (await files.list(directory)).filter(name => /\.(log|txt)(\.\d+)?$/.test(name));
      const stats = await Promise.all(names.map(name => files.stat(`${directory}/${name}`)));
      return stats.flatMap(info => (info?.kind === 'file' ? [info.size] : []));
    }),
  );
  const all = sizes.flat();
  return all.length === 0 ? null : all.reduce((sum, size) => sum + size, 0);
}

/** A table with the features that the client's own table uses (observed): hooks, a policy, marks, and sets of both families. */
const RULESET = [
  'add table inet culvert-probe',
  'add chain inet culvert-probe out { type filter hook output priority 0; policy accept; }',
  'add set inet culvert-probe four { type ipv4_addr; flags interval; }',
  'add set inet culvert-probe six { type ipv6_addr; flags interval; }',
  'add rule inet culvert-probe out meta mark 0x100cf accept',
  'add rule inet culvert-probe out ip daddr @four ct state established accept',
  'add rule inet culvert-probe out ip6 daddr @six oifname "lo" drop',
].join('; ');

/** Bit 12, in the lowest four hexadecimal digits (capabilities(7)). */
const NET_ADMIN = 0x1000;

export const nftFeatures: Check = {
  id: 'nft-features',
  title: N_('Packet filter of the kernel'),
  group: 'service',
  source: vendorPage('troubleshooting/known-limitations/'),
  async probe(world) {
    const mode = world.tunnel?.settings.Mode;
    if (mode !== undefined && !routesTraffic(mode)) return notApplicable(message('The mode is “%s”.', modeWord(mode)));
    const lacking = await clientLacksRights(world);
    if (lacking)
      return problem(
        [lacking],
        message(
          'The WARP service cannot write firewall rules. In a container, start it with --cap-add=NET_ADMIN and /dev/net/tun.',
        ),
      );
    if (!world.tools.has('nft'))
      return notice(
        [message('%s is not installed.', 'nft')],
        message('The WARP package needs nftables. Install the package nftables.'),
        await nftInstallFix(world),
      );
    return checkKernel(world);
  },
};

export const RESTART = ['systemctl', 'restart', 'warp-svc'];
/** Paths where a service finds nft, by systemd's default PATH (systemd.exec(5)). */
const NFT = ['/usr/sbin/nft', '/usr/bin/nft', '/usr/local/sbin/nft', '/usr/local/bin/nft'];
/** Commands that install nftables, by the `ID` or `ID_LIKE` of os-release(5). */
const NFT_INSTALLERS: readonly [system: RegExp, command: string[]][] = [
  [/\b(?:debian|ubuntu)\b/, ['apt-get', 'install', 'nftables']],
  [/\b(?:fedora|rhel|centos)\b/, ['dnf', 'install', 'nftables']],
  [/\barch\b/, ['pacman', '-S', 'nftables']],
];

/** Returns the commands that install nftables on this system; null if its packages are unknown. */
async function nftInstallFix({ files }: World): Promise<Fix | null> {
  const release = (await files.readText('/etc/os-release').catch(() => null)) ?? '';
  const names = [...release.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].map(([, name]) => name).join(' ');
  const command = NFT_INSTALLERS.find(([system]) => system.test(names))?.[1];
  return command ? adminCommands(message('Install nftables, and restart the WARP service'), [command, RESTART]) : null;
}

/** Returns the one step that helps after a line of the service's journal; null without one. */
async function fixOf({ id, restart }: JournalPattern, world: World): Promise<Fix | null> {
  switch (id) {
    case 'firewall-nft-missing':
      // the service may have started before nft was installed; outside these paths it never finds nft
      return (await Promise.all(NFT.map(world.files.stat))).some(Boolean) ? RESTART_WARP : nftInstallFix(world);
    case 'firewall-nft-failed':
      return adminCommands(message('Ask the kernel what it lacks'), [['culvert', 'doctor', '--only', 'nft-features']]);
    case 'firewall-refused':
      return adminCommands(message('List the rules of other programs'), [['nft', 'list', 'ruleset']]);
    default:
      return restart ? RESTART_WARP : null;
  }
}

/** Checks the rules with a dry run; users may run it only in a separate network namespace. */
async function checkKernel(world: World) {
  const { tools } = world;
  const asRoot = process.getuid?.() === 0;
  const { exitCode, stderr } =
    asRoot || !tools.has('unshare')
      ? await tools.run('nft', ['-c', RULESET])
      : await tools.run('unshare', ['--user', '--map-root-user', '--net', 'nft', '-c', RULESET]);
  if (exitCode === 0) return ok(message('The kernel accepts the rules that the client needs.'));
  if (/^unshare:/.test(stderr) || (!asRoot && /not permitted/i.test(stderr)))
    return notApplicable(
      message('Only an administrator can ask this kernel: %s', 'sudo culvert doctor --only nft-features'),
    );
  return problem(
    stderr
      .split('\n')
      .filter(line => /^(?:Error|netlink|.*rror:)/.test(line))
      .slice(0, 4)
      .map(quoted),
    message(
      'The kernel lacks features of nftables (NF_TABLES_INET, NFT_CT and sets). Use the kernel of the distribution, or load its modules.',
    ),
  );
}

/** Checks `CapEff` of the service, which every user can read (proc(5)). */
async function clientLacksRights(world: World): Promise<Message | null> {
  for (const pid of await processesNamed(world, 'warp-svc')) {
    const status = await world.files.readText(`/proc/${pid}/status`).catch(() => null);
    const effective = /^CapEff:\s*([0-9a-f]{1,16})$/im.exec(status ?? '')?.[1];
    // a process of a container has another number there (proc(5)), and its own network
    if (/^NSpid:\s*\d+\s+\d/m.test(status ?? '')) continue;
    const lacks = effective && (Number.parseInt(effective.slice(-4), 16) & NET_ADMIN) === 0;
    if (lacks) return message('warp-svc (process %s) runs without CAP_NET_ADMIN', String(pid));
  }
  return null;
}

/** Reads the journal once for all checks of a run. Its lines may be shown only after `redactLine`. */
export const rawJournalOf = (world: World): Promise<Line[]> =>
  world.once('service-journal', () => readRawJournal(world.tools));

/** Quotes a line of the journal, with its time if it is known. */
const journalQuote = ({ at, text }: Line): Message =>
  at === null
    ? message('journal: %s', text.slice(0, 240))
    : message('journal, %s: %s', { time: new Date(at).toISOString() }, text.slice(0, 240));

const IGNORED = N_('WARP accepts each request to connect, but does not connect.');
const NO_JOURNAL = N_('Its journal could not be read, or has no line. As root, see: %s');
const NO_CAUSE = N_('Its journal has no error that Culvert knows. As root, see: %s');

export const serviceJournal: Check = {
  id: 'service-journal',
  title: N_('Journal of the WARP service'),
  group: 'service',
  source: 'https://github.com/NixOS/nixpkgs/issues/560833',
  cheap: true,
  limitMs: 10_000,
  async probe(world) {
    const { status, tunnelCli } = tunnelOf(world);
    if (!tunnelCli.available) return notApplicable(message('The tunnel CLI is not installed.'));
    if (tunnelCli.emulated) return notApplicable(message('The embedded emulator tunnels nothing.'));
    if (status.state === 'connected') return notApplicable(message('The tunnel is connected.'));
    const isIgnored = status.reason?.code === 'ConnectIgnored';
    const log = serviceLog(world.serviceManager);
    if (world.serviceManager && !isIgnored)
      return notApplicable(message('systemd does not run here, so there is no journal. As root, see: %s', log));
    const lines = await rawJournalOf(world).catch((error: unknown) => {
      if (!isIgnored) throw error;
      return [];
    });
    if (isIgnored && lines.length === 0) return problem([message(IGNORED)], message(NO_JOURNAL, log));
    // journalctl also prints nothing without a journal, or if another program started the service
    if (lines.length === 0) return notApplicable(message('It has no line of the service since this computer started.'));
    const seen = seenIn(lines, world.knowledge.patterns, { now: world.now(), blocked: status.blocked });
    if (!seen && isIgnored) return problem([message(IGNORED)], message(NO_CAUSE, log));
    if (!seen) return ok(message('no error that Culvert knows'));
    // a tunnel that was turned off may have had the error before
    const isWanted = status.state !== 'disconnected' || isIgnored;
    const { source, date, cause } = seen.pattern;
    const line = await redactLine(seen.line, world.redact);
    if (cause && status.blocked === 'not-registered')
      return ok(journalQuote(line), message('The check "%s" explains it.', 'registration'));
    const evidence = [journalQuote(line), message('known since %s: %s', date, source)];
    return (isWanted ? problem : notice)(evidence, seen.meaning, await fixOf(seen.pattern, world));
  },
};

/** Directory of systemd-timesyncd, which touches a file there at each synchronization (systemd-timesyncd(8)). */
const DIRECTORY = '/run/systemd/timesync';

export const clock: Check = {
  id: 'clock',
  title: N_('Clock of this machine'),
  group: 'service',
  source: 'https://www.freedesktop.org/software/systemd/man/latest/systemd-timesyncd.service.html',
  cheap: true,
  async probe({ files }) {
    if ((await files.stat(DIRECTORY)) === null) return notApplicable(message('systemd-timesyncd does not run.'));
    const synchronized = await files.stat(`${DIRECTORY}/synchronized`);
    if (synchronized) return ok(message('synchronized by systemd-timesyncd'));
    return notice(
      [message('systemd-timesyncd is running, but has not synchronized the clock since this machine started')],
      message('If the clock is wrong, registration, sign-in and the tunnel fail. Compare the time with another clock.'),
    );
  },
};
