// The catalog's MCP servers: which command line starts one, and which sentences are its errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalog } from '../../../wrapper/catalog/catalog.ts';
import { entryFor, isTested } from '../../../wrapper/mcp/entry.ts';
import { verdictOf } from '../../../wrapper/run/rules/mcp-errors.ts';
import { missing } from '../../support/temporary.ts';

const shipped = fileURLToPath(new URL('../../../wrapper/catalog/providers.toml', import.meta.url));
const catalog = loadCatalog(shipped, missing(test));

test('a server is recognized by the name of its package as a word of its own', () => {
  const cliOf = (...command: string[]) => entryFor(command, catalog)?.cli;
  assert.equal(cliOf('npx', '-y', 'tavily-mcp'), 'tvly');
  assert.equal(cliOf('npx', '-y', 'tavily-mcp@0.2.22'), 'tvly');
  assert.equal(cliOf('npx', '--package=firecrawl-mcp', 'x'), 'firecrawl');
  assert.equal(cliOf('/usr/local/bin/firecrawl-mcp'), 'firecrawl');
  assert.equal(cliOf('node', '/opt/node_modules/tavily-mcp/build/index.js'), 'tvly');
  assert.equal(cliOf('npx', 'my-tavily-mcp'), undefined);
  assert.equal(cliOf('npx', 'tavily-mcp-fork'), undefined);
});

test('versions are compared number by number, and one that is no version is untested', () => {
  const { server } = entryFor(['tavily-mcp'], catalog)!;
  const tested = ['0.2.0', '0.2.22', '0.2.3-beta.1', '0.2'];
  const others = ['0.1.9', '0.3.0', '1.0.0', 'latest', ''];
  for (const version of tested) assert.equal(isTested(server, version), true, version);
  for (const version of others) assert.equal(isTested(server, version), false, version);
});

test('the sentences of each server have their classes', () => {
  const verdict = (name: string, text: string) => verdictOf(text, entryFor([name], catalog)!.server);
  const classes: [name: string, text: string, expected: string | undefined][] = [
    ['tavily-mcp', 'Tavily API error: {"error":"This request exceeds your plan\'s set usage limit."}', 'quota'],
    ['tavily-mcp', 'Tavily API error: {"error":"This request exceeds the pay-as-you-go limit."}', 'quota'],
    ['tavily-mcp', 'Tavily API error: {"error":"Unauthorized: missing or invalid API key."}', 'auth'],
    ['tavily-mcp', 'Invalid API key. Documentation: https://docs.tavily.com', 'auth'],
    ['tavily-mcp', 'Tavily API error: Your request has been blocked due to excessive requests.', 'rate'],
    ['tavily-mcp', 'Tavily API error: {"error":"Query is missing."}', undefined],
    ['tavily-mcp', "x\nTavily API error: This request exceeds your plan's set usage limit", undefined],
    ['firecrawl-mcp', "Tool 'firecrawl_search' execution failed: Insufficient credits to perform this", 'quota'],
    ['firecrawl-mcp', "Tool 'firecrawl_search' execution failed: Request failed with status code 402", 'quota'],
    ['firecrawl-mcp', "Tool 'firecrawl_search' execution failed: Request failed with status code 500", undefined],
    ['firecrawl-mcp', "Tool 'firecrawl_search' execution failed: Unauthorized: Invalid token", 'auth'],
    ['firecrawl-mcp', "Tool 'firecrawl_map' execution failed: Rate limit exceeded. please retry after 23s", 'rate'],
    ['firecrawl-mcp', 'Insufficient credits', undefined],
  ];
  for (const [name, text, expected] of classes) assert.equal(verdict(name, text)?.class, expected, text);
  const [, limited] = classes.at(-2)!;
  assert.deepEqual(verdict('firecrawl-mcp', limited)?.rest, { until: 'elapsed', ms: 23_000 });
});
