// Launching: what a program is really started with, and when nothing is started at all.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { BeforeProxy } from '../../../daemon/api/schema.ts';
import { restore } from '../../../daemon/apps/service.ts';
import type { FeatureContext } from '../../../daemon/controls.ts';
import { createDesktop, problem } from '../../support/daemon/desktop-files.ts';
import { alive } from '../../support/daemon/fake-cli.ts';
import { memoryTunnel } from '../../support/daemon/memory-tunnel.ts';
import { listen } from '../../support/listen.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';
import { noBus, startBus } from './session-bus.ts';

test('a Chromium gets a profile and the proxy, behind its program and before its own arguments', async t => {
  const { apps, entry, program, recorded, port, state } = await createDesktop(t, {
    NODE_OPTIONS: '--inspect',
    DISPLAY: ':9',
  });
  program('chromium');
  entry('chr', [
    'Name=Chr',
    'Exec=env EXTRA=1 chromium --proxy-server=direct:// --profile-directory=Work "http://x/?a=1&b=$2" %U',
  ]);
  const answer = await apps.launch({ appId: 'chr.desktop' });
  assert.deepEqual(answer.proxy, { host: '127.0.0.1', port });
  const { args, env } = await recorded('chromium');
  assert.ok(alive(answer.pid!));
  assert.deepEqual(args.slice(0, 2), [
    `--user-data-dir=${state}/profiles/chr`,
    `--proxy-server=socks5://127.0.0.1:${port}`,
  ]);
  assert.equal(args.at(-1), 'http://x/?a=1&b=$2');
  assert.deepEqual(
    args.filter(arg => /direct|profile-directory/.test(arg)),
    [],
  );
  assert.deepEqual([env.EXTRA, env.DISPLAY, env.NODE_OPTIONS], ['1', ':9', undefined]);
  process.kill(answer.pid!, 'SIGKILL');
});

test('a Firefox gets a profile whose preferences are written at every start', async t => {
  const { apps, entry, program, recorded, port, state } = await createDesktop(t);
  program('firefox');
  entry('ff', ['Name=FF', 'Exec=firefox -P default --no-remote --name x %u']);
  await apps.launch({ appId: 'ff.desktop' });
  const { args } = await recorded('firefox');
  const profile = join(state, 'profiles/ff');
  assert.deepEqual(args, ['-profile', profile, '--name', 'x']);
  const preferences = readFileSync(join(profile, 'user.js'), 'utf8');
  for (const line of [
    'user_pref("network.proxy.type", 1);',
    `user_pref("network.proxy.socks_port", ${port});`,
    'user_pref("network.proxy.failover_direct", false);',
    'user_pref("network.proxy.allow_bypass", false);',
  ])
    assert.ok(preferences.includes(line), line);
  writeFileSync(join(profile, 'user.js'), 'user_pref("network.proxy.type", 0);');
  await apps.launch({ appId: 'ff.desktop' });
  assert.equal(readFileSync(join(profile, 'user.js'), 'utf8'), preferences);
});

test('a program that reads the variables gets them, and not those of the session', async t => {
  const session = {
    http_proxy: 'http://other:1',
    NO_PROXY: '*',
    APPDIR: '/tmp/.mount_X',
    LD_LIBRARY_PATH: '/tmp/.mount_X/lib:/a',
  };
  const { apps, entry, program, recorded, port, place } = await createDesktop(t, session);
  program('curl');
  mkdirSync(join(place, 'work dir'));
  entry('c', ['Name=C', 'Icon=ic', 'Exec=curl %i %c %k 100%% %F', `Path=${join(place, 'work dir')}`]);
  await apps.launch({ appId: 'c.desktop' });
  const { args, env, directory } = await recorded('curl');
  assert.deepEqual(args, ['--icon', 'ic', 'C', join(place, 'system/applications/c.desktop'), '100%']);
  const address = `http://127.0.0.1:${port}`;
  assert.deepEqual([env.http_proxy, env.HTTPS_PROXY, env.all_proxy], [address, address, address]);
  assert.deepEqual([env.NO_PROXY, env.APPDIR, env.LD_LIBRARY_PATH], ['localhost,127.0.0.1,::1', undefined, '/a']);
  assert.equal(directory, join(place, 'work dir'));
});

