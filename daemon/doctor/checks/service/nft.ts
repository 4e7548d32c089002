// Checks the packet filter that the client needs: the kernel's features, and the rights inside a container.
import type { Message } from '../../../api/values.ts';
import { N_ } from '../../../view/translator.ts';
import { type Check, message, notApplicable, notice, ok, problem, quoted } from '../../check.ts';
import { vendorPage } from '../../world/facts.ts';
import { processesNamed } from '../../world/sockets.ts';
import type { World } from '../../world/world.ts';

/** A table with what the client's own table uses (observed): hooks, a policy, marks, and sets of both families. */
const RULESET = [
  'add table inet culvert-probe',
  'add chain inet culvert-probe out { type filter hook output priority 0; policy accept; }',
  'add set inet culvert-probe four { type ipv4_addr; flags interval; }',
  'add set inet culvert-probe six { type ipv6_addr; flags interval; }',
  'add rule inet culvert-probe out meta mark 0x100cf accept',
  'add rule inet culvert-probe out ip daddr @four ct state established accept',
  'add rule inet culvert-probe out ip6 daddr @six oifname "lo" drop',
].join('; ');

/** Bit 12, among the lowest four digits (capabilities(7)). */
const NET_ADMIN = 0x1000;

export const nftFeatures: Check = {
  id: 'nft-features',
  title: N_('Packet filter of the kernel'),
  group: 'service',
  source: vendorPage('troubleshooting/known-limitations/'),
  async probe(world) {
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
      );
    return checkKernel(world);
  },
};

/** A dry run changes nothing; as a user it needs its own network namespace, to be allowed to ask. */
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

/** Every user can read `CapEff` of the service (proc(5)). */
async function clientLacksRights(world: World): Promise<Message | null> {
  for (const pid of await processesNamed(world, 'warp-svc')) {
    const status = await world.files.readText(`/proc/${pid}/status`).catch(() => null);
    const effective = /^CapEff:\s*([0-9a-f]{1,16})$/im.exec(status ?? '')?.[1];
    const lacks = effective && (Number.parseInt(effective.slice(-4), 16) & NET_ADMIN) === 0;
    if (lacks) return message('warp-svc (process %s) runs without CAP_NET_ADMIN', String(pid));
  }
  return null;
}
