// Derives the capabilities of the tunnel CLI from its version, and lists its read commands.
import type { CommandName } from '../../api/schema.ts';
import { OLDEST_CLIENT } from '../../view/client/labels.ts';
import { HTTP2_SINCE } from '../../view/states/http2.ts';
import { compareVersions } from '../../view/versions.ts';

export interface Capabilities {
  /** True if the CLI accepts `-j`. */
  json: boolean;
  /** True if the CLI has `tunnel protocol set` for consumers. */
  protocol: boolean;
  /** True if the CLI has `tunnel masque-options`. */
  masqueOptions: boolean;
  /** True if the local proxy supports HTTP in addition to SOCKS5. */
  httpProxy: boolean;
}

/** Returns the version in the output of `--version` (`warp-cli 2026.4.1390.0`, `WARP 0.2.0`), or null. */
export function parseVersion(text: string): string | null {
  return /(?:^|\s)v?(\d{1,4}(?:\.\d{1,5}){1,3})(?=\s|$)/.exec(text)?.[1] ?? null;
}

/**
 * Returns the capabilities of a version, by the vendor's release notes. An unknown version counts as the newest version;
 * its answers show if it refuses JSON.
 * @returns null for a version older than `OLDEST_CLIENT`, whose commands had other names
 */
export function capabilitiesOf(version: string | null): Capabilities | null {
  const since = (first: string) => version === null || compareVersions(version, first) >= 0;
  if (!since(OLDEST_CLIENT)) return null;
  return {
    json: true,
    protocol: since('2024.12.554'),
    masqueOptions: since(HTTP2_SINCE),
    httpProxy: since('2025.8.779'),
  };
}

/** Capabilities of the newest version, for checks before the installed version is known. */
export const NEWEST: Capabilities = { json: true, protocol: true, masqueOptions: true, httpProxy: true };

export type Read = CommandName | 'devices';

/** Reads of the lists of the split tunnel that clients show. */
export const SHOWN_LISTS = ['splitTunnelIps', 'splitTunnelHosts'] as const satisfies Read[];
/** Reads of the lists of the split tunnel. */
export const LISTS = [...SHOWN_LISTS, 'splitTunnelDump'] as const satisfies Read[];

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
  /** True to request JSON. The lists stay text, because their JSON form is undocumented. */
  json: boolean;
}

const READS: Record<Read, Command> = {
  status: { words: ['status'], json: true },
  settings: { words: ['settings'], json: true },
  // contains the resolver, the options of MASQUE and more, which the JSON lacks (recorded: 2026.7.1377)
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

export const READ_NAMES = Object.keys(READS) as readonly Read[];

/** Returns the words of a read, without options. */
export function wordsOf(read: Read): readonly string[] {
  return READS[read].words;
}

/**
 * Returns the arguments of a read. Global options precede the subcommand: releases of 2026 refuse them after it.
 * @returns null if another read has the same arguments
 */
export function readArgv(read: Read, can: Capabilities, acceptTerms: boolean): string[] | null {
  const { words, json } = READS[read];
  if (read === 'settingsText' && !can.json) return null;
  return [...(acceptTerms ? ['--accept-tos'] : []), ...(can.json && json ? ['-j'] : []), ...words];
}
