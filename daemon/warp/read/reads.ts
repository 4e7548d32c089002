// Lists the commands that read: their words in both generations of the tunnel CLI.
import type { CommandName } from '../../api/schema.ts';
import type { Capabilities } from '../cli/version.ts';

export type Read = CommandName | 'devices';

/** The lists of the split tunnel. */
export const LISTS = ['splitTunnelIps', 'splitTunnelHosts', 'splitTunnelDump'] as const satisfies Read[];

/**
 * Further reads that fill the options. Not every version and account has them, so a failure says nothing about the
 * client.
 */
export const EXTRAS = ['settingsText', 'trustedSsids', 'virtualNetworks'] as const satisfies Read[];
export type Extra = (typeof EXTRAS)[number];
export const isExtra = (read: Read): read is Extra => (EXTRAS as readonly Read[]).includes(read);

/** Reads take milliseconds, so a read that takes this long hangs. */
export const READ_LIMIT_MS = 5000;

interface Words {
  now: string[];
  /** Before 2024.2; null where no such command is known. */
  flat: string[] | null;
  /** Asked for as JSON where the CLI has it. The lists stay text: their JSON form is not documented anywhere. */
  json: boolean;
}

const READS: Record<Read, Words> = {
  status: { now: ['status'], flat: ['status'], json: true },
  settings: { now: ['settings'], flat: ['settings'], json: true },
  // names the resolver, the options of MASQUE and more, which the JSON lacks (recorded: 2026.7.1377)
  settingsText: { now: ['settings'], flat: null, json: false },
  splitTunnelDump: { now: ['tunnel', 'dump'], flat: ['dump-excluded-routes'], json: false },
  splitTunnelIps: { now: ['tunnel', 'ip', 'list'], flat: ['get-excluded-routes'], json: false },
  splitTunnelHosts: { now: ['tunnel', 'host', 'list'], flat: ['get-excluded-hosts'], json: false },
  registration: { now: ['registration', 'show'], flat: ['account'], json: true },
  tunnelStats: { now: ['tunnel', 'stats'], flat: ['warp-stats'], json: true },
  trustedSsids: { now: ['trusted', 'ssid', 'list'], flat: null, json: true },
  virtualNetworks: { now: ['vnet'], flat: null, json: true },
  devices: { now: ['registration', 'devices'], flat: ['devices'], json: true },
};

/**
 * Arguments of a read. Global options come before the subcommand: releases of 2026 refuse them after it.
 * @returns null where this version has no such command, or where another read has the same arguments
 */
export function readArgv(read: Read, can: Capabilities, acceptTerms: boolean): string[] | null {
  const words = READS[read];
  const command = can.grouped ? words.now : words.flat;
  if (!command || (read === 'settingsText' && !can.json)) return null;
  return [...(acceptTerms ? ['--accept-tos'] : []), ...(can.json && words.json ? ['-j'] : []), ...command];
}
