// Plants secrets in the files of a user that tools and shells read, to be looked for where they must not be.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const SECRET = 'canary-5e81d0c7';

/** Files in which clients of MCP keep servers with their keys. */
const MCP_CLIENTS = [
  '.claude.json',
  '.config/Claude/claude_desktop_config.json',
  '.cursor/mcp.json',
  '.gemini/settings.json',
];

/**
 * Files below the home, for a host. No file ends its last line, so that a difference touches it; the secrets are around the
 * places where a setting is added.
 */
export const FILES = (host: string): Record<string, string> => ({
  '.curlrc': `user = "me:${SECRET}"`,
  '.netrc': `machine ${host.split(':')[0]} login me password ${SECRET}\ndefault login me password ${SECRET}`,
  '.gitconfig': `[http]\n\textraHeader = "Authorization: Bearer ${SECRET}"\n\tuserAgent = ${SECRET}`,
  '.npmrc': `//${host}/:_authToken=${SECRET}\nuser-agent=${SECRET}`,
  '.wgetrc': `header = Authorization: Bearer ${SECRET}\nuser_agent = ${SECRET}`,
  '.config/pip/pip.conf': `[global]\nindex-url = https://me:${SECRET}@${host}/simple\n[install]\nextra-index-url = https://me:${SECRET}@${host}/simple`,
  '.cargo/config.toml': `[http]\nuser-agent = "${SECRET}"\n[registry]\ntoken = "${SECRET}"`,
  '.cargo/credentials.toml': `[registry]\ntoken = "${SECRET}"`,
  '.config/uv/uv.toml': `[[index]]\nurl = "https://me:${SECRET}@${host}/simple"\ndefault = true`,
  '.profile': `export A_TOKEN=${SECRET}`,
  '.bash_profile': `export A_TOKEN=${SECRET}`,
  '.zprofile': `export A_TOKEN=${SECRET}`,
  '.config/fish/config.fish': `set -gx A_TOKEN ${SECRET}`,
  '.config/culvert-wrap/config.toml': `[[accounts]]\ncli = "firecrawl"\nname = "planted"\nenv = { FIRECRAWL_API_KEY = "command:get ${SECRET}" }\n# ${SECRET}`,
  '.config/culvert-wrap/secrets/firecrawl.env': `planted/FIRECRAWL_API_KEY=${SECRET}`,
  '.config/culvert-wrap/providers.toml': `[providers.firecrawl]\nbin = "firecrawl" # ${SECRET}`,
  '.local/share/applications/mine.desktop': `[Desktop Entry]\nType=Application\nName=Planted\nExec=curl --user me:${SECRET} https://me:${SECRET}@${host}/\n# ${SECRET}`,
  '.config/autostart/mine.desktop': `[Desktop Entry]\nType=Application\nName=Planted\nExec=curl --user me:${SECRET}`,
  ...Object.fromEntries(MCP_CLIENTS.map(file => [file, JSON.stringify({ mcpServers: { a: { env: { A: SECRET } } } })])),
});

/** Variables of the same kind. */
export const VARIABLES = (host: string): Record<string, string> => ({
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'http.extraHeader',
  GIT_CONFIG_VALUE_0: `X-Variable: ${SECRET}`,
  PIP_EXTRA_INDEX_URL: `https://me:${SECRET}@${host}/simple`,
  UV_INDEX_URL: `https://me:${SECRET}@${host}/simple`,
  CARGO_REGISTRY_TOKEN: SECRET,
  [`npm_config_//${host}/:_authToken`]: SECRET,
});

/** Writes the files. @returns their paths */
export function plant(home: string, host: string): string[] {
  return Object.entries(FILES(host)).map(([name, text]) => {
    const file = path.join(home, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  });
}

/** True where a text has the secret, or has it within Base64 or a part of an address. */
export function hasSecret(text: string): boolean {
  const encoded = text.match(/[A-Za-z0-9+/]{16,}={0,2}/g) ?? [];
  return [text, ...encoded.map(each => Buffer.from(each, 'base64').toString('latin1'))].some(each =>
    each.includes(SECRET),
  );
}
