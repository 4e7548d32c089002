// Defines the values that a check describes and root's side sets.

/** Further settings of dnsmasq, which keep it off the client's addresses. */
export const DNSMASQ = {
  path: '/etc/dnsmasq.d/culvert.conf',
  content: 'bind-dynamic\nexcept-interface=lo\n',
  unit: 'dnsmasq.service',
} as const;

/** DNS servers that root's side may stop: nothing but names depends on them. Others are for a person to decide about. */
export const STOPPABLE: readonly string[] = ['unbound', 'named', 'bind9', 'AdGuardHome', 'pihole-FTL', 'coredns'].map(
  name => `${name}.service`,
);

/** Target of /etc/resolv.conf where systemd-resolved answers. */
export const RESOLVED_STUB = '../run/systemd/resolve/stub-resolv.conf';

/** sysctl(8) takes a slash for a dot in the name of an interface. */
export function setIpv6Disabled(ifname: string, value: string): string[] {
  return ['sysctl', '-w', `net.ipv6.conf.${ifname.replaceAll('.', '/')}.disable_ipv6=${value}`];
}
