// The commands that read: their words in both generations of the tunnel CLI, and what came back where.
import type { CommandName } from '../api/schema.ts';
import type { Capabilities } from './version.ts';

export type Read = CommandName | 'devices';

/** Reads take milliseconds; one that takes this long hangs. */
export const READ_LIMIT_MS = 5000;

interface Words {
  now: string[];
  /** Before 2024.2. */
  flat: string[];
  /** Asked for as JSON where the CLI has it. The lists stay text: their JSON form is not documented anywhere. */
  json: boolean;
}

const READS: Record<Read, Words> = {
  status: { now: ['status'], flat: ['status'], json: true },
  settings: { now: ['settings'], flat: ['settings'], json: true },
  splitTunnelDump: { now: ['tunnel', 'dump'], flat: ['dump-excluded-routes'], json: false },
  splitTunnelIps: { now: ['tunnel', 'ip', 'list'], flat: ['get-excluded-routes'], json: false },
  splitTunnelHosts: { now: ['tunnel', 'host', 'list'], flat: ['get-excluded-hosts'], json: false },
  registration: { now: ['registration', 'show'], flat: ['account'], json: true },
  tunnelStats: { now: ['tunnel', 'stats'], flat: ['warp-stats'], json: true },
  devices: { now: ['registration', 'devices'], flat: ['devices'], json: true },
};

/** Arguments of a read. Global options stand before the subcommand: releases of 2026 refuse them behind it. */
export function readArgv(read: Read, can: Capabilities, acceptTerms: boolean): string[] {
  const words = READS[read];
  return [
    ...(acceptTerms ? ['--accept-tos'] : []),
    ...(can.json && words.json ? ['-j'] : []),
    ...(can.grouped ? words.now : words.flat),
  ];
}
