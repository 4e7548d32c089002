// Real browsers and programs through the built daemon's API, in a network namespace whose every packet is accounted for.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createHome, culvert, type Home, prefix, program } from '../support/e2e/culvert.ts';
import { freePort } from '../support/ports.ts';
import { bundleScript } from '../support/script.ts';
import { signal } from '../support/signal.ts';
import { FULL } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';

/** Addresses of the page and of the emulator's proxy: a call from another address bypassed the proxy. */
const PAGE = '203.0.113.9';
const PROXY_SIDE = '127.0.0.77';
const NAME_SERVER = '203.0.113.53';
/** An address behind the emulator's proxy that no host has. */
const OTHER_NAME_SERVER = '203.0.113.54';

const has = (name: string) => (process.env.PATH ?? '').split(':').some(directory => existsSync(join(directory, name)));
const missing = ['unshare', 'nsenter', 'ip', 'Xvfb'].filter(name => !has(name));
const skip =
  process.getuid?.() !== 0
    ? 'a network namespace needs root'
    : missing.length > 0
      ? `not installed: ${missing.join(', ')}`
      : namespaceRefused();
const without = (name: string) => skip || (has(name) ? false : `${name} is not installed`);

function namespaceRefused(): string | false {
  try {
    execFileSync('unshare', ['--net', '--mount', 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'this machine allows no network namespace';
  }
}

interface Arrival {
  kind: 'http' | 'tls' | 'dns' | 'udp' | 'ready';
  from: string;
  path?: string;
  text?: string;
}

const FENCE = 'fence-';
const isFence = ({ text = '', path = '' }: Arrival) => (text + path).includes(FENCE);

/** Kills every process with this variable in its environment, and those that they start until then. */
function killAll(variable: string): Promise<boolean> {
  return until(() => {
    const left = processesWith(variable);
    for (const pid of left) signal(pid, 'SIGKILL');
    return left.length === 0;
  }, `no process has ${variable}`);
}

/**
 * Kills a process and its descendants. Chromium writes the titles of its processes over their environment, so only the tree identifies them.
 */
async function killTree(root: number): Promise<void> {
  const tree = new Set<number>();
  for (let found = [root]; found.length > 0; found = descendants(root).filter(pid => !tree.has(pid)))
    for (const pid of found) {
      tree.add(pid);
      signal(pid, 'SIGSTOP'); // so that it starts no more
    }
  for (const pid of tree) signal(pid, 'SIGKILL');
  await until(() => [...tree].every(pid => programOf(pid) === ''), 'the processes have ended');
}

function descendants(root: number): number[] {
  const lines = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const processes = lines.map(line => line.trim().split(/\s+/).map(Number) as [number, number]);
  const below = (of: number): number[] =>
    processes.filter(([, parent]) => parent === of).flatMap(([pid]) => [pid, ...below(pid)]);
  return below(root);
}

/** Resolves when a process says its first word. @throws {Error} where it ends before */
async function isUp(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${child.spawnargs.join(' ')} ended with ${code ?? signal}.`);
  });
  await Promise.race([once(child.stdout!, 'data'), ended]);
}

/** A namespace with nothing but loopback addresses, in it a page, a name server, a display and the demo daemon. */
async function createWorld(t: TestContext) {
  const home = createHome(t);
  const stop = (child: ChildProcess) =>
    home.defer(async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
  const resolver = join(home.directory, 'resolv.conf');
  writeFileSync(resolver, `nameserver ${NAME_SERVER}\noptions timeout:1 attempts:1\n`);
  const script = `ip link set lo up && ip addr add ${PAGE}/32 dev lo && ip addr add ${NAME_SERVER}/32 dev lo &&
    mount --bind ${resolver} /etc/resolv.conf && echo up && exec sleep 600`;
  const holder = spawn('unshare', ['--net', '--mount', 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  stop(holder);
  await isUp(holder);
  // with its root directory: entering a mount namespace leaves a chroot
  const enter = ['-t', String(holder.pid), '-n', '-m', '-r', '-w', '--'];

  // The emulator's proxy asks another name server, so that a question that reaches ours was not asked by the proxy.
  // Any run of the emulator may start the proxy, so each of them enters the namespace where that server counts.
  const other = join(home.directory, 'other-resolv.conf');
  writeFileSync(other, `nameserver ${OTHER_NAME_SERVER}\noptions timeout:1 attempts:1\n`);
  const elsewhere = spawn(
    'nsenter',
    [...enter, 'unshare', '--mount', 'sh', '-c', `mount --bind ${other} /etc/resolv.conf && echo up && exec sleep 600`],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  stop(elsewhere);
  await isUp(elsewhere);
  const emulator = join(prefix, 'bin/culvert-emulator');
  const detour = join(home.directory, 'culvert-emulator');
  const command = `#!/bin/sh\nexec nsenter -t ${elsewhere.pid} -m -r -w -- ${emulator} "$@"\n`;
  writeFileSync(detour, command, { mode: 0o755 });
  execFileSync('nsenter', [...enter, 'mount', '--bind', detour, emulator]);

  const arrivals: Arrival[] = [];
  const server = bundleScript(join(import.meta.dirname, '../support/e2e/apps-page.ts'), home.directory);
  const page = spawn('nsenter', [...enter, process.execPath, server, PAGE, NAME_SERVER, PROXY_SIDE], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stop(page);
  let rest = '';
  page.stdout!.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop()!;
    arrivals.push(...lines.map(line => JSON.parse(line)));
  });
  await until(() => arrivals.some(({ kind }) => kind === 'ready'), 'the page serves');

  const display = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1024x768x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  stop(display);
  const [number] = await once(display.stdio[3] as NodeJS.ReadableStream, 'data');

  // everything that the daemon starts, and nothing else, has this home in its environment
  home.defer(async () => void (await killAll(`HOME=${home.directory}`)));
  const env = {
    ...home.env,
    DISPLAY: `:${String(number).trim()}`,
    CULVERT_WARP_TRACE_URL: 'http://127.0.0.1/cdn-cgi/trace',
  };
  const daemon = spawn('nsenter', [...enter, program, '--demo', '--no-open', '--no-tray', '--no-panel'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  stop(daemon);
  let said = '';
  daemon.stderr!.setEncoding('utf8').on('data', (piece: string) => (said += piece));
  await until(() => /answers on/.test(said), 'the daemon answers');
  await culvert(home, 'action', 'acceptTerms');
  execFileSync(join(prefix, 'bin/culvert-emulator'), ['--emulate', `proxyFrom=${PROXY_SIDE}`], { env: home.env });

  const applications = join(home.directory, '.local/share/applications');
  mkdirSync(applications, { recursive: true });
  return {
    home,
    arrivals,
    /** Requests for paths that begin with this. */
    at: (path: string) => arrivals.filter(arrival => arrival.path?.startsWith(path)),
    /** Calls of the page and of the name server that didn't come from the proxy, but for the given paths. */
    leaks: (...allowed: string[]) =>
      arrivals.filter(
        ({ kind, from, path = '' }) =>
          kind !== 'ready' &&
          !(kind === 'http' && from === PROXY_SIDE) &&
          !allowed.some(prefix => path.startsWith(prefix)),
      ),
    entry(id: string, ...lines: string[]) {
      const text = ['[Desktop Entry]', 'Type=Application', `Name=${id}`, ...lines, ''].join('\n');
      writeFileSync(join(applications, `${id}.desktop`), text);
    },
    launch: (appId: string, more: object = {}) =>
      post(home, '/api/apps/proxy-launcher', { appId: `${appId}.desktop`, ...more }),
    async proxyOn() {
      for (const words of [['mode', 'proxy'], ['connect'], ['proxy', 'on', '--yes']])
        assert.equal((await culvert(home, ...words)).code, 0, words.join(' '));
    },
    /** Runs a program in the namespace, without the proxy. */
    direct(...argv: string[]) {
      const child = spawn('nsenter', [...enter, ...argv], { env, stdio: 'ignore' });
      stop(child);
      return child;
    },
    /** Resolves once everything that was sent so far is among the arrivals, and returns their number. */
    async settled() {
      const name = `${FENCE}${arrivals.length}`;
      const packets = [`${NAME_SERVER}/53`, `${PAGE}/443`, `${PAGE}/3478`].map(
        to => `printf '%012d${name}' 0 > /dev/udp/${to}`,
      );
      const request = `exec 3<>/dev/tcp/${PAGE}/80; printf 'GET /${name} HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`;
      execFileSync('nsenter', [...enter, 'bash', '-c', [...packets, request].join('\n')], { stdio: 'ignore' });
      const arrived = () => arrivals.filter(({ text = '', path = '' }) => (text + path).endsWith(name));
      await until(() => arrived().length === packets.length + 1, 'the fence arrives');
      return arrivals.length;
    },
  };
}

function programOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return ''; // it has ended
  }
}

/** Processes with this variable in their environment. */
function processesWith(variable: string): number[] {
  const pids = execFileSync('ps', ['-e', '-o', 'pid='], { encoding: 'utf8' }).trim().split(/\s+/).map(Number);
  return pids.filter(pid => {
    try {
      return pid !== process.pid && `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${variable}\0`);
    } catch {
      return false;
    }
  });
}

