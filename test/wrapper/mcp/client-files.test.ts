// Servers in the files of each client, as its documentation writes them: before, after an install, and restored.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { CLIENTS } from '../../../wrapper/mcp/client-list.ts';
import { applyChanges } from '../../../wrapper/mcp/clients.ts';
import { expandHome, expandVariables } from '../../../wrapper/system/notation.ts';
import { fixtures, clientHome as home, sources } from '../../support/wrapper/clients.ts';
import { buildWrapper } from '../../support/wrapper/sandbox.ts';

test('every client of the list has a file as its documentation writes it', () => {
  const places = Object.values(sources).map(({ at }) => at.replace(/^app\//, ''));
  const isIn = (file: string) => places.includes(expandHome(expandVariables(file, {}), { HOME: '' }).slice(1));
  const missing = CLIENTS.filter(({ client }) => !client.endsWith('project'))
    .map(({ client }) => client)
    .filter(client => !CLIENTS.some(row => row.client === client && isIn(row.file)));
  assert.deepEqual([...new Set(missing)], []);
});

test("each client's file is changed in place, and restored byte for byte", async t => {
  const names = Object.keys(sources);
  const before = Object.fromEntries(
    names.map(name => [sources[name]!.at, fs.readFileSync(path.join(fixtures, name), 'utf8')]),
  );
  const { read, plain, install, mcp, box } = home(t, before);
  const checked = await mcp('install', '--check', '--server', 'firecrawl');
  for (const [at, text] of Object.entries(before)) assert.equal(read(at), text);
  assert.equal(checked.exit, 0, checked.stderr);
  assert.deepEqual(fs.existsSync(path.join(box.config, 'config.toml')), false);

  const done = await install('--server', 'firecrawl');
  assert.equal(done.exit, 0, done.stdout + done.stderr);
  for (const name of names) {
    const expected = path.join(fixtures, 'after', name);
    if (process.env.CULVERT_WRITE_FIXTURES) {
      fs.mkdirSync(path.dirname(expected), { recursive: true });
      fs.writeFileSync(expected, plain(sources[name]!.at));
    }
    assert.equal(plain(sources[name]!.at), fs.readFileSync(expected, 'utf8'), name);
  }
  const undone = await mcp('uninstall', '--yes');
  assert.equal(undone.exit, 0, undone.stdout + undone.stderr);
  for (const [at, text] of Object.entries(before)) assert.equal(read(at), text, at);
  const printed = [checked, done, undone].map(({ stdout, stderr }) => stdout + stderr).join('');
  assert.doesNotMatch(printed, /canary/);
  assert.match(
    (await mcp('uninstall')).stdout,
    /^No client uses a server through culvert-wrap: \d+ places were looked at/,
  );
});

const ENTRY = { command: 'npx', args: ['-y', 'firecrawl-mcp'], env: { FIRECRAWL_API_KEY: 'fc-canary-0123456789' } };
const servers = (entry: object) => ({ mcpServers: { firecrawl: entry } });
const compact = JSON.stringify(servers(ENTRY));
const pretty = JSON.stringify(servers(ENTRY), null, 2);
const oneLine = pretty.replace(/\[\s+/g, '[').replace(/,\s+"firecrawl-mcp"\s+\]/, ', "firecrawl-mcp"]');
const remote = '{"mcpServers":{"h":{"url":"https:\\/\\/mcp.firecrawl.dev\\/fc-canary-0123456789\\/v2\\/mcp"}}}';

/** Layouts of one JSON file. */
const LAYOUTS: Record<string, string> = {
  'on one line': compact,
  'indented, without a final newline': pretty,
  'with two final newlines': `${pretty}\n\n`,
  'with tabs': JSON.stringify(servers(ENTRY), null, '\t'),
  'with arguments on one line': oneLine,
  'with CRLF': `${pretty}\n`.replaceAll('\n', '\r\n'),
  'with a byte order mark': `\uFEFF${pretty}\n`,
  'with comments': oneLine.replace('"command"', '/* mine */ "command"').replace('"args"', '// words\n      "args"'),
  'with trailing commas': oneLine.replaceAll(/(?<=["\]}])(?=\s*[\]}])/g, ','),
  'with escapes elsewhere': `{"caf\\u00e9":"\\u00e9\\/","n":1.0e2,"a":1,"a":2,${compact.slice(1)}`,
  'with an escaped path as the command': JSON.stringify(servers({ ...ENTRY, command: '/opt/andré/bin/npx' })).replace(
    'é',
    '\\u00e9',
  ),
  'with escaped slashes in an address': remote,
  'with an empty line in the list': pretty.replace('"-y",', '"-y",\n\n'),
  'without arguments': JSON.stringify(servers({ command: 'firecrawl-mcp', env: ENTRY.env }), null, 2),
  'without arguments, on one line': JSON.stringify(servers({ command: 'firecrawl-mcp', env: ENTRY.env })),
  'with an empty list of arguments': JSON.stringify(servers({ command: 'firecrawl-mcp', args: [] }), null, 2),
  'with a space in the empty list': '{"mcpServers":{"f":{"command":"firecrawl-mcp","args":[ ]}}}',
  'with the fields in another order': JSON.stringify(
    servers({ env: ENTRY.env, args: ENTRY.args, command: 'npx' }),
    null,
    4,
  ),
};

test('a JSON file of any layout is changed in place, and restored byte for byte', async t => {
  for (const [name, text] of Object.entries(LAYOUTS)) {
    const { read, install, mcp } = home(t, { '.cursor/mcp.json': text });
    const done = await install();
    const now = read('.cursor/mcp.json');
    assert.notEqual(now, text, `${name}: ${done.stdout}${done.stderr}`);
    assert.match(now, /culvert-wrap"|127\.0\.0\.1/, name);
    assert.doesNotMatch(now, /canary/, name);
    const undone = await mcp('uninstall', '--yes');
    assert.equal(read('.cursor/mcp.json'), text, `${name}: ${undone.stdout}${undone.stderr}`);
  }
});

test('keeps a client’s own writes during a change of its file', t => {
  const { box } = home(t, { '.claude.json': 'one\n' });
  const file = path.join(box.home, '.claude.json');
  /** Plans a change, while the client writes the file for the first so many times. */
  const planner = (writes: number) => () => {
    const read = fs.readFileSync(file);
    if (writes-- > 0) fs.appendFileSync(file, 'theirs\n');
    return [{ client: 'claude', file, isShared: false, servers: [], left: [], read, text: `${read}ours\n` }];
  };
  applyChanges(planner(2));
  assert.equal(fs.readFileSync(file, 'utf8'), 'one\ntheirs\ntheirs\nours\n');
  assert.throws(() => applyChanges(planner(100)), /a client keeps writing it/);
  assert.equal(fs.readFileSync(file, 'utf8').match(/ours/g)!.length, 1);
});

test('a file that cannot be changed does not keep the others from their changes, and is named', t => {
  const { box, read, put } = home(t, { '.claude.json': 'one\n', '.cursor/mcp.json': 'two\n' });
  const planned = ['.claude.json', '.cursor/mcp.json'].map(name => {
    const file = path.join(box.home, name);
    return { client: 'any', file, isShared: false, servers: [], left: [], read: fs.readFileSync(file), text: 'ours\n' };
  });
  put('.claude.json', 'theirs\n');
  assert.throws(
    () => applyChanges(only => planned.filter(({ file }) => only?.has(file) ?? true)),
    /\.claude\.json was/,
  );
  assert.deepEqual([read('.claude.json'), read('.cursor/mcp.json')], ['theirs\n', 'ours\n']);
});

test('a file that is not UTF-8 stays as it is, and is named', async t => {
  const text = Buffer.from(compact.replace('{', '{"name":"Andr\u00e9",'), 'latin1');
  const { box, install } = home(t, { '.cursor/mcp.json': text });
  const done = await install();
  assert.equal(done.exit, 65);
  assert.match(done.stdout, /\.cursor\/mcp\.json\n {2}It could not be read: it is not UTF-8\./);
  assert.deepEqual(fs.readFileSync(path.join(box.home, '.cursor/mcp.json')), text);
});

const plainEntry = JSON.stringify(servers({ command: 'npx', args: ['-y', 'firecrawl-mcp'] }), null, 2);

test('consent for a server in one file does not cover the server of the same name in another', async t => {
  const { box, read, install } = home(t, { 'app/.mcp.json': plainEntry, 'app/.cursor/mcp.json': plainEntry });
  const refused = await install();
  assert.equal(refused.exit, 65);
  const file = path.join(box.home, 'app/.mcp.json');
  assert.ok(refused.stderr.includes(`--server ${file}:firecrawl gives it`), refused.stderr);
  for (const word of [`${file}:firecrawl`, '.mcp.json:firecrawl']) {
    await install('--server', word);
    assert.match(read('app/.mcp.json'), /culvert-wrap/);
    assert.equal(read('app/.cursor/mcp.json'), plainEntry);
    fs.writeFileSync(file, plainEntry);
  }
});

test('a file that is not to be changed gets no gateway and no record', async t => {
  const own = `{"mcpServers":{"t":{"url":"https://mcp.tavily.com/mcp/?tavilyApiKey=\${env:KEY}"}}}`;
  const { box, read, mcp } = home(t, { '.cursor/mcp.json': own, 'app/.mcp.json': plainEntry });
  await mcp('install', '--server', 'firecrawl');
  assert.match(read('app/.mcp.json'), /culvert-wrap/);
  assert.equal(read('.cursor/mcp.json'), own);
  const kept = fs.readdirSync(box.home, { recursive: true, encoding: 'utf8' });
  const records = kept.filter(name => /mcp-originals.*\.json$/.test(name)).map(read);
  assert.doesNotMatch(records.join(''), /\.cursor/);
});

test('the files in the directories of logins are changed as well', async t => {
  const toml = '[mcp_servers.f]\ncommand = "npx"\nargs = ["-y", "firecrawl-mcp"]\n';
  const files = {
    'work/.claude.json': plainEntry,
    'codex-work/config.toml': toml,
    'gemini-work/.gemini/settings.json': plainEntry,
  };
  const { box, read, install } = home(t, files);
  const accounts = ['claude', 'codex', 'gemini'].map((cli, at) => {
    const login = path.join(box.home, path.dirname(Object.keys(files)[at]!).replace('/.gemini', ''));
    return `[[accounts]]\ncli = "${cli}"\nname = "work"\nlogin = "${login}"\n`;
  });
  fs.mkdirSync(box.config, { recursive: true });
  fs.writeFileSync(path.join(box.config, 'config.toml'), accounts.join('\n'), { mode: 0o600 });
  const done = await install();
  for (const name of Object.keys(files))
    assert.match(read(name), /culvert-wrap/, `${name}: ${done.stdout}${done.stderr}`);
});

test('restores only our values if the file was changed after the installation', async t => {
  const { read, put, install, mcp } = home(t, {
    '.cursor/mcp.json': oneLine,
    '.codex/config.toml': '[mcp_servers.f]\ncommand = "npx"\nargs = ["firecrawl-mcp"]\n',
  });
  await install();
  put(
    '.cursor/mcp.json',
    read('.cursor/mcp.json').replace(
      '"mcpServers": {',
      '"theme": "dark",\n  "mcpServers": {\n    "new": { "command": "x" },',
    ),
  );
  put('.codex/config.toml', `# mine\n${read('.codex/config.toml')}\n[tui]\nnotifications = true\n`);
  const undone = await mcp('uninstall', '--yes');
  assert.equal(undone.exit, 0, undone.stdout + undone.stderr);
  assert.equal(
    read('.cursor/mcp.json'),
    oneLine.replace('"mcpServers": {', '"theme": "dark",\n  "mcpServers": {\n    "new": { "command": "x" },'),
  );
  assert.equal(
    read('.codex/config.toml'),
    '# mine\n[mcp_servers.f]\ncommand = "npx"\nargs = ["firecrawl-mcp"]\n\n[tui]\nnotifications = true\n',
  );
});

test('a place that cannot be read is named, and nothing says that no client uses a server', async t => {
  const { install, mcp, box } = home(t, {
    '.cursor/mcp.json': '{ "mcpServers": { "a": { "command" "x" } } }\n',
    '.codex/config.toml': 'model = "a"\nmodel = \n',
    '.config/goose/config.yaml': 'extensions:\n  a: [\n',
  });
  fs.mkdirSync(path.join(box.home, '.gemini/settings.json'), { recursive: true });
  for (const run of [await mcp('install', '--check'), await install(), await mcp('uninstall', '--yes')]) {
    assert.equal(run.exit, 65);
    assert.match(run.stdout, /\.cursor\/mcp\.json\n {2}It could not be read: line 1: colon expected\. Correct that/);
    assert.match(run.stdout, /\.codex\/config\.toml\n {2}It could not be read: line 2/);
    assert.match(run.stdout, /goose\/config\.yaml\n {2}It could not be read: line /);
    assert.match(run.stdout, /\.gemini\/settings\.json\n {2}It could not be read: .*directory/i);
    assert.doesNotMatch(run.stdout, /No client/);
  }
});

test('a place that may have a file is named, and no pipe or device is read', async t => {
  const { install, mcp, box } = home(t, { '.config/Code/User/mcp.json': '{}' });
  const named = async (text: string) => {
    for (const { exit, stdout } of [await install('--check'), await mcp('uninstall', '--yes')])
      assert.deepEqual([exit, stdout.includes(text), stdout.includes('No client')], [65, true, false], stdout);
  };
  const profiles = path.join(box.home, '.config/Code/User/profiles');
  fs.symlinkSync('profiles', profiles);
  await named('profiles/*/mcp.json\n  It could not be read: Too many symbolic links');
  fs.rmSync(profiles);
  // without these rights, root is as any user: it may enter the directory, and not list it
  fs.mkdirSync(profiles, { mode: 0o311 });
  const drop = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : ['env'];
  const { stdout } = await box.run('/usr/bin/env', [...drop, process.execPath, buildWrapper(), 'mcp', 'uninstall']);
  assert.match(stdout, /profiles\/\*\/mcp\.json\n {2}It could not be read: Permission denied/);
  assert.doesNotMatch(stdout, /No client/);
  fs.rmdirSync(profiles);
  const file = path.join(box.home, 'app/.mcp.json');
  // a device that can be read comes first: without a check, a pipe would be waited for
  fs.symlinkSync('/dev/null', file);
  await named('app/.mcp.json\n  It could not be read: it is not a regular file');
  fs.rmSync(file);
  execFileSync('mkfifo', [file]);
  await named('app/.mcp.json\n  It could not be read: it is not a regular file');
});

test('an address of a provider without a key in a known place is named, in every form of a client', async t => {
  const { install } = home(t, {
    '.codex/config.toml':
      '[mcp_servers.h]\nurl = "https://mcp.firecrawl.dev/v2/mcp"\nenv_http_headers = { "Authorization" = "KEY" }\n',
    '.config/goose/config.yaml': 'extensions:\n  h:\n    uri: https://mcp.tavily.com/mcp/\n',
    '.cursor/mcp.json': '{"mcpServers":{"h":{"command":"npx","args":["mcp-remote","https://mcp.exa.ai/mcp"]}}}',
    '.gemini/settings.json': '{"mcpServers":{"h":{"httpUrl":"https://mcp.context7.com/mcp"}}}',
    'app/.mcp.json': '{"mcpServers":{"h":{"url":"https://mcp.firecrawl.dev/v2/mcp"}}}',
  });
  const { stdout, exit } = await install('--check');
  const why = [...stdout.matchAll(/it uses no account of (.*), because it has no key in a known place(.*)\.$/gm)];
  const rows = [
    'firecrawl; with a key as in https://mcp.firecrawl.dev/{key}/v2/mcp, repeat this',
    'exa; with a key as in https://mcp.exa.ai/mcp?exaApiKey={key}, repeat this',
    'context7; with a key in the header context7_api_key, repeat this',
    'tvly; with a key as in https://mcp.tavily.com/mcp/?tavilyApiKey={key}, repeat this',
    'firecrawl', // a project's file gets no key
  ];
  assert.deepEqual([exit, why.map(([, cli, how]) => `${cli}${how}`).toSorted()], [0, rows.toSorted()]);
});

test('an entry whose layout could not be restored is named with the lines to write, and the others change', async t => {
  const yaml = `extensions:
  one:
    type: stdio
    cmd: &program npx
    args: [-y, firecrawl-mcp]
    envs: {}
  two:
    type: stdio
    cmd: *program
    args: [-y, firecrawl-mcp]
  three:
    type: stdio
    cmd: npx
    args: [-y, firecrawl-mcp, --key, fc-canary]
`;
  const { read, install, mcp } = home(t, { '.config/goose/config.yaml': yaml });
  const done = await install();
  const lines = (name: string) =>
    new RegExp(
      `^  ${name}\\n  It can't be changed here, because [^\\n]+ Write these lines by hand:\\n    cmd: "[^"]+/culvert-wrap"\\n    args: \\["mcp", "--", "npx", "-y", "firecrawl-mcp"\\]$`,
      'm',
    );
  assert.match(done.stdout, lines('one'));
  assert.match(done.stdout, lines('two'));
  assert.doesNotMatch(done.stdout, /canary/);
  assert.match(
    read('.config/goose/config.yaml'),
    /cmd: &program npx[\s\S]*cmd: \*program[\s\S]*cmd: \/.*culvert-wrap\n {4}args: \[mcp, --, npx, -y, firecrawl-mcp, --key/,
  );
  await mcp('uninstall', '--yes');
  assert.equal(read('.config/goose/config.yaml'), yaml);
});

test('the lines to write by hand have all words but keys', async t => {
  const yaml = `extensions:
  one:
    type: stdio
    cmd: &program npx
    args: [-y, firecrawl-mcp, --verbose, --api-key, fc-canary, two words, canary0123456789abcdef]
    envs: {}
  two:
    cmd: *program
    args: [other]
`;
  const { install } = home(t, { '.config/goose/config.yaml': yaml });
  const { stdout } = await install();
  const words = '"mcp", "--", "npx", "-y", "firecrawl-mcp", "--verbose", "--api-key", "***", "two words", "***"';
  assert.ok(stdout.includes(`    args: [${words}]\n`), stdout);
  assert.doesNotMatch(stdout, /canary/);
});

test('entries that people write in other ways are named with what to do', async t => {
  const key = 'fc-00000000000000000000000000000000';
  const entries = {
    env: { command: 'env', args: [`FIRECRAWL_API_KEY=${key}`, 'npx', '-y', 'firecrawl-mcp'] },
    joined: { command: `env FIRECRAWL_API_KEY=${key} npx`, args: ['-y', 'firecrawl-mcp'] },
    windows: {
      command: 'C:\\Windows\\System32\\cmd.exe',
      args: ['/c', `set FIRECRAWL_API_KEY=${key} && npx -y firecrawl-mcp`],
    },
    smithery: {
      command: 'npx',
      args: [
        '-y',
        '@smithery/cli@latest',
        'run',
        '@mendableai/mcp-server-firecrawl',
        '--config',
        `{"fireCrawlApiKey":"${key}"}`,
      ],
    },
    docker: {
      command: 'docker',
      args: ['run', '-i', '--rm', '-e', 'PERPLEXITY_API_KEY', 'mcp/perplexity-ask'],
      env: { PERPLEXITY_API_KEY: 'pplx-0' },
    },
    old: { command: 'npx', args: ['-y', 'tavily-mcp@0.1.3'], env: { TAVILY_API_KEY: 'tvly-0000000000000000' } },
  };
  const { mcp } = home(t, { '.cursor/mcp.json': JSON.stringify({ mcpServers: entries }, null, 2) });
  const { stdout } = await mcp('install', '--check');
  for (const name of ['env', 'joined', 'windows'])
    assert.match(stdout, new RegExp(`^  ${name}\\n.*its FIRECRAWL_API_KEY is in the command line`, 'm'));
  assert.match(
    stdout,
    /^ {2}smithery\n.*a key of firecrawl is in its command line.*firecrawl-mcp with the key in "env"/m,
  );
  assert.match(stdout, /^ {2}docker\n.*culvert-wrap mcp --env PERPLEXITY_API_KEY --cli perplexity -- docker …/m);
  assert.match(stdout, /^ {2}The catalog has no errors of tavily-mcp 0\.1\.3/m);
  assert.doesNotMatch(stdout, /0000000|pplx-0/);
});
