// Tests of a server and a container: the package of the daemon in a fresh root without systemd and desktop, with its entrypoint as
// process 1.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ROOT_PROGRAM, serverRoot } from '../booted/root.ts';
import { signal } from '../signal.ts';
import { temporary } from '../temporary.ts';
import { until } from '../until.ts';

const ENTRYPOINT = '/usr/share/culvert/container/entrypoint';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const VARIABLES = ['-i', `PATH=${PATH}`, 'HOME=/root', 'LANG=C.UTF-8', 'DEBIAN_FRONTEND=noninteractive'];
/** Packages of a desktop. gjs of Debian 12 and 13 depends on GTK 3. */
const DESKTOP = /^(?:libgtk|gir1\.2|gjs|libgjs|adwaita|librsvg|libwayland|libx11-6|gnome)/m;

/** The emulator behind the names of Cloudflare's programs, which Culvert then takes for the real ones. */
const FAKES = {
  'warp-cli': 'exec /usr/bin/culvert-emulator "$@"',
  'warp-svc': 'echo "warp-svc $$" >>/run/warp-svc.log; exec sleep infinity',
};

/** Asks a web server on loopback through the proxy, by HTTP's own words for proxies. */
const THROUGH_PROXY = `
const http = require('http');
const server = http.createServer((q, r) => r.end('reached')).listen(0, '127.0.0.1', () => {
  const path = 'http://127.0.0.1:' + server.address().port + '/';
  http.get({ host: '127.0.0.1', port: process.argv[1], path }, r => r.on('data', d => process.stdout.write(d)).on('end', () => process.exit()));
});`;

/** For a start of four programs of Node one after another, each of which takes a second on an idle machine. */
const LIMIT_MS = 240_000;
const PATIENT = 'CULVERT_START_SECONDS=240';

/** A root with the packages installed; null if none can be made here. */
function installedRoot(t: TestContext, debs: readonly string[]): string | null {
  if (process.getuid!() !== 0) return null;
  const root = serverRoot('trixie', temporary(t, 'server'));
  if (!root) return null;
  for (const deb of debs) fs.copyFileSync(deb, join(root, 'root', basename(deb)));
  // as a container's build does: no service manager, and no service is started
  const { status, stderr } = inRoot(root, `dpkg -i /root/*.deb`);
  assert.equal(status, 0, stderr);
  return root;
}

function inRoot(root: string, script: string) {
  const words = ['--mount', '--pid', '--fork', 'chroot', root, '/usr/bin/env', ...VARIABLES, 'sh', '-euc'];
  return spawnSync('unshare', [...words, `mount -t proc proc /proc; ${script}`], { encoding: 'utf8' });
}

