// Checks for programs on port 53 and versions of systemd-resolved that disturb the DNS proxy of the tunnel client.
import type { Fix } from '../../api/doctor.ts';
import type { Message } from '../../api/values.ts';
import { N_ } from '../../view/translator.ts';
import { type Check, labeled, message, NoVerdict, notApplicable, notice, ok, problem, quoted } from '../check.ts';
import { DNSMASQ, fileFix, STOPPABLE } from '../file-fix.ts';
import { adminCommands, handlesDns, isConnected, modeOf, modeWord, vendorPage } from '../world/facts.ts';
import { redactLine } from '../world/journal.ts';
import { LOCAL_PROXY } from '../world/resolv-conf.ts';
import { type Listening, listeningOn, type Owner, ownerOf, processesNamed } from '../world/sockets.ts';
import type { World } from '../world/world.ts';
import { describeResolved, resolvedServers } from './dns.ts';
import { rawJournalOf } from './machine.ts';

const CLIENT = 'warp-svc';
const ANY = new Set(['0.0.0.0', '::']);

/** Settings that keep a program off the client's addresses. */
const SETTINGS: readonly [program: RegExp, setting: Message][] = [
  [/^dnsmasq/i, message('In the configuration of %s, set: %s', 'dnsmasq', 'bind-dynamic, except-interface=lo')],
  [
    /^libvirt/i,
    message(
      'Change this in the network of libvirt: bind-dynamic is the default since libvirt 1.3; remove listen-address=0.0.0.0.',
    ),
  ],
  [/^unbound/i, message('In %s, set: %s', 'unbound.conf', 'interface: 127.0.0.1')],
  [/^named/i, message('In %s, set: %s', 'named.conf', 'listen-on { 127.0.0.1; };')],
  [
    /^AdGuardHome/i,
    message('In %s, set %s to the address of your network only.', 'AdGuardHome.yaml', 'dns.bind_hosts'),
  ],
  [/^pihole-FTL/i, message('In %s, set: %s', 'pihole.toml', 'dns.listeningMode = "SINGLE"')],
  [/^coredns/i, message('In %s, set: %s', 'Corefile', 'bind 127.0.0.1')],
  [/^systemd-resolve/i, message('In %s, remove: %s', 'resolved.conf', 'DNSStubListenerExtra=0.0.0.0')],
  [/^multipassd/i, message('Start Multipass after WARP has connected.')],
  [/^limactl/i, message('Start the virtual machines after WARP has connected.')],
];

export const port53: Check = {
  id: 'dns-port-53',
  title: N_('Port 53 for the DNS proxy'),
  group: 'dns',
  source: vendorPage('troubleshooting/client-errors/'),
  cheap: true,
  async probe(world, signal) {
    const mode = modeOf(world);
    if (!handlesDns(mode)) return notApplicable(message('The mode “%s” does not use port 53.', modeWord(mode)));
    const rivals = await findRivals(world, signal);
    if (rivals.length === 0) return ok(message('No other program uses port 53 on the addresses of the client.'));
    const evidence = rivals.map(describe);
    const [first] = rivals;
    const setting = settingFor(first?.owner ?? null);
    const explanation = [message('WARP needs port 53 on 127.0.2.2 for its DNS proxy.'), ...(setting ? [setting] : [])];
    // a connected client works despite the rivals
    return (isConnected(world) ? notice : problem)(evidence, explanation, fixFor(first?.owner ?? null));
  },
};

type Rival = Listening & { owner: Owner | null };

async function findRivals(world: World, signal: AbortSignal): Promise<Rival[]> {
  const rows = (await listeningOn(world, 53)).filter(({ address }) => ANY.has(address) || LOCAL_PROXY.has(address));
  const clientRuns = rows.length > 0 && (await processesNamed(world, CLIENT)).length > 0;
  const rivals = await Promise.all(
    rows.map(async row => {
      const owner = await ownerOf(world, row.inode, signal);
      // the client's sockets belong to root, and other users can't inspect root's processes
      const own = owner ? owner.name === CLIENT : clientRuns && row.uid === 0 && !ANY.has(row.address);
      return own ? [] : [{ ...row, owner }];
    }),
  );
  return rivals.flat();
}

