// Lists the commands that read.
import type { CommandName } from '../../api/schema.ts';
import type { Capabilities } from './version.ts';

export type Read = CommandName | 'devices';

/** The lists of the split tunnel. */
export const LISTS = ['splitTunnelIps', 'splitTunnelHosts', 'splitTunnelDump'] as const satisfies Read[];

/**
 * Further reads that fill the options. Not every version and account has them, so a failure says nothing about the
 * client.
 */
export const EXTRAS = [
  'settingsText',
  'trustedSsids',
  'virtualNetworks',
  'localNetworkAccess',
] as const satisfies Read[];
export type Extra = (typeof EXTRAS)[number];
export const isExtra = (read: Read): read is Extra => (EXTRAS as readonly Read[]).includes(read);

/** Reads take milliseconds, so a read that takes this long hangs. */
export const READ_LIMIT_MS = 5000;

interface Command {
  words: string[];
  /** Asked for as JSON. The lists stay text: their JSON form is not documented anywhere. */
  json: boolean;
}

const READS: Record<Read, Command> = {
  status: { words: ['status'], json: true },
  settings: { words: ['settings'], json: true },
  // names the resolver, the options of MASQUE and more, which the JSON lacks (recorded: 2026.7.1377)
  settingsText: { words: ['settings'], json: false },
  splitTunnelDump: { words: ['tunnel', 'dump'], json: false },
  splitTunnelIps: { words: ['tunnel', 'ip', 'list'], json: false },
  splitTunnelHosts: { words: ['tunnel', 'host', 'list'], json: false },
  registration: { words: ['registration', 'show'], json: true },
  tunnelStats: { words: ['tunnel', 'stats'], json: true },
  trustedSsids: { words: ['trusted', 'ssid', 'list'], json: true },
  virtualNetworks: { words: ['vnet'], json: true },
  localNetworkAccess: { words: ['override', 'local-network', 'show'], json: true },
  devices: { words: ['registration', 'devices'], json: true },
};

/**
 * Arguments of a read. Global options come before the subcommand: releases of 2026 refuse them after it.
 * @returns null if another read has the same arguments
 */
export function readArgv(read: Read, can: Capabilities, acceptTerms: boolean): string[] | null {
  const { words, json } = READS[read];
  if (read === 'settingsText' && !can.json) return null;
  return [...(acceptTerms ? ['--accept-tos'] : []), ...(can.json && json ? ['-j'] : []), ...words];
}
