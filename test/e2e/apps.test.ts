// Real browsers and programs through the built daemon's API, in a network namespace whose every packet is accounted for.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createHome, culvert, eventually, type Home, prefix, program, somePort } from './culvert.ts';

/** Where the page is, and where the emulator's proxy calls from: who else calls went around. */
const PAGE = '203.0.113.9';
const NAME_SERVER = '203.0.113.53';
const PROXY_SIDE = '127.0.0.77';

/** By absolute paths: entering a namespace changes the directory. */
const PAGE_SERVER = [
  process.execPath,
  '--import',
  import.meta.resolve('tsx'),
  join(import.meta.dirname, 'apps-page.ts'),
];

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
  await once(holder.stdout!, 'data');
  const enter = ['-t', String(holder.pid), '-n', '-m', '--'];

  const arrivals: Arrival[] = [];
  const page = spawn('nsenter', [...enter, ...PAGE_SERVER, PAGE, NAME_SERVER, PROXY_SIDE], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stop(page);
  let rest = '';
  page.stdout!.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop()!;
    arrivals.push(...lines.map(line => JSON.parse(line)));
  });
  await eventually('the page serves', () => arrivals.some(({ kind }) => kind === 'ready'));

  const display = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1024x768x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  stop(display);
  const [number] = await once(display.stdio[3] as NodeJS.ReadableStream, 'data');

  // everything that the daemon starts, and nothing else, has this home in its environment
  home.defer(() => {
    for (const pid of processesOf(home.directory)) process.kill(pid, 'SIGKILL');
  });
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
  await eventually('the daemon answers', () => /answers on/.test(said));
  await culvert(home, 'action', 'acceptTerms');
  execFileSync(join(prefix, 'bin/culvert-emulator'), ['--emulate', `proxyFrom=${PROXY_SIDE}`], { env: home.env });

  const applications = join(home.directory, '.local/share/applications');
  mkdirSync(applications, { recursive: true });
  return {
    home,
    arrivals,
    /** Requests for paths that begin with this. */
    at: (path: string) => arrivals.filter(arrival => arrival.path?.startsWith(path)),
    /** Whatever came to the page or the name server and didn't come from the proxy, but for the paths given. */
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
    /**
     * Has the emulator connect in proxy mode from where another name server counts, so that a question that reaches ours
     * was not asked by the proxy. Its process ends with the shell that started it.
     */
    async proxyOn() {
      const other = join(home.directory, 'other-resolv.conf');
      writeFileSync(other, 'nameserver 203.0.113.54\noptions timeout:1 attempts:1\n');
      const commands = ['mode proxy', 'connect'].map(words => `"$0" ${words}`).join(' && ');
      const script = `mount --bind ${other} /etc/resolv.conf && ${commands} && exec sleep 600`;
      const emulator = join(prefix, 'bin/culvert-emulator');
      stop(spawn('nsenter', [...enter, 'unshare', '--mount', 'sh', '-c', script, emulator], { env, stdio: 'ignore' }));
      await eventually('proxy mode', async () => (await culvert(home, 'mode')).stdout === 'proxy\n');
      assert.equal((await culvert(home, 'proxy', 'on')).code, 0);
    },
    /** Runs a program in the namespace, without the proxy. */
    direct(...argv: string[]) {
      const child = spawn('nsenter', [...enter, ...argv], { env, stdio: 'ignore' });
      stop(child);
      return child;
    },
  };
}

