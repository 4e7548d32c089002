// The record of what an install changed: after the program or a file moved, and until each entry is restored.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { clientHome, fixtures, sources } from '../../support/wrapper/clients.ts';

const ALL = Object.fromEntries(
  Object.entries(sources).map(([name, { at }]) => [at, fs.readFileSync(path.join(fixtures, name), 'utf8')]),
);
const PLACES = Object.keys(ALL);

/** A home with files of clients and their record, and ways to move the program. */
function recordedHome(t: TestContext, files: Record<string, string>) {
  const home = clientHome(t, files);
  const { box, cwd, read } = home;
  const fileOf = (at: string) => path.join(box.home, at);
  const record = (): Record<string, object> =>
    JSON.parse(fs.readFileSync(path.join(box.state, 'mcp-originals.json'), 'utf8'));
  const old = path.join(box.bin, 'culvert-wrap');
  /** Moves the program, and returns its path and the commands that find it there. */
  const moveProgram = (directory: string) => {
    const bin = fileOf(directory);
    fs.mkdirSync(bin, { recursive: true });
    const program = path.join(bin, 'culvert-wrap');
    fs.renameSync(old, program);
    const env = { PATH: `${bin}:${box.env.PATH}` };
    return { program, mcp: (...words: string[]) => box.wrap(['mcp', ...words], { cwd, env }) };
  };
  const texts = () => Object.fromEntries(Object.keys(files).map(at => [at, read(at)]));
  const doctor = async (): Promise<{ level: string; what: string; fix?: string }[]> =>
    JSON.parse((await box.wrap(['doctor', '--json'], { cwd })).stdout).findings;
  const dead = async () => (await doctor()).filter(({ what }) => what.includes('which does not exist'));
  const uninstall = () => home.mcp('uninstall', '--yes');
  return { ...home, fileOf, record, old, moveProgram, texts, dead, uninstall };
}

test('entries of every client follow the program to another place, and are restored byte for byte', async t => {
  const { install, moveProgram, texts, old, dead, record } = recordedHome(t, ALL);
  await install('--server', 'firecrawl');
  const before = texts();
  const changed = PLACES.filter(at => before[at]!.includes(old));
  assert.deepEqual(await dead(), []);

  const { program, mcp } = moveProgram('other/bin');
  const found = await dead();
  for (const at of changed) {
    const own = found.filter(({ what }) => what.includes(at));
    assert.ok(own.length > 0, at);
    for (const { level, what, fix } of own) {
      assert.deepEqual([level, what.includes(`starts ${old}, which`)], ['problem', true]);
      assert.match(fix!, /^run `culvert-wrap mcp install`/);
    }
  }
  const checked = await mcp('install', '--check', '--server', 'firecrawl');
  for (const line of [`- {"command":"${old}","args"`, `+ {"command":"${program}","args"`])
    assert.ok(checked.stdout.includes(line), checked.stdout);
  assert.deepEqual(texts(), before);

  const keys = Object.keys(record());
  const done = await mcp('install', '--yes', '--server', 'firecrawl');
  assert.equal(done.exit, 0, done.stdout + done.stderr);
  for (const at of PLACES) assert.equal(texts()[at], before[at]!.replaceAll(old, program), at);
  assert.deepEqual([Object.keys(record()), await dead()], [keys, []]);
  assert.match((await mcp('install')).stdout, /^No client uses a server of the catalog directly/);

  const undone = await mcp('uninstall', '--yes');
  assert.equal(undone.exit, 0, undone.stdout + undone.stderr);
  assert.deepEqual([texts(), record()], [ALL, {}]);
});

