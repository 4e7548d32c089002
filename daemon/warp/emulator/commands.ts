// The grouped commands (2024.2 and newer) as data. Pages of 2026.4.1390 and 2024.2.62 are recorded; nested texts
// are those of the generated shell completions of 2025-10.
import type { Argument, Command } from './grammar.ts';

const SWITCH = [{ name: 'ENABLED', values: [{ name: 'enable' }, { name: 'disable' }] }];
const CONSUMER = '2026.3.846';
const consumer = (text: string): [string, string][] => [
  ['0', text],
  [CONSUMER, `${text} (Consumer only)`],
];
const ruled = (text: string): [string, string][] => [
  ['0', `${text} (disabled for Zero Trust customers)`],
  [CONSUMER, `${text} (Consumer only)`],
];
const leaf = (name: string, about: Command['about'] = '', ...args: Argument[]): Command =>
  args.length ? { name, about, args } : { name, about };
const listOf = (value: string): Command[] => [
  leaf('list'),
  leaf('add', '', { name: value }),
  leaf('remove', '', { name: value }),
  leaf('reset'),
];
const overridable = (...args: Argument[]): Command[] => [
  leaf('set', 'Set an override', ...args),
  leaf('reset', 'Remove any configured override'),
];

export const MODES = [
  { name: 'warp', about: 'Establish a tunnel and use normal UDP DNS proxying' },
  { name: 'doh', about: 'Do not establish a tunnel. Only proxy DNS over DoH' },
  { name: 'warp+doh', about: 'Establish a tunnel and use DoH for DNS' },
  { name: 'dot', about: 'Do not establish a tunnel. Only proxy DNS over DoT' },
  { name: 'warp+dot', about: 'Establish a tunnel and use DoT for DNS' },
  { name: 'proxy', about: 'Establish a tunnel for use in a SOCKS5 proxy' },
  { name: 'tunnel_only', about: 'Establish a tunnel and do not proxy DNS' },
];

const DEBUG: Command = {
  name: 'debug',
  about: 'Debugging commands',
  subcommands: [
    leaf('access-reauth', 'Force refresh authentication with Cloudflare Access'),
    leaf('alternate-network', 'Get the name of the currently detected alternate network, if any'),
    leaf('connectivity-check', 'Enable or disable connectivity checks', ...SWITCH),
    leaf('dex', 'Get the most recently uploaded DEX data. Returns the most recent test for each dex metric'),
    leaf('network', 'Display the current network information'),
    leaf('posture', 'Display the most recent device posture information'),
    {
      name: 'pcap',
      about: 'Run a packet capture on the device',
      subcommands: [
        leaf('start', 'Start packet capture', {
          name: 'INTERFACE',
          optional: true,
          about: 'The soon-to-be-deprecated way of specifying the network interface to capture packets from',
        }),
        leaf('stop', 'Stop packet capture'),
      ],
    },
    { ...leaf('speed-test', 'Run a speed test on the device'), since: '2025.10' },
    {
      ...leaf('qlog', 'Enable qlog logging on the tunnel, if supported by the tunnel protocol', ...SWITCH),
      since: '2024.12.554',
    },
    {
      ...leaf('frequent-connection-stats', 'Enable frequent connection stats for the QUIC connection for 1 hour'),
      since: '2026.1',
    },
  ],
};

const DNS: Command = {
  name: 'dns',
  about: 'Configure DNS settings',
  subcommands: [
    { name: 'fallback', about: 'Configure fallback domains', subcommands: listOf('DOMAIN') },
    leaf('families', 'Configure Families Mode settings (Consumer only)', {
      name: 'MODE',
      values: [{ name: 'full' }, { name: 'malware' }, { name: 'off' }],
    }),
    {
      name: 'gateway-id',
      about: 'Force the app to use the specified Gateway ID for DNS queries',
      subcommands: overridable({ name: 'PARAM' }),
    },
    leaf('log', 'Enable/Disable DNS logging', ...SWITCH),
    leaf('stats', 'Retrieve DNS stats for the current connection'),
    leaf('default-fallbacks', 'Display which DNS servers are being used for default fallback'),
  ],
};