function processesOf(home: string): number[] {
  const pids = execFileSync('ps', ['-e', '-o', 'pid='], { encoding: 'utf8' }).trim().split(/\s+/).map(Number);
  return pids.filter(pid => {
    try {
      return pid !== process.pid && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`HOME=${home}\0`);
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
  test(`${name} sees the page from the proxy’s side alone, also beside one that runs, and nothing once the proxy is gone`, {
    skip: without(name),
  }, async t => {
    const { home, entry, launch, at, direct, arrivals, proxyOn } = await createWorld(t);
    entry('browser', `Exec=${browser.exec('/through')}`);
    entry('again', `Exec=${browser.exec('/late')}`);
    assert.deepEqual((await launch('browser')).body.code, 'proxy-not-enabled');

    // an ordinary browser of the same user, with the profile that the program takes by itself
    direct(...browser.direct('/direct', join(home.directory, '.config/chromium')));
    await eventually('the ordinary browser shows its page', () => at('/direct/tick').length > 2, 60_000);
    assert.notEqual(at('/direct')[0]!.from, PROXY_SIDE);

    await proxyOn();
    const started = await launch('browser', { verify: true });
    assert.deepEqual([started.status, started.body.ok], [200, true], JSON.stringify(started.body));
    assert.deepEqual(started.body.proxy, { host: '127.0.0.1', port: 40000 });
    await eventually('the page runs through the proxy', () => at('/through/tick').length > 10, 60_000);
    assert.deepEqual([...new Set(at('/through').map(({ from }) => from))], [PROXY_SIDE]);
    const ofDirect = arrivals.filter(({ kind, text = '' }) => kind === 'dns' && text.includes('-direct'));
    assert.ok(ofDirect.length > 0, 'the capture sees names that are asked for directly');
    await eventually('the capture sees UDP of the ordinary browser', () => arrivals.some(({ kind }) => kind === 'udp'));
    assert.deepEqual(
      arrivals.filter(({ text = '' }) => text.includes('-through')),
      [],
    );

    // only the one through the proxy is left: from here on every packet counts
    for (const pid of processesOf(home.directory))
      if (readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('/direct')) process.kill(pid, 'SIGKILL');
    await eventually('the ordinary browser is gone', async () => {
      const before = at('/direct').length;
      await new Promise(resolve => setTimeout(resolve, 500));
      return at('/direct').length === before;
    });
    const mark = arrivals.length;
    const ticking = at('/through/tick').length;
    await eventually('the page goes on', () => at('/through/tick').length > ticking + 25, 30_000);
    await culvert(home, 'disconnect');
    await eventually('the proxy is gone', async () => {
      const before = at('/through').length;
      await new Promise(resolve => setTimeout(resolve, 1000));
      return at('/through').length === before;
    });
    const ticks = arrivals.length;
    await new Promise(resolve => setTimeout(resolve, 3000));
    assert.deepEqual(arrivals.slice(ticks), [], 'nothing at all arrives without the proxy');
    assert.deepEqual(
      arrivals.slice(mark).filter(({ kind, from }) => kind !== 'http' || from !== PROXY_SIDE),
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

test('curl, a GTK program that asks Gio, and an unknown program under proxychains4 come from the proxy’s side alone', {
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

  // as a shortcut does it: the proxy is switched on for it. curl fails at the name, which is what it tells
  await culvert(home, 'apps', 'launch', 'curl.desktop');
  await eventually('curl’s request', () => at('/curl').length === 1);
  if (method('gtk') === 'none') t.diagnostic('glib-networking is not installed, so Gio takes no proxy');
  else {
    assert.equal((await launch('gtk')).status, 200);
    await eventually('the GTK program’s request', () => at('/gtk').length === 1);
  }
  const answer = await launch('unknown');
  if (method('unknown') === 'proxychains') {
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    await eventually('the unknown program’s request', () => at('/unknown').length === 1);
  } else assert.equal(answer.body.code, 'app-not-launchable');
  assert.deepEqual(leaks(), []);

  await culvert(home, 'disconnect');
  await eventually('the proxy is gone', async () => (await launch('curl')).body.code === 'proxy-not-enabled');
  assert.deepEqual([at('/curl').length, leaks()], [1, []]);
});

test('a launch that is to be verified is refused where the trace page does not see the tunnel', {
  skip: without('curl'),
}, async t => {
  const { home, entry, launch, at } = await createWorld(t);
  entry('curl', `Exec=curl -s http://${PAGE}/curl`);
  assert.equal((await culvert(home, 'proxy', 'on')).code, 0);
  const emulator = join(realpathSync(prefix), 'bin/culvert-emulator');
  execFileSync(emulator, ['--emulate', 'proxyFrom=null'], { env: home.env });
  await eventually('the proxy calls from elsewhere', async () => {
    const { status, body } = await launch('curl', { verify: true });
    return status === 409 && body.code === 'proxy-not-verified' && /warp=off/.test(String(body.detail));
  });
  assert.deepEqual(at('/curl'), []);
  execFileSync(emulator, ['--emulate', `proxyFrom=${PROXY_SIDE}`], { env: home.env });
  await eventually('the page sees the tunnel', async () => (await launch('curl', { verify: true })).status === 200);
  await eventually('curl’s request', () => at('/curl').length > 0);
  assert.equal(at('/curl')[0]!.from, PROXY_SIDE);
});

test('what a shortcut runs starts the daemon and the proxy when needed, and tells the desktop what it does or why not', async t => {
  const home = createHome(t);
  home.defer(() => {
    for (const pid of processesOf(home.directory)) process.kill(pid, 'SIGKILL');
  });
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
    CULVERT_SERVER_PORT: String(somePort()),
    CULVERT_EMULATOR_CONNECT_MS: '50',
  });
  const notified = () => readFileSync(join(home.directory, 'notified'), 'utf8');

  // without a tunnel client, with a daemon that has to be started for it
  const refused = await culvert(home, 'apps', 'launch', 'get.desktop');
  assert.equal(refused.code, 6, refused.stderr);
  assert.match(notified(), /get\.desktop was not started\n.*not installed/);
  assert.equal((await culvert(home, 'stop')).code, 0);

  // the daemon passes none of the emulator's variables to what it takes for the real client, so the script has them
  const state = join(home.directory, 'client.json');
  const emulator = join(realpathSync(prefix), 'bin/culvert-emulator');
  script('warp-cli', `CULVERT_EMULATOR_CONNECT_MS=50 CULVERT_EMULATOR_STATE=${state} exec ${emulator} "$@"`);
  const port = somePort();
  execFileSync(join(bin, 'warp-cli'), ['--emulate', 'reset', `settings.proxyPort=${port}`], { env: home.env });
  const first = await culvert(home, 'apps', 'launch', 'get.desktop', '--shortcut');
  assert.equal(first.code, 0, first.stderr);
  assert.match(
    first.stderr,
    /Starting the Culvert daemon\.\nSwitching the local proxy on, and waiting until it answers\./,
  );
  await eventually('the program ran', () => existsSync(join(home.directory, 'out')));
  assert.equal(readFileSync(join(home.directory, 'out'), 'utf8'), `http://127.0.0.1:${port}\n`);
  assert.match(notified(), /Switching the local proxy on/);

  const shortcut = join(applications, 'org.culvert.Culvert.proxy.get.desktop');
  const exec = /^Exec=(\S+) apps launch get\.desktop$/m.exec(readFileSync(shortcut, 'utf8'));
  assert.equal(exec?.[1], program);
  assert.equal((await culvert(home, 'stop')).code, 0);
  rmSync(join(home.directory, 'out'));
  execFileSync(exec![1]!, ['apps', 'launch', 'get.desktop'], { env: home.env, stdio: 'ignore' });
  await eventually('the program ran again', () => existsSync(join(home.directory, 'out')));

  // with the original gone, its shortcut goes, and says so until then
  rmSync(original);
  const gone = await culvert(home, 'apps', 'launch', 'get.desktop');
  assert.deepEqual([gone.code, /There is no app "get\.desktop"/.test(gone.stderr)], [1, true]);
  await eventually('the shortcut is removed', async () => {
    await culvert(home, 'apps');
    return !existsSync(shortcut);
  });
  assert.equal((await culvert(home, 'stop')).code, 0);
  writeFileSync(original, '[Desktop Entry]\nType=Application\nName=Get\nExec=wget\n');
  await culvert(home, 'apps', 'launch', 'get.desktop', '--shortcut');
  await culvert(home, 'stop');
  assert.equal((await culvert(home, 'apps', 'shortcut', '--remove-all')).code, 0, 'without a daemon');
  assert.ok(!existsSync(shortcut));
});