/** Clients with one server without a key, which differ in how they write its command line, and the lines that restore it. */
const KEYLESS: Record<string, [text: string, lines: string[]]> = {
  '.cursor/mcp.json': [
    '{ "mcpServers": { "search": { "command": "npx", "args": ["-y", "firecrawl-mcp"] } } }\n',
    ['"command": "npx",', '"args": ["-y", "firecrawl-mcp"],'],
  ],
  '.config/Code/User/mcp.json': [
    '{ "servers": { "search": { "type": "stdio", "command": "firecrawl-mcp" } } }\n',
    ['"args": [],', '"command": "firecrawl-mcp",'],
  ],
  '.codex/config.toml': [
    "[mcp_servers.search]\ncommand = 'npx'\nargs = ['-y', 'firecrawl-mcp']\n",
    ['command = "npx"', 'args = ["-y", "firecrawl-mcp"]'],
  ],
  '.config/opencode/opencode.json': [
    '{ "mcp": { "search": { "type": "local", "command": ["npx", "-y", "firecrawl-mcp"] } } }\n',
    ['"command": ["npx", "-y", "firecrawl-mcp"],'],
  ],
  '.config/zed/settings.json': [
    '{ "context_servers": { "search": { "command": { "path": "npx", "args": ["-y", "firecrawl-mcp"] } } } }\n',
    ['"command": { "path": "npx", "args": ["-y", "firecrawl-mcp"] },'],
  ],
  '.config/goose/config.yaml': [
    'extensions:\n  search:\n    cmd: npx\n    args: [-y, firecrawl-mcp]\n',
    ['cmd: "npx"', 'args: ["-y", "firecrawl-mcp"]'],
  ],
  'app/.mcp.json': [
    '{ "mcpServers": { "search": { "command": "npx", "args": ["-y", "firecrawl-mcp"] } } }\n',
    ['"command": "npx",', '"args": ["-y", "firecrawl-mcp"],'],
  ],
};

test('an entry that was renamed is named with its lines, and nothing is forgotten before they are written', async t => {
  for (const [at, [text, lines]] of Object.entries(KEYLESS)) {
    const { install, read, put, uninstall, mcp, record, fileOf } = recordedHome(t, { [at]: text });
    await install('--server', 'search');
    const renamed = read(at).replace('search', 'renamed');
    put(at, renamed);
    const kept = record();
    for (const left of [await uninstall(), await mcp('uninstall')]) {
      assert.equal(left.exit, 65, at);
      const named = `  renamed\n  It can't be changed here, because it may be an entry that \`mcp install\` changed under another name`;
      assert.ok(left.stdout.includes(named), left.stdout);
      assert.ok(left.stdout.includes(`by hand:\n${lines.map(line => `    ${line}\n`).join('')}`), left.stdout);
      assert.ok(left.stderr.includes(`still behind culvert-wrap: ${fileOf(at)};`), left.stderr);
      assert.deepEqual([read(at), record()], [renamed, kept]);
    }
    put(at, text.replace('search', 'renamed'));
    const undone = await uninstall();
    assert.deepEqual([undone.exit, record()], [0, {}], undone.stdout + undone.stderr);
  }
});

test('the key of an entry that was renamed stays an account’s, and nothing says whose it is', async t => {
  const at = '.cursor/mcp.json';
  const env = { TAVILY_API_KEY: 'tvly-canary' };
  const text = JSON.stringify({ mcpServers: { search: { command: 'npx', args: ['tavily-mcp'], env } } });
  const { install, read, put, uninstall } = recordedHome(t, { [at]: text });
  await install('--file');
  put(at, read(at).replace('search', 'renamed'));
  const { exit, stdout } = await uninstall();
  assert.equal(exit, 65);
  assert.match(stdout, /^ {2}Not all is changed: its TAVILY_API_KEY stays: no record of this place says/m);
});

