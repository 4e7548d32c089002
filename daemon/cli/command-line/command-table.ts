// THE command table: parsing, help, completions and the manual are all made from it. Each group of commands has its part
// beside the commands, whose code is loaded when it is called.

import type { CommandSpec, Group, OptionSpec } from '../command-spec.ts';
import { CONNECTION_COMMANDS } from '../commands/connection/table.ts';
import { CULVERT_COMMANDS } from '../commands/culvert/table.ts';
import { DEVICE_COMMANDS } from '../commands/device/table.ts';
import { DOCTOR_COMMANDS } from '../commands/doctor/table.ts';
import { TRAFFIC_COMMANDS } from '../commands/traffic/table.ts';

/** Options of `culvert` without a command; the launcher (daemon/launcher.ts) reads them. */
export const LAUNCHER_OPTIONS: readonly OptionSpec[] = [
  { flags: '--no-open', summary: 'do not open the browser page' },
  { flags: '--no-tray', summary: 'start no tray icon' },
  { flags: '--no-panel', summary: 'start no panel' },
  { flags: '--port <n>', summary: 'TCP port of the API, instead of the configured one' },
  { flags: '--demo', summary: 'use the embedded emulator instead of warp-cli; nothing is tunneled' },
  { flags: '--status', summary: 'print the state and the port in use' },
  { flags: '--version', summary: 'print the version' },
  { flags: '--help', summary: 'print this help' },
];

/** Every command has it. */
export const JSON_OPTION: OptionSpec = { flags: '--json', summary: 'print JSON instead of text for people' };

export const TABLE: readonly Group[] = [
  { title: 'Connection', commands: [...CONNECTION_COMMANDS, ...TRAFFIC_COMMANDS] },
  { title: 'Device', commands: DEVICE_COMMANDS },
  { title: 'Troubleshooting', commands: DOCTOR_COMMANDS },
  { title: 'Culvert itself', commands: CULVERT_COMMANDS },
];

/** The exit codes, for help and manual. */
export const EXIT_CODES: readonly [number, string][] = [
  [0, 'success'],
  [1, 'failure'],
  [2, 'wrong usage'],
  [3, 'status --check or wait, and not connected'],
  [4, 'not authorized'],
  [5, 'the daemon is not running'],
  [6, 'the tunnel CLI is missing'],
  [7, 'doctor, and a check could not be completed'],
  [8, 'wait --proof, and no proof'],
];

export const COMMANDS: readonly CommandSpec[] = TABLE.flatMap(group => group.commands);
