// Lists the commands that the daemon runs in a table, and parses argv with the table.
import { isIP } from 'node:net';
import { parseArgs } from 'node:util';
import type { Operation, Output } from './answer.ts';
import * as lists from './lists.ts';
import * as registration from './registration.ts';
import { settings } from './settings.ts';
import type { Settings } from './state.ts';
import * as tunnel from './tunnel.ts';
import type { CliGeneration } from './version.ts';

interface Command {
  run: Operation;
  /** True if the command changes nothing and needs no lock. */
  reads?: true;
  argument?: Argument;
  /** The first release with the command. */
  since?: string;
}

interface Argument {
  /** Name to print, as in `<MODE>`. */
  name: string;
  optional?: true;
  /** Allowed values. Without values and a format, any text is allowed. */
  values?: string[];
  format?: 'ip' | 'range' | 'port' | 'endpoint';
}

/** Commands by their words: `tunnel ip add`. */
type Commands = Readonly<Record<string, Command>>;

interface Globals {
  listen: boolean;
  json: boolean;
  acceptTos: boolean;
}

export interface Parsed {
  words: string;
  args: string[];
  globals: Globals;
}

const read = (run: Command['run']): Command => ({ run, reads: true });

/** A command that stores its argument, or a value computed from it, as one setting. */
const set = (key: keyof Settings, argument: Argument, toValue: (text: string) => unknown = text => text): Command => ({
  run: tunnel.setting(key, toValue),
  argument,
});
const clear = (key: keyof Settings): Command => ({ run: tunnel.setting(key, () => null) });

/** Returns the commands that edit a list. */
const edit = (words: string, argument: string, { add, remove, reset }: lists.Edits): Commands => ({
  [`${words} add`]: { run: add, argument: { name: argument } },
  [`${words} remove`]: { run: remove, argument: { name: argument } },
  [`${words} reset`]: { run: reset },
});

const SWITCH: Argument = { name: 'ENABLED', values: ['enable', 'disable'] };
const isEnable = (value: string) => value === 'enable';
const { add: addIp, remove: removeIp, reset: resetIps } = lists.ips;
const IP: Argument = { name: 'IP', format: 'ip' };
const CIDR: Argument = { name: 'CIDR', format: 'range' };

export const COMMANDS: Commands = {
  connect: { run: tunnel.connect },
  disconnect: { run: tunnel.disconnect },
  status: read(tunnel.status),
  mode: {
    run: tunnel.mode,
    argument: { name: 'MODE', values: ['warp', 'doh', 'warp+doh', 'dot', 'warp+dot', 'proxy', 'tunnel_only'] },
  },
  settings: read(settings),
  'settings reset': { run: tunnel.resetSettings },
  'proxy port': set('proxyPort', { name: 'PORT', format: 'port' }, Number),

  'registration show': read(registration.show),
  'registration devices': read(registration.devices),
  'registration new': { run: registration.create, argument: { name: 'ORGANIZATION', optional: true } },
  'registration delete': { run: registration.remove },
  'registration token': { run: registration.token, argument: { name: 'URL' } },
  'registration license': { run: registration.license, argument: { name: 'KEY' } },

  'tunnel stats': read(tunnel.stats),
  'tunnel rotate-keys': { run: registration.rotateKeys },
  'tunnel dump': read(lists.dump),
  'tunnel ip list': read(lists.listIps),
  'tunnel ip add': { run: addIp, argument: IP },
  'tunnel ip remove': { run: removeIp, argument: IP },
  'tunnel ip add-range': { run: addIp, argument: CIDR },
  'tunnel ip remove-range': { run: removeIp, argument: CIDR },
  'tunnel ip reset': { run: resetIps },
  'tunnel host list': read(lists.listHosts),
  ...edit('tunnel host', 'HOST', lists.hosts),
  'tunnel endpoint set': set('endpoint', { name: 'SOCKADDR', format: 'endpoint' }),
  'tunnel endpoint reset': clear('endpoint'),
  'tunnel protocol set': {
    run: tunnel.setProtocol,
    argument: { name: 'PROTOCOL', values: ['MASQUE', 'WireGuard'] },
    since: '2024.12.554',
  },
  'tunnel protocol reset': { ...clear('protocol'), since: '2024.12.554' },
  'tunnel masque-options set': {
    ...set('masque', { name: 'OPTIONS', values: ['h3-only', 'h2-only', 'h3-with-h2-fallback'] }),
    since: '2025.4.929',
  },
  'tunnel masque-options reset': { ...clear('masque'), since: '2025.4.929' },

  'dns families': set('families', { name: 'MODE', values: ['full', 'malware', 'off'] }),
  'dns gateway-id set': set('gatewayId', { name: 'PARAM' }),
  'dns gateway-id reset': clear('gatewayId'),
  'dns log': { run: tunnel.setDnsLog, argument: SWITCH },
  ...edit('dns fallback', 'DOMAIN', lists.fallback),

  'trusted ssid list': read(lists.listSsids),
  ...edit('trusted ssid', 'SSID', lists.ssids),
  'trusted wifi': set('disableForWifi', SWITCH, isEnable),
  'trusted ethernet': set('disableForEthernet', SWITCH, isEnable),

  'override unlock': { run: registration.unlock, argument: { name: 'CODE' } },
  'override local-network allow': { run: registration.allowLocalNetwork },
  'override local-network show': read(registration.showLocalNetwork),
  'override local-network stop': { run: registration.stopLocalNetwork },
  vnet: { run: registration.vnet, argument: { name: 'VNET', optional: true } },
  'environment set': {
    ...set('environment', { name: 'ENVIRONMENT', values: ['Normal', 'FedRAMP-High'] }),
    since: '2025.1',
  },
  'environment reset': { ...clear('environment'), since: '2025.1' },
};

