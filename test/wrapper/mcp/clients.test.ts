// Configuration of MCP clients: changed after a yes, and restored byte for byte.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { usualEntry } from '../../../wrapper/mcp/entry-form.ts';
import { buildWrapper, sandbox } from '../../support/wrapper/sandbox.ts';
import { atTerminal } from '../../support/wrapper/terminal.ts';

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
  const shown = await box.wrap(['mcp', 'install']);
  assert.equal(shown.exit, 0, shown.stderr);
  assert.match(shown.stdout, /^- \{"command":"npx","args":\["-y","tavily-mcp@0\.2\.22"\]\}$/m);
  assert.match(shown.stdout, /TAVILY_API_KEY moves to an account of tvly/);
  assert.doesNotMatch(shown.stdout, /canary/);
  for (const { file, text } of files) assert.equal(fs.readFileSync(file, 'utf8'), text);

  const done = await box.wrap(['mcp', 'install', '--yes', '--file']);
  assert.match(done.stderr, /added "mcp" of tvly/);
  const { mcpServers, projects } = JSON.parse(fs.readFileSync(files[0]!.file, 'utf8'));
  const args = ['mcp', '--', 'npx', '-y', 'tavily-mcp@0.2.22'];
  const behind = { command: program, args, env: { TAVILY_API_KEY: 'culvert-wrap:tvly:mcp' } };
  assert.deepEqual([mcpServers.tavily, projects['/x'].mcpServers.tavily], [behind, behind]);
  assert.deepEqual([mcpServers.other, mcpServers.own], [SERVERS.other, SERVERS.own]);
  assert.equal(fs.statSync(files[0]!.file).mode & 0o777, 0o640);
  assert.match((await box.wrap(['mcp', 'install'])).stdout, /^No client uses/);

  await box.wrap(['mcp', 'uninstall', '--yes']);
  for (const { file, text } of files) assert.equal(fs.readFileSync(file, 'utf8'), text);
});

/** Servers over HTTP, with a key in the address or in a header. */
const REMOTE = {
  path: { type: 'http', url: 'https://mcp.firecrawl.dev/fc-canary/v2/mcp' },
  query: { serverUrl: 'https://mcp.tavily.com/mcp/?x=1&tavilyApiKey=tvly-canary' },
  header: {
    url: 'https://mcp.firecrawl.dev/v2/mcp',
    headers: { 'X-Own': 'own', Authorization: 'Bearer fc-canary', Last: 'last' },
  },
  argument: { command: 'npx', args: ['-y', 'mcp-remote', 'https://mcp.tavily.com/mcp/?tavilyApiKey=tvly-canary'] },
  option: {
    command: 'npx',
    args: ['mcp-remote', 'https://mcp.firecrawl.dev/v2/mcp', '--header', 'Authorization:Bearer fc-canary', '--debug'],
  },
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the client
  variable: { httpUrl: 'https://mcp.firecrawl.dev/${FIRECRAWL_API_KEY}/v2/mcp' },
};

/** Servers that no gateway of the catalog has, or that have no key. */
const OTHERS = {
  keyless: { url: 'https://mcp.firecrawl.dev/v2/mcp' },
  elsewhere: { url: 'https://mcp.example/fc-canary/v2/mcp' },
  path: { url: 'https://mcp.firecrawl.dev/fc-canary/other' },
  own: { url: 'http://127.0.0.1:8080/fc-canary/v2/mcp' },
};

