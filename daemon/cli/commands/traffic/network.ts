// `culvert network`: the networks that this machine is on.
import type { NetworkLink } from '../../../api/schema/traffic/networks.ts';
import { type Run, show } from '../../context.ts';
import { EXIT } from '../../errors.ts';
import { columns } from '../../terminal/columns.ts';

export const print: Run = async context => {
  const networks = await context.client.call('GET /api/networks');
  show(context, networks, ({ service, links }) => {
    if (service === null) return 'Neither NetworkManager nor systemd-networkd nor iwd runs, so no network is known.';
    if (links.length === 0) return 'No network: no physical link is up.';
    const rows = links.flatMap(link => [[`${link.device}: ${titleOf(link)}`], ...factsOf(link)]);
    return columns(
      rows,
      (text, column, row) =>
        rows[row]!.length === 1 ? context.style.bold(text) : column === 0 ? context.style.dim(text) : text,
      context.width,
    );
  });
  return EXIT.ok;
};

const KINDS: Record<NetworkLink['kind'], string> = {
  wifi: 'Wi-Fi',
  ethernet: 'Ethernet',
  mobile: 'mobile network',
  other: 'other network',
};

function titleOf({ kind, name }: NetworkLink): string {
  return name === null ? KINDS[kind] : `${KINDS[kind]} ${name}`;
}

function factsOf(link: NetworkLink): string[][] {
  const facts: [string, string | null][] = [
    ['security', link.security],
    ['gateway', [link.gateway, link.gatewayHardware].filter(Boolean).join(', ') || null],
    ['access point', link.bssid],
    ['connection', link.uuid],
    ['metered', link.metered === null ? null : link.metered ? 'yes' : 'no'],
    ['connectivity', link.connectivity],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
}