function post(home: Home, path: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const call = request(
      {
        socketPath: join(home.runtime, 'api.sock'),
        method: 'POST',
        path,
        headers: { host: 'localhost', 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
        agent: false,
      },
      response => {
        let answer = '';
        response.setEncoding('utf8').on('data', (piece: string) => (answer += piece));
        response.on('end', () => resolve({ status: response.statusCode!, body: JSON.parse(answer) }));
      },
    );
    call.once('error', reject);
    call.end(text);
  });
}

const BROWSERS = {
  chromium: {
    exec: (path: string) => `/usr/bin/chromium --no-sandbox --disable-gpu http://${PAGE}${path} %U`,
    direct: (path: string, profile: string) => [
      '/usr/bin/chromium',
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      `--user-data-dir=${profile}`,
      `http://${PAGE}${path}`,
    ],
  },
  'firefox-esr': {
    exec: (path: string) => `/usr/bin/firefox-esr http://${PAGE}${path} %u`,
    direct: (path: string) => ['/usr/bin/firefox-esr', `http://${PAGE}${path}`],
  },
};

for (const [name, browser] of Object.entries(BROWSERS))
  test(`${name} sees the page from the proxy’s side only, also next to a running instance, and nothing once the proxy is gone`, {
    skip: without(name) || (name === 'firefox-esr' && !FULL ? 'a full run starts Firefox' : false),
  }, async t => {
    const { home, entry, launch, at, direct, arrivals, proxyOn, settled } = await createWorld(t);
    entry('browser', `Exec=${browser.exec('/through')}`);
    entry('again', `Exec=${browser.exec('/late')}`);
    assert.deepEqual((await launch('browser')).body.code, 'proxy-not-enabled');

    // an ordinary browser of the same user, with the default profile of the program
    const ordinary = direct(...browser.direct('/direct', join(home.directory, '.config/chromium')));
    // the first start of a browser on a busy machine is slow
    await until(() => at('/direct/tick').length > 2, 'the ordinary browser shows its page', { limitMs: 180_000 });
    assert.notEqual(at('/direct')[0]!.from, PROXY_SIDE);

    await proxyOn();
    const started = await launch('browser');
    assert.deepEqual([started.status, started.body.ok], [200, true], JSON.stringify(started.body));
    assert.deepEqual(started.body.proxy, { host: '127.0.0.1', port: 40000 });
    await until(() => at('/through/tick').length > 10, 'the page runs through the proxy');
    assert.deepEqual([...new Set(at('/through').map(({ from }) => from))], [PROXY_SIDE]);
    const ofDirect = ({ kind, text = '' }: Arrival) => kind === 'dns' && text.includes('-direct');
    await until(() => arrivals.some(ofDirect), 'the capture sees names that are asked for directly');
    await until(() => arrivals.some(({ kind }) => kind === 'udp'), 'the capture sees UDP of the ordinary browser');
    assert.deepEqual(
      arrivals.filter(({ text = '' }) => text.includes('-through')),
      [],
    );

    // only the one through the proxy is left: from here on every packet counts
    await killTree(ordinary.pid!);
    const mark = await settled();
    const ticking = at('/through/tick').length;
    await until(() => at('/through/tick').length > ticking + 25, 'the page goes on');
    await culvert(home, 'disconnect');
    await until(async () => {
      const before = at('/through').length;
      await new Promise(resolve => setTimeout(resolve, 1000));
      return at('/through').length === before;
    }, 'the proxy is gone');
    const ticks = await settled();
    await new Promise(resolve => setTimeout(resolve, 3000));
    assert.deepEqual(arrivals.slice(ticks), [], 'nothing at all arrives without the proxy');
    assert.deepEqual(
      arrivals.slice(mark, ticks).filter(each => !isFence(each) && (each.kind !== 'http' || each.from !== PROXY_SIDE)),
      [],
    );
    assert.deepEqual((await launch('again')).body.code, 'proxy-not-enabled');
    assert.deepEqual(at('/late'), []);
  });

