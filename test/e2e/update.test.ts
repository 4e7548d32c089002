// A user's whole way: install, update through a server, go back, remove. The programs are the real ones, the home is not.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { request } from 'node:http';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createHome, getJson, type Home } from '../support/e2e/culvert.ts';
import { fakeGjs, imageOf, makeTree, pack } from '../support/e2e/update-tree.ts';
import { assertSameFiles, snapshot } from '../support/manifest/release.ts';
import { freePort } from '../support/ports.ts';
import { signal } from '../support/signal.ts';
import { until } from '../support/until.ts';
import { createSource, publish, type Source } from '../support/update/source.ts';

interface User extends Home {
  /** Runs a program to its end. */
  run(program: string, ...words: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Runs the installed `culvert`. */
  culvert(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  root: string;
}

function createUser(t: TestContext, env: Record<string, string> = {}): User {
  const home = createHome(t);
  // dconf would leave a file, where GNOME Shell is installed
  Object.assign(home.env, { GSETTINGS_BACKEND: 'memory' }, env);
  const bin = path.join(home.directory, '.local/bin');
  home.env.PATH = `${bin}:${home.env.PATH}`;
  const run: User['run'] = (program, ...words) =>
    new Promise(resolve => {
      const options = { env: home.env, cwd: home.directory, timeout: 90_000 };
      execFile(program, words, options, (error, stdout, stderr) => {
        resolve({ code: error ? ((error.code as unknown as number) ?? -1) : 0, stdout, stderr });
      });
    });
  // the daemon that an update starts is not a child of the test
  home.defer(() => {
    const pid = pidOf(home);
    if (pid !== null) signal(pid, 'SIGKILL');
  });
  return {
    ...home,
    run,
    culvert: (...words) => run(path.join(bin, 'culvert'), ...words),
    root: path.join(home.directory, '.local/share/culvert'),
  };
}

function pidOf({ runtime }: Home): number | null {
  try {
    const { pid } = JSON.parse(fs.readFileSync(path.join(runtime, 'daemon.json'), 'utf8'));
    return fs.existsSync(`/proc/${pid}`) ? pid : null;
  } catch {
    return null;
  }
}

/** Starts the installed daemon as a desktop does, and waits until it answers. */
async function startInstalled(user: User, flags: string[], source?: Source): Promise<number> {
  const port = freePort();
  const env = { ...user.env, ...(source ? { CULVERT_UPDATES_SOURCE: source.url } : {}) };
  const child = spawn('culvert', ['--demo', '--no-open', '--port', String(port), ...flags], { env, stdio: 'ignore' });
  user.defer(() => child.kill('SIGKILL'));
  await until(async () => (await user.culvert('status')).code === 0, 'the daemon answers');
  return port;
}

/** Empty for a process that has ended. */
function commandLine(pid: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** The desktop programs that a daemon runs: the scripts of its `gjs` children. */
function shownBy(pid: number): string[] {
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return children
    .map(child => /(panel|tray)\.js/.exec(commandLine(child))?.[1])
    .filter(part => part !== undefined)
    .sort();
}

test('install 1, update to 2 through a server, go back, remove: and nothing is left', { timeout: 240_000 }, async t => {
  const user = createUser(t, { DISPLAY: ':77' });
  const built = fs.mkdtempSync(path.join(user.directory, 'built-'));
  const [one, two] = [makeTree(built, '1.0.0'), makeTree(built, '2.0.0')];
  const archive = pack(two);
  fs.rmSync(two, { recursive: true });
  const source = await createSource(t);
  publish(source, '2.0.0', { 'culvert-2.0.0-user.tar.gz': archive });
  user.env.PATH = `${fakeGjs(user.directory)}:${user.env.PATH}`;
  const tools = path.join(user.directory, 'tools');
  fs.mkdirSync(tools);
  fs.writeFileSync(path.join(tools, 'tvly'), '#!/bin/sh\necho "tool $*"\n', { mode: 0o755 });
  user.env.PATH += `:${tools}`;
  const before = snapshot(user.directory);

  const installed = await user.run(path.join(one, 'bin/culvert'), '__install', one);
  assert.equal(installed.code, 0, installed.stderr);
  assert.match(installed.stdout, /^Installed Culvert 1\.0\.0 in .*\/\.local\/share\/culvert\.\n$/);
  const current = path.join(user.root, 'current');
  const inData = (file: string) => fs.readFileSync(path.join(user.directory, '.local/share', file), 'utf8');
  assert.match(inData('applications/org.culvert.Culvert.desktop'), new RegExp(`^Exec=${current}/bin/culvert %u$`, 'm'));
  assert.match(
    inData('dbus-1/services/org.culvert.Culvert.service'),
    new RegExp(` ${current}/share/culvert/panel\\.js `),
  );
  assert.match(inData('systemd/user/culvert.service'), new RegExp(`^ExecStart=${current}/bin/culvert --no-open`, 'm'));
  assert.equal(inData('man/man1/culvert.1').slice(0, 3), '.TH');
  assert.equal(inData('man/man5/org.culvert.Client1.5').slice(0, 3), '.TH');
  assert.match(inData('dbus-1/interfaces/org.culvert.Client1.xml'), /<interface name="org\.culvert\.Client1">/);
  const bridge = `${current}/share/culvert/bridge\\.js`;
  assert.match(inData('dbus-1/services/org.culvert.Client1.service'), new RegExp(` ${bridge}$`, 'm'));
  assert.match(inData('systemd/user/culvert-bridge.service'), new RegExp(`^ExecStart=.* ${bridge}$`, 'm'));
  assert.doesNotMatch(snapshotText(user), /@(PREFIX|DATA|USERBIN)@/);

  const port = await startInstalled(user, [], source);
  const [pid1] = [pidOf(user)!];
  await until(() => shownBy(pid1).length === 2, 'tray and panel are there');
  assert.equal((await user.run('culvert-wrap', 'install', 'tvly')).code, 0);
  const shim = fs.readFileSync(path.join(tools, 'tvly'), 'utf8');
  assert.ok(shim.includes(`'${current}/share/culvert/wrap/main.cjs'`), 'the shim outlives the version');

  const check = await user.culvert('update', 'check');
  assert.equal(check.code, 0, check.stderr);
  assert.match(check.stdout, /^Newest +2\.0\.0$[\s\S]*^Culvert 2\.0\.0 is out\. To install it: culvert update apply$/m);

  const applied = await user.culvert('update', 'apply');
  assert.equal(applied.code, 0, applied.stderr);
  assert.equal(applied.stdout, 'Updated from Culvert 1.0.0 to 2.0.0. To go back: culvert update rollback\n');
  assert.match(applied.stderr, /^Downloading\nVerifying\nInstalling\nStarting Culvert 2\.0\.0\n$/);
  assert.equal((await user.culvert('--version')).stdout, 'culvert 2.0.0\n');
  assert.equal((await getJson(port, '/api/version')).version, '2.0.0');
  const pid2 = pidOf(user)!;
  assert.notEqual(pid2, pid1);
  await until(() => shownBy(pid2).length === 2, 'tray and panel are there again');
  assert.deepEqual(fs.readdirSync(path.join(user.root, 'versions')).sort(), ['1.0.0', '2.0.0']);
  assert.equal((await user.run('tvly', 'x')).stdout, 'tool x\n');

  const nothing = await user.culvert('update', 'apply');
  assert.deepEqual([nothing.code, nothing.stdout], [0, 'Culvert 2.0.0 is the newest.\n']);

  // a panel that was closed stays closed
  const panel = fs
    .readFileSync(`/proc/${pid2}/task/${pid2}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
    .find(child => commandLine(child).includes('panel.js'));
  process.kill(Number(panel));
  await until(() => shownBy(pid2).length === 1, 'the panel is gone');
  const mode = (await user.culvert('mode')).stdout;
  assert.equal((await user.culvert('mode', 'doh', '--confirm-within', '500')).code, 0);
  assert.equal((await user.culvert('connect')).code, 0);
  assert.equal((await user.culvert('off', '--for', '1h')).code, 0);
  const back = await user.culvert('update', 'rollback', '--json');
  assert.equal(back.code, 0, back.stderr);
  const { pending, ...rest } = JSON.parse(back.stdout);
  assert.deepEqual(rest, { ok: true, demo: true, from: '2.0.0', to: '1.0.0', reverted: ['mode'] });
  assert.deepEqual(
    pending.map(({ subject }: { subject: string }) => subject),
    ['connection'],
  );
  assert.equal((await user.culvert('mode')).stdout, mode, 'the older version may not know how to revert it');
  assert.equal((await user.culvert('revert')).code, 0, 'the pause still ends');
  assert.equal((await getJson(port, '/api/version')).version, '1.0.0');
  const pid3 = pidOf(user)!;
  await until(() => shownBy(pid3).length > 0, 'the tray is there');
  assert.deepEqual(shownBy(pid3), ['tray']);
  assert.match((await user.culvert('update')).stdout, /Culvert 2\.0\.0 was rolled back and is not offered again\./);
  const none = await user.culvert('update', 'rollback');
  assert.deepEqual([none.code, none.stdout], [1, '']);
  assert.match(none.stderr, /There is no version to go back to/);

  const removed = await user.culvert('__uninstall', '--purge');
  assert.equal(removed.code, 0, removed.stderr);
  assert.match(
    removed.stdout,
    /tvly: restored[\s\S]*Stopped the daemon\.\nRemoved Culvert\.\nRemoved configuration and state:/,
  );
  assert.equal(pidOf(user), null);
  assertSameFiles(snapshot(user.directory), before);
});

test('installing over a running daemon starts it again as the new version, and configuration stays', {
  timeout: 120_000,
}, async t => {
  const user = createUser(t);
  // a home behind a link, as where /home is one to /var/home: programs find themselves by another path than the user's
  const home = path.join(user.directory, 'home');
  fs.symlinkSync(user.directory, home);
  user.env.HOME = home;
  user.env.PATH = `${home}/.local/bin:${user.env.PATH}`;
  const tools = path.join(user.directory, 'tools');
  fs.mkdirSync(tools);
  fs.writeFileSync(path.join(tools, 'tvly'), '#!/bin/sh\n', { mode: 0o755 });
  user.env.PATH += `:${tools}`;
  const built = fs.mkdtempSync(path.join(user.directory, 'built-'));
  const [one, two] = [makeTree(built, '1.0.0'), makeTree(built, '2.0.0')];
  await user.run(path.join(one, 'bin/culvert'), '__install', one);
  const port = await startInstalled(user, ['--no-tray', '--no-panel']);
  assert.equal((await user.culvert('config', 'set', 'ui.theme', 'dark')).code, 0);
  assert.equal((await user.culvert('config', 'set', 'tray.autostart', 'true')).code, 0);
  assert.equal((await user.run('culvert-wrap', 'install', 'tvly')).code, 0);
  const shells = path.join(user.directory, 'shells');
  fs.mkdirSync(shells);
  fakeShells(shells);
  user.env.PATH = `${shells}:${user.env.PATH}`;
  user.env.XDG_DATA_DIRS = shells;
  const share = path.join(user.directory, '.local/share');
  const tile = path.join(share, 'gnome-shell/extensions/culvert@culvert.org');
  const { code, stderr } = await user.culvert('shell', 'install', 'gnome');
  assert.equal(code, 0, stderr);
  assert.ok(fs.existsSync(path.join(tile, 'metadata.json')));
  const first = pidOf(user);

  const upgraded = await user.run(path.join(two, 'bin/culvert'), '__install');
  assert.equal(upgraded.code, 0, upgraded.stderr);
  assert.match(upgraded.stdout, /^Updated to Culvert 2\.0\.0 .*\nStarted the daemon again; it is 2\.0\.0 now\.\n$/);
  assert.notEqual(pidOf(user), first);
  assert.equal((await getJson(port, '/api/version')).version, '2.0.0');

  assert.match(fs.realpathSync(tile), /\/versions\/2\.0\.0\//);
  const removed = await user.culvert('__uninstall');
  assert.match(removed.stdout, /tvly: restored/);
  assert.equal(fs.readFileSync(path.join(shells, 'enabled-extensions'), 'utf8'), '[]\n');
  assert.equal(fs.readFileSync(path.join(tools, 'tvly'), 'utf8'), '#!/bin/sh\n');
  assert.ok(!fs.existsSync(path.join(user.directory, '.config/autostart/org.culvert.Culvert.desktop')));
  assert.match(removed.stdout, /Configuration and state stay in .*\.config\/culvert, .*; --purge removes them\./);
  assert.match(fs.readFileSync(path.join(user.directory, '.config/culvert/config.json'), 'utf8'), /"dark"/);
  assert.ok(!fs.existsSync(path.join(user.directory, '.local/share')));
  assert.ok(!fs.existsSync(path.join(user.directory, '.local/bin')));
});

test('a purge gives the clients of MCP their keys back first, or removes nothing', async t => {
  const user = createUser(t);
  const tree = makeTree(fs.mkdtempSync(path.join(user.directory, 'built-')), '1.0.0');
  await user.run(path.join(tree, 'bin/culvert'), '__install', tree);
  const client = path.join(user.directory, '.cursor/mcp.json');
  const secrets = path.join(user.directory, '.config/culvert-wrap/secrets/tvly.env');
  const env = { TAVILY_API_KEY: 'tvly-canary' };
  const text = JSON.stringify({ mcpServers: { tavily: { command: 'npx', args: ['tavily-mcp'], env } } }, null, 2);
  fs.mkdirSync(path.dirname(client));
  fs.writeFileSync(client, text);
  const wrap = path.join(user.directory, '.local/bin/culvert-wrap');
  assert.equal((await user.run(wrap, 'mcp', 'install', '--yes', '--file')).code, 0);
  assert.doesNotMatch(fs.readFileSync(client, 'utf8'), /canary/);

  const changed = fs.readFileSync(client, 'utf8');
  // as after a mistake in an editor
  fs.writeFileSync(client, changed.replace('":', '"'));
  const refused = await user.culvert('__uninstall', '--purge');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /nothing was removed: .*still without their keys: .*mcp\.json/);
  assert.match(
    refused.stdout,
    /culvert-wrap mcp uninstall reports:\n.*mcp\.json\n.*It could not be read: .*colon expected/,
  );
  assert.match(fs.readFileSync(secrets, 'utf8'), /canary/);

  const program = fs.realpathSync(wrap);
  fs.renameSync(program, `${program}.away`);
  const without = await user.culvert('__uninstall', '--purge');
  assert.match(without.stderr, /there is no culvert-wrap: nothing was removed/);
  assert.match(fs.readFileSync(secrets, 'utf8'), /canary/);
  fs.renameSync(`${program}.away`, program);

  fs.rmSync(client);
  // an entry without a key needs its record as well
  const other = path.join(user.directory, '.gemini/settings.json');
  fs.mkdirSync(path.dirname(other));
  fs.writeFileSync(other, '{"mcpServers":{"search":{"command":"npx","args":["tavily-mcp"]}}}');
  assert.equal((await user.run(wrap, 'mcp', 'install', '--yes')).code, 0);
  const installed = fs.readFileSync(other, 'utf8');
  fs.writeFileSync(other, installed.replace('search', 'renamed'));
  const renamed = await user.culvert('__uninstall', '--purge');
  assert.equal(renamed.code, 1);
  assert.match(renamed.stderr, /nothing was removed: .*still behind culvert-wrap: \S*settings\.json;/);
  assert.match(renamed.stderr, /perhaps still without their keys: \S*mcp\.json;/);
  assert.match(fs.readFileSync(secrets, 'utf8'), /canary/);
  fs.writeFileSync(other, installed);

  fs.writeFileSync(client, changed);
  const removed = await user.culvert('__uninstall', '--purge');
  assert.equal(removed.code, 0, removed.stderr);
  assert.match(removed.stdout, /culvert-wrap mcp uninstall reports:\n.*mcp\.json\n/);
  assert.equal(fs.readFileSync(client, 'utf8'), text);
  assert.ok(!fs.existsSync(secrets));
});

test('under systemd the daemon ends with the status on which its unit starts it again, after the reply', async t => {
  const user = createUser(t);
  const built = fs.mkdtempSync(path.join(user.directory, 'built-'));
  const [one, two] = [makeTree(built, '1.0.0'), makeTree(built, '2.0.0')];
  const source = await createSource(t);
  publish(source, '2.0.0', { 'culvert-2.0.0-user.tar.gz': pack(two) });
  await user.run(path.join(one, 'bin/culvert'), '__install', one);
  const unit = fs.readFileSync(path.join(user.directory, '.local/share/systemd/user/culvert.service'), 'utf8');
  assert.match(unit, /^RestartForceExitStatus=75$/m);
  const words = /^ExecStart=(.*)$/m.exec(unit)![1]!.split(' ');
  const env = {
    ...user.env,
    CULVERT_UPDATES_SOURCE: source.url,
    CULVERT_WARP_CLI: path.join(user.directory, '.local/bin/culvert-emulator'),
    CULVERT_SERVER_PORT: String(freePort()),
    NOTIFY_SOCKET: path.join(user.directory, 'no-such-socket'),
  };
  // as systemd sets it: the pid of what ExecStart= started, which the launcher keeps
  const script = 'export SYSTEMD_EXEC_PID=$$; exec "$@"';
  const daemon = spawn('sh', ['-c', script, 'sh', ...words], { env, stdio: 'ignore' });
  user.defer(() => daemon.kill('SIGKILL'));
  const ended = new Promise(resolve => daemon.on('exit', resolve));
  await until(async () => (await user.culvert('status')).code === 0, 'the daemon answers');
  assert.deepEqual(await post(path.join(user.runtime, 'api.sock'), '/api/update/apply'), {
    ok: true,
    from: '1.0.0',
    to: '2.0.0',
  });
  assert.equal(await ended, 75);
  assert.equal(pidOf(user), null, 'no other daemon was started');
  assert.equal((await user.run(words[0]!, '--version')).stdout, 'culvert 2.0.0\n');
});

test('an AppImage replaces itself, starts again from its own file, and goes back', { timeout: 120_000 }, async t => {
  const user = createUser(t);
  const built = fs.mkdtempSync(path.join(user.directory, 'built-'));
  const [one, two] = [makeTree(built, '1.0.0', 'appimage'), makeTree(built, '2.0.0', 'appimage')];
  const source = await createSource(t);
  publish(source, '2.0.0', { [`culvert-2.0.0-${os.machine()}.AppImage`]: imageOf(two) });
  const file = path.join(user.directory, 'Culvert.AppImage');
  fs.writeFileSync(file, imageOf(one), { mode: 0o755 });
  const flags = ['--demo', '--no-tray', '--no-panel', '--port', String(freePort())];
  const daemon = spawn(file, flags, { env: { ...user.env, CULVERT_UPDATES_SOURCE: source.url }, stdio: 'ignore' });
  user.defer(() => daemon.kill('SIGKILL'));
  await until(async () => (await user.run(file, 'status')).code === 0, 'the daemon answers');

  const applied = await user.run(file, 'update', 'apply');
  assert.deepEqual(
    [applied.code, applied.stdout.slice(0, 38)],
    [0, 'Updated from Culvert 1.0.0 to 2.0.0. T'],
    applied.stderr,
  );
  const child = fs.readFileSync(`/proc/${pidOf(user)}/environ`, 'utf8');
  assert.ok(child.split('\0').includes(`APPIMAGE=${file}`), 'it was started through the new file');
  assert.deepEqual(fs.readFileSync(file), imageOf(two));

  const back = await user.run(file, 'update', 'rollback');
  assert.deepEqual([back.code, back.stdout], [0, 'Went back from Culvert 2.0.0 to 1.0.0.\n'], back.stderr);
  assert.deepEqual(fs.readFileSync(file), imageOf(one));
  assert.deepEqual(
    fs.readdirSync(user.directory).filter(name => /AppImage/.test(name)),
    ['Culvert.AppImage'],
  );
  assert.equal((await user.run(file, 'stop')).code, 0);
});

test('a path with blanks, quotes, dollar and per cent signs survives desktop entry, bus and unit', async t => {
  const user = createUser(t);
  const odd = path.join(user.directory, `a b's "c" $d 100%`);
  fs.mkdirSync(odd);
  user.env.XDG_DATA_HOME = odd;
  const one = makeTree(fs.mkdtempSync(path.join(user.directory, 'built-')), '1.0.0');
  const installed = await user.run(path.join(one, 'bin/culvert'), '__install', one);
  assert.equal(installed.code, 0, installed.stderr);
  assert.equal((await user.culvert('--version')).stdout, 'culvert 1.0.0\n');
  const { stdout, code } = await user.run(
    'desktop-file-validate',
    path.join(odd, 'applications/org.culvert.Culvert.desktop'),
  );
  if (code >= 0) assert.deepEqual([code, stdout], [0, '']);
  assert.equal((await user.culvert('__uninstall')).code, 0);
  assert.deepEqual(fs.readdirSync(odd), []);
});

function post(socketPath: string, route: string): Promise<unknown> {
  const headers = { host: 'localhost', 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path: route, method: 'POST', headers }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve(JSON.parse(text)));
    });
    call.on('error', reject);
    call.end('{}');
  });
}

/** Puts stand-ins for the programs of GNOME Shell there. */
function fakeShells(directory: string): void {
  const write = (name: string, text: string) => fs.writeFileSync(path.join(directory, name), text, { mode: 0o755 });
  write('gsettings', `#!/bin/sh\ncd '${directory}'\n[ "$1" = get ] && exec cat "$3"\necho "$4" > "$3"\n`);
  write('gdbus', '#!/bin/sh\nexit 1\n');
  for (const key of ['enabled-extensions', 'disabled-extensions']) write(key, '@as []\n');
  write('disable-user-extensions', 'false\n');
}

/** Everything that was written outside of the trees. */
function snapshotText({ directory }: User): string {
  const share = path.join(directory, '.local/share');
  return fs
    .readdirSync(share, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.parentPath.includes('/versions'))
    .map(entry => fs.readFileSync(path.join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');
}