const TUNNEL: Command = {
  name: 'tunnel',
  about: 'Configure tunnel settings',
  subcommands: [
    leaf('dump', 'Get split tunnel routing dump. For include-only mode, this shows routes NOT included'),
    { name: 'host', about: 'Configure split tunnel hosts', subcommands: listOf('HOST') },
    {
      name: 'ip',
      about: 'Configure split tunnel IPs',
      subcommands: [
        leaf('list', 'List IP ranges in the split tunnel configuration'),
        ...(
          [
            ['add', 'Add an IP to split tunnel configuration', 'IP', 'ip'],
            ['remove', 'Remove an IP from split tunnel configuration', 'IP', 'ip'],
            ['add-range', 'Add an IP range to split tunnel configuration', 'CIDR', 'range'],
            ['remove-range', 'Remove an IP range from split tunnel configuration', 'CIDR', 'range'],
          ] as const
        ).map(([name, about, value, format]) =>
          leaf(name, about, {
            name: value,
            format,
            about: `A valid IPv4 or IPv6 address${format === 'range' ? ' range' : ''}`,
          }),
        ),
        leaf('reset', 'Reset IP ranges in the split tunnel configuration to default'),
      ],
    },
    leaf('stats', 'Retrieve the stats for the current tunnel connection'),
    leaf('rotate-keys', 'Generate a new key-pair, keeping the current registration'),
    {
      name: 'endpoint',
      about:
        'Force the client to connect to the specified IP:PORT endpoint (Zero Trust customers must run this command as a privileged user)',
      subcommands: overridable({ name: 'SOCKADDR', format: 'endpoint' }),
    },
    {
      name: 'mtu',
      about: 'Set the MTU value of the tunnel',
      hidden: true,
      since: '2024.9.346',
      subcommands: [
        leaf('set', 'Set an override MTU for the tunnel', { name: 'MTU', format: 'number' }),
        leaf('reset', 'Remove any configured MTU override on the tunnel'),
      ],
    },
    {
      name: 'protocol',
      about: 'Modify the preferred tunnel protocol (Consumer only)',
      since: '2024.12.554',
      subcommands: [
        leaf('set', 'Set the preferred tunnel protocol', {
          name: 'PROTOCOL',
          values: [
            { name: 'MASQUE', about: 'Use the MASQUE protocol. This is the default behavior' },
            { name: 'WireGuard', about: 'Use the WireGuard protocol. This is the legacy behavior' },
          ],
        }),
        leaf('reset', 'Reset the preferred tunnel protocol and use the client-provided default'),
      ],
    },
    {
      name: 'masque-options',
      about: 'Modify the MASQUE tunnel protocol options (Consumer only)',
      since: '2025.4.929',
      subcommands: [
        leaf('set', 'Set the preferred MASQUE protocol options', {
          name: 'OPTIONS',
          values: [
            { name: 'h3-only', about: 'Only use MASQUE over HTTP/3 to establish the tunnel' },
            { name: 'h2-only', about: 'Only use MASQUE over HTTP/2 to establish the tunnel' },
            {
              name: 'h3-with-h2-fallback',
              about:
                'Use MASQUE over HTTP/3 to establish the tunnel, falling back to HTTP/2 if HTTP/3 fails ( default )',
            },
          ],
        }),
        leaf('reset', 'Reset the preferred MASQUE protocol options and use the client-provided default'),
      ],
    },
    {
      name: 'pmtud',
      about: 'Configure Path MTU Discovery (PMTUD) for MASQUE tunnels (requires elevated privileges)',
      hidden: true,
      since: '2025.9.558',
      subcommands: [
        leaf('enable', 'Enable Path MTU Discovery (PMTUD) for MASQUE tunnels'),
        leaf('disable', 'Disable Path MTU Discovery (PMTUD) for MASQUE tunnels'),
        leaf('reset', 'Reset PMTUD setting to use the client-provided default'),
      ],
    },
  ],
};

