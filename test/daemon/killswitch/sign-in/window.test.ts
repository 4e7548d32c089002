// A sign-in with the kill switch on, as root in network namespaces: what is let through, to whom, and how soon that ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { SignInEnd } from '../../../../daemon/killswitch/report.ts';
import { askSecurely, probeNetwork, TARGETS } from '../../../../daemon/networks/portal/probe.ts';
import type { SignInWindow } from '../../../../daemon/networks/portal/sign-in-window.ts';
import { type LoginPageStage, type Mode, NAME_SERVER, setLoginPage } from '../../../support/killswitch/login-page.ts';
import { missing, SIGN_IN_USER } from '../../../support/killswitch/stage.ts';
import { makeCertificate } from '../../../support/networks/certificate.ts';
import { signal, suspend } from '../../../support/signal.ts';
import { until } from '../../../support/until.ts';

const USER = 1000;
const NOBODY = 65534;
/** The kernel's own limit, and time for a busy machine to look. */
const CLOSES = { limitMs: 7_000, pollMs: 100 };

function onNetwork(
  title: string,
  mode: Mode,
  act: (stage: LoginPageStage, t: TestContext) => Promise<void>,
  certificate?: (t: TestContext) => string,
): void {
  test(title, { skip: missing }, async t => {
    const stage = await setLoginPage(mode, certificate?.(t));
    try {
      await act(stage, t);
    } finally {
      await stage.end();
    }
  });
}

const probe = (window: SignInWindow) => probeNetwork(TARGETS, 5_000, window.connect);
/** Asks a page as a browser does. */
async function page(window: SignInWindow, host: string, path: string): Promise<string> {
  const socket = await window.connect(host, 80);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let text = '';
  socket.setEncoding('latin1').on('data', part => (text += part));
  await once(socket, 'close');
  return text;
}

onNetwork('every kind of login page is found, and two exact answers end it', 'redirect', async stage => {
  const window = await stage.open();
  const login = { network: 'login', loginPage: null };
  assert.deepEqual(await probe(window), { ...login, loginPage: 'http://login.example/' });
  assert.match(stage.state()!.detail!, /only the browser of the sign-in/);
  for (const mode of ['form', '511'] as const) {
    stage.setMode(mode);
    assert.deepEqual(await probe(window), login, mode);
  }
  for (const mode of ['lies', 'allows-one'] as const) {
    stage.setMode(mode);
    assert.equal((await probe(window)).network, 'login', mode);
  }
  assert.match(await page(window, 'login.example', '/accept'), /welcome/);
  assert.deepEqual(await probe(window), { network: 'open', loginPage: null });
  assert.equal(await window.close(), 'closed');
  await until(async () => !(await stage.isOpen()), 'the window to close', CLOSES);
  await until(() => stage.state()?.detail === null, 'the state');
});

onNetwork(
  'a network that answers nothing but TLS is found by its certificate',
  'https',
  async stage => {
    const window = await stage.open();
    assert.equal((await probe(window)).network, 'unreachable');
    const found = await askSecurely('connectivitycheck.gstatic.com', 443, window.connect);
    assert.deepEqual(found, { network: 'login', loginPage: 'https://connectivitycheck.gstatic.com/' });
    await window.close();
  },
  t => {
    const { key, cert } = makeCertificate(t);
    return cert + key;
  },
);

onNetwork(
  'during a sign-in no other user or program sends a packet, and the helper sends TCP and DNS alone',
  'form',
  async (stage, t) => {
    const window = await stage.open();
    for (const uid of [0, 1, USER, SIGN_IN_USER - 1]) await stage.tryAll(uid);
    await stage.tryAll(SIGN_IN_USER, '--no-tcp');
    // the name server of the link answers the helper's user
    await until(async () => (await stage.leaked()).questions === 1, "the helper's question");
    assert.deepEqual(await stage.leaked(), { packets: 0, questions: 1 });
    assert.equal(await stage.isOpen(), true);
    assert.equal(await stage.reaches(), true, 'the window was open');
    await window.close();
    await until(async () => !(await stage.isOpen()), 'the window to close', CLOSES);
    await stage.tryAll(SIGN_IN_USER);
    assert.deepEqual(await stage.leaked(), { packets: 0, questions: 1 });

    // the control: the same without the kill switch is seen
    await stage.call('Disable');
    await stage.tryAll(USER);
    await until(async () => (await stage.leaked()).questions === 2, 'the question of another user');
    const { packets } = await stage.leaked();
    assert.ok(packets >= 7, String(packets));
    t.diagnostic(`without the kill switch: ${packets} packets`);
  },
);