const GTK_PROGRAM = `#!/usr/bin/env -S gjs -m
import Gio from 'gi://Gio';
import Gtk from 'gi://Gtk?version=4.0';
import System from 'system';
Gtk.init();
new Gtk.Window({ title: 'fetches' }).present();
const client = new Gio.SocketClient();
const connection = client.connect_to_uri('http://' + System.programArgs[0], 80, null);
connection.get_output_stream().write_all('GET /gtk HTTP/1.0\\r\\nHost: page\\r\\n\\r\\n', null);
connection.get_input_stream().read_bytes(100, null);
`;

test('curl, a GTK program that asks Gio, and an unknown program under proxychains4 come from the proxy’s side only', {
  skip: without('curl') || without('gjs'),
}, async t => {
  const { home, entry, launch, at, leaks } = await createWorld(t);
  const surf = join(home.directory, 'surf'); // a name of the table of programs that ask Gio
  writeFileSync(surf, GTK_PROGRAM, { mode: 0o755 });
  const unknown = join(home.directory, 'fetches');
  const python = `#!/usr/bin/python3
import urllib.request
urllib.request.urlopen('http://${PAGE}/unknown').read()
`;
  writeFileSync(unknown, python, { mode: 0o755 });
  entry('curl', `Exec=curl -s http://${PAGE}/curl http://name-curl.invalid/ %f`);
  entry('gtk', `Exec=${surf} ${PAGE}`);
  entry('unknown', `Exec=${unknown}`);
  const { apps } = JSON.parse((await culvert(home, 'apps', '--json')).stdout) as { apps: Record<string, string>[] };
  const method = (id: string) => apps.find(app => app.id === `${id}.desktop`)?.method;
  assert.equal(method('curl'), 'environment');
  assert.equal(method('unknown'), has('proxychains4') ? 'proxychains' : 'none');

  // as a shortcut does it: the proxy is switched on for it. curl fails at the name, which is what it prints
  await culvert(home, 'apps', 'launch', '--yes', 'curl.desktop');
  await until(() => at('/curl').length === 1, 'curl’s request');
  if (method('gtk') === 'none') t.diagnostic('glib-networking is not installed, so Gio takes no proxy');
  else {
    assert.equal((await launch('gtk')).status, 200);
    await until(() => at('/gtk').length === 1, 'the GTK program’s request');
  }
  const answer = await launch('unknown');
  if (method('unknown') === 'proxychains') {
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    await until(() => at('/unknown').length === 1, 'the unknown program’s request');
  } else assert.equal(answer.body.code, 'app-not-launchable');
  assert.deepEqual(leaks(), []);

  await culvert(home, 'disconnect');
  await until(async () => (await launch('curl')).body.code === 'proxy-not-enabled', 'the proxy is gone');
  assert.deepEqual([at('/curl').length, leaks()], [1, []]);
});

