// Lists the MCP clients: their files, the places of servers in each file, and the names that an entry's fields have there.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errno } from '../../daemon/core/errors.ts';
import { realPath } from '../../daemon/core/files.ts';
import type { Context } from '../context.ts';
import { expandHome, expandVariables } from '../system/notation.ts';
import type { Format } from './documents/document.ts';

/** A client's names for the fields of an entry that other clients call `command`, `env`, `url` and `headers`. */
export type FieldNames = Readonly<Partial<Record<'command' | 'env' | 'url' | 'headers' | 'bearer', string>>>;

interface Client {
  /** Name of the row in output for programs and in the record of originals. */
  client: string;
  name: string;
  /**
   * Path of the file: of this user if it begins with `~/` or a variable (`{NAME:default}`), otherwise below a project's
   * directory. `*` stands for any directory.
   */
  file: string;
  format: Format;
  /** Paths of the tables of servers. `*` stands for any key. */
  places: readonly string[];
  fields?: FieldNames;
  /** References to variables, which the client fills in. */
  reference?: RegExp;
  /** Texts that the client replaces with what it asks the person for. */
  asks?: RegExp;
}

/** A file of a client, which may be missing. */
export interface ClientFile extends Omit<Client, 'file'> {
  file: string;
  /** The file behind symlinks. */
  real: string;
  /** `file`, and other paths of the same file in the record. */
  names: readonly string[];
  /** False if only the record names the file. */
  isListed: boolean;
  /** True if other people share the file, such as the authors of a repository. */
  isShared: boolean;
}

// Forms of a reference to a variable.
const BRACES = /^\$\{\w+(?::-[^}]*)?\}$/;
const ENV = /^\$\{env:\w+\}$/;
const SHELL = /^\$(?:\w+|\{\w+\})$/;
const CURLY = /^\{env:\w+\}$/;

const CONFIG = '{XDG_CONFIG_HOME:~/.config}';

// https://code.claude.com/docs/en/mcp: the scopes user and local are in one file
const CLAUDE = { name: 'Claude Code', format: 'json', reference: BRACES } as const;
// https://cursor.com/docs/mcp
const CURSOR = { name: 'Cursor', format: 'json', places: ['mcpServers'], reference: ENV } as const;
// https://code.visualstudio.com/docs/agents/reference/mcp-configuration; older versions have the servers in settings.json
const CODE = { name: 'VS Code', format: 'json', reference: ENV, asks: /^\$\{input:[^}]*\}$/ } as const;
// https://zed.dev/docs/ai/mcp
const ZED = { name: 'Zed', format: 'json', places: ['context_servers'] } as const;
// https://developers.openai.com/codex/mcp: a bearer token comes from a variable, or as a header
const CODEX = {
  name: 'Codex',
  format: 'toml',
  places: ['mcp_servers'],
  fields: { headers: 'http_headers', bearer: 'bearer_token_env_var' },
} as const;
// https://opencode.ai/v2/docs/mcp-servers; version 1 has the servers directly below `mcp`
const OPENCODE = {
  name: 'OpenCode',
  format: 'json',
  places: ['mcp', 'mcp.servers'],
  fields: { env: 'environment' },
  reference: CURLY,
} as const;
// https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
const COPILOT = { name: 'Copilot CLI', format: 'json', places: ['mcpServers'] } as const;
// https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md
const GEMINI = { name: 'Gemini CLI', format: 'json', places: ['mcpServers'], reference: SHELL } as const;
// https://docs.cline.bot/mcp/adding-and-configuring-servers
const CLINE = { name: 'Cline', format: 'json', places: ['mcpServers'] } as const;

