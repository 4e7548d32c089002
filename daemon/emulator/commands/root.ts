// Defines the commands as data. The pages of 2026.4.1390 are recorded; nested texts
// are those of the generated shell completions of 2025-10.
import type { Command } from '../command-line/grammar.ts';
import { consumer, leaf, listOf, ruled, SWITCH } from './build.ts';
import { DEBUG } from './debug.ts';
import { DNS } from './dns.ts';
import { OVERRIDE } from './override.ts';
import { REGISTRATION } from './registration.ts';
import { TUNNEL } from './tunnel.ts';

const MODES = [
  { name: 'warp', about: 'Establish a tunnel and use normal UDP DNS proxying' },
  { name: 'doh', about: 'Do not establish a tunnel. Only proxy DNS over DoH' },
  { name: 'warp+doh', about: 'Establish a tunnel and use DoH for DNS' },
  { name: 'dot', about: 'Do not establish a tunnel. Only proxy DNS over DoT' },
  { name: 'warp+dot', about: 'Establish a tunnel and use DoT for DNS' },
  { name: 'proxy', about: 'Establish a tunnel for use in a SOCKS5 proxy' },
  { name: 'tunnel_only', about: 'Establish a tunnel and do not proxy DNS' },
];

const TARGET_LIST: Command = {
  name: 'list',
  longHelp: true,
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
    { short: 't', long: 'timeout', value: 'IPCTIMEOUT', about: '', hidden: true },
    { short: 'l', long: 'listen', about: 'Listen for status changes and DNS logs (if enabled)' },
    { long: 'accept-tos', about: 'Accept the Terms of Service agreement' },
    { short: 'v', long: 'verbose', about: 'Enable verbose output. Multiple "v"s adds more verbosity', repeats: true },
    { short: 'j', long: 'json', about: 'Pretty print output as json' },
    { long: 'no-paginate', about: 'Disable automatic pagination' },
    { long: 'no-ansi', about: 'Disable ANSI characters in standard outputs' },
    { short: 'h', long: 'help', about: 'Print help' },
    { short: 'V', long: 'version', about: 'Print version' },
  ],
  subcommands: [
    {
      name: 'api',
      about: '',
      hidden: true,
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
    { name: 'target', about: 'Manage targets', subcommands: [TARGET_LIST] },
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
      optionalSubcommand: true,
      subcommands: [
        {
          ...leaf('enhanced', 'Display enhanced histogram statistics with full distribution data'),
          options: [{ short: 'm', long: 'metric', value: 'METRIC', about: 'Filter metrics by name (fuzzy match)' }],
        },
      ],
    },
    leaf('certs', 'Print all account certificates installed on the device to stdout'),
  ],
};
