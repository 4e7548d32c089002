// Defines the commands of Culvert itself, for the command table.

import type { ArgumentSpec, CommandSpec, OptionSpec } from '../../command-spec.ts';
import { KEEP } from '../../keep.ts';
import { CONFIG_KEYS, CONFIG_VALUES } from '../../labels.ts';
import { FORCE } from '../../write-document.ts';

const SESSION: readonly OptionSpec[] = [
  { flags: '--session', summary: 'until the daemon restarts, instead of in your file' },
];
const key: ArgumentSpec = { name: '<key>', summary: 'a key such as ui.theme', words: CONFIG_KEYS };

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
      'For another machine, or as a backup. The file has no secrets. What the other machine or its version of warp-cli lacks is left out and listed. At a terminal, apply shows what changes and asks first, and a change is taken back after 30 seconds unless you say that it stays. A script that applies a file has to give --yes or --confirm-within.',
    fallback: 'export',
    commands: [
      {
        name: 'export',
        summary: 'write the file',
        arguments: [{ name: '[file]', summary: 'the file; stdout without one', files: true }],
        options: [FORCE],
        load: async () => (await import('./settings.ts')).exportSettings,
      },
      {
        name: 'diff',
        summary: 'what a file would change, and what is left out; exit status 1 where it differs',
        arguments: [{ name: '[file]', summary: 'the file; stdin without one', files: true }],
        load: async () => (await import('./settings.ts')).diffSettings,
      },
      {
        name: 'apply',
        summary: 'set what a file has',
        arguments: [{ name: '[file]', summary: 'the file; stdin without one', files: true }],
        options: [{ flags: '--demo-file', summary: 'also a file that was exported from a demo' }, ...KEEP],
        load: async () => (await import('./settings.ts')).applySettings,
      },
      {
        name: 'undo',
        summary: 'set what was set before the last file',
        options: KEEP,
        load: async () => (await import('./settings.ts')).undoSettings,
      },
    ],
  },
  {
    name: 'history',
    summary: 'what happened before: changes of the connection, time connected, drops, bytes',
    details:
      'Culvert records changes of the state, and figures of the tunnel: fully for a day, in minutes for a week, in hours for 90 days. It keeps no address and no host name of your traffic. history.enabled turns it off.',
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
        summary: 'delete everything that was recorded',
        options: [{ flags: '-y, --yes', summary: 'without being asked' }],
        load: async () => (await import('./history.ts')).clearHistory,
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
    name: 'metrics',
    summary: 'print what Prometheus reads: tunnel, kill switch, checks, API and accounts of tools',
    details:
      'metrics.enabled turns it on; GET /api/metrics then answers the same. Counters begin with the first request. The metrics name no networks, addresses or people; metrics.hashAccounts hides the names of accounts as well. share/culvert/metrics/README.md describes a dashboard, alerts, and a Prometheus that reads them.',
    load: async () => (await import('./metrics.ts')).metrics,
  },
  {
    name: 'update',
    summary: 'new releases',
    fallback: 'check',
    commands: [
      {
        name: 'check',
        summary: 'look for a newer release',
        marksDemo: false,
        load: async () => (await import('./update.ts')).checkUpdate,
      },
      {
        name: 'apply',
        summary: 'install the newest release, and restart as it',
        details: 'What is fetched is verified before it is used. The version before is kept: culvert update rollback.',
        marksDemo: false,
        load: async () => (await import('./update.ts')).applyUpdate,
      },
      {
        name: 'rollback',
        summary: 'go back to the version before the last update',
        details: 'The version that was left is not offered again; culvert update apply installs it all the same.',
        marksDemo: false,
        load: async () => (await import('./update.ts')).rollBack,
      },
    ],
  },
  {
    name: 'web',
    summary: 'the browser page',
    details:
      'The page does what the panel does, for machines without a desktop and for people who prefer a tab. It is off until it is turned on, and answers this user on this machine only.',
    fallback: 'open',
    commands: [
      {
        name: 'open',
        summary: 'turn the page on, open it, and print its address',
        details:
          'With --pair it prints a one-time code instead, by which a device on another machine may use the page; webui.allowRemote has to be set. webui.tlsCertificate and webui.tlsKey encrypt what goes between; webui.address names a reverse proxy.',
        options: [
          { flags: '--no-open', summary: 'only print the address' },
          { flags: '--pair', summary: 'make a code for a device on another machine, valid for five minutes' },
          { flags: '--manage', summary: 'with --pair: the device may also change things' },
        ],
        marksDemo: false,
        load: async () => (await import('./web.ts')).web,
      },
      {
        name: 'off',
        summary: 'turn the page off',
        marksDemo: false,
        load: async () => (await import('./web.ts')).webOff,
      },
      {
        name: 'devices',
        summary: 'list the paired devices',
        marksDemo: false,
        load: async () => (await import('./web.ts')).listDevices,
      },
      {
        name: 'revoke',
        summary: 'end the access of a paired device',
        arguments: [{ name: '<id>', summary: 'its id, as "culvert web devices" prints it' }],
        marksDemo: false,
        load: async () => (await import('./web.ts')).revokeDevice,
      },
    ],
  },
  {
    name: 'token',
    summary: 'print the bearer token for other machines',
    details:
      'Makes the token when there is none. Requests from other machines need it, where webui.allowRemote lets them in.',
    marksDemo: false,
    load: async () => (await import('./token.ts')).token,
  },
  {
    name: 'stop',
    summary: 'stop the daemon',
    details:
      'A change that was not confirmed is reverted first. One that ends later stays until Culvert runs again; it is named.',
    marksDemo: false,
    load: async () => (await import('./stop.ts')).stop,
  },
  {
    name: 'restart',
    summary: 'restart the daemon, or start it',
    details: 'The options of its start are used again, and changes that end or wait to be confirmed go on as they are.',
    marksDemo: false,
    load: async () => (await import('./restart.ts')).restart,
  },
  {
    name: 'version',
    summary: 'print the versions of command line and daemon',
    marksDemo: false,
    load: async () => (await import('./version.ts')).version,
  },
];
