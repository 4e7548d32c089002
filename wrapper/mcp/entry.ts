// Says which MCP server a command line starts, and which versions of it the catalog knows. Pure.
import type { Catalog } from '../catalog/catalog.ts';
import type { McpServer, Provider } from '../catalog/provider.ts';

export interface Entry {
  cli: string;
  provider: Provider;
  server: McpServer;
}

/**
 * The catalog's entry for a server: `npx -y tavily-mcp@latest`, `/usr/bin/tavily-mcp`, or `node …/tavily-mcp/build/index.js`.
 * The name of the package must be a word, or a part of a path, of its own.
 */
export function entryFor(command: readonly string[], { providers }: Pick<Catalog, 'providers'>): Entry | undefined {
  for (const [cli, provider] of Object.entries(providers)) {
    for (const server of provider.mcp) {
      if (command.some(word => names(word, server.package))) return { cli, provider, server };
    }
  }
  return undefined;
}

/** Reports whether a word of a command line starts a package. */
export function names(word: string, name: string): boolean {
  if (word === name || word.startsWith(`${name}@`)) return true;
  return word.startsWith('-') ? word.endsWith(`=${name}`) : word.endsWith(`/${name}`) || word.includes(`/${name}/`);
}

/** Reports whether the catalog knows the errors of this version. */
export function isTested({ versions: { from, below } }: McpServer, version: string): boolean {
  return compare(version, from) >= 0 && compare(version, below) < 0;
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map(version => version.split(/[-+]/)[0]!.split('.').map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (left![index] ?? 0) - (right![index] ?? 0);
    if (difference !== 0 || Number.isNaN(difference)) return Number.isNaN(difference) ? -1 : difference;
  }
  return 0;
}