test('servers over HTTP get the gateway and a placeholder, and are restored with their keys', async t => {
  const box = sandbox(t);
  box.script('culvert-wrap', '#!/bin/sh\n');
  const file = path.join(box.home, '.cursor/mcp.json');
  fs.mkdirSync(path.dirname(file));
  const text = JSON.stringify({ mcpServers: { ...REMOTE, others: 1, ...prefixed(OTHERS) } }, null, 2);
  fs.writeFileSync(file, text);
  const tokens = async () => (await box.json('serve', 'token', 'list')).tokens;

  const shown = await box.wrap(['mcp', 'install']);
  assert.equal(shown.exit, 0, shown.stderr);
  assert.match(shown.stdout, /^- \{"url":"https:\/\/mcp\.firecrawl\.dev\/<key>\/v2\/mcp"\}$/m);
  assert.match(shown.stdout, /^\+ \{"url":"http:\/\/127\.0\.0\.1:\w+\/mcp\/\?x=1&tavilyApiKey=<placeholder>"\}$/m);
  assert.match(shown.stdout, /^\+ .*\{"Authorization":"Bearer <placeholder>"\}/m);
  assert.match(shown.stdout, /culvert-wrap serve tvly --install/);
  assert.equal(fs.readFileSync(file, 'utf8'), text);
  assert.deepEqual(await tokens(), []);

  const done = await box.wrap(['mcp', 'install', '--yes', '--file', '--json']);
  const now = fs.readFileSync(file, 'utf8');
  const { mcpServers } = JSON.parse(now);
  assert.match(mcpServers.path.url, /^http:\/\/127\.0\.0\.1:\d+\/fc-[-0-9a-f]{36}\/v2\/mcp$/);
  assert.match(mcpServers.query.serverUrl, /^http:\/\/127\.0\.0\.1:\d+\/mcp\/\?x=1&tavilyApiKey=tvly-[-0-9a-f]{36}$/);
  assert.match(mcpServers.header.url, /^http:\/\/127\.0\.0\.1:\d+\/v2\/mcp$/);
  assert.match(mcpServers.header.headers.Authorization, /^Bearer fc-[-0-9a-f]{36}$/);
  assert.match(mcpServers.variable.httpUrl, /\/fc-[-0-9a-f]{36}\/v2\/mcp$/);
  assert.deepEqual(mcpServers.argument.args.slice(0, 2), ['-y', 'mcp-remote']);
  assert.match(mcpServers.argument.args[2], /^http:\/\/127\.0\.0\.1:\d+\/mcp\/\?tavilyApiKey=tvly-[-0-9a-f]{36}$/);
  const [, url, , header, last] = mcpServers.option.args;
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/v2\/mcp$/);
  assert.match(header, /^Authorization:Bearer fc-[-0-9a-f]{36}$/);
  assert.equal(last, '--debug');
  for (const [name, entry] of Object.entries(prefixed(OTHERS))) assert.deepEqual(mcpServers[name], entry);
  assert.deepEqual((await tokens()).map(({ cli }: { cli: string }) => cli).sort(), [
    ...Array(4).fill('firecrawl'),
    ...Array(2).fill('tvly'),
  ]);
  const left = (await box.wrap(['mcp', 'install'])).stdout.matchAll(/^ {2}(\S+)\n {2}Not all is changed: it uses no/gm);
  assert.deepEqual(
    [...left].map(([, name]) => name),
    ['other-keyless', 'other-path'],
  );
  const kept = path.join(box.state, 'mcp-originals.json');
  assert.equal(fs.statSync(kept).mode & 0o777, 0o600);
  assert.doesNotMatch(fs.readFileSync(kept, 'utf8'), /canary/);

  const undone = await box.wrap(['mcp', 'uninstall', '--yes']);
  assert.equal(fs.readFileSync(file, 'utf8'), text);
  assert.deepEqual(await tokens(), []);
  assert.equal(fs.readFileSync(kept, 'utf8'), '{}\n');
  const printed = [shown, done, undone].map(({ stdout, stderr }) => stdout + stderr).join('');
  assert.doesNotMatch(printed, /canary|[0-9a-f]{8}-/);
});

/** A client with one server of Tavily, and how it is changed. */
function withTavily(t: Parameters<typeof sandbox>[0]) {
  const box = sandbox(t);
  box.script('culvert-wrap', '#!/bin/sh\n');
  const file = path.join(box.home, '.cursor/mcp.json');
  fs.mkdirSync(path.dirname(file));
  const text = JSON.stringify({ mcpServers: { tavily: SERVERS.tavily, query: REMOTE.query } }, null, 2);
  fs.writeFileSync(file, text);
  const change = (...args: string[]) => box.wrap(['mcp', ...args]);
  const names = () => {
    const config = path.join(box.config, 'config.toml');
    const found = fs.existsSync(config) ? fs.readFileSync(config, 'utf8').matchAll(/^name = "(.*)"$/gm) : [];
    return [...found].map(([, name]) => name);
  };
  return { box, file, text, change, names, now: () => fs.readFileSync(file, 'utf8') };
}

/** Entries that people put behind the program themselves. */
const BY_HAND = {
  bare: { command: 'culvert-wrap', args: ['mcp', '--', 'npx', '-y', 'tavily-mcp'] },
  absolute: { command: '/opt/culvert-wrap', args: ['mcp', '--', 'npx', '-y', 'tavily-mcp'] },
  any: { command: 'culvert-wrap', args: ['mcp', '--env', 'OWN_KEY', '--cli', 'own', '--', 'own-mcp'] },
  unknown: { command: 'culvert-wrap', args: ['mcp', '--', 'own-mcp'] },
};