test('Flatpak gets the variables as its options and the profile where the app can read it', async t => {
  const { apps, entry, program, started, recorded, place, port } = await createDesktop(t);
  const flatpak = program('flatpak');
  entry('ff', ['Name=FF', `Exec=${flatpak} run --branch=stable org.mozilla.firefox @@u %u @@`]);
  await apps.launch({ appId: 'ff.desktop' });
  const profile = join(place, '.var/app/org.mozilla.firefox/data/culvert-proxy');
  const first = await recorded('flatpak');
  assert.deepEqual(first.args, ['run', '--branch=stable', 'org.mozilla.firefox', '-profile', profile, '@@u', '@@']);
  assert.ok(existsSync(join(profile, 'user.js')));

  entry('g', ['Name=G', `Exec=${flatpak} run org.gnome.Fractal --flag`]);
  await apps.launch({ appId: 'g.desktop' });
  await until(() => started('flatpak')?.args.includes('org.gnome.Fractal'));
  const { args } = await recorded('flatpak');
  assert.equal(args[0], 'run');
  assert.ok(args.includes(`--env=https_proxy=http://127.0.0.1:${port}`));
  assert.deepEqual(args.slice(-2), ['org.gnome.Fractal', '--flag']);
});

test('hostile entries start nothing but their own program with their own arguments', async t => {
  const { apps, entry, program, recorded, place } = await createDesktop(t);
  program('curl');
  const canary = join(place, 'canary');
  entry('shell', ['Name=S', `Exec=curl ";" touch ${canary} "\\$(touch ${canary})" "\`touch ${canary}\`"`]);
  await apps.launch({ appId: 'shell.desktop' });
  const { args } = await recorded('curl');
  assert.deepEqual(
    args,
    [';', 'touch', canary, `$(touch ${canary})`, `\`touch ${canary}\``].map(arg => arg.replace('\\$', '$')),
  );
  assert.ok(!existsSync(canary));

  entry('name', [`Name=%f" ; touch ${canary} "`, 'Exec=curl "%c"']);
  entry('newline', ['Name=N', `Exec=curl a\\ntouch\\n${canary}`]);
  for (const id of ['name', 'newline']) await apps.launch({ appId: `${id}.desktop` });
  assert.ok(!existsSync(canary));
  for (const [id, ...lines] of [
    ['relative', 'Exec=./curl'],
    ['climbing', 'Exec=../bin/curl'],
    ['missing', 'Exec=/no/such/program'],
    ['directory', 'Exec=/etc'],
    ['unknown-code', 'Exec=curl %z'],
    ['empty', 'Exec='],
    ['assignment', 'Exec=A=b'],
  ] as const) {
    entry(id, ['Name=X', ...lines]);
    await until(async () => (await apps.list()).some(app => app.id === `${id}.desktop`));
    await assert.rejects(apps.launch({ appId: `${id}.desktop` }), problem('app-not-launchable'), id);
  }
  entry('bad-directory', ['Name=X', 'Exec=curl', 'Path=/no/such/directory']);
  entry('relative-directory', ['Name=X', 'Exec=curl', 'Path=etc']);
  for (const id of ['bad-directory', 'relative-directory'])
    await assert.rejects(
      until(async () => apps.launch({ appId: `${id}.desktop` })),
      problem('app-launch-failed', /directory/),
    );
});

test('finds no app by an id that is a path or belongs to something else', async t => {
  const { apps, entry, program, place } = await createDesktop(t);
  program('curl');
  entry('hidden', ['Name=H', 'NoDisplay=true', 'Exec=curl']);
  writeFileSync(join(place, 'outside.desktop'), '[Desktop Entry]\nType=Application\nName=X\nExec=curl\n');
  for (const appId of [
    '../../outside.desktop',
    join(place, 'outside.desktop'),
    'hidden.desktop',
    'curl',
    '',
    '__proto__',
  ])
    await assert.rejects(apps.launch({ appId }), problem('app-not-found'), appId);
});

test('reports an app that fails immediately, but not one that hands over to a running instance', async t => {
  const { apps, entry, program } = await createDesktop(t);
  program('curl', 'exit 3');
  program('wget', 'exit 0');
  program('git', 'kill -9 $$');
  for (const name of ['curl', 'wget', 'git']) entry(name, [`Name=${name}`, `Exec=${name}`]);
  await assert.rejects(apps.launch({ appId: 'curl.desktop' }), problem('app-launch-failed', /exit code 3/));
  await assert.rejects(apps.launch({ appId: 'git.desktop' }), problem('app-launch-failed', /SIGKILL/));
  assert.equal((await apps.launch({ appId: 'wget.desktop' })).pid, null);
});

const BEFORE: BeforeProxy = { mode: 'tunnel_only', protocol: 'WireGuard', connected: false };
const RESTORING = [
  { action: 'setMode', value: 'tunnel_only' },
  { action: 'setProtocol', value: 'WireGuard' },
  { action: 'disconnect' },
];

