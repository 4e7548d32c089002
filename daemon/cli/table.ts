// THE command table: parsing, help, completions and the manual are all made from it. A command's code is loaded
// when it is called.
import type { Run } from './context.ts';
import { ACTIONS, CONFIG_KEYS, MODES, PROTOCOLS } from './vocabulary.ts';

export interface ArgumentSpec {
  /** As commander takes it: `<required>`, `[optional]`, `<several...>`. */
  name: string;
  summary: string;
  /** Words to offer, with their meaning; the command itself judges what it is given. */
  words?: Readonly<Record<string, string>>;
  files?: true;
}

export interface OptionSpec {
  /** As commander takes it: `-w, --watch`, `--limit <n>`. */
  flags: string;
  summary: string;
}

export interface CommandSpec {
  name: string;
  summary: string;
  /** Sentences beyond the summary, for the command's help and the manual. */
  details?: string;
  arguments?: readonly ArgumentSpec[];
  options?: readonly OptionSpec[];
  commands?: readonly CommandSpec[];
  /** The subcommand that a group means when none is named. */
  fallback?: string;
  load?: () => Promise<Run>;
}

export interface Group {
  title: string;
  commands: readonly CommandSpec[];
}

/** Of `culvert` without a command; the launcher (daemon/launcher.ts) reads them. */
export const LAUNCHER_OPTIONS: readonly OptionSpec[] = [
  { flags: '--no-open', summary: 'do not open the browser page' },
  { flags: '--no-tray', summary: 'start no tray icon' },
  { flags: '--no-panel', summary: 'start no panel' },
  { flags: '--port <n>', summary: 'TCP port of the API, instead of the configured one' },
  { flags: '--demo', summary: 'use the embedded emulator instead of warp-cli; nothing is tunnelled' },
  { flags: '--status', summary: 'print the state and the port in use' },
  { flags: '--version', summary: 'print the version' },
  { flags: '--help', summary: 'print this help' },
];

/** Every command has it. */
export const JSON_OPTION: OptionSpec = { flags: '--json', summary: 'print JSON instead of text for people' };

const WAIT: readonly OptionSpec[] = [
  { flags: '-w, --wait', summary: 'wait until it is done, showing each phase' },
  { flags: '--timeout <seconds>', summary: 'how long to wait (60)' },
];
const SESSION: readonly OptionSpec[] = [
  { flags: '--session', summary: 'until the daemon restarts, instead of in your file' },
];
const key: ArgumentSpec = { name: '<key>', summary: 'a key such as ui.theme', words: CONFIG_KEYS };
const entries: ArgumentSpec = { name: '<entry...>', summary: 'an IP address, a CIDR range or a host name' };

