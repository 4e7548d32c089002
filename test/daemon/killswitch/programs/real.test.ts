// Real programs: each reaches a server through the tunnel alone when it is kept there, and by the uplink alone when it runs outside.
import assert from 'node:assert/strict';
import { chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { after, before, type TestContext, test } from 'node:test';
import { numberOf } from '../../../../daemon/killswitch/rules/place.ts';
import { line } from '../../../support/killswitch/loops.ts';
import {
  DAEMON,
  FAMILIES,
  type Family,
  FORWARDS_6,
  finish,
  type Machine,
  setMachine,
} from '../../../support/killswitch/programs.ts';
import { missing, which } from '../../../support/killswitch/stage.ts';
import { FULL } from '../../../support/thoroughness.ts';
import { until } from '../../../support/until.ts';

const skip = missing || (which('ip') ? false : 'needs ip') || (!FULL && 'only with --full');
const PORTS = { http: 8000, ssh: 2222 } as const;
/** Far above what a browser needs to start, and below the time in which a connection to nowhere is given up. */
const LIMIT_MS = 120_000;

/** Each command fetches `/NAME`, or begins a session of SSH. @param home a separate directory */
const PROGRAMS: Readonly<Record<string, (url: string, home: string, address: string) => string[]>> = {
  curl: url => ['curl', '--fail', '--silent', '--show-error', url],
  ssh: (_url, _home, address) =>
    `ssh -F none -p ${PORTS.ssh} -o BatchMode=yes -o UserKnownHostsFile=/dev/null ${address}`.split(' '),
  git: url => ['git', 'ls-remote', `${url}/.git`],
  node: url => ['node', '-e', `fetch('${url}').then(answer => answer.text())`],
  chromium: (url, home) =>
    `chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=${home} --dump-dom ${url}`.split(
      ' ',
    ),
  firefox: (url, home) => `firefox --headless --profile ${home} --screenshot ${home}/page.png ${url}`.split(' '),
};

const FIREFOX_LOG = (home: string) => `${home}/log.moz_log`;
/** As Firefox logs NS_ERROR_CONNECTION_REFUSED. */
const REFUSED = '804b000d';

/** Answers requests, those below `/git` from files, and prints path and address of each. */
const SERVER = (files: string) => `
import http.server, socket, threading
class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *given): super().__init__(*given, directory="${files}")
    def log_message(self, *_): pass
    def do_GET(self):
        print(self.path.split("/")[1], self.client_address[0].removeprefix("::ffff:"), flush=True)
        if self.path.startswith("/git/"): return super().do_GET()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"answer")
def ssh():
    while True:
        connection, (address, *_) = sessions.accept()
        if connection.recv(100).startswith(b"SSH-"): print("ssh", address.removeprefix("::ffff:"), flush=True)
        connection.close()
sessions = socket.create_server(("", ${PORTS.ssh}), family=socket.AF_INET6, dualstack_ipv6=True)
threading.Thread(target=ssh, daemon=True).start()
class Server(http.server.ThreadingHTTPServer): address_family = socket.AF_INET6
server = Server(("", ${PORTS.http}), Handler)
print("ready", flush=True)
server.serve_forever()`;

let machine: Machine;
/** Lines of the server. */
let asked = '';
before(async () => {
  if (skip) return;
  machine = await setMachine();
  machine.allow('tunnel-only', 'outside');
  await machine.serve();
  const files = machine.path('files');
  if (which('git'))
    await machine.script(`git init -q ${files}/git && cd ${files}/git
      git -c user.name=x -c user.email=x commit -q --allow-empty -m x && git update-server-info`);
  const server = machine.startFar(SERVER(files));
  await line(server);
  server.stdout!.on('data', data => (asked += data));
});
after(() => machine?.end());

for (const net of FAMILIES)
  for (const [name, command] of Object.entries(PROGRAMS))
    test(
      `${name} uses the tunnel only, or the uplink only (${net.name})`,
      {
        skip: skip || (which(name) ? false : `needs ${name}`),
      },
      t => check(t, name, command, net),
    );

async function check(t: TestContext, name: string, command: (typeof PROGRAMS)[string], net: Family): Promise<void> {
  /** Runs the program in a new home. @returns the requests that the server got, and the packets by each way */
  const run = async (how: 'kept' | 'outside', reaches: boolean) => {
    const home = machine.path(`${name}-${net.name}-${how}-${reaches}`);
    mkdirSync(home);
    chownSync(home, DAEMON, DAEMON);
    const before = await machine.seen();
    asked = '';
    const started = performance.now();
    const host = net.name === 'IPv6' ? `[${net.far}]` : net.far;
    const argv = machine[how](...command(`http://${host}:${PORTS.http}/${name}`, home, net.far));
    const env = { HOME: home, MOZ_LOG: 'nsSocketTransport:5', MOZ_LOG_FILE: `${home}/log` };
    const child = machine.start(argv, { env, cwd: home, timeout: LIMIT_MS, killSignal: 'SIGKILL' });
    const ended = finish(child);
    if (name === 'firefox' && !reaches) {
      // its error message is on no screen, and it keeps running
      await until(() => existsSync(FIREFOX_LOG(home)) && readFileSync(FIREFOX_LOG(home), 'utf8').includes(REFUSED));
      child.kill();
    }
    const { code, err } = await ended;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    t.diagnostic(`${name}, ${how}, ${reaches ? 'with' : 'without'} a tunnel: ended with ${code} after ${seconds} s`);
    assert.notEqual(code, 'SIGKILL', `it waited for a timeout: ${err}`);
    if (reaches)
      await until(
        () => asked.includes(name),
        () => `the server to be asked: ${err}`,
      );
    const { uplink, tunnel } = await machine.seen();
    const by = new Set(asked.split('\n').filter(asker => asker.startsWith(`${name} `)));
    return { by: [...by], uplink: uplink - before.uplink, tunnel: tunnel - before.tunnel };
  };

  await machine.tunnelUp();
  try {
    const kept = await run('kept', true);
    assert.deepEqual([kept.by, kept.uplink], [[`${name} ${net.tunnel}`], 0]);
    assert.ok(kept.tunnel > 0);
    if (net.name === 'IPv4' || FORWARDS_6) {
      const outside = await run('outside', true);
      assert.deepEqual([outside.by, outside.tunnel], [[`${name} ${net.uplink}`], 0]);
      assert.ok(outside.uplink > 0);
      // the kernel may still send for it
      const links = async () => (await machine.script('ls /sys/class/net')).split('\n');
      await until(async () => !(await links()).some(link => numberOf(link) !== null), 'its network to be gone');
    }
  } finally {
    await machine.tunnelDown();
  }
  assert.deepEqual(await run('kept', false), { by: [], uplink: 0, tunnel: 0 });
}
