// Generates the manual page culvert(1) from the command table, in man(7) macros, and writes it with the completions.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULTS, flatten } from '../../config/keys.ts';
import { makeDirectory } from '../../core/files.ts';
import { capitalized } from '../../core/terminal.ts';
import { VERSION } from '../../system/installation.ts';
import type { ArgumentSpec, CommandSpec, OptionSpec } from '../context.ts';
import { CONFIG_KEYS } from '../labels.ts';
import { bash, fish, zsh } from './completions.ts';
import { description, EXIT_CODES, JSON_OPTION, LAUNCHER_OPTIONS, TABLE } from './program.ts';

/** Returns the page, without a date, so that it depends on the source only. */
function manual(version: string): string {
  return `${[
    `.TH CULVERT 1 "" "Culvert ${version}" "User Commands"`,
    '.SH NAME',
    'culvert \\- unofficial client for Cloudflare WARP',
    '.SH SYNOPSIS',
    '.B culvert',
    '[\\fIoptions\\fR]',
    '.br',
    '.B culvert',
    '\\fIcommand\\fR [\\fIarguments\\fR] [\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    text(
      'Without a command, culvert starts the daemon, the tray and the panel, or shows them if they are already running.',
    ),
    text('A command talks to the running daemon over its Unix socket.'),
    text(
      'Culvert is neither made nor endorsed by Cloudflare. It is not the forward proxy or the debug tool of the same name.',
    ),
    '.SH OPTIONS',
    ...LAUNCHER_OPTIONS.flatMap(option),
    '.SH COMMANDS',
    text('Every command takes'),
    `.BR ${text(JSON_OPTION.flags)} :`,
    text(
      `${JSON_OPTION.summary}. Data goes to standard output, messages and errors to standard error; with --json, an error is the JSON on standard output, with "ok":false, and only run writes it to standard error.`,
    ),
    ...TABLE.flatMap(({ title, commands }) => [`.SS ${text(title)}`, ...commands.flatMap(c => command(c, 'culvert'))]),
    '.SH CONFIGURATION',
    text(
      'The layers, lowest first: defaults, /etc/culvert/config.json, ~/.config/culvert/config.json, the environment, ' +
        'the session (culvert config set --session). The variable of a key is CULVERT_ and the key in upper snake case: ' +
        'CULVERT_SERVER_PORT. CULVERT_WEBUI=1 switches the browser page on.',
    ),
    ...flatten(DEFAULTS).flatMap(([key, value]) => [
      '.TP',
      `.B ${text(key)}`,
      text(`${capitalized(CONFIG_KEYS[key as keyof typeof CONFIG_KEYS])}. Default: ${value === '' ? 'none' : value}.`),
    ]),
    '.SH LOCKED OUT',
    text(
      'The kill switch keeps blocking when Culvert does not start. culvert killswitch reads its state without a daemon, ' +
        'and culvert killswitch off, pause and resume ask the root service directly. The root service reverts an ' +
        'unconfirmed change, whether the daemon runs or not. If these commands do not run either:',
    ),
    ...WAYS_OUT.flatMap(([line, summary]) => ['.TP', `.B ${text(line)}`, text(summary)]),
    '.SH EXIT STATUS',
    ...EXIT_CODES.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, text(meaning)]),
    '.SH ENVIRONMENT',
    '.TP',
    '.B NO_COLOR',
    text('If set, the output has no colors.'),
    '.TP',
    '.B CULVERT_*',
    text('Configuration keys; see CONFIGURATION. They apply to the daemon that is started with them.'),
    '.TP',
    '.B XDG_RUNTIME_DIR, XDG_STATE_HOME, XDG_CONFIG_HOME',
    text(
      'Directories of the socket, the state and the configuration; without XDG_RUNTIME_DIR the socket is below XDG_STATE_HOME.',
    ),
    '.TP',
    '.B DISPLAY, WAYLAND_DISPLAY',
    text('Without either, tray and panel are not started.'),
    '.SH REPAIRS AS ROOT',
    text(AS_ROOT),
    '.SH FILES',
    ...FILES.flatMap(([file, summary]) => ['.TP', `.I ${text(file)}`, text(summary)]),
    '.SH EXAMPLES',
    ...EXAMPLES.flatMap(([line, summary]) => ['.TP', `.B ${text(line)}`, text(summary)]),
    '.SH SEE ALSO',
    '.BR culvert\\-doctor (1),',
    '.BR culvert\\-network (1),',
    '.BR culvert\\-portal (1),',
    '.BR culvert\\-run (1),',
    '.BR culvert\\-trust (1),',
    '.BR culvert-wrap (1),',
    '.BR culvert\\-killswitch (8),',
    '.BR warp-cli (1)',
  ].join('\n')}\n`;
}

