// Defines the commands for Culvert itself, for the command table.
import { type ArgumentSpec, type CommandSpec, FORCE, type OptionSpec } from '../../context.ts';
import { KEEP } from '../../keep.ts';
import { CONFIG_KEYS, CONFIG_VALUES } from '../../labels.ts';

const SESSION: readonly OptionSpec[] = [
  { flags: '--session', summary: 'until the daemon restarts, instead of in your file' },
];
const key: ArgumentSpec = { name: '<key>', summary: 'a key such as ui.theme', words: CONFIG_KEYS };

const SHELLS = { gnome: 'GNOME Shell' };

/** Options and implementation of `culvert web`. */
const OPEN_PAGE = {
  options: [{ flags: '--no-open', summary: 'only print the address' }],
  marksDemo: false,
  load: async () => (await import('./web.ts')).web,
} satisfies Partial<CommandSpec>;

export const CULVERT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'config',
    summary: 'the settings of Culvert',
    fallback: 'list',
    commands: [
      {
        name: 'list',
        summary: 'list every key, its value and its source',
        marksDemo: false,
        load: async () => (await import('./config.ts')).list,
      },
      {
        name: 'get',
        summary: 'print the value of a key',
        arguments: [key],
        marksDemo: false,
        load: async () => (await import('./config.ts')).get,
      },
      {
        name: 'set',
        summary: 'set a key in your file',
        arguments: [key, { name: '<value>', summary: 'the value', wordsAfter: CONFIG_VALUES }],
        options: SESSION,
        marksDemo: false,
        load: async () => (await import('./config.ts')).set,
      },
      {
        name: 'unset',
        summary: 'remove a key from your file',
        arguments: [key],
        options: SESSION,
        marksDemo: false,
        load: async () => (await import('./config.ts')).unset,
      },
    ],
  },
  {
    name: 'settings',
    summary: "the tunnel's settings, routes and Culvert's own configuration as one file",
    details:
      'For another machine, or as a backup. The file has no secrets. Settings that the other machine or its version of warp-cli lacks are left out and listed. At a terminal, apply shows what changes and asks first, and a change reverts after 30 seconds unless you keep it. Scripts need --yes or --confirm-within to apply a file.',
    fallback: 'export',
    commands: [
      {
        name: 'export',
        summary: 'write the settings to a file',
        arguments: [{ name: '[file]', summary: 'the file; default: stdout', files: true }],
        options: [FORCE],
        load: async () => (await import('./config.ts')).exportSettings,
      },
      {
        name: 'diff',
        summary: 'show what a file would change, and what is left out; exit status 1 if anything differs',
        arguments: [{ name: '[file]', summary: 'the file; default: stdin', files: true }],
        load: async () => (await import('./config.ts')).diffSettings,
      },
      {
        name: 'apply',
        summary: 'apply a settings file',
        arguments: [{ name: '[file]', summary: 'the file; default: stdin', files: true }],
        options: [{ flags: '--demo-file', summary: 'accept a file that was exported from a demo' }, ...KEEP],
        load: async () => (await import('./config.ts')).applySettings,
      },
      {
        name: 'undo',
        summary: 'restore the settings from before the last file',
        options: KEEP,
        load: async () => (await import('./config.ts')).undoSettings,
      },
    ],
  },
  {
    name: 'history',
    summary: 'past connections: changes, time connected, drops, bytes',
    details:
      'Culvert records changes of the state and statistics of the tunnel: in full for a day, by the minute for a week, by the hour for 90 days. It keeps no addresses or host names of your traffic. history.enabled turns it off.',
    fallback: 'show',
    commands: [
      {
        name: 'show',
        summary: 'print the timeline and the totals',
        options: [
          { flags: '--since <time>', summary: 'a duration back from now (2d), or a time; default: 1d' },
          { flags: '--until <time>', summary: 'a duration back from now, or a time; default: now' },
          { flags: '--resolution <name>', summary: 'sample resolution: full, minute or hour' },
          { flags: '--csv', summary: 'print changes and samples as comma-separated values' },
        ],
        load: async () => (await import('./history.ts')).showHistory,
      },
      {
        name: 'clear',
        summary: 'delete the history',
        options: [{ flags: '-y, --yes', summary: 'do not ask first' }],
        load: async () => (await import('./history.ts')).clearHistory,
      },
    ],
  },
  {
    name: 'logs',
    summary: 'list the commands run by Culvert',
    options: [
      { flags: '-f, --follow', summary: 'print new entries as they come, until Ctrl+C' },
      { flags: '-n, --limit <n>', summary: 'number of entries, from the newest (50)' },
    ],
    load: async () => (await import('./history.ts')).logs,
  },
  {
    name: 'metrics',
    summary: 'print metrics for Prometheus: tunnel, kill switch, checks, API and tool accounts',
    details:
      'metrics.enabled turns them on; GET /api/metrics then returns the same. Counters begin with the first request. The metrics name no networks, addresses or people; metrics.hashAccounts hides account names as well. share/culvert/metrics.md describes each metric and a Prometheus setup.',
    load: async () => (await import('./history.ts')).metrics,
  },
  {
    name: 'update',
    summary: 'check for and install new releases',
    fallback: 'check',
    commands: [
      {
        name: 'check',
        summary: 'check for a newer release',
        marksDemo: false,
        load: async () => (await import('./update.ts')).checkUpdate,
      },
      {
        name: 'apply',
        summary: 'install the newest release, and restart',
        details: 'The download is verified before it is used. The previous version is kept: culvert update rollback.',
        marksDemo: false,
        load: async () => (await import('./update.ts')).applyUpdate,
      },
      {
        name: 'rollback',
        summary: 'go back to the version before the last update',
        details: 'The newer version is not offered again; culvert update apply still installs it.',
        marksDemo: false,
        load: async () => (await import('./update.ts')).rollBack,
      },
    ],
  },
  {
    name: 'web',
    summary: 'the browser page',
    details:
      'The page does what the panel does, for machines without a desktop and for people who prefer a tab. It is off by default, and answers only this user on this machine.',
    fallback: 'open',
    commands: [
      {
        name: 'open',
        summary: 'turn the page on, open it, and print its address',
        ...OPEN_PAGE,
      },
      { ...OPEN_PAGE, name: 'on', summary: 'the same as open' },
      {
        name: 'off',
        summary: 'turn the page off',
        marksDemo: false,
        load: async () => (await import('./web.ts')).webOff,
      },
    ],
  },
  {
    name: 'token',
    summary: 'print the bearer token for other machines',
    details:
      'Creates the token if there is none. The page and the API ask other machines for it, if webui.allowRemote admits them. webui.address names a reverse proxy.',
    marksDemo: false,
    load: async () => (await import('./web.ts')).token,
  },
  {
    name: 'stop',
    summary: 'stop the daemon',
    details: 'Unconfirmed changes are reverted first. Timed changes stay until Culvert runs again; they are listed.',
    marksDemo: false,
    load: async () => (await import('./daemon.ts')).stop,
  },
  {
    name: 'restart',
    summary: 'restart the daemon, or start it',
    details: 'It starts with the same options. Timed and unconfirmed changes continue.',
    marksDemo: false,
    load: async () => (await import('./daemon.ts')).restart,
  },
  {
    name: 'version',
    summary: 'print the versions of the command line and the daemon',
    marksDemo: false,
    load: async () => (await import('./daemon.ts')).version,
  },
  {
    name: 'shell',
    summary: 'the tile for GNOME Shell',
    details:
      'Only for this user. With a package, the files are already there, and install only turns the tile on. Other desktops can show the same through the session bus: org.culvert.Client1(5).',
    fallback: 'list',
    commands: [
      {
        name: 'list',
        summary: 'list the shells, and what is installed',
        marksDemo: false,
        load: async () => (await import('./shell.ts')).listShells,
      },
      {
        name: 'install',
        summary: 'install the tile, and turn it on',
        arguments: [{ name: '<name>', summary: 'the shell', words: SHELLS }],
        marksDemo: false,
        load: async () => (await import('./shell.ts')).installShell,
      },
      {
        name: 'remove',
        summary: 'turn it off, and remove the files that install wrote',
        arguments: [{ name: '[name]', summary: 'the shell; default: all', words: SHELLS }],
        marksDemo: false,
        load: async () => (await import('./shell.ts')).removeShell,
      },
    ],
  },
];