test('an entry that was moved to another client, or reworded, is named, and its record stays', async t => {
  const [from, to] = ['.cursor/mcp.json', '.codeium/windsurf/mcp_config.json'];
  const [text] = KEYLESS[from]!;
  const { install, read, put, uninstall, record, fileOf } = recordedHome(t, { [from]: text });
  await install();
  const installed = read(from);
  put(from, '{ "mcpServers": {} }');
  put(to, installed);
  const moved = await uninstall();
  assert.equal(moved.exit, 65);
  assert.ok(moved.stderr.includes(`still behind culvert-wrap: ${fileOf(to)};`), moved.stderr);
  assert.match(
    moved.stdout,
    /under another name or in another place\. Write these lines by hand:\n {4}"command": "npx"/,
  );
  const kept = record();
  put(to, installed.replace(':', ''));
  const broken = await uninstall();
  assert.ok(broken.stderr.includes(`perhaps still behind culvert-wrap: ${fileOf(to)};`), broken.stderr);
  assert.deepEqual([broken.exit, record()], [65, kept]);
  put(to, '{}');

  put(from, installed.replace('"mcp"', '"mcp", "--cli", "firecrawl"'));
  const reworded = await uninstall();
  assert.equal(reworded.exit, 65);
  assert.match(reworded.stdout, /^ {2}search\n {2}Not all is changed: `mcp install` changed it, and its words/m);

  put(from, installed);
  assert.equal((await uninstall()).exit, 0);
  assert.deepEqual([read(from), record()], [text, {}]);
});

test('an entry whose program was moved by hand is restored as well', async t => {
  const at = '.cursor/mcp.json';
  const [text] = KEYLESS[at]!;
  const { install, read, put, uninstall, record, old } = recordedHome(t, { [at]: text });
  await install();
  put(at, read(at).replace(old, '/elsewhere/culvert-wrap'));
  assert.equal((await uninstall()).exit, 0);
  assert.deepEqual([read(at), record()], [text, {}]);
});

test('an entry without a record that starts a missing program is named by an install and by doctor', async t => {
  const entry = { command: '/gone/culvert-wrap', args: ['mcp', '--', 'npx', '-y', 'firecrawl-mcp'] };
  const text = JSON.stringify({ mcpServers: { own: entry } });
  const { mcp, read, old, dead } = recordedHome(t, { '.cursor/mcp.json': text });
  const { stdout } = await mcp('install', '--check');
  const why = `it starts /gone/culvert-wrap, which does not exist: write ${old} there`;
  assert.ok(stdout.includes(`  own\n  Not all is changed: ${why}.\n`), stdout);
  assert.equal((await dead()).length, 1);
  await mcp('install', '--yes');
  assert.equal(read('.cursor/mcp.json'), text);
});

test('the record of a file stays while the file is missing or cannot be read, and the entries return with it', async t => {
  const { install, texts, fileOf, record, uninstall, put } = recordedHome(t, ALL);
  await install('--server', 'firecrawl');
  const [installed, kept] = [texts(), record()];
  const ways: [why: string, hide: (file: string) => void][] = [
    ['missing', file => fs.rmSync(file)],
    ['not UTF-8', file => fs.writeFileSync(file, Buffer.from([0xff]))],
  ];
  for (const [why, hide] of ways) {
    for (const at of PLACES) hide(fileOf(at));
    const left = await uninstall();
    assert.equal(left.exit, 65);
    for (const at of PLACES) {
      assert.match(left.stdout, new RegExp(`^${fileOf(at)}\n  It could not be read: it is ${why}`, 'm'));
      assert.match(left.stderr, new RegExp(`perhaps still .*: .*${fileOf(at)}`));
    }
    assert.deepEqual(record(), kept);
    for (const [at, text] of Object.entries(installed)) put(at, text);
  }
  const undone = await uninstall();
  assert.equal(undone.exit, 0, undone.stdout + undone.stderr);
  assert.deepEqual([texts(), record()], [ALL, {}]);
});

test('an empty file in the place of one that is gone for good ends its record', async t => {
  const { install, fileOf, record, uninstall, put } = recordedHome(t, ALL);
  await install('--server', 'firecrawl');
  for (const at of PLACES) fs.rmSync(fileOf(at));
  assert.equal((await uninstall()).exit, 65);
  for (const at of PLACES) put(at, '');
  const undone = await uninstall();
  assert.deepEqual([undone.exit, record()], [0, {}], undone.stdout + undone.stderr);
});

