// Defines the command table; parsing, help, completions and the manual derive from it. Each group's table is next to its
// commands, whose code loads when they run.

import { CONNECTION_COMMANDS, DEVICE_COMMANDS } from '../commands/connection/table.ts';
import { CULVERT_COMMANDS } from '../commands/culvert/table.ts';
import { DOCTOR_COMMANDS } from '../commands/doctor/table.ts';
import { TRAFFIC_COMMANDS } from '../commands/traffic/table.ts';
import type { CommandSpec, Group, OptionSpec } from '../context.ts';

/** Options of `culvert` without a command; the launcher (daemon/launcher.ts) reads them. */
export const LAUNCHER_OPTIONS: readonly OptionSpec[] = [
  { flags: '--no-open', summary: 'do not open the browser page' },
  { flags: '--no-tray', summary: 'do not show the tray icon' },
  { flags: '--no-panel', summary: 'do not open the window' },
  { flags: '--port <n>', summary: 'TCP port of the API, instead of the configured one' },
  { flags: '--demo', summary: 'use the embedded emulator instead of warp-cli; nothing is tunneled' },
  { flags: '--status', summary: 'print the state and the port in use' },
  { flags: '--version', summary: 'print the version' },
  { flags: '--help', summary: 'print the tasks and their commands' },
  { flags: '--all', summary: 'with --help: print every command and option' },
];

/** An option of every command. */
export const JSON_OPTION: OptionSpec = { flags: '--json', summary: 'print JSON instead of text' };

const SPECS: readonly CommandSpec[] = [
  ...CONNECTION_COMMANDS,
  ...TRAFFIC_COMMANDS,
  ...DEVICE_COMMANDS,
  ...DOCTOR_COMMANDS,
  ...CULVERT_COMMANDS,
];

/** User tasks with their commands; each command belongs to one task. */
const TASKS: readonly (readonly [title: string, names: string])[] = [
  ['Connect', 'connect disconnect toggle status wait on off'],
  ['Keep or undo a change', 'extend keep revert'],
  ['Choose what uses WARP', 'mode protocol routes split why network portal apps run proxy'],
  ['Block leaks', 'killswitch'],
  ['Set up this device', 'account'],
  ['Find and repair a problem', 'doctor diagnose trust explain logs history'],
  ['Change Culvert', 'config settings shell update web'],
  ['Write scripts', 'actions action metrics token'],
  ['Run Culvert', 'stop restart version'],
];

export const TABLE: readonly Group[] = TASKS.map(([title, names]) => ({
  title,
  commands: names.split(' ').map(name => SPECS.find(spec => spec.name === name)!),
}));

/** Exit codes for help and manual. */
export const EXIT_CODES: readonly [number, string][] = [
  [0, 'success'],
  [1, 'failure'],
  [2, 'wrong usage'],
  [3, 'not connected (status --check, wait)'],
  [4, 'not authorized'],
  [5, 'the daemon is not running'],
  [6, 'warp-cli is missing'],
  [7, 'a check could not be completed (doctor)'],
  [8, 'no proof of the tunnel (wait --proof)'],
];

export const COMMANDS: readonly CommandSpec[] = TABLE.flatMap(group => group.commands);

/** Returns the command that an alias stands for, or the command itself. */
export function resolved(spec: CommandSpec): CommandSpec {
  return SPECS.find(({ name }) => name === spec.aliasOf) ?? spec;
}