test('an entry that the user put behind the program keeps it, and is named', async t => {
  const { box, file, change, now } = withTavily(t);
  const kept = { ...SERVERS.tavily, ...BY_HAND.bare };
  const text = JSON.stringify({ mcpServers: { ...BY_HAND, kept, tavily: SERVERS.tavily } }, null, 2);
  fs.writeFileSync(file, text);
  await change('install', '--yes', '--file');
  const { mcpServers } = JSON.parse(now());
  const reference = 'culvert-wrap:tvly:mcp';
  assert.equal(mcpServers.tavily.args[0], 'mcp');
  assert.deepEqual(mcpServers.kept, { ...kept, env: { ...kept.env, TAVILY_API_KEY: reference } });
  // the same words as an install writes, under another name
  const installed = { ...mcpServers, copy: { ...mcpServers.tavily, env: {} } };
  fs.writeFileSync(file, JSON.stringify({ mcpServers: installed }, null, 2));
  for (const _ of ['with a record', 'without one']) {
    const undone = await change('uninstall', '--yes');
    assert.equal(undone.exit, 0, undone.stderr);
    assert.doesNotMatch(undone.stderr, /without their keys/);
    for (const name of [...Object.keys(BY_HAND), 'kept', 'copy'])
      assert.match(undone.stdout, new RegExp(`^  ${name}\\n  Not all is changed: no record says`, 'm'));
    assert.doesNotMatch(undone.stdout, /^ {2}tavily\n {2}Not all/m);
    const { copy, ...others } = JSON.parse(now()).mcpServers;
    assert.deepEqual(copy, installed.copy);
    assert.equal(JSON.stringify({ mcpServers: others }, null, 2), text);
    fs.writeFileSync(file, now());
  }
  fs.writeFileSync(file, text);
  await change('uninstall', '--yes');
  assert.equal(now(), text);
  const record = path.join(box.state, 'mcp-originals.json');
  assert.equal(fs.readFileSync(record, 'utf8'), '{}\n');
  for (const damaged of ['{', '[]', '{"a":{"file":"b"}}']) {
    fs.writeFileSync(record, damaged);
    for (const how of ['install', 'uninstall']) {
      const refused = await change(how, '--yes');
      assert.equal(refused.exit, 78);
      assert.match(refused.stderr, /the record of what .mcp install. changed, .*, can't be read: /);
    }
    assert.deepEqual([now(), fs.readFileSync(record, 'utf8')], [text, damaged]);
  }
});

test('an uninstall removes the program of an install, also where the key came later', async t => {
  const { file, change, now } = withTavily(t);
  const { TAVILY_API_KEY: _, ...keyless } = SERVERS.tavily.env;
  fs.writeFileSync(file, JSON.stringify({ mcpServers: { tavily: { ...SERVERS.tavily, env: keyless } } }, null, 2));
  await change('install', '--yes', '--file');
  const installed = JSON.parse(now());
  installed.mcpServers.tavily.env = SERVERS.tavily.env;
  fs.writeFileSync(file, JSON.stringify(installed, null, 2));
  await change('install', '--yes', '--file');
  assert.equal(JSON.parse(now()).mcpServers.tavily.env.TAVILY_API_KEY, 'culvert-wrap:tvly:mcp');
  await change('uninstall', '--yes');
  assert.deepEqual(JSON.parse(now()).mcpServers.tavily, SERVERS.tavily);
});

test('separate arguments next to a command that is a list stay as they are', () => {
  const entry = { command: ['npx', 'tavily-mcp'], args: ['own'], env: {} };
  const { fields, back } = usualEntry(structuredClone(entry));
  assert.deepEqual([fields.command, fields.args], ['npx', ['tavily-mcp']]);
  fields.command = 'culvert-wrap';
  assert.deepEqual(back(fields), { ...entry, command: ['culvert-wrap', 'tavily-mcp'] });
});

test('a key that an account has is not stored again, and its account may be removed', async t => {
  const { box, file, text, change, names, now } = withTavily(t);
  box.script('tvly', '#!/bin/sh\n');
  for (const [name, input] of Object.entries({ mcp: 'tvly-other', main: 'tvly-canary' }))
    await box.wrap(['accounts', 'add', 'tvly', name, '--file'], { input });
  await change('install', '--yes');
  assert.deepEqual(names(), ['mcp', 'main']);
  assert.equal(JSON.parse(now()).mcpServers.tavily.env.TAVILY_API_KEY, 'culvert-wrap:tvly:main');
  await change('uninstall', '--yes');
  assert.equal(now(), text);

  await change('install', '--yes');
  for (const words of [
    ['remove', 'tvly', 'main'],
    ['rename', 'tvly', 'main', 'other'],
  ]) {
    const refused = await box.wrap(['accounts', ...words]);
    assert.equal(refused.exit, 65);
    assert.ok(refused.stderr.includes(`MCP clients use "main" of tvly: ${file}`), refused.stderr);
    assert.match(refused.stderr, /first run `culvert-wrap mcp uninstall`/);
  }
  const config = path.join(box.config, 'config.toml');
  fs.writeFileSync(config, fs.readFileSync(config, 'utf8').replace('name = "main"', 'name = "other"'));
  const { exit, stderr } = await change('uninstall', '--yes');
  assert.equal(exit, 65);
  assert.match(stderr, /mcp\.json: there is no account "main" of tvly anymore; .* of culvert-wrap:tvly:main/);
  assert.ok(stderr.includes(file));
  assert.equal(now(), text.replaceAll('tvly-canary', 'culvert-wrap:tvly:main'));
});

test('nothing is changed while no key can be stored, or an account cannot be read', async t => {
  const { box, text, change, names, now } = withTavily(t);
  const refused = await change('install', '--yes');
  assert.equal(refused.exit, 69);
  assert.match(refused.stderr, /keyring.*--file/s);
  assert.equal(now(), text);
  assert.deepEqual(names(), []);

  assert.equal((await change('install', '--yes', '--file')).exit, 0);
  const installed = now();
  fs.rmSync(path.join(box.config, 'secrets'), { recursive: true });
  const unreadable = await change('uninstall', '--yes');
  assert.match(unreadable.stderr, /"mcp" of tvly: TAVILY_API_KEY from file:.*nothing was changed/s);
  assert.equal(now(), installed);
});

test('a key that an account reads from a variable stays with the client, and one left by hand is taken later', async t => {
  const { box, change, now } = withTavily(t);
  const variable = { env: { TAVILY_API_KEY: 'tvly-canary' } };
  await box.wrap(['accounts', 'add', 'tvly', 'shell', '--env', 'TAVILY_API_KEY=env:TAVILY_API_KEY'], variable);
  const first = await box.wrap(['mcp', 'install', '--yes'], variable);
  assert.match(first.stderr, /a key of tvly stays with its client: "shell" reads it from env:TAVILY_API_KEY/);
  const key = () => JSON.parse(now()).mcpServers.tavily.env.TAVILY_API_KEY;
  assert.equal(key(), 'tvly-canary');
  assert.deepEqual(JSON.parse(now()).mcpServers.query, REMOTE.query);
  await box.wrap(['accounts', 'remove', 'tvly', 'shell']);
  await change('install', '--yes', '--file');
  assert.equal(key(), 'culvert-wrap:tvly:mcp');
});

test('at a terminal a question comes first, and one about the file where there is no keyring', async t => {
  const { box, text, now } = withTavily(t);
  box.script('culvert-wrap', `#!/bin/sh\nexec ${process.execPath} ${buildWrapper()} "$@"\n`);
  const install = async (answers: string[]) => {
    const left = [...answers];
    let read = 0;
    return atTerminal(box, 'culvert-wrap mcp install', {
      answer: screen => {
        const asked = screen.lastIndexOf('[y/N]');
        if (asked < read) return undefined;
        read = asked + 1;
        return left.shift();
      },
    });
  };
  const refused = await install(['n\r']);
  assert.match(refused.screen, /\+ .*Change it\? \[y\/N\] .*nothing was changed/s);
  assert.equal(now(), text);
  assert.match((await install(['y\r', 'n\r'])).screen, /keyring can't be used.*could not be stored/s);
  assert.equal(now(), text);
  const done = await install(['y\r', 'y\r']);
  assert.match(done.screen, /added "mcp" of tvly.*changed; restart the clients/s);
  assert.doesNotMatch(now() + done.screen, /canary/);
});

function prefixed<T>(servers: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(servers).map(([name, entry]) => [`other-${name}`, entry]));
}