for (const [what, why, kill] of [
  ['the helper is killed', 'helper', async stage => signal(stage.helperPid(), 'SIGKILL')],
  ['the helper stands still', 'helper', async stage => suspend(stage.helperPid())],
  ['the root service is killed', 'service', stage => stage.kill()],
] as [string, SignInEnd, (stage: LoginPageStage) => Promise<unknown>][])
  onNetwork(`the window closes when ${what}, and its command knows`, 'form', async (stage, t) => {
    const window = await stage.open();
    assert.match(await page(window, 'login.example', '/accept'), /welcome/);
    assert.equal(await stage.reaches(), true);
    await kill(stage);
    const killed = performance.now();
    await until(async () => !(await stage.isOpen()), 'the window to close', CLOSES);
    t.diagnostic(`closed after ${Math.round(performance.now() - killed)} ms`);
    assert.equal(await stage.reaches(), false);
    assert.equal(await window.closed, why);
  });

onNetwork('the window closes when the command that holds it is killed', 'form', async (stage, t) => {
  const holder = await stage.hold();
  assert.equal(await stage.reaches(), true);
  holder.kill('SIGKILL');
  const killed = performance.now();
  await until(async () => !(await stage.isOpen()), 'the window to close', CLOSES);
  t.diagnostic(`closed after ${Math.round(performance.now() - killed)} ms`);
  assert.equal(await stage.reaches(), false);
});

for (const [what, why, change] of [
  ['the gateway changes', 'network', 'ip route replace default via 10.9.0.3 dev up0'],
  ['the link goes', 'network', 'ip link set up0 down'],
  ['the tunnel is there', 'tunnel', 'ip link add CloudflareWARP type ifb'],
] as const)
  onNetwork(`the window closes when ${what}, and says so`, 'form', async stage => {
    const window = await stage.open();
    assert.match(await page(window, 'login.example', '/accept'), /welcome/);
    await stage.script(change);
    assert.equal(await window.closed, why);
    await until(async () => !(await stage.isOpen()), 'the window to close', CLOSES);
  });

for (const [title, what, why] of [
  ['the screen is locked', 'lock', 'away'],
  ['the user logs out', 'logout', 'logout'],
  ['the machine goes to sleep', 'sleep', 'sleep'],
] as const)
  onNetwork(`the window closes when ${title}, and says so`, 'form', async stage => {
    const say = await stage.playLogin();
    const window = await stage.open();
    assert.equal(await stage.isOpen(), true);
    assert.match(await page(window, 'login.example', '/accept'), /welcome/);
    say(what);
    assert.equal(await window.closed, why);
    await until(async () => !(await stage.isOpen()), 'the window to close', CLOSES);
  });

onNetwork('the window closes when its time is over, and when the kill switch is paused', 'form', async stage => {
  const short = await stage.open(1);
  assert.equal(await short.closed, 'time');
  const window = await stage.open();
  assert.match(await page(window, 'login.example', '/accept'), /welcome/);
  assert.ok((await stage.call('Pause', ['u', '60'])).ok);
  assert.equal(await window.closed, 'unblocked');
  const paused = await stage.call('SignIn', ['u', '60']);
  assert.match(paused.text, /NotEnabled: The kill switch does not block/);
});

