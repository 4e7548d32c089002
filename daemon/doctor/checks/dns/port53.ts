// Checks port 53, which the tunnel client needs for its own DNS proxy.
import type { Fix } from '../../../api/doctor.ts';
import type { Message } from '../../../api/values.ts';
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok, problem } from '../../check.ts';
import { fileFix } from '../../file-fix.ts';
import { DNSMASQ, STOPPABLE } from '../../repair/remedies.ts';
import { adminCommands, handlesDns, isConnected, modeOf, modeWord, vendorPage } from '../../world/facts.ts';
import { LOCAL_PROXY } from '../../world/resolv-conf.ts';
import { type Listening, listeningOn, type Owner, ownerOf, processesNamed } from '../../world/sockets.ts';
import type { World } from '../../world/world.ts';

const CLIENT = 'warp-svc';
const ANY = new Set(['0.0.0.0', '::']);

/** The setting that makes a program leave the client's addresses alone. */
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
    // a client that is connected has found its place all the same
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
      // the client's own sockets belong to root, whose processes others can't look into
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
