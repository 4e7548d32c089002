// Configuration of MCP clients: changed after a yes, and restored byte for byte.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { sandbox } from '../../support/wrapper/sandbox.ts';

const SERVERS = {
  tavily: { command: 'npx', args: ['-y', 'tavily-mcp@0.2.22'], env: { TAVILY_API_KEY: 'tvly-canary' } },
  other: { command: 'other-mcp', args: [] },
  // written by hand
  own: { command: 'culvert-wrap', args: ['mcp', '--cli', 'tvly', '--', 'npx', '-y', 'tavily-mcp'] },
};

test('servers of the catalog are put behind the wrapper, and restored', async t => {
  const box = sandbox(t);
  const program = box.script('culvert-wrap', '#!/bin/sh\n');
  const write = (name: string, value: object, indent: number, end: string) => {
    const file = path.join(box.home, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const text = JSON.stringify(value, null, indent) + end;
    fs.writeFileSync(file, text, { mode: 0o640 });
    return { file, text };
  };
  const files = [
    write('.claude.json', { a: 1, mcpServers: SERVERS, projects: { '/x': { mcpServers: SERVERS } } }, 2, ''),
    write('.cursor/mcp.json', { mcpServers: SERVERS }, 4, '\n'),
  ];
  const own = path.join(box.home, '.gemini/settings.json');
  fs.mkdirSync(path.dirname(own));
  fs.writeFileSync(own, `{ "mcpServers": ${JSON.stringify(SERVERS)} }`);
  const kept = fs.readFileSync(own, 'utf8');

  const shown = await box.wrap(['mcp', 'install']);
  assert.equal(shown.exit, 0, shown.stderr);
  assert.match(shown.stdout, /^- \{"command":"npx","args":\["-y","tavily-mcp@0\.2\.22"\]\}$/m);
  assert.match(shown.stdout, /TAVILY_API_KEY is not used anymore/);
  assert.doesNotMatch(shown.stdout, /canary/);
  for (const { file, text } of files) assert.equal(fs.readFileSync(file, 'utf8'), text);

  await box.wrap(['mcp', 'install', '--yes']);
  const { mcpServers, projects } = JSON.parse(fs.readFileSync(files[0]!.file, 'utf8'));
  const behind = { ...SERVERS.tavily, command: program, args: ['mcp', '--', 'npx', '-y', 'tavily-mcp@0.2.22'] };
  assert.deepEqual([mcpServers.tavily, projects['/x'].mcpServers.tavily], [behind, behind]);
  assert.deepEqual([mcpServers.other, mcpServers.own], [SERVERS.other, SERVERS.own]);
  assert.equal(fs.statSync(files[0]!.file).mode & 0o777, 0o640);
  assert.match((await box.wrap(['mcp', 'install'])).stdout, /settings\.json\n.*layout of its own/s);

  await box.wrap(['mcp', 'uninstall', '--yes']);
  for (const { file, text } of files) assert.equal(fs.readFileSync(file, 'utf8'), text);
  assert.equal(fs.readFileSync(own, 'utf8'), kept);
});