function describe({ protocol, address, uid, owner }: Rival): Message {
  const [kind, where] = [protocol.toUpperCase(), address.includes(':') ? `[${address}]` : address];
  if (!owner)
    return message(
      '%s port 53 on %s is taken by a process of user %s. Only an administrator can identify it: %s',
      kind,
      where,
      String(uid),
      'sudo ss -lnptu sport = :53',
    );
  const process = `${owner.pid}${owner.unit ? `, ${owner.unit}` : ''}`;
  return message('%s port 53 on %s is taken by %s (process %s)', kind, where, owner.name ?? '?', process);
}

function settingFor(owner: Owner | null): Message | null {
  return (owner && SETTINGS.find(([program]) => program.test(owner.name))?.[1]) ?? null;
}

function fixFor(owner: Owner | null): Fix | null {
  const unit = owner?.unit;
  if (!owner || !unit?.endsWith('.service')) return null;
  if (owner.name === 'dnsmasq' && unit === DNSMASQ.unit) {
    const { path, content } = DNSMASQ;
    const fix = fileFix(message('Keep dnsmasq off the addresses of WARP'), path, { before: null, content });
    return fix && { ...fix, restart: unit, repair: ['dnsmasq'] };
  }
  return adminCommands(message('Stop %s', unit), [['systemctl', 'stop', unit]], {
    undo: [['systemctl', 'start', unit]],
    ...(STOPPABLE.includes(unit) ? { repair: ['stop-resolver', unit] } : {}),
  });
}

/** Journal line of a client that did not recognize the version, and writes /etc/resolv.conf. */
const FILE_BASED = /file[- ]based dns|falling back to (?:the )?(?:resolv\.conf|file)/i;
const ISSUE = 'https://github.com/Bad3r/nixos/issues/504';

export const systemdVersion: Check = {
  id: 'systemd-version',
  title: N_('Version of systemd and systemd-resolved'),
  group: 'dns',
  source: ISSUE,
  appliesTo: { systems: 'systemd-resolved' },
  async probe(world) {
    const servers = await resolvedServers(world);
    if (servers === null) return notApplicable(message('systemd-resolved does not run.'));
    const { major, minor, text } = await versionOf(world);
    if (major >= 261) return checkNewest(world, servers, text);
    if (major < 252 || (major === 252 && minor < 3))
      return notice(
        [quoted(`systemd ${text}`)],
        message(
          'Before version 252.3 the client sets DNS for the whole system instead of one link. Names of other links, such as those of a company, may fail. Update systemd.',
        ),
      );
    return ok(quoted(`systemd ${text}`));
  },
};

async function checkNewest(world: World, servers: readonly string[], text: string) {
  const used = servers.some(server => LOCAL_PROXY.has(server));
  if (used) return ok(quoted(`systemd ${text}`), message('systemd-resolved uses the DNS server of WARP'));
  if (!isConnected(world) || !handlesDns(modeOf(world)))
    return notice(
      [quoted(`systemd ${text}`)],
      message('WARP may not recognize systemd 261 and later. Connect, then run this check again.'),
    );
  const journal = await journalLine(world);
  const seen =
    journal === null
      ? message('the journal of warp-svc has no line about it, or you may not read it')
      : message('journal: %s', journal);
  return problem(
    [quoted(`systemd ${text}`), describeResolved(servers), seen],
    message(
      'WARP does not recognize systemd 261 and later, and writes /etc/resolv.conf instead of asking systemd-resolved. Update WARP; until then use the mode “%s”, or make /etc/resolv.conf a regular file.',
      modeWord('tunnel_only'),
    ),
    {
      kind: 'action',
      ...labeled(message('Leave DNS to the system')),
      actions: [{ action: 'setMode', value: 'tunnel_only' }],
      undo: [{ action: 'setMode', value: modeOf(world) }],
    },
  );
}

/** Reads `systemd 252 (252.39-1~deb12u2)`. */
async function versionOf(world: World): Promise<{ major: number; minor: number; text: string }> {
  const { stdout } = await world.tools.run('systemctl', ['--version']);
  const [, major, text = ''] = /^systemd (\d{1,4})(?: \(([^)\n]{1,60})\))?/.exec(stdout) ?? [];
  if (!major) throw new NoVerdict(message('The output of %s was not understood.', 'systemctl --version'));
  const minor = /^v?\d+\.(\d+)/.exec(text)?.[1] ?? '0';
  return { major: Number(major), minor: Number(minor), text: text || major };
}

async function journalLine(world: World): Promise<string | null> {
  const lines = await rawJournalOf(world).catch(() => []);
  const found = lines.findLast(({ text }) => FILE_BASED.test(text));
  return found ? (await redactLine(found, world.redact)).text : null;
}
