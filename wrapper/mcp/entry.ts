// Says which MCP server a command line starts, and what its errors mean. Pure.
import type { Catalog } from '../catalog/catalog.ts';
import type { McpServer, Provider } from '../catalog/provider.ts';
import { cooldownOf, type Verdict } from '../run/rules/classify.ts';
import { USER_PATTERN_MS, withTimeLimit } from '../run/rules/regex-limit.ts';

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

function names(word: string, name: string): boolean {
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

/**
 * The verdict about the text of an error, or `undefined` where it says nothing about the account.
 * A pattern is tried at the start of the text only: what follows may quote a page.
 */
export function verdictOf(
  text: string,
  { rules }: Pick<McpServer, 'rules'>,
): (Verdict & { kind: 'retry' }) | undefined {
  const start = text.slice(0, 4_000);
  return withTimeLimit(
    USER_PATTERN_MS,
    () => {
      for (const rule of rules) {
        const match = new RegExp(rule.text).exec(start);
        if (!match) continue;
        const rest = cooldownOf(rule, rule.class, match, '');
        return { kind: 'retry', class: rule.class, rest, text: match[0].slice(0, 200), scope: rule.scope };
      }
      return undefined;
    },
    undefined,
  );
}