/** A container that runs. */
function startContainer(t: TestContext, root: string, variables: string, engine = 'run/.containerenv') {
  fs.rmSync(join(root, 'run'), { recursive: true, force: true });
  fs.mkdirSync(join(root, 'run'));
  fs.writeFileSync(join(root, engine), '');
  const child = spawn(ROOT_PROGRAM, ['contain', root, ENTRYPOINT], {
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`, CONTAINER_VARIABLES: variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', piece => (said += piece));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  let init = 0;
  t.after(() => signal(child.pid!, 'SIGKILL'));
  const seek = () => {
    init = firstChild(child) ?? 0;
    return init !== 0;
  };
  const run = (...words: string[]) => {
    const enter = ['--target', String(init), '--all', '--root', '--wd', '--', '/usr/bin/env', ...VARIABLES, ...words];
    const { status, stdout, stderr } = spawnSync('nsenter', enter, { encoding: 'utf8' });
    return { code: status, out: stdout, err: stderr };
  };
  return {
    said: () => said,
    ended,
    run,
    /** Waits for a status, which follows what the entrypoint says. */
    shows: (text: RegExp) =>
      until(
        () => text.test(run('culvert', 'status').out),
        () => `${text}: ${run('culvert', 'status').out}`,
        { limitMs: LIMIT_MS },
      ),
    /** Waits for a line of the container's output. */
    says: async (text: RegExp) => {
      await until(
        () => text.test(said) || child.exitCode !== null,
        () => `${text}: ${said}`,
        { limitMs: LIMIT_MS },
      );
      assert.match(said, text);
      assert.ok(seek(), 'process 1 is known');
    },
    /** Ends it as an engine does: by the signal to process 1. */
    stop: () => process.kill(init, 'SIGTERM'),
  };
}

/** Process 1 of the namespace, which is the child of unshare. */
function firstChild({ pid }: ChildProcess): number | null {
  const file = `/proc/${pid}/task/${pid}/children`;
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : '';
  return text === '' ? null : Number(text.split(' ')[0]);
}

/** Declares the tests. @param debs the packages of the daemon and of the keys; asked when the tests run */
export function testServer(debs: () => readonly string[]): void {
  const onServer = (title: string, act: (t: TestContext, root: string) => Promise<void>) =>
    test(title, async t => {
      const root = installedRoot(t, debs());
      if (!root) return t.skip('no root of trixie can be made here');
      await act(t, root);
    });

  onServer(
    'the daemon is installed on a server without a desktop, runs there, and is purged whole',
    async (_, root) => {
      const packages = inRoot(root, 'dpkg --get-selections').stdout;
      assert.match(packages, /^culvert-daemon\s+install$/m);
      assert.doesNotMatch(packages, DESKTOP);
      const { status, stdout, stderr } = inRoot(
        root,
        `culvert --version
      culvert --demo --no-open --no-tray --no-panel >/tmp/log 2>&1 &
      tries=0
      until culvert status >/tmp/status; do tries=$((tries + 1)); [ $tries -lt 900 ] || { cat /tmp/log >&2; exit 1; }; sleep 0.1; done
      cat /tmp/status
      culvert stop
      dpkg --purge culvert-daemon culvert-archive-keyring >&2
      find / -xdev -name '*culvert*' ! -path '/root/*' ! -path '/proc/*' ! -path '/tmp/*' ! -path '/var/lib/dpkg/*'`,
      );
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^culvert \S+\n.*demo: no tunnel\n(?:Stopped the daemon.*\n)?$/);
    },
  );

  onServer('a container without systemd offers the local proxy, and its advice fits it', async (t, root) => {
    for (const [name, text] of Object.entries(FAKES))
      fs.writeFileSync(join(root, 'usr/local/bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const container = startContainer(t, root, `CULVERT_PROXY_PORT=41000 ${PATIENT}`);
    await container.says(/The proxy answers at 127\.0\.0\.1:41000/);
    await container.shows(/^● Connected · Chosen apps only · MASQUE\n$/);
    assert.equal(container.run('culvert', 'status', '--check').code, 0);
    assert.equal(container.run('node', '-e', THROUGH_PROXY, '41000').out, 'reached');
    const json = container.run('culvert', 'status', '--json').out.replaceAll(/\s/g, '');
    assert.match(json, /"serviceManager":\{"kind":"podman","startsWarp":false\}/);

    const doctor = container.run('culvert', 'doctor', '--verbose').out;
    assert.match(doctor, /Kill switch.*It needs systemd, which does not run here/);
    assert.doesNotMatch(doctor, /systemctl|journalctl -|systemd-run/);
    const refused = container.run('culvert', 'killswitch', 'on');
    assert.notEqual(refused.code, 0);
    assert.match(refused.err, /needs systemd, which does not run here/);
    assert.doesNotMatch(refused.err, /systemctl|installer/);

    assert.equal(container.run('culvert-emulator', '--emulate', 'fault=service-down').code, 0);
    const stopped = container.run('culvert', 'status', '--fresh').out;
    assert.match(stopped, /so its entrypoint has to start WARP’s service\. To start it now, as root: warp-svc/);
    assert.doesNotMatch(stopped, /systemctl/);
    assert.match(container.run('culvert', 'explain', 'Maybe the daemon is not running?').out, /`warp-svc`/);

    container.stop();
    assert.equal(await container.ended, 0, container.said());
  });

  onServer(
    'a container ends when WARP’s service ends, and registers only with consent or by its policy file',
    async (t, root) => {
      for (const [name, text] of Object.entries(FAKES))
        fs.writeFileSync(join(root, 'usr/local/bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      const emulate = (...words: string[]) =>
        assert.equal(inRoot(root, `culvert-emulator --emulate ${words.join(' ')}`).status, 0);
      const registration = () => inRoot(root, 'culvert-emulator registration show').stdout;

      emulate('reset', 'registration=null');
      let container = startContainer(t, root, PATIENT, '.dockerenv');
      assert.equal(await container.ended, 1);
      assert.match(container.said(), /not registered\. Read https:\S+ and set CULVERT_ACCEPT_TERMS=yes/);
      assert.equal(registration(), '');

      // an organization's machine never gets a free account, even with consent
      fs.mkdirSync(join(root, 'var/lib/cloudflare-warp'), { recursive: true });
      const policy = join(root, 'var/lib/cloudflare-warp/mdm.xml');
      fs.writeFileSync(policy, '<dict><key>organization</key><string>acme</string></dict>');
      container = startContainer(t, root, `CULVERT_ACCEPT_TERMS=yes ${PATIENT}`);
      await container.says(/Waiting for WARP to register by \S+mdm\.xml/);
      container.stop();
      assert.equal(await container.ended, 0);
      assert.equal(registration(), '');

      // a file with addresses of servers only, as on a private computer
      fs.writeFileSync(policy, '<dict><key>override_warp_endpoint</key><string>203.0.113.1:2408</string></dict>');
      container = startContainer(t, root, `CULVERT_ACCEPT_TERMS=yes ${PATIENT}`);
      await container.says(/The proxy answers at 127\.0\.0\.1:40000/);
      assert.match(registration(), /free/i);
      container.run('sh', '-c', 'kill $(sed -n "s/warp-svc //p" /run/warp-svc.log)');
      assert.equal(await container.ended, 1);
      assert.match(container.said(), /WARP's service has ended/);
    },
  );

  onServer('an image without WARP says so, and a demo works in it', async (t, root) => {
    let container = startContainer(t, root, '');
    assert.equal(await container.ended, 1);
    assert.match(container.said(), /warp-svc is missing.*CULVERT_DEMO=yes/);
    container = startContainer(t, root, `CULVERT_DEMO=yes ${PATIENT}`);
    await container.says(/The proxy answers at 127\.0\.0\.1:40000/);
    await container.shows(/Chosen apps only.*demo: no tunnel/);
    container.stop();
    assert.equal(await container.ended, 0, container.said());
  });
}
