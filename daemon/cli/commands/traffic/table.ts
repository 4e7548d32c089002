// Defines the commands that decide which traffic uses the tunnel, for the command table.
import type { ArgumentSpec, CommandSpec } from '../../command-spec.ts';
import { CONFIRM_WITHIN, KEEP } from '../../keep.ts';
import { FORCE } from '../../write-document.ts';

const entries: ArgumentSpec = { name: '<entry...>', summary: 'an IP address, a CIDR range or a host name' };

export const TRAFFIC_COMMANDS: readonly CommandSpec[] = [
  { name: 'split', summary: 'alias of routes; here import only adds', aliasOf: 'routes' },
  {
    name: 'routes',
    summary: 'sites and networks that bypass WARP (split tunnel)',
    details:
      'The list is a document: "mode exclude" (these bypass WARP) or "mode include" (only these use WARP), then one address, range or host on each line: 10.0.0.0/8, 10.0.0.1-10.0.0.9, 10.0.0.0/8 - 10.1.2.0/24, *.example.com. # begins a comment. On a terminal, a change reverts after 30 seconds unless you keep it; --yes keeps it without asking. A script that imports a document without some of the entries has to give --yes or --confirm-within.',
    fallback: 'show',
    commands: [
      {
        name: 'show',
        summary: 'print the document, with the origin of each entry',
        load: async () => (await import('./routes.ts')).print,
      },
      {
        name: 'list',
        summary: 'list the entries as a table',
        load: async () => (await import('./routes-list.ts')).list,
      },
      {
        name: 'diff',
        summary: 'what a document would change, its mistakes, and what to be warned of; exit status 1 where it differs',
        arguments: [{ name: '[file]', summary: 'the document; stdin without one', files: true }],
        load: async () => (await import('./routes.ts')).diff,
      },
      {
        name: 'edit',
        summary: 'change the document in your editor ($VISUAL or $EDITOR)',
        options: KEEP,
        load: async () => (await import('./routes-change.ts')).edit,
      },
      {
        name: 'import',
        summary: 'set the list to a document; entries that are not in it are removed',
        arguments: [{ name: '[file]', summary: 'the document; stdin without one', files: true }],
        options: [{ flags: '--add', summary: 'only add its entries; nothing is removed' }, ...KEEP],
        load: async () => (await import('./routes-change.ts')).importDocument,
      },
      {
        name: 'export',
        summary: 'write the document as it was set, comments included',
        arguments: [{ name: '[file]', summary: 'the file; stdout without one', files: true }],
        options: [FORCE],
        load: async () => (await import('./routes.ts')).exportDocument,
      },
      {
        name: 'add',
        summary: 'add entries',
        arguments: [{ ...entries, name: '[entry...]' }],
        options: [
          {
            flags: '--preset <name>',
            summary: 'entries of this machine: lan, docker, podman, libvirt, kubernetes, tailscale',
          },
          ...KEEP,
        ],
        load: async () => (await import('./routes-change.ts')).add,
      },
      {
        name: 'remove',
        summary: 'remove entries',
        arguments: [{ ...entries, lists: 'routes' }],
        options: KEEP,
        load: async () => (await import('./routes-change.ts')).remove,
      },
      {
        name: 'reset',
        summary: 'restore the default entries of WARP; yours are removed',
        options: [
          { flags: '--ips', summary: 'only addresses and ranges' },
          { flags: '--hosts', summary: 'only hosts' },
          ...KEEP,
        ],
        load: async () => (await import('./routes-list.ts')).reset,
      },
      {
        name: 'undo',
        summary: 'go back to the previous document; again, to the one before that',
        options: KEEP,
        load: async () => (await import('./routes-change.ts')).undo,
      },
      {
        name: 'history',
        summary: 'list the last 20 documents, or print one',
        arguments: [{ name: '[number]', summary: 'a document, as listed' }],
        load: async () => (await import('./routes.ts')).history,
      },
      {
        name: 'presets',
        summary: 'list entries for the networks of this machine',
        load: async () => (await import('./routes.ts')).presets,
      },
      {
        name: 'simplify',
        summary: 'print the shortest document of the same meaning',
        arguments: [{ name: '[file]', summary: 'the document; without one, the list that is set', files: true }],
        load: async () => (await import('./routes.ts')).simplify,
      },
    ],
  },
  {
    name: 'why',
    summary: 'whether a target would go through the tunnel, and what decides that',
    details: 'The exit code is 1 for a name without an address.',
    arguments: [{ name: '<target>', summary: 'an address, a host name or a URL' }],
    load: async () => (await import('./why.ts')).why,
  },
  {
    name: 'killswitch',
    summary: 'block traffic outside the tunnel',
    fallback: 'status',
    commands: [
      {
        name: 'status',
        summary: 'show whether it blocks',
        marksDemo: false,
        load: async () => (await import('./killswitch.ts')).killSwitchStatus,
      },
      {
        name: 'on',
        summary: 'block',
        details:
          'Over SSH it asks first where the block would cut the session; without a terminal it refuses then. ' +
          'It blocks all users of the machine, also after a restart; turning it off needs an administrator.',
        options: [
          { flags: '--allow-lan', summary: 'leave the local network reachable' },
          { flags: '--force', summary: 'also where it cuts this SSH session' },
          ...KEEP,
        ],
        load: async () => (await import('./killswitch.ts')).killSwitchOn,
      },
      {
        name: 'off',
        summary: 'no longer block',
        options: [CONFIRM_WITHIN],
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
        marksDemo: false,
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
        arguments: [{ name: '<app>', summary: 'its id, as listed', lists: 'apps' }],
        details:
          'Starts the daemon first, where that is needed. Where the local proxy is off, it asks before it changes the mode to proxy, since other traffic then bypasses WARP; without a terminal it refuses. The mode returns where the app does not start.',
        options: [
          { flags: '-y, --yes', summary: 'switch the local proxy on without being asked' },
          { flags: '--shortcut', summary: 'add an entry to the menu of apps' },
          { flags: '--verify', summary: 'refuse unless the proxy is seen to lead through the tunnel' },
        ],
        load: async () => (await import('./apps.ts')).launchApp,
      },
      {
        name: 'shortcut',
        summary: 'an entry in the menu that starts an app through the proxy',
        arguments: [{ name: '[app]', summary: 'its id, as listed', lists: 'apps' }],
        options: [
          { flags: '--remove', summary: 'remove it' },
          { flags: '--remove-all', summary: 'remove all of them; needs no daemon' },
        ],
        load: async () => (await import('./apps.ts')).shortcutApp,
      },
    ],
  },
];