const FILES = [
  ['~/.config/culvert/config.json', 'Your configuration.'],
  ['~/.config/culvert/networks.toml', 'Your rules for networks.'],
  ['$XDG_RUNTIME_DIR/culvert/api.sock', 'The socket of the API; open to you alone.'],
  ['/var/lib/culvert-repair/undo.json', 'Changes that root made for culvert doctor fix, and how they are undone.'],
  ['$XDG_STATE_HOME/culvert/token', 'The bearer token for requests from other machines.'],
] as const;

const AS_ROOT =
  'On a terminal, and where a package installed culvert-repair, culvert doctor fix and culvert doctor undo run it with sudo (or pkexec) for changes of a fixed list: starting or restarting warp-svc, turning IPv6 off on interfaces, stopping a DNS server on port 53, limiting dnsmasq, reverting the DNS of a link, and correcting /etc/resolv.conf. Each is remembered in /var/lib/culvert-repair first. Everything else that needs root is printed as commands, and never run.';

const WAYS_OUT = [
  ['sudo busctl call org.culvert.KillSwitch1 /org/culvert/KillSwitch1 org.culvert.KillSwitch1 Disable', 'Turn it off.'],
  ['sudo culvert-killswitch-remove', 'Remove the root service, its settings and the rules.'],
  ['sudo nft delete table inet culvert', 'Remove the rules if the root service does not run.'],
] as const;

const EXAMPLES = [
  ['culvert connect --wait && git push', 'Connect, then push once the tunnel is up.'],
  ['culvert status --check || notify-send "WARP is off"', 'Show a notification if the tunnel is not connected.'],
  ['culvert routes export routes.txt', 'Write the routes to a file that culvert routes import reads.'],
  ['pass warp-license | culvert account license', 'Apply a license key without showing it.'],
] as const;

function command(spec: CommandSpec, parent: string): string[] {
  const path = `${parent} ${spec.name}`;
  if (spec.aliasOf) return ['.TP', `.B ${text(path)}`, text(description(spec))];
  if (spec.commands) {
    const fallback = spec.fallback ? ` Alone it means ${path} ${spec.fallback}.` : '';
    const head = ['.TP', `.B ${text(path)}`, text(`${description(spec)}${fallback}`)];
    return [...head, '.RS', ...spec.commands.flatMap(child => command(child, path)), '.RE'];
  }
  const words = (spec.arguments ?? []).map(({ name }) => text(name)).join(' ');
  const list = (spec.arguments ?? []).flatMap(wordsOf);
  const options = (spec.options ?? []).flatMap(option);
  const inner = list.length || options.length ? ['.RS', ...list, ...options, '.RE'] : [];
  return ['.TP', `.B ${text(path)}${words ? ` \\fI${words}\\fR` : ''}`, text(description(spec)), ...inner];
}

function wordsOf({ words }: ArgumentSpec): string[] {
  const keys = words === CONFIG_KEYS ? [] : Object.entries(words ?? {}); // the keys have their own section
  return keys.flatMap(([word, summary]) => ['.TP', `.B ${text(word)}`, text(summary)]);
}

function option({ flags, summary }: OptionSpec): string[] {
  return ['.TP', `.B ${text(flags)}`, text(summary)];
}

/** Escapes text as in groff_man(7): hyphens that people copy, and characters that would start a request. */
function text(words: string): string {
  return words
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/~/g, '\\(ti')
    .replace(/\^/g, '\\(ha')
    .replace(/^(?=[.'])/gm, '\\&');
}

/**
 * Writes `culvert.1`, `culvert.bash`, `_culvert` (zsh) and `culvert.fish` into a directory, and creates it if needed.
 * @returns the file names
 */
export async function generate(directory: string): Promise<string[]> {
  const files = { 'culvert.1': manual(VERSION), 'culvert.bash': bash(), _culvert: zsh(), 'culvert.fish': fish() };
  makeDirectory(directory, 0o777);
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return Object.keys(files);
}