/** Options before the words of a command. After the words, only `no-paginate` and `help` are allowed. */
const OPTIONS = {
  'accept-tos': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean', short: 'j' },
  listen: { type: 'boolean', short: 'l' },
  'no-ansi': { type: 'boolean' },
  'no-paginate': { type: 'boolean' },
  timeout: { type: 'string', short: 't' },
  verbose: { type: 'boolean', short: 'v' },
  version: { type: 'boolean', short: 'V' },
} as const;

/**
 * @param argv without the program
 * @returns the command, or the output of a list of words, a version or an error
 */
export function parse(argv: string[], generation: CliGeneration): Parsed | Output {
  const { tokens } = parseArgs({ args: argv, options: OPTIONS, strict: false, tokens: true });
  const globals: Globals = { listen: false, json: false, acceptTos: false };
  const known = Object.entries(COMMANDS).filter(([, { since }]) => generation.since(since));
  const begins = (words: string) => known.some(([name]) => name === words || name.startsWith(`${words} `));
  const args: string[] = [];
  let words = '';

  for (const token of tokens) {
    if (token.kind === 'option') {
      const { name, rawName, value } = token;
      if (name === 'help') return printed(list(known, words));
      const may = words === '' && Object.hasOwn(OPTIONS, name) && (value === undefined || name === 'timeout');
      if (!may && name !== 'no-paginate') return refused(`unexpected argument '${rawName}' found`, usage());
      if (name === 'version') return printed(`warp-cli ${generation.version}\n`);
      if (name === 'listen') globals.listen = true;
      if (name === 'json') globals.json = true;
      if (name === 'accept-tos') globals.acceptTos = true;
    } else if (token.kind === 'positional') {
      const { value } = token;
      const next = words === '' ? value : `${words} ${value}`;
      const argument = present()?.argument;
      if (value === 'help' && hasSubcommands()) return printed(list(known, words));
      if (args.length === 0 && !value.includes(' ') && begins(next)) words = next;
      else if (argument && args.length === 0) {
        const problem = problemOf(argument, value);
        if (problem !== null) return refused(`invalid value '${value}' for '${placeholder(argument)}'${problem}`);
        args.push(value);
      } else if (hasSubcommands()) return refused(`unrecognized subcommand '${value}'`, usage());
      else return refused(`unexpected argument '${value}' found`, usage());
    }
  }

  const command = present();
  if (!command && words === '' && argv.length > 0)
    return refused("'warp-cli' requires a subcommand but one was not provided", usage());
  if (!command) return { stdout: '', stderr: list(known, words), exitCode: 2 };
  const { argument } = command;
  if (argument && !argument.optional && args.length === 0)
    return refused(
      `the following required arguments were not provided:\n  ${placeholder(argument)}`,
      `Usage: warp-cli ${words} ${placeholder(argument)}`,
    );
  return { words, args, globals };

  function present(): Command | undefined {
    return known.find(([name]) => name === words)?.[1];
  }
  function hasSubcommands(): boolean {
    return words === '' || known.some(([name]) => name.startsWith(`${words} `));
  }
  function usage(): string {
    const argument = present()?.argument;
    const rest = hasSubcommands() ? ' <COMMAND>' : argument ? ` ${placeholder(argument)}` : '';
    return `Usage: warp-cli ${words && `${words} `}[OPTIONS]${rest}`;
  }
}

function list(known: [name: string, Command][], words: string): string {
  const shown = known.filter(([name]) => `${name} `.startsWith(words && `${words} `));
  const lines = shown.map(([name, { argument }]) => `  ${name}${argument ? ` ${placeholder(argument)}` : ''}\n`);
  return `Commands of warp-cli that the emulator knows. Its own: --emulate help\n\n${lines.join('')}`;
}

const placeholder = ({ name, optional }: Argument) => (optional ? `[${name}]` : `<${name}>`);

const printed = (stdout: string): Output => ({ stdout, stderr: '', exitCode: 0 });

function refused(...parts: string[]): Output {
  return {
    stdout: '',
    stderr: `error: ${[...parts, "For more information, try '--help'.\n"].join('\n\n')}`,
    exitCode: 2,
  };
}

/** @returns the reason for a refusal, to print after the argument's name; null for a valid value */
function problemOf({ values, format }: Argument, value: string): string | null {
  if (values) return values.includes(value) ? null : `\n  [possible values: ${values.join(', ')}]`;
  switch (format) {
    case 'ip':
      return isIP(value) ? null : ': invalid IP address syntax';
    case 'range':
      return isRange(value) ? null : ': invalid IP address syntax';
    case 'endpoint':
      return isEndpoint(value) ? null : ': invalid socket address syntax';
    case 'port':
      if (!/^\+?\d+$/.test(value)) return ': invalid digit found in string';
      return Number(value) <= 65535 ? null : `: ${value} is not in 0..=65535`;
    default:
      return null;
  }
}

function isRange(value: string): boolean {
  const [address = '', length, ...more] = value.split('/');
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1;
  return more.length === 0 && length !== undefined && /^\d{1,3}$/.test(length) && Number(length) <= bits;
}

function isEndpoint(value: string): boolean {
  const [, v6, v4, port] = value.match(/^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/) ?? [];
  return (isIP(v6 ?? '') === 6 || isIP(v4 ?? '') === 4) && Number(port) <= 65535;
}