for (const runner of ['the daemon', 'systemd'])
  test(`an app of ${runner} that fails after it was answered has the mode of before restored`, async t => {
    const session = temporary(t, 'session');
    mkdirSync(join(session, 'systemd'));
    writeFileSync(join(session, 'systemd/private'), '');
    const desktop = await createDesktop(t, runner === 'systemd' ? { XDG_RUNTIME_DIR: session } : {});
    const { apps, entry, program, place, performed, said } = desktop;
    /** Starts an app that ends when the test says so. */
    const start = async (name: string, restore?: BeforeProxy) => {
      const end = join(place, `${name}.end`);
      execFileSync('mkfifo', [end]);
      program(name);
      const waiting = `echo $$ >'${end}.pid'; read code <'${end}'; exit $code`;
      program(runner === 'systemd' ? 'systemd-run' : name, waiting);
      program('systemctl', `cat '${end}.pid'`);
      entry(name, [`Name=${name}`, `Exec=${name}`]);
      await until(async () => (await apps.list()).some(({ id }) => id === `${name}.desktop`));
      const { pid } = await apps.launch({ appId: `${name}.desktop`, ...(restore ? { restore } : {}) });
      return async (code: number) => {
        writeFileSync(openSync(end, constants.O_WRONLY | constants.O_NONBLOCK), `${code}\n`); // fails without a reader
        await until(() => !alive(pid!));
      };
    };
    const handsOver = await start('curl', BEFORE);
    await handsOver(0);
    if (runner === 'the daemon') await (await start('wget'))(1);
    const overtaken = await start('git', BEFORE);
    const later = await start('lynx', BEFORE);
    await overtaken(1);
    await later(0);
    const failing = await start('aria2c', BEFORE);
    await failing(3);
    await until(() => said.length > 0);
    assert.deepEqual(performed, RESTORING);
    assert.match(
      said[0]!,
      /^aria2c did not start\. .* ended soon after its start, with exit code 3\. The mode is tunnel_only again\.$/,
    );
  });

test('a mode that was set since a start is not restored', async () => {
  const { tunnel, state, values, performed } = memoryTunnel({ mode: 'doh' });
  const context = { tunnel, state } as FeatureContext;
  assert.equal(await restore(BEFORE, context), false);
  values.mode = 'proxy';
  assert.equal(await restore(BEFORE, context), true);
  assert.deepEqual(performed, RESTORING);
});

test('the previous mode is restored, too, after an app that fails immediately', async t => {
  const { apps, entry, program, performed } = await createDesktop(t);
  program('curl', 'exit 3');
  entry('curl', ['Name=C', 'Exec=curl']);
  await assert.rejects(apps.launch({ appId: 'curl.desktop', restore: BEFORE }), problem('app-launch-failed'));
  assert.deepEqual(performed, RESTORING);
});

test('the previous mode is restored where the present one can no longer be read', async t => {
  const { apps, entry, program, performed, proxy, hideSettings } = await createDesktop(t);
  program('curl');
  entry('curl', ['Name=C', 'Exec=curl']);
  proxy(false); // as it was read before the proxy was turned on
  hideSettings();
  await assert.rejects(apps.launch({ appId: 'curl.desktop', restore: BEFORE }), problem('proxy-not-enabled'));
  assert.deepEqual(performed[0], RESTORING[0]);
});

test('outside proxy mode, while disconnected, and where nothing answers, nothing is started', async t => {
  const { apps, entry, program, started, proxy, closeProxy } = await createDesktop(t);
  program('curl');
  entry('c', ['Name=C', 'Exec=curl']);
  proxy(false);
  await assert.rejects(apps.launch({ appId: 'c.desktop' }), problem('proxy-not-enabled', /enableLocalProxy/));
  proxy(true);
  closeProxy();
  await assert.rejects(apps.launch({ appId: 'c.desktop' }), problem('proxy-not-enabled', /nothing listens/));
  assert.equal(started('curl'), null);
});

test('verified, a launch waits for the trace page’s word through the proxy', async t => {
  let word = 'off';
  const asked: string[] = [];
  const page = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (word === '500') response.statusCode = 500;
    response.end(word === 'nonsense' ? 'hello' : `h=x\nwarp=${word}\nip=1.2.3.4\n`);
  });
  const url = `http://127.0.0.1:${await listen(t, page)}/cdn-cgi/trace`;
  const { apps, entry, program, started, demo } = await createDesktop(t, {}, url);
  program('curl');
  entry('c', ['Name=C', 'Exec=curl']);
  for (const [answer, seen] of [
    ['off', /saw warp=off/],
    ['nonsense', /did not say/],
    ['500', /HTTP status 500/],
  ] as const) {
    word = answer;
    await assert.rejects(apps.launch({ appId: 'c.desktop', verify: true }), problem('proxy-not-verified', seen));
  }
  assert.equal(started('curl'), null);
  for (const answer of ['on', 'plus']) {
    word = answer;
    assert.equal((await apps.launch({ appId: 'c.desktop', verify: true })).ok, true);
  }
  assert.deepEqual([...new Set(asked)], ['/cdn-cgi/trace']);

  demo(true);
  const before = asked.length;
  const launched = apps.launch({ appId: 'c.desktop', verify: true });
  await assert.rejects(launched, problem('proxy-not-verified', /demo tunnels nothing.*Nothing was started/));
  assert.equal(asked.length, before, 'a demo asks nobody');
});

