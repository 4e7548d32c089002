// Defines the argument table of `tunnel …`.
import type { Command } from '../command-line/grammar.ts';
import { leaf, listOf, overridable } from './build.ts';

export const TUNNEL: Command = {
  name: 'tunnel',
  about: 'Configure tunnel settings',
  subcommands: [
    leaf('dump', 'Get split tunnel routing dump. For include-only mode, this shows routes NOT included'),
    { name: 'host', about: 'Configure split tunnel hosts', subcommands: listOf('HOST') },
    {
      name: 'ip',
      about: 'Configure split tunnel IPs',
      subcommands: [
        leaf('list', 'List IP ranges in the split tunnel configuration'),
        ...(
          [
            ['add', 'Add an IP to split tunnel configuration', 'IP', 'ip'],
            ['remove', 'Remove an IP from split tunnel configuration', 'IP', 'ip'],
            ['add-range', 'Add an IP range to split tunnel configuration', 'CIDR', 'range'],
            ['remove-range', 'Remove an IP range from split tunnel configuration', 'CIDR', 'range'],
          ] as const
        ).map(([name, about, value, format]) =>
          leaf(name, about, {
            name: value,
            format,
            about: `A valid IPv4 or IPv6 address${format === 'range' ? ' range' : ''}`,
          }),
        ),
        leaf('reset', 'Reset IP ranges in the split tunnel configuration to default'),
      ],
    },
    leaf('stats', 'Retrieve the stats for the current tunnel connection'),
    leaf('rotate-keys', 'Generate a new key-pair, keeping the current registration'),
    {
      name: 'endpoint',
      about:
        'Force the client to connect to the specified IP:PORT endpoint (Zero Trust customers must run this command as a privileged user)',
      subcommands: overridable({ name: 'SOCKADDR', format: 'endpoint' }),
    },
    {
      name: 'mtu',
      about: 'Set the MTU value of the tunnel',
      hidden: true,
      subcommands: [
        leaf('set', 'Set an override MTU for the tunnel', { name: 'MTU', format: 'number' }),
        leaf('reset', 'Remove any configured MTU override on the tunnel'),
      ],
    },
    {
      name: 'protocol',
      about: 'Modify the preferred tunnel protocol (Consumer only)',
      since: '2024.12.554',
      subcommands: [
        leaf('set', 'Set the preferred tunnel protocol', {
          name: 'PROTOCOL',
          values: [
            { name: 'MASQUE', about: 'Use the MASQUE protocol. This is the default behavior' },
            { name: 'WireGuard', about: 'Use the WireGuard protocol. This is the legacy behavior' },
          ],
        }),
        leaf('reset', 'Reset the preferred tunnel protocol and use the client-provided default'),
      ],
    },
    {
      name: 'masque-options',
      about: 'Modify the MASQUE tunnel protocol options (Consumer only)',
      since: '2025.4.929',
      subcommands: [
        leaf('set', 'Set the preferred MASQUE protocol options', {
          name: 'OPTIONS',
          values: [
            { name: 'h3-only', about: 'Only use MASQUE over HTTP/3 to establish the tunnel' },
            { name: 'h2-only', about: 'Only use MASQUE over HTTP/2 to establish the tunnel' },
            {
              name: 'h3-with-h2-fallback',
              about:
                'Use MASQUE over HTTP/3 to establish the tunnel, falling back to HTTP/2 if HTTP/3 fails ( default )',
            },
          ],
        }),
        leaf('reset', 'Reset the preferred MASQUE protocol options and use the client-provided default'),
      ],
    },
    {
      name: 'pmtud',
      about: 'Configure Path MTU Discovery (PMTUD) for MASQUE tunnels (requires elevated privileges)',
      hidden: true,
      since: '2025.9.558',
      subcommands: [
        leaf('enable', 'Enable Path MTU Discovery (PMTUD) for MASQUE tunnels'),
        leaf('disable', 'Disable Path MTU Discovery (PMTUD) for MASQUE tunnels'),
        leaf('reset', 'Reset PMTUD setting to use the client-provided default'),
      ],
    },
  ],
};