export const TABLE: readonly Group[] = [
  {
    title: 'Connection',
    commands: [
      {
        name: 'status',
        summary: 'show how the tunnel stands',
        details:
          'Prints one line. With --check the exit code is 3 unless the tunnel is connected. With --watch a line follows each change until Ctrl+C, also across a restart of the daemon.',
        options: [
          { flags: '-w, --watch', summary: 'print a line for each change' },
          { flags: '-c, --check', summary: 'exit 3 unless connected' },
          { flags: '-l, --long', summary: 'endpoint, latency, account and more' },
          { flags: '--fresh', summary: 'ask the tunnel CLI again first' },
        ],
        load: async () => (await import('./status.ts')).status,
      },
      {
        name: 'connect',
        summary: 'connect the tunnel',
        options: WAIT,
        load: async () => (await import('./connect.ts')).connect,
      },
      {
        name: 'disconnect',
        summary: 'disconnect the tunnel',
        options: WAIT,
        load: async () => (await import('./connect.ts')).disconnect,
      },
      {
        name: 'toggle',
        summary: 'connect, or disconnect when connected or connecting',
        options: WAIT,
        load: async () => (await import('./connect.ts')).toggle,
      },
      {
        name: 'mode',
        summary: 'show or set the mode',
        arguments: [{ name: '[name]', summary: 'the mode to set', words: MODES }],
        load: async () => (await import('./mode.ts')).mode,
      },
      {
        name: 'protocol',
        summary: 'show or set the tunnel protocol',
        arguments: [{ name: '[name]', summary: 'the protocol to set', words: PROTOCOLS }],
        load: async () => (await import('./mode.ts')).protocol,
      },
      {
        name: 'proxy',
        summary: 'the local proxy on 127.0.0.1',
        fallback: 'status',
        commands: [
          {
            name: 'status',
            summary: 'show whether it is on, and where',
            load: async () => (await import('./proxy.ts')).proxyStatus,
          },
          {
            name: 'on',
            summary: 'switch to proxy mode, connect, and wait until the proxy answers',
            details: 'Where it does not answer, mode, protocol and connection are set back to what they were.',
            load: async () => (await import('./proxy.ts')).proxyOn,
          },
          {
            name: 'off',
            summary: 'switch from proxy mode to mode warp',
            load: async () => (await import('./proxy.ts')).proxyOff,
          },
        ],
      },
      {
        name: 'split',
        summary: 'what goes around the tunnel',
        details:
          'Lists have one entry on each line; # begins a comment. Importing adds what is missing, reports each line that fails, and can be repeated.',
        fallback: 'list',
        commands: [
          { name: 'list', summary: 'list the entries', load: async () => (await import('./split.ts')).list },
          {
            name: 'add',
            summary: 'add entries',
            arguments: [entries],
            load: async () => (await import('./split.ts')).add,
          },
          {
            name: 'remove',
            summary: 'remove entries',
            arguments: [entries],
            load: async () => (await import('./split.ts')).remove,
          },
          {
            name: 'reset',
            summary: 'back to the default entries',
            options: [
              { flags: '--ips', summary: 'only addresses and ranges' },
              { flags: '--hosts', summary: 'only hosts' },
            ],
            load: async () => (await import('./split.ts')).reset,
          },
          {
            name: 'import',
            summary: 'add the entries of a list',
            arguments: [{ name: '[file]', summary: 'the list; stdin without one', files: true }],
            load: async () => (await import('./split.ts')).importList,
          },
          {
            name: 'export',
            summary: 'write the entries as a list',
            arguments: [{ name: '[file]', summary: 'the list; stdout without one', files: true }],
            load: async () => (await import('./split.ts')).exportList,
          },
        ],
      },
      {
        name: 'killswitch',
        summary: 'block traffic outside the tunnel',
        fallback: 'status',
        commands: [
          {
            name: 'status',
            summary: 'show whether it blocks',
            load: async () => (await import('./killswitch.ts')).killSwitchStatus,
          },
          {
            name: 'on',
            summary: 'block',
            details:
              'Over SSH it asks first where the block would cut the session; without a terminal it refuses then.',
            options: [
              { flags: '--allow-lan', summary: 'leave the local network reachable' },
              { flags: '--force', summary: 'also where it cuts this SSH session' },
            ],
            load: async () => (await import('./killswitch.ts')).killSwitchOn,
          },
          {
            name: 'off',
            summary: 'no longer block',
            load: async () => (await import('./killswitch.ts')).killSwitchOff,
          },
          {
            name: 'pause',
            summary: 'let traffic through for a while',
            arguments: [{ name: '<minutes>', summary: 'up to 60' }],
            options: [{ flags: '-w, --wait', summary: 'count down until it blocks again' }],
            load: async () => (await import('./killswitch.ts')).killSwitchPause,
          },
          {
            name: 'resume',
            summary: 'end a pause',
            load: async () => (await import('./killswitch.ts')).killSwitchResume,
          },
          {
            name: 'installer',
            summary: 'print the script that installs the part that blocks',
            details: 'For root to run: culvert killswitch installer | sudo sh',
            load: async () => (await import('./killswitch.ts')).killSwitchInstaller,
          },
        ],
      },
      {
        name: 'apps',
        summary: 'apps through the local proxy',
        fallback: 'list',
        commands: [
          {
            name: 'list',
            summary: 'list the apps of this desktop',
            load: async () => (await import('./apps.ts')).listApps,
          },
          {
            name: 'launch',
            summary: 'start an app through the local proxy',
            arguments: [{ name: '<app>', summary: 'its id, as listed' }],
            details: 'Starts the daemon and the local proxy first, where that is needed.',
            options: [
              { flags: '--shortcut', summary: 'add an entry to the menu of apps' },
              { flags: '--verify', summary: 'refuse unless the proxy is seen to lead through the tunnel' },
            ],
            load: async () => (await import('./apps.ts')).launchApp,
          },
          {
            name: 'shortcut',
            summary: 'an entry in the menu that starts an app through the proxy',
            arguments: [{ name: '[app]', summary: 'its id, as listed' }],
            options: [
              { flags: '--remove', summary: 'remove it' },
              { flags: '--remove-all', summary: 'remove all of them; needs no daemon' },
            ],
            load: async () => (await import('./apps.ts')).shortcutApp,
          },
        ],
      },
    ],
  },
  {
    title: 'Device',
    commands: [
      {
        name: 'account',
        summary: 'the registration of this device',
        details:
          'Licence keys and tokens are asked for without showing them, or read from a pipe; never from the command line.',
        fallback: 'show',
        commands: [
          {
            name: 'show',
            summary: 'show account and devices',
            load: async () => (await import('./account.ts')).account,
          },
          {
            name: 'register',
            summary: 'register this device',
            options: [{ flags: '--organization <name>', summary: 'with an organisation (Zero Trust)' }],
            load: async () => (await import('./account.ts')).register,
          },
          {
            name: 'delete',
            summary: 'delete the registration',
            options: [{ flags: '-y, --yes', summary: 'without being asked' }],
            load: async () => (await import('./account.ts')).deleteRegistration,
          },
          { name: 'license', summary: 'apply a licence key', load: async () => (await import('./account.ts')).license },
          {
            name: 'token',
            summary: 'finish a registration with the token of the browser',
            load: async () => (await import('./account.ts')).registrationToken,
          },
          {
            name: 'accept-terms',
            summary: "accept Cloudflare's terms of service",
            load: async () => (await import('./account.ts')).acceptTerms,
          },
        ],
      },
      {
        name: 'actions',
        summary: 'list every action of the API',
        load: async () => (await import('./actions.ts')).listActions,
      },
      {
        name: 'action',
        summary: 'perform an action of the API by its name',
        arguments: [
          {
            name: '<name>',
            summary: 'the action',
            words: Object.fromEntries(Object.entries(ACTIONS).map(([name, { summary }]) => [name, summary])),
          },
          { name: '[value]', summary: 'its value' },
        ],
        load: async () => (await import('./actions.ts')).action,
      },
    ],
  },
  {
    title: 'Culvert itself',
    commands: [
      {
        name: 'config',
        summary: 'the settings of Culvert',
        fallback: 'list',
        commands: [
          {
            name: 'list',
            summary: 'list every key, its value and its source',
            load: async () => (await import('./config.ts')).list,
          },
          {
            name: 'get',
            summary: 'print the value of a key',
            arguments: [key],
            load: async () => (await import('./config.ts')).get,
          },
          {
            name: 'set',
            summary: 'set a key in your file',
            arguments: [key, { name: '<value>', summary: 'the value' }],
            options: SESSION,
            load: async () => (await import('./config.ts')).set,
          },
          {
            name: 'unset',
            summary: 'remove a key from your file',
            arguments: [key],
            options: SESSION,
            load: async () => (await import('./config.ts')).unset,
          },
        ],
      },
      {
        name: 'logs',
        summary: 'what was given to the tunnel CLI',
        options: [
          { flags: '-f, --follow', summary: 'go on with what comes, until Ctrl+C' },
          { flags: '-n, --limit <n>', summary: 'so many of the last entries (50)' },
        ],
        load: async () => (await import('./logs.ts')).logs,
      },
      {
        name: 'doctor',
        summary: 'find what is wrong, and say what to do',
        details: 'The exit code is 1 when something is broken; what is merely missing is a warning.',
        load: async () => (await import('./doctor.ts')).doctor,
      },
      {
        name: 'update',
        summary: 'new releases',
        fallback: 'check',
        commands: [
          {
            name: 'check',
            summary: 'look for a newer release',
            load: async () => (await import('./update.ts')).checkUpdate,
          },
          {
            name: 'apply',
            summary: 'install the newest release, and restart as it',
            details:
              'What is fetched is verified before it is used. The version before is kept: culvert update rollback.',
            load: async () => (await import('./update.ts')).applyUpdate,
          },
          {
            name: 'rollback',
            summary: 'go back to the version before the last update',
            details: 'The version that was left is not offered again; culvert update apply installs it all the same.',
            load: async () => (await import('./update.ts')).rollBack,
          },
        ],
      },
      {
        name: 'token',
        summary: 'print the bearer token for other machines',
        details:
          'Makes the token when there is none. Requests from other machines need it, where webui.allowRemote lets them in.',
        load: async () => (await import('./token.ts')).token,
      },
      { name: 'stop', summary: 'stop the daemon', load: async () => (await import('./stop.ts')).stop },
      {
        name: 'version',
        summary: 'print the versions of command line and daemon',
        load: async () => (await import('./version.ts')).version,
      },
    ],
  },
];

/** The exit codes, for help and manual. */
export const EXIT_CODES: readonly [number, string][] = [
  [0, 'success'],
  [1, 'failure'],
  [2, 'wrong usage'],
  [3, 'status --check, and not connected'],
  [4, 'not authorised'],
  [5, 'the daemon is not running'],
  [6, 'the tunnel CLI is missing'],
];

export const COMMANDS: readonly CommandSpec[] = TABLE.flatMap(group => group.commands);