test('in a demo, a launch that is to be verified is refused, and no page is asked', {
  skip: without('curl'),
}, async t => {
  const { home, entry, launch, at } = await createWorld(t);
  entry('curl', `Exec=curl -s http://${PAGE}/curl`);
  assert.equal((await culvert(home, 'proxy', 'on', '--yes')).code, 0);
  const { status, body } = await launch('curl', { verify: true });
  assert.deepEqual([status, body.code], [409, 'proxy-not-verified'], JSON.stringify(body));
  assert.deepEqual([at('/curl'), at('/cdn-cgi/trace')], [[], []]);
});

test('a shortcut starts the daemon and the proxy when needed, and notifies the desktop of the result', async t => {
  const home = createHome(t);
  home.defer(async () => void (await killAll(`HOME=${home.directory}`)));
  const bin = join(home.directory, 'bin');
  const script = (name: string, body: string) => {
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  };
  script('wget', `echo "$http_proxy" >"$HOME/out.part" && mv "$HOME/out.part" "$HOME/out"`);
  script('notify-send', `printf '%s\\n' "$@" >>"$HOME/notified"`);
  const applications = join(home.directory, '.local/share/applications');
  mkdirSync(applications, { recursive: true });
  const original = join(applications, 'get.desktop');
  writeFileSync(original, '[Desktop Entry]\nType=Application\nName=Get\nName[de]=Hol\nExec=wget %u\n');
  Object.assign(home.env, {
    PATH: `${bin}:${process.env.PATH}`,
    DISPLAY: ':4711',
    CULVERT_SERVER_PORT: String(freePort()),
    CULVERT_EMULATOR_CONNECT_MS: '50',
  });
  const notified = () => readFileSync(join(home.directory, 'notified'), 'utf8');

  // without a tunnel client, with a daemon that has to be started for it
  const refused = await culvert(home, 'apps', 'launch', '--yes', 'get.desktop');
  assert.equal(refused.code, 6, refused.stderr);
  assert.match(notified(), /get\.desktop was not started\n.*not installed/);
  assert.equal((await culvert(home, 'stop')).code, 0);

  // the daemon passes none of the emulator's variables to what it takes for the real client, so the script has them
  const state = join(home.directory, 'client.json');
  const emulator = join(realpathSync(prefix), 'bin/culvert-emulator');
  script('warp-cli', `CULVERT_EMULATOR_CONNECT_MS=50 CULVERT_EMULATOR_STATE=${state} exec ${emulator} "$@"`);
  const port = freePort();
  execFileSync(join(bin, 'warp-cli'), ['--emulate', 'reset', `settings.proxyPort=${port}`], { env: home.env });
  const first = await culvert(home, 'apps', 'launch', '--yes', 'get.desktop', '--shortcut');
  assert.equal(first.code, 0, first.stderr);
  assert.match(
    first.stderr,
    /Starting the Culvert daemon\.\n(.* still waiting\. .*\n)*Switching the local proxy on, and waiting until it answers\./,
  );
  await until(() => existsSync(join(home.directory, 'out')), 'the program ran');
  assert.equal(readFileSync(join(home.directory, 'out'), 'utf8'), `http://127.0.0.1:${port}\n`);
  assert.match(notified(), /Switching the local proxy on/);

  const shortcut = join(applications, 'org.culvert.Culvert.proxy.get.desktop');
  const exec = /^Exec=(\S+) apps launch --yes get\.desktop$/m.exec(readFileSync(shortcut, 'utf8'));
  assert.equal(exec?.[1], program);
  assert.equal((await culvert(home, 'stop')).code, 0);
  rmSync(join(home.directory, 'out'));
  execFileSync(exec![1]!, ['apps', 'launch', '--yes', 'get.desktop'], { env: home.env, stdio: 'ignore' });
  await until(() => existsSync(join(home.directory, 'out')), 'the program ran again');

  // with the original gone, its shortcut goes, and says so until then
  rmSync(original);
  const gone = await culvert(home, 'apps', 'launch', '--yes', 'get.desktop');
  assert.deepEqual([gone.code, /There is no app "get\.desktop"/.test(gone.stderr)], [1, true]);
  await until(async () => {
    await culvert(home, 'apps');
    return !existsSync(shortcut);
  }, 'the shortcut is removed');
  assert.equal((await culvert(home, 'stop')).code, 0);
  writeFileSync(original, '[Desktop Entry]\nType=Application\nName=Get\nExec=wget\n');
  await culvert(home, 'apps', 'launch', '--yes', 'get.desktop', '--shortcut');
  await culvert(home, 'stop');
  assert.equal((await culvert(home, 'apps', 'shortcut', '--remove-all')).code, 0, 'without a daemon');
  assert.ok(!existsSync(shortcut));
});