onNetwork(
  'only who is allowed opens it, for fifteen minutes at most, and no other user uses it',
  'form',
  async stage => {
    const denied = await stage.call('SignIn', ['u', '60'], USER);
    assert.match(denied.text, /Denied/);
    assert.equal(await stage.isOpen(), false);
    assert.match((await stage.call('SignIn', ['u', '901'])).text, /InvalidArgument: A sign-in has at most 900 seconds/);
    stage.allow('sign-in', 'enable');
    const holder = await stage.hold(USER);
    assert.equal(await stage.reaches(), true);
    // root is not the user, so the helper serves nothing
    assert.match((await stage.call('SignIn', ['u', '60'])).text, /LimitsExceeded: Another user/);
    assert.match((await stage.call('SignIn', ['u', '0'], NOBODY)).text, /LimitsExceeded: Another user/);
    assert.equal(await stage.greets(0), false);
    assert.equal(await stage.greets(USER), true);
    const extended = await stage.call('SignIn', ['u', '900'], USER);
    assert.ok((JSON.parse(extended.text) as { seconds: number }).seconds <= 900, extended.text);
    assert.ok((await stage.call('SignIn', ['u', '0'], USER)).ok);
    await until(() => holder.exitCode !== null || holder.signalCode !== null, 'the holder to end');
    assert.equal(await stage.isOpen(), false);
  },
);

onNetwork('neither this machine nor another name server is reached by way of the helper', 'form', async stage => {
  const window = await stage.open();
  const own = stage.start([...stage.inside, '/usr/bin/python3', '-u', '-m', 'http.server', '8080']);
  await once(own.stdout!, 'data');
  const hosts = ['127.0.0.1', '0.0.0.0', '224.0.0.1', '::1', 'localhost', 'nowhere.example', '', '10.9.0.1'];
  for (const host of hosts) await assert.rejects(window.connect(host, 8080), host);
  await assert.rejects(window.connect('203.0.113.20', 53));
  const socket = await window.connect('203.0.113.20', 8080);
  socket.destroy();
  await window.close();
});

/** Connects without end to each socket of these directories that it may connect to. Says so once for each. */
const FLOOD = `
import os, socket, stat, sys
reached = set()
while True:
    for path in (os.path.join(place, name) for place in sys.argv[1:] for name in os.listdir(place)):
        try:
            if not stat.S_ISSOCK(os.stat(path).st_mode): continue
            s = socket.socket(socket.AF_UNIX)
            s.connect(path)
            s.close()
        except OSError: continue
        if path not in reached: print(os.path.basename(path), flush=True)
        reached.add(path)`;

onNetwork('another user who floods every socket keeps nobody from a sign-in', 'redirect', async (stage, t) => {
  const reached = new Set<string>();
  const as = ['setpriv', '--reuid=2', '--regid=2', '--clear-groups', '--'];
  for (let i = 0; i < 4; i++) {
    const flood = stage.start([...as, '/usr/bin/python3', '-c', FLOOD, stage.path('run'), stage.path('own')]);
    flood.stdout!.on('data', data => {
      for (const name of String(data).split('\n').filter(Boolean)) reached.add(name);
    });
  }
  for (let i = 0; i < 3; i++) {
    const from = performance.now();
    const window = await stage.open();
    t.diagnostic(`open after ${Math.round(performance.now() - from)} ms`);
    await window.close();
    await until(async () => !(await stage.isOpen()), 'the window to close', CLOSES);
  }
  // that of the helper, which ends each connection of another user; none of the root service
  assert.deepEqual([...reached], ['socket']);
});

const IPV6 = 'ip -6 addr add 2001:db8::1/64 dev up0 nodad; ip -6 route add default via 2001:db8::2 dev up0';

onNetwork(
  'with IPv4 and IPv6, a sign-in goes by IPv4, whatever name servers the network names',
  'redirect',
  async stage => {
    const lease = '/run/systemd/netif/leases/$(cat /sys/class/net/up0/ifindex)';
    await stage.script(`${IPV6}; echo "DNS=2001:db8::2 ${NAME_SERVER}" >${lease}`);
    const window = await stage.open();
    assert.deepEqual(await probe(window), { network: 'login', loginPage: 'http://login.example/' });
    await assert.rejects(window.connect('2001:db8::2', 80));
    assert.match(await page(window, 'login.example', '/accept'), /welcome/);
    assert.equal((await probe(window)).network, 'open');
    await window.close();
  },
);

onNetwork('a network with IPv6 alone is refused with the reason, and nothing is let out', 'redirect', async stage => {
  await stage.script(`${IPV6}; ip -4 route del default`);
  assert.match((await stage.call('SignIn', ['u', '60'])).text, /Failed: This network has IPv6 alone/);
  assert.equal(await stage.isOpen(), false);
});