const REGISTRATION: Command = {
  name: 'registration',
  about: 'Registration settings',
  subcommands: [
    leaf('show', 'Show information about the current registration'),
    leaf('new', 'Register this client (Must be run before first connection!)', {
      name: 'ORGANIZATION',
      optional: true,
      about: 'Optional: a Zero Trust organization to join. Defaults to the organization configured via MDM',
    }),
    leaf('delete', 'Delete current registration'),
    { ...leaf('delete-all', 'Delete all registrations for all users and scopes'), hidden: true },
    leaf('organization', 'Get the name of the current Teams organization'),
    leaf('devices', consumer('Display the list of devices associated with the current registration')),
    leaf('license', consumer('Attach the current registration to a different account using a license key'), {
      name: 'KEY',
    }),
    {
      ...leaf('token', 'Used internally by callbacks to return tokens as part of registration', { name: 'URL' }),
      hidden: true,
    },
    {
      ...leaf('initialize-token-callback', 'Registers the browser token callback without actually registering'),
      hidden: true,
    },
  ],
};

const OVERRIDE: Command = {
  name: 'override',
  about: 'Allow temporary overrides of administrative settings',
  argsOrSubcommand: true,
  args: [{ name: 'CODE' }],
  subcommands: [
    leaf('show', 'Return information about any currently applied administrative override'),
    leaf('unlock', 'Temporarily override policies that require the client to stay enabled', { name: 'CODE' }),
    {
      ...leaf('generate', 'Generate admin override code for Teams account (requires admin permissions)', {
        name: 'HOURS',
        format: 'number',
      }),
      hidden: true,
    },
    {
      name: 'local-network',
      about: 'Override settings to access the local area network',
      subcommands: [
        leaf('allow', 'Allow access to the local network, if permitted by settings'),
        leaf('show', 'Return information about any currently applied local network access'),
        leaf('stop', 'Stop any current local network access'),
      ],
    },
  ],
};

const TARGET_LIST: Command = {
  name: 'list',
  about: 'List all available targets accessible by the current user',
  options: [
    [
      'a',
      'attribute',
      'KEY=COMMA_SEPARATED_VALUE',
      'Filter targets that matches exactly the attribute key and comma-separated values specified',
    ],
    ['i', 'id', 'ID', 'Filter targets that matches any of the ID(s)'],
    [undefined, 'ip', 'ADDR', 'Filter targets whose IPv4 or IPv6 exactly matches the value provided'],
    [undefined, 'ip-begins', 'PATTERN', 'Filter targets whose IPv4 or IPv6 addresses begin with the value provided'],
    ['p', 'protocol', 'PROTOCOL', 'Filter targets that matches any of the protocol(s)'],
    ['u', 'username', 'USERNAME', 'Filter targets that matches any of the username(s)'],
    ['n', 'vnet', 'VNET', 'Filter targets that matches any of the VNet(s). VNet names are case-sensitive'],
    [undefined, 'max-items', 'MAX', 'Maximum items to fetch. If `--no-paginate` is present, it takes precedence'],
    [undefined, 'page-id', 'PAGE', 'Pagination ID received from last call'],
    [undefined, 'per-page', 'PAGE', 'Maximum results to include per page'],
    [undefined, 'desc', undefined, 'Order targets in descending order by port'],
  ].map(([short, long, value, about]) => ({ short, long: long!, value, about: about! })),
};