/** The clients. Addresses of their documentation are above; it was read on 2026-11-30. */
export const CLIENTS: readonly Client[] = [
  {
    client: 'claude',
    file: '{CLAUDE_CONFIG_DIR:~}/.claude.json',
    places: ['mcpServers', 'projects.*.mcpServers'],
    ...CLAUDE,
  },
  // https://modelcontextprotocol.io/docs/develop/connect-local-servers
  {
    client: 'claude-desktop',
    name: 'Claude Desktop',
    file: `${CONFIG}/Claude/claude_desktop_config.json`,
    format: 'json',
    places: ['mcpServers'],
  },
  { client: 'cursor', file: '~/.cursor/mcp.json', ...CURSOR },
  { client: 'vscode', file: `${CONFIG}/Code/User/mcp.json`, places: ['servers'], ...CODE },
  { client: 'vscode', file: `${CONFIG}/Code/User/profiles/*/mcp.json`, places: ['servers'], ...CODE },
  { client: 'vscode', file: `${CONFIG}/Code/User/settings.json`, places: ['mcp.servers'], ...CODE },
  { client: 'vscode', file: '~/.vscode-server/data/User/mcp.json', places: ['servers'], ...CODE },
  // https://docs.windsurf.com/windsurf/cascade/mcp
  {
    client: 'windsurf',
    name: 'Windsurf',
    file: '~/.codeium/windsurf/mcp_config.json',
    format: 'json',
    places: ['mcpServers'],
    reference: ENV,
  },
  { client: 'zed', file: `${CONFIG}/zed/settings.json`, ...ZED },
  { client: 'codex', file: '{CODEX_HOME:~/.codex}/config.toml', ...CODEX },
  { client: 'opencode', file: `${CONFIG}/opencode/opencode.json`, ...OPENCODE },
  { client: 'opencode', file: `${CONFIG}/opencode/opencode.jsonc`, ...OPENCODE },
  { client: 'copilot', file: '{COPILOT_HOME:~/.copilot}/mcp-config.json', ...COPILOT },
  { client: 'gemini', file: '{GEMINI_CLI_HOME:~}/.gemini/settings.json', ...GEMINI },
  {
    client: 'cline',
    file: '{CLINE_MCP_SETTINGS_PATH:~/.cline/data/settings/cline_mcp_settings.json}',
    ...CLINE,
  },
  {
    client: 'cline',
    file: `${CONFIG}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`,
    ...CLINE,
  },
  // https://github.com/aaif-goose/goose/blob/main/documentation/docs/guides/config-files.md
  {
    client: 'goose',
    name: 'Goose',
    file: `${CONFIG}/goose/config.yaml`,
    format: 'yaml',
    places: ['extensions'],
    fields: { command: 'cmd', env: 'envs', url: 'uri' },
  },
  // Copilot CLI and VS Code read this file, too
  { client: 'project', file: '.mcp.json', places: ['mcpServers'], ...CLAUDE },
  { client: 'copilot-project', file: '.github/mcp.json', ...COPILOT },
  { client: 'cursor-project', file: '.cursor/mcp.json', ...CURSOR },
  { client: 'vscode-project', file: '.vscode/mcp.json', places: ['servers'], ...CODE },
  { client: 'vscode-project', file: '.vscode/settings.json', places: ['mcp.servers'], ...CODE },
  { client: 'zed-project', file: '.zed/settings.json', ...ZED },
  { client: 'codex-project', file: '.codex/config.toml', ...CODEX },
  { client: 'opencode-project', file: 'opencode.json', ...OPENCODE },
  { client: 'opencode-project', file: 'opencode.jsonc', ...OPENCODE },
  { client: 'opencode-project', file: '.opencode/opencode.json', ...OPENCODE },
  { client: 'opencode-project', file: '.opencode/opencode.jsonc', ...OPENCODE },
  { client: 'gemini-project', file: '.gemini/settings.json', ...GEMINI },
];

/** Rows whose files a record names without the client, as records of earlier versions do. */
const UNNAMED = CLIENTS.find(({ client }) => client === 'project')!;

/**
 * Returns the files of all clients: those of the user, those of the project in the working directory, and recorded ones.
 * @param logins accounts that are logins in a directory, with an environment that points the client to it
 * @param recorded files in which earlier changes are recorded
 */
export function clientFiles(
  { env, cwd }: Pick<Context, 'env' | 'cwd'>,
  logins: readonly { client: string; env: NodeJS.ProcessEnv }[] = [],
  recorded: readonly Recorded[] = [],
): ClientFile[] {
  const files = new Map<string, ClientFile>();
  const add = (row: Client, file: string, isListed = true) => {
    const real = realPath(file);
    if (!files.has(real)) files.set(real, { ...row, file, real, names: [file], isListed, isShared: isOfProject(row) });
  };
  // the user's own files first, because in the home directory a project's file can be the same one
  for (const row of CLIENTS.filter(each => !isOfProject(each)))
    for (const own of [env, ...logins.filter(({ client }) => client === row.client).map(login => login.env)])
      for (const file of matching(expandHome(expandVariables(row.file, own), own))) add(row, file);
  for (const row of CLIENTS.filter(isOfProject)) add(row, join(cwd, row.file));
  for (const { file, client, real = file } of recorded) {
    const rows = CLIENTS.filter(row => row.client === client);
    const name = file.slice(dirname(file).length);
    const target = existsSync(file) ? file : real;
    add(rows.find(row => row.file.endsWith(name)) ?? rows[0] ?? UNNAMED, target, false);
    const own = files.get(realPath(target))!;
    if (!own.names.includes(file)) files.set(own.real, { ...own, names: [...own.names, file] });
  }
  return [...files.values()];
}

/** A file that a record names, with the client's name and the file behind symlinks if the record has them. */
interface Recorded {
  file: string;
  client?: string | undefined;
  real?: string | undefined;
}

function isOfProject({ file }: Client): boolean {
  return !/^(?:~\/|\{)/.test(file);
}

/** Returns the path itself, or the existing files that match its `*`. */
function matching(pattern: string): string[] {
  const [before, after] = pattern.split('/*/', 2);
  if (before === undefined || after === undefined) return [pattern];
  try {
    return readdirSync(before).map(name => join(before, name, after));
  } catch (error) {
    // the file with `*` in its name can't be read either, and is named
    return errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR' ? [] : [pattern];
  }
}
