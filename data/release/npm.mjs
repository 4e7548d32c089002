// Prints package.json of an npm package that npm.sh makes: node data/release/npm.mjs wrap|manifest DIRECTORY
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const json = file => JSON.parse(readFileSync(join(root, file), 'utf8'));
const { version, license, engines } = json('package.json');
const { homepage } = json('data/project.json');

const part = 'Part of Culvert, an unofficial client for Cloudflare WARP; not of the proxy or debug tool of this name';

const packages = {
  wrap: {
    description: `Several accounts for a command-line tool or MCP server: after a limit or a refused key the next one takes over. ${part}`,
    keywords: ['api-key', 'failover', 'rotation', 'rate-limit', 'quota', 'mcp', 'cli', 'firecrawl', 'tavily'],
  },
  manifest: {
    description: `Makes, signs and verifies the manifest of a release: its artifacts with size and SHA-256. ${part}`,
    keywords: ['release', 'manifest', 'signature', 'ed25519', 'minisign', 'sha256', 'checksum'],
  },
};

const [program, directory] = process.argv.slice(2);
const manual = 'share/man/man1';
const name = `culvert-${program}`;
console.log(
  JSON.stringify(
    {
      name,
      version,
      ...packages[program],
      homepage,
      license,
      os: ['linux'],
      engines,
      bin: { [name]: `bin/${name}` },
      man: readdirSync(join(directory, manual))
        .sort()
        .map(page => `${manual}/${page}`),
    },
    null,
    2,
  ),
);