export const ROOT: Command = {
  name: 'warp-cli',
  about: 'CLI to the WARP service daemon',
  options: [
    { short: 't', long: 'timeout', value: 'IPCTIMEOUT', about: '', hidden: true, since: '2024.9.346' },
    { short: 'l', long: 'listen', about: 'Listen for status changes and DNS logs (if enabled)' },
    { long: 'accept-tos', about: 'Accept the Terms of Service agreement' },
    { short: 'v', long: 'verbose', about: 'Enable verbose output. Multiple "v"s adds more verbosity', repeats: true },
    { short: 'j', long: 'json', about: 'Pretty print output as json', since: '2024.9.346' },
    { long: 'no-paginate', about: 'Disable automatic pagination', since: '2024.9.346' },
    { long: 'no-ansi', about: 'Disable ANSI characters in standard outputs', since: '2024.9.346' },
    { short: 'h', long: 'help', about: 'Print help' },
    { short: 'V', long: 'version', about: 'Print version' },
  ],
  subcommands: [
    {
      name: 'api',
      about: '',
      hidden: true,
      since: '2024.9.346',
      subcommands: [
        {
          name: 'endpoint',
          about: 'Set an override endpoint for the WARP API',
          subcommands: [
            leaf('set', 'Set an override IP to use for the Cloudflare API IP', { name: 'ADDR', format: 'ip' }),
            leaf('reset', 'Remove any configured override IP for the Cloudflare API'),
          ],
        },
      ],
    },
    leaf('connect', 'Maintain a connection whenever possible'),
    DEBUG,
    leaf('disconnect', 'Disconnect the client'),
    DNS,
    {
      name: 'environment',
      about: "Configure the WARP Client's compliance environment",
      since: '2025.1',
      subcommands: [
        leaf('set', "Set the client's compliance environment", {
          name: 'ENVIRONMENT',
          values: [
            { name: 'Normal', about: 'Use the normal environment for API and Tunnel communications' },
            { name: 'FedRAMP-High', about: 'Use the FedRAMP High environment for API and Tunnel communications' },
          ],
        }),
        leaf('reset', "Reset the client's compliance environment override"),
      ],
    },
    {
      name: 'mdm',
      about: 'MDM configs',
      subcommands: [
        leaf('get-configs', 'Show information about current MDM configurations'),
        leaf('set-config', 'Apply config from configs found in MDM file', { name: 'CONFIG' }),
        {
          ...leaf('refresh', 'Immediately refresh MDM configuration from the local policy file'),
          since: '2026.4.1350',
        },
      ],
    },
    leaf('mode', "Set the client's general operating mode", { name: 'MODE', values: MODES }),
    OVERRIDE,
    {
      name: 'proxy',
      about: 'Configure proxy mode settings',
      subcommands: [
        leaf('port', 'Override the listening port for proxy mode (127.0.0.1:{port})', { name: 'PORT', format: 'port' }),
      ],
    },
    REGISTRATION,
    {
      name: 'connector',
      about: 'Register a WARP Connector',
      since: '2024.9.346',
      subcommands: [leaf('new', 'Register a new WARP Connector', { name: 'TOKEN' })],
    },
    {
      name: 'settings',
      about: 'Show or alter general application settings',
      argsOrSubcommand: true,
      subcommands: [
        leaf('list', 'Retrieve the current application settings'),
        leaf('reset', 'Restore settings to default'),
        leaf('support-url', 'Get the support url for the current Teams organization'),
        leaf(
          'mode-switch-allowed',
          'Outputs true if Teams users should be able to change connection mode, or false if not',
        ),
      ],
    },
    leaf('status', 'Return the current connection status'),
    { name: 'target', about: 'Manage targets', since: '2024.9.346', subcommands: [TARGET_LIST] },
    {
      name: 'trusted',
      about: 'Configure trusted networks where the client will be automatically disabled (Consumer only)',
      subcommands: [
        {
          name: 'ssid',
          about: consumer('Configure trusted Wi-Fi networks for which the client will be automatically disconnected'),
          subcommands: listOf('SSID'),
        },
        leaf('ethernet', ruled('Automatically disconnect on all ethernet networks'), ...SWITCH),
        leaf('wifi', ruled('Automatically disconnect on all Wi-Fi networks'), ...SWITCH),
      ],
    },
    TUNNEL,
    leaf('vnet', 'Get or specify connected virtual network', { name: 'VNET', optional: true }),
    leaf('generate-completions', 'Generate completions for a given shell and print to stdout', {
      name: 'SHELL',
      values: ['bash', 'elvish', 'fish', 'powershell', 'zsh'].map(name => ({ name })),
    }),
    {
      name: 'stats',
      about: 'Display statistics for Cloudflare WARP',
      since: '2024.9.346',
      optionalSubcommand: true,
      subcommands: [
        {
          ...leaf('enhanced', 'Display enhanced histogram statistics with full distribution data'),
          options: [{ short: 'm', long: 'metric', value: 'METRIC', about: 'Filter metrics by name (fuzzy match)' }],
        },
      ],
    },
    { ...leaf('certs', 'Print all account certificates installed on the device to stdout'), since: '2024.9.346' },
  ],
};