test('a file with two paths is changed, recorded and restored once, by either path', async t => {
  const { box, cwd, install, texts, record, old, moveProgram } = recordedHome(t, ALL);
  const link = path.join(path.dirname(box.home), 'link');
  fs.symlinkSync(box.home, link);
  const linked = { HOME: link };
  const through = (env: Record<string, string>, ...words: string[]) => box.wrap(['mcp', ...words], { cwd, env });
  await through(linked, 'install', '--yes', '--file', '--server', 'firecrawl');
  const [installed, kept] = [texts(), Object.keys(record())];

  // by the other path, there is nothing left to change
  assert.match((await install('--server', 'firecrawl')).stdout, /^No client uses a server of the catalog directly/);
  const { program, mcp } = moveProgram('other/bin');
  assert.equal((await mcp('install', '--yes', '--server', 'firecrawl')).exit, 0);
  for (const at of PLACES) assert.equal(texts()[at], installed[at]!.replaceAll(old, program), at);
  assert.deepEqual(Object.keys(record()), kept);

  const undone = await mcp('uninstall', '--yes');
  assert.equal(undone.exit, 0, undone.stdout + undone.stderr);
  assert.deepEqual([texts(), record()], [ALL, {}]);
});

test('a file that became a symlink, or is one no longer, is restored', async t => {
  for (const isLinkFirst of [true, false]) {
    const [at, target] = ['.cursor/mcp.json', 'dotfiles/mcp.json'];
    const [text] = KEYLESS[at]!;
    const { install, read, put, uninstall, record, fileOf } = recordedHome(t, { [at]: text, [target]: '' });
    const link = () => {
      fs.renameSync(fileOf(at), fileOf(target));
      fs.symlinkSync(fileOf(target), fileOf(at));
    };
    if (isLinkFirst) link();
    await install();
    if (isLinkFirst) {
      // as a client does that replaces its file
      const now = read(at);
      fs.rmSync(fileOf(at));
      put(at, now);
    } else link();
    const undone = await uninstall();
    assert.equal(undone.exit, 0, undone.stdout + undone.stderr);
    assert.deepEqual([read(at), record()], [text, {}]);
  }
});

test('a file that was changed by a path that is gone is restored by its other path', async t => {
  for (const [at, [text]] of Object.entries(KEYLESS).filter(([at]) => !at.startsWith('app/'))) {
    const { box, cwd, read, uninstall, record } = recordedHome(t, { [at]: text });
    const link = path.join(path.dirname(box.home), 'link');
    fs.symlinkSync(box.home, link);
    await box.wrap(['mcp', 'install', '--yes'], { cwd, env: { HOME: link } });
    assert.notEqual(read(at), text, at);
    fs.rmSync(link);
    const undone = await uninstall();
    assert.deepEqual([undone.exit, read(at), record()], [0, text, {}], undone.stdout + undone.stderr);
  }
});

test('consent for a server counts by any path of its file', async t => {
  const [text] = KEYLESS['app/.mcp.json']!;
  const { box, install, read } = recordedHome(t, { 'app/.mcp.json': text });
  fs.symlinkSync(path.join(box.home, 'app'), path.join(box.home, 'link'));
  await install('--server', `${path.join(box.home, 'link')}/.mcp.json:search`);
  assert.match(read('app/.mcp.json'), /culvert-wrap/);
});

test('an uninstall where nothing was installed writes nothing', async t => {
  const { box, cwd } = clientHome(t, {});
  fs.rmSync(box.state, { recursive: true, force: true });
  const { exit, stdout } = await box.wrap(['mcp', 'uninstall', '--yes'], { cwd });
  assert.deepEqual([exit, /^No client uses a server through/.test(stdout)], [0, true]);
  assert.equal(fs.existsSync(box.state), false);
});
