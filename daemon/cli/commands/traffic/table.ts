// Defines the commands that decide which traffic uses the tunnel, for the command table.
import { type ArgumentSpec, type CommandSpec, FORCE } from '../../context.ts';
import { CONFIRM_WITHIN, KEEP } from '../../keep.ts';

const entries: ArgumentSpec = { name: '<entry...>', summary: 'an IP address, a CIDR range or a host name' };

export const TRAFFIC_COMMANDS: readonly CommandSpec[] = [
  { name: 'split', summary: 'alias of routes; its import only adds', aliasOf: 'routes' },
  {
    name: 'routes',
    summary: 'sites and networks that bypass WARP (split tunnel)',
    details:
      'The list is a document: "mode exclude" (these bypass WARP) or "mode include" (only these use WARP), then one address, range or host on each line: 10.0.0.0/8, 10.0.0.1-10.0.0.9, 10.0.0.0/8 - 10.1.2.0/24, *.example.com. # begins a comment. On a terminal, a change reverts after 30 seconds unless you keep it; --yes keeps it without asking. A script needs --yes or --confirm-within to import a document that drops entries.',
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
        load: async () => (await import('./routes.ts')).list,
      },
      {
        name: 'diff',
        summary: 'show what a document would change, with mistakes and warnings; exit status 1 if anything differs',
        arguments: [{ name: '[file]', summary: 'the document; default: stdin', files: true }],
        load: async () => (await import('./routes.ts')).diff,
      },
      {
        name: 'edit',
        summary: 'edit the document in your editor ($VISUAL or $EDITOR)',
        options: KEEP,
        load: async () => (await import('./routes-change.ts')).edit,
      },
      {
        name: 'import',
        summary: 'replace the list with a document; entries that are not in it are removed',
        arguments: [{ name: '[file]', summary: 'the document; default: stdin', files: true }],
        options: [{ flags: '--add', summary: 'only add its entries; nothing is removed' }, ...KEEP],
        load: async () => (await import('./routes-change.ts')).importDocument,
      },
      {
        name: 'export',
        summary: 'write the document as it was set, comments included',
        arguments: [{ name: '[file]', summary: 'the file; default: stdout', files: true }],
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
            summary:
              'entries of this machine: lan, docker, podman, libvirt, kubernetes, tailscale; ssh: who is logged in over SSH',
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
        load: async () => (await import('./routes.ts')).reset,
      },
      {
        name: 'undo',
        summary: 'go back to the previous document; repeat to go further back',
        options: KEEP,
        load: async () => (await import('./routes-change.ts')).undo,
      },
      {
        name: 'history',
        summary: 'list the last 20 documents, or print one',
        arguments: [{ name: '[number]', summary: 'number of a document, as listed' }],
        load: async () => (await import('./routes.ts')).history,
      },
      {
        name: 'presets',
        summary: 'list entries for the networks and SSH sessions of this machine',
        load: async () => (await import('./routes.ts')).presets,
      },
      {
        name: 'simplify',
        summary: 'print the shortest equivalent document',
        arguments: [{ name: '[file]', summary: 'the document; default: the current list', files: true }],
        load: async () => (await import('./routes.ts')).simplify,
      },
    ],
  },
  {
    name: 'why',
    summary: 'show whether a site or address uses WARP, and why',
    details: 'The exit status is 1 for a name without an address.',
    arguments: [{ name: '<target>', summary: 'an address, a host name or a URL' }],
    load: async () => (await import('./routes.ts')).why,
  },
  {
    name: 'network',
    summary: 'the networks that this machine is on, and rules for them',
    details:
      'The rules are a TOML document with a table [[network]] for each: a name, the networks that it is for, and what holds there. For: ssid, security (open, wep, psk, enterprise), uuid (of NetworkManager), gateway and bssid (hardware addresses), beacon = {address = "HOST:PORT", sha256 = "HEX"}, or any = "unknown-wifi", "ethernet" or "no-rule". Holds: warp = "connect" or "pause", mode, protocol, kill_switch = true, routes (a preset). The first rule that names a network counts, then those with any. On several networks, the stricter rule counts. What you do by hand holds until the network changes; what a rule lowered returns when its network is left. Names and addresses can be copied by anyone: a rule that lowers the protection on such a network asks once. Without rules nothing is watched, and nothing but a beacon is ever contacted.',
    fallback: 'show',
    commands: [
      {
        name: 'show',
        summary: 'list the links that are up, and what the rules do here',
        load: async () => (await import('./network.ts')).print,
      },
      {
        name: 'rules',
        summary: 'list the rules, and how reliably each network is recognized',
        load: async () => (await import('./network.ts')).rules,
      },
      {
        name: 'edit',
        summary: 'edit the rules in your editor ($VISUAL or $EDITOR)',
        options: KEEP,
        load: async () => (await import('./network.ts')).edit,
      },
      {
        name: 'apply',
        summary: 'replace the rules with a document',
        arguments: [{ name: '[file]', summary: 'the document; default: stdin', files: true }],
        options: KEEP,
        load: async () => (await import('./network.ts')).applyFile,
      },
      {
        name: 'export',
        summary: 'write the rules as a document',
        load: async () => (await import('./network.ts')).exportRules,
      },
      {
        name: 'what-if',
        summary: 'show what the rules would do on another network; without options, on this one',
        options: [
          { flags: '--ssid <name>', summary: 'a Wi-Fi network with this name' },
          { flags: '--unknown', summary: 'a Wi-Fi network that no rule names' },
          { flags: '--ethernet', summary: 'a wired network' },
          { flags: '--security <kind>', summary: 'open, wep, psk or enterprise' },
          { flags: '--uuid <id>', summary: 'a connection of NetworkManager' },
          { flags: '--gateway <address>', summary: 'hardware address of its gateway' },
          { flags: '--bssid <address>', summary: 'hardware address of its access point' },
          {
            flags: '--beacon [address]',
            summary: 'as if the beacon at HOST:PORT, or any, answered with the right key',
          },
        ],
        load: async () => (await import('./network.ts')).whatIf,
      },
      {
        name: 'allow',
        summary: 'let a rule lower the protection although anyone can copy what identifies its network',
        arguments: [{ name: '<rule>', summary: 'name of the rule' }],
        options: [{ flags: '--once', summary: 'only until the network changes' }],
        load: async () => (await import('./network.ts')).allow,
      },
      {
        name: 'refuse',
        summary: 'do not let a rule lower the protection, and do not ask again',
        arguments: [{ name: '<rule>', summary: 'name of the rule' }],
        load: async () => (await import('./network.ts')).refuse,
      },
      {
        name: 'beacon',
        summary: 'make a TLS server that proves your network, or ask one for its certificate',
        details:
          "The key of a beacon can't be copied from outside, so a rule with one never asks. With an address, it prints the SHA-256 of the certificate. Exit status 1 if that is not the one you gave.",
        arguments: [
          { name: '[address]', summary: 'HOST:PORT of a beacon to ask' },
          { name: '[sha256]', summary: 'SHA-256 of the certificate that it should have' },
        ],
        options: [
          { flags: '--make <directory>', summary: 'write a key, a certificate and a systemd unit that serves it' },
          { flags: '--port <n>', summary: 'port of the new server; default: 8443' },
        ],
        load: async () => (await import('./network.ts')).beacon,
      },
      {
        name: 'revert',
        summary: 'revert what rules did here; they do nothing more until the network changes',
        load: async () => (await import('./network.ts')).revert,
      },
    ],
  },
  {
    name: 'portal',
    summary: 'sign in to a network with a login page',
    details:
      'Asks three pages over plain HTTP whether this network has a login page, and opens that page in a browser with a profile of its own. WARP is paused meanwhile, for five minutes or as long as --minutes says, and comes back automatically. With the kill switch on, an administrator is asked, for --check too, and only that browser gets out, through a helper of the root service; everything else stays blocked. The exit status is 1 where the network still asks for a login, or no page answers.',
    options: [
      { flags: '--check', summary: 'only say whether there is a login page' },
      { flags: '--open', summary: 'open a page even where no login page is found' },
      { flags: '--minutes <number>', summary: 'time for the login, up to 15; default: 5' },
    ],
    load: async () => (await import('./portal.ts')).portal,
  },
  {
    name: 'killswitch',
    summary: 'block traffic outside the tunnel',
    fallback: 'status',
    commands: [
      {
        name: 'status',
        summary: 'show whether the kill switch is on, and whether it blocks',
        marksDemo: false,
        load: async () => (await import('./killswitch.ts')).killSwitchStatus,
      },
      {
        name: 'on',
        summary: 'turn the kill switch on',
        details:
          'Over SSH, it asks first if the block would cut the session off; without a terminal, it refuses. ' +
          'It applies to all users of the machine, even after a restart; turning it off needs an administrator.',
        options: [
          { flags: '--allow-lan', summary: 'keep the local network reachable' },
          { flags: '--force', summary: 'turn it on even if it cuts this SSH session off' },
          ...KEEP,
        ],
        load: async () => (await import('./killswitch.ts')).killSwitchOn,
      },
      {
        name: 'off',
        summary: 'turn the kill switch off',
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
        summary: 'end the pause',
        load: async () => (await import('./killswitch.ts')).killSwitchResume,
      },
      {
        name: 'blocked',
        summary: 'show what was blocked, and why',
        details:
          'Lists the destinations of the last ten minutes: the program, its destination, how many packets, since when, and the rule. ' +
          'Nothing is recorded until someone looks: the first look starts the recording, which ends a minute after the last one. ' +
          'The setting warp.recordBlocked keeps it on. Users see what was blocked of their own programs; root sees all.',
        options: [{ flags: '-w, --watch', summary: 'print a line whenever something is blocked, until Ctrl+C' }],
        marksDemo: false,
        load: async () => (await import('./killswitch.ts')).killSwitchBlocked,
      },
      {
        name: 'installer',
        summary: 'print the script that installs the root service',
        details: 'Run it as root: culvert killswitch installer | sudo sh',
        marksDemo: false,
        load: async () => (await import('./killswitch.ts')).killSwitchInstaller,
      },
    ],
  },
  {
    name: 'run',
    summary: 'run a command that uses the tunnel only, or bypasses it',
    details:
      'The command has the terminal, the environment, the directory, the signals and the exit status that it would have alone. ' +
      'It needs the root service of the kill switch, and systemd. Processes that other programs start for the command are not ' +
      'included: those of D-Bus, containers, Flatpak and snap, or of a browser that already runs.\n\n' +
      'With --tunnel-only, the command has no network while the tunnel is down, and none where a destination is excluded from it. This ' +
      'machine itself stays reachable, and so does every proxy that runs on it: that of WARP, and one that sends outside the tunnel, such ' +
      'as Tor or ssh -D. Its names are asked of WARP alone, which looks up none in the mode tunnel_only: there it can only ask a name server that ' +
      'the tunnel reaches. That needs version 2 of control groups. A test runs first, confined in the same way. ' +
      'A command that joins a multicast group, as for mDNS or casting, has the kernel report the address of the group on the link itself. ' +
      'A command that means to leave can do so as its user can: by another program, or in a network namespace of that user.\n\n' +
      'With --outside, the command uses the network as if WARP were not there, and asks its resolver for names. This machine ' +
      'itself is not reachable, and sudo does not work in it: use sudo culvert run. It is refused while the kill switch is on, unless ' +
      'an administrator lists the path of the program, and of each one that it starts, in /etc/culvert/outside-programs, and ' +
      'where an organization manages WARP.\n\n' +
      'What the command lacks there, or what is not kept in the tunnel, is said on stderr: at a terminal, or as JSON with --json.',
    arguments: [{ name: '<command...>', summary: 'the command and its arguments' }],
    options: [
      { flags: '--tunnel-only', summary: 'send nothing outside the tunnel' },
      { flags: '--outside', summary: 'send nothing through the tunnel' },
    ],
    wrapsCommand: true,
    marksDemo: false,
    load: async () => (await import('./run.ts')).run,
  },
  {
    name: 'apps',
    summary: 'start apps through the local proxy, only through the tunnel, or outside it',
    fallback: 'list',
    commands: [
      {
        name: 'list',
        summary: 'list the apps of this desktop',
        load: async () => (await import('./apps.ts')).listApps,
      },
      {
        name: 'launch',
        summary: 'start an app through the local proxy, only through the tunnel, or outside it',
        arguments: [{ name: '<app>', summary: 'id of the app, as listed by culvert apps', lists: 'apps' }],
        details:
          'Starts the daemon first if needed. If the local proxy is off, it asks before it changes the mode to proxy, because other traffic then bypasses WARP; without a terminal, it refuses. If the app does not start, the mode is reverted. Otherwise the mode stays, even after the app ends. culvert mode changes it.',
        options: [
          { flags: '-y, --yes', summary: 'switch the local proxy on without asking' },
          { flags: '--shortcut', summary: 'add an entry to the menu of apps' },
          { flags: '--tunnel-only', summary: 'not through the proxy: send nothing outside the tunnel' },
          { flags: '--outside', summary: 'not through the proxy: send nothing through the tunnel' },
          { flags: '--verify', summary: 'refuse unless a request through the proxy uses the tunnel' },
        ],
        load: async () => (await import('./apps.ts')).launchApp,
      },
      {
        name: 'shortcut',
        summary: 'add a menu entry that starts an app in one of these ways',
        arguments: [{ name: '[app]', summary: 'id of the app, as listed by culvert apps', lists: 'apps' }],
        options: [
          { flags: '--tunnel-only', summary: 'of the entry that starts it only through the tunnel' },
          { flags: '--outside', summary: 'of the entry that starts it outside the tunnel' },
          { flags: '--remove', summary: 'remove the entry' },
          { flags: '--remove-all', summary: 'remove all of them; needs no daemon' },
        ],
        load: async () => (await import('./apps.ts')).shortcutApp,
      },
    ],
  },
];