test('does not start an Electron app that is already running', async t => {
  const { apps, entry, program, place } = await createDesktop(t);
  // the process shows as the shell that reads the script
  const chat = program(join(place, 'opt/chat/chat'), 'sleep 300; :');
  mkdirSync(join(place, 'opt/chat/resources'), { recursive: true });
  writeFileSync(join(place, 'opt/chat/resources/app.asar'), '');
  entry('chat', ['Name=Chat', `Exec=${chat} %U`]);
  const running = spawn(chat, { stdio: 'ignore', detached: true });
  await once(running, 'spawn');
  t.after(() => process.kill(-running.pid!, 'SIGKILL'));
  await until(() => readFileSync(`/proc/${running.pid}/cmdline`, 'utf8').includes(chat));
  await assert.rejects(
    apps.launch({ appId: 'chat.desktop' }),
    problem('app-launch-failed', /is already running.*Close Chat/s),
  );
});

test('a terminal program runs in a terminal, with its variables in the command; without a terminal it is refused', async t => {
  const { apps, entry, program, recorded, port } = await createDesktop(t);
  program('w3m');
  entry('w', ['Name=W', 'Exec=w3m x', 'Terminal=true']);
  program('xdg-terminal-exec');
  await apps.launch({ appId: 'w.desktop' });
  const { args } = await recorded('xdg-terminal-exec');
  assert.equal(args[0], 'env');
  assert.ok(args.includes(`http_proxy=http://127.0.0.1:${port}`));
  assert.deepEqual(args.slice(-2), ['w3m', 'x']);
});

test('with a systemd of the user the app becomes its own unit, outside the daemon', async t => {
  const session = mkdtempSync(join(tmpdir(), 'culvert-session-'));
  t.after(() => rmSync(session, { recursive: true }));
  mkdirSync(join(session, 'systemd'));
  writeFileSync(join(session, 'systemd/private'), '');
  const more = { XDG_RUNTIME_DIR: session, SECRET_TOKEN: 's3cret', DISPLAY: ':7' };
  const { apps, entry, program, recorded, bin, port } = await createDesktop(t, more);
  program('systemd-run');
  program('systemctl', 'echo 4711');
  program('curl');
  entry('my app', ['Name=My App', 'Exec=curl "a b" $HOME']);
  const { pid } = await apps.launch({ appId: 'my app.desktop' });
  assert.equal(pid, 4711);
  const { args } = await recorded('systemd-run');
  const at = args.indexOf('--');
  assert.deepEqual(args.slice(at + 1), [join(bin, 'curl'), 'a b', '$$HOME']);
  const options = args.slice(0, at);
  for (const option of ['--user', '--collect', '--slice=app.slice', '--setenv=DISPLAY=:7'])
    assert.ok(options.includes(option), option);
  assert.ok(options.includes(`--setenv=http_proxy=http://127.0.0.1:${port}`));
  const unit = options.find(option => option.startsWith('--unit='))!;
  assert.match(unit, /^--unit=app-culvert-my\\x5fapp\\x2d[0-9a-f]{8}-[0-9a-f]{8}\.service$/);
  assert.ok(!args.join(' ').includes('s3cret'), 'the session’s secrets are not arguments');

  // its output is read after its end
  const words = 'echo "Failed to start transient service unit: no such file" >&2';
  program('systemd-run', `(while kill -0 $$ 2>/dev/null; do :; done; ${words}) & exit 1`);
  await assert.rejects(apps.launch({ appId: 'my app.desktop' }), problem('app-launch-failed', /transient service/));
});

test('an app that the session bus would hand to its running instance is not started', { skip: noBus }, async t => {
  const bus = await startBus(t);
  const { apps, entry, program, started } = await createDesktop(t, bus.env);
  program('wget');
  entry('org.example.Window', ['Name=Window', 'Exec=wget', 'DBusActivatable=true']);
  const end = await bus.own('org.example.Window');
  const launch = () => apps.launch({ appId: 'org.example.Window.desktop' });
  await assert.rejects(launch(), problem('app-launch-failed', /is already running.*Close Window/s));
  assert.equal(started('wget'), null);
  await end();
  assert.equal((await launch()).ok, true);
});
