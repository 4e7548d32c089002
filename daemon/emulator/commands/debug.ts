// Defines the argument table of `debug …`.
import type { Command } from '../command-line/grammar.ts';
import { leaf, SWITCH } from './build.ts';

export const DEBUG: Command = {
  name: 'debug',
  about: 'Debugging commands',
  subcommands: [
    leaf('access-reauth', 'Force refresh authentication with Cloudflare Access'),
    leaf('alternate-network', 'Get the name of the currently detected alternate network, if any'),
    leaf('connectivity-check', 'Enable or disable connectivity checks', ...SWITCH),
    leaf('dex', 'Get the most recently uploaded DEX data. Returns the most recent test for each dex metric'),
    leaf('network', 'Display the current network information'),
    leaf('posture', 'Display the most recent device posture information'),
    {
      name: 'pcap',
      about: 'Run a packet capture on the device',
      subcommands: [
        leaf('start', 'Start packet capture', {
          name: 'INTERFACE',
          optional: true,
          about: 'The soon-to-be-deprecated way of specifying the network interface to capture packets from',
        }),
        leaf('stop', 'Stop packet capture'),
      ],
    },
    { ...leaf('speed-test', 'Run a speed test on the device'), since: '2025.10' },
    {
      ...leaf('qlog', 'Enable qlog logging on the tunnel, if supported by the tunnel protocol', ...SWITCH),
      since: '2024.12.554',
    },
    {
      ...leaf('frequent-connection-stats', 'Enable frequent connection stats for the QUIC connection for 1 hour'),
      since: '2026.1',
    },
  ],
};
