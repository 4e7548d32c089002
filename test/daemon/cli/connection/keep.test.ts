// Changes that are asked about, and those that hold for a while, as commands on a terminal and in scripts.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Problem } from '../../../../daemon/problem.ts';
import {
  type Child,
  createHome,
  culvert,
  ended,
  prints,
  startDaemon,
  startOnTerminal,
} from '../../../support/daemon/command.ts';
import { type MemoryTunnel, memoryTunnel, showIn } from '../../../support/daemon/memory-tunnel.ts';
import { until } from '../../../support/until.ts';

/** A daemon whose tunnel has values in memory. */
async function setUp(t: TestContext, before?: MemoryTunnel['before']) {
  const home = createHome(t);
  const memory = memoryTunnel();
  if (before) memory.before = before;
  const { values } = memory;
  const { daemon } = await startDaemon(t, home, undefined, { tunnel: memory.tunnel });
  showIn(daemon.state, memory);
  const listed = () => [...values.split.ips, ...values.split.hosts].map(({ value }) => value);
  const onTerminal = async (words: string[], env: Record<string, string> = {}): Promise<Child> => {
    const child = await startOnTerminal(home, words, env);
    t.after(() => child.kill('SIGKILL'));
    return child;
  };
  return { home, memory, values, daemon, listed, onTerminal };
}

test('asks at a terminal whether a change stays, and keeps it after a yes', async t => {
  const { values, daemon, onTerminal } = await setUp(t);
  const child = await onTerminal(['mode', 'doh']);
  await prints(child, 'stdout', /Keep this change\? Reverting in (30|29) s \[Y\/n\]/);
  assert.deepEqual([values.mode, daemon.state.snapshot().changes.length], ['doh', 1]);
  child.stdin.write('y\r');
  const { code, stdout } = await ended(child);
  assert.deepEqual([code, values.mode, daemon.state.snapshot().changes], [0, 'doh', []]);
  assert.match(stdout, /The change is kept\./);
});

for (const [title, typed] of [
  ['a no', 'n\r'],
  ['Ctrl+C', '\x03'],
])
  test(`reverts a change after ${title}`, async t => {
    const { values, onTerminal } = await setUp(t);
    const child = await onTerminal(['protocol', 'wireguard']);
    await prints(child, 'stdout', /Keep this change/);
    child.stdin.write(typed!);
    const { code, stdout } = await ended(child);
    assert.deepEqual([code, values.protocol], [1, 'MASQUE']);
    assert.match(stdout, /The change was reverted\./);
  });

test('reverts a change without an answer, and when the terminal is gone', async t => {
  const { values, onTerminal } = await setUp(t);
  const child = await onTerminal(['mode', 'doh', '--confirm-within', '1']);
  assert.equal((await ended(child)).code, 1);
  assert.equal(values.mode, 'warp');
  const gone = await onTerminal(['mode', 'proxy', '--confirm-within', '2']);
  await prints(gone, 'stdout', /Keep this change/);
  gone.kill('SIGKILL');
  await until(() => values.mode === 'warp');
});

test('says that a change could not be reverted yet, and why', async t => {
  const { home, values, onTerminal } = await setUp(t, ({ value }) => {
    if (value === 'warp') throw new Problem('tunnel-cli-failed', 'It hangs.');
  });
  const child = await onTerminal(['mode', 'doh', '--confirm-within', '1']);
  const { code, stdout } = await ended(child);
  assert.equal(code, 1);
  assert.match(stdout, /Mode could not be reverted yet: It hangs\..*tried again/);
  assert.doesNotMatch(stdout, /was reverted/);
  const { stderr } = await culvert(home, ['revert']);
  assert.match(stderr, /It hangs/);
  assert.equal(values.mode, 'doh');
});

test('asks for every setting that can cut a user off, and reverts it after a no', async t => {
  const { values, daemon, listed, onTerminal } = await setUp(t);
  const routes = listed();
  for (const [words, set] of [
    [['action', 'setFamilies', 'malware'], () => values.families === 'malware'],
    [['action', 'addFallbackDomain', 'x.example'], () => values.fallback.includes('x.example')],
    [['action', 'addSplitRange', '203.0.113.0/24'], () => listed().includes('203.0.113.0/24')],
    [['split', 'add', '203.0.113.1', '203.0.113.2'], () => listed().length === routes.length + 2],
    [['split', 'remove', routes.at(-1)!], () => listed().length === routes.length - 1],
    [['split', 'reset'], () => listed().length === 1],
    [['proxy', 'on'], () => values.mode === 'proxy'],
  ] as const) {
    const child = await onTerminal([...words]);
    if (words[0] === 'proxy') {
      await prints(child, 'stdout', /Other traffic then bypasses WARP.*Switch the proxy on\? \[y\/N\]/s);
      assert.ok(!set(), 'asked before the change');
      child.stdin.write('y\r');
    }
    await prints(child, 'stdout', /Keep this change\?/);
    assert.ok(set(), words.join(' '));
    child.stdin.write('n\r');
    assert.equal((await ended(child)).code, 1, words.join(' '));
    assert.deepEqual(daemon.state.snapshot().changes, []);
    assert.deepEqual(
      [values.families, values.fallback, values.mode, listed().sort()],
      ['off', ['corp'], 'warp', [...routes].sort()],
      words.join(' '),
    );
  }
});

test('asks nothing where nothing can revert, and says so only on request', async t => {
  const { home, values, daemon, onTerminal } = await setUp(t);
  // in mode warp the port of the proxy is not reported
  for (const words of [['setProxyPort', '40001'], ['disconnect']])
    assert.equal((await ended(await onTerminal(['action', ...words]))).code, 0, words.join(' '));
  assert.deepEqual([values.proxyPort, values.connected, daemon.state.snapshot().changes], [40_001, false, []]);
  for (const [words, code] of [
    [['setProxyPort', '40002'], 1],
    [['rotateKeys'], 2],
  ] as const)
    assert.equal((await culvert(home, ['action', ...words, '--confirm-within', '9'])).code, code, words.join(' '));
  assert.equal(values.proxyPort, 40_001);
});

test('restores the list where one of several entries fails', async t => {
  const { home, listed } = await setUp(t, ({ value }) => {
    if (value === '203.0.113.2') throw new Problem('tunnel-cli-failed', 'no');
  });
  const before = listed();
  const { code, stderr } = await culvert(home, ['split', 'add', '203.0.113.1', '203.0.113.2']);
  assert.deepEqual([code, listed()], [1, before]);
  assert.match(stderr, /no/);
});

test('a temporary change can wait for a confirmation as well', async t => {
  const { home, daemon } = await setUp(t);
  assert.equal((await culvert(home, ['mode', 'doh', '--for', '1h', '--confirm-within', '600'])).code, 0);
  const [change] = daemon.state.snapshot().changes;
  assert.ok(change?.confirmBy && change.endsAt);
});

test('asks nothing with --yes, in a script, and with --json', async t => {
  const { home, daemon, values, onTerminal } = await setUp(t);
  const yes = await ended(await onTerminal(['mode', 'doh', '--yes']));
  assert.deepEqual([yes.code, values.mode, daemon.state.snapshot().changes], [0, 'doh', []]);
  const script = await culvert(home, ['mode', 'warp']);
  assert.deepEqual([script.code, values.mode, daemon.state.snapshot().changes], [0, 'warp', []]);
  const limited = await culvert(home, ['mode', 'doh', '--confirm-within', '600']);
  assert.match(limited.stderr, /Reverts in 600 s unless you run: culvert keep/);
  const kept = await culvert(home, ['keep', '--json']);
  assert.deepEqual(JSON.parse(kept.stdout), { ok: true, changes: [] });
  const nothing = await culvert(home, ['keep']);
  assert.equal(nothing.code, 1);
  assert.match(nothing.stderr, /There is no such change/);
  const both = await culvert(home, ['mode', 'warp', '--yes', '--confirm-within', '5']);
  assert.equal(both.code, 2);
});

test('off --for, extend and revert', async t => {
  const { home, daemon, values } = await setUp(t);
  const off = await culvert(home, ['off', '--for', '15m']);
  assert.equal(off.code, 0);
  assert.match(off.stderr, /^Disconnecting\.\nBack on at .*\d\d:\d\d\.\n$/);
  const ends = () => Date.parse(daemon.state.snapshot().changes[0]!.endsAt!) - Date.now();
  assert.ok(Math.abs(ends() - 900_000) < 60_000);
  const extended = await culvert(home, ['extend', '2h']);
  assert.match(extended.stderr, /^Back on at/);
  assert.ok(Math.abs(ends() - 7_200_000) < 60_000);
  assert.equal(values.connected, false);
  assert.equal((await culvert(home, ['revert', 'connection'])).code, 0);
  assert.equal(values.connected, true);
  const same = await culvert(home, ['on', '--for', '1h']);
  assert.equal(same.stderr, 'Set; nothing to revert.\n');
  for (const words of [
    ['off', '--for', '15'],
    ['off', '--for', '8d'],
    ['off', '--until', '25:00'],
    ['extend', 'soon'],
    ['keep', 'x'],
  ])
    assert.equal((await culvert(home, words)).code, 2, words.join(' '));
});

test('imports, adds, removes, exports and reverts routes', async t => {
  const { home, listed } = await setUp(t);
  const file = join(home.path, 'routes.txt');
  writeFileSync(file, 'mode exclude\n10.0.0.0/8  # the office\n10.9.0.1-10.9.0.2\n');
  const refused = await culvert(home, ['routes', 'import', file]);
  assert.deepEqual([refused.code, listed()], [2, ['10.0.0.0/8', '198.18.7.0/24', 'example.com']]);
  assert.match(refused.stderr, /replaces the whole list: it adds 2 and removes 2\.\n.*--yes/);
  const imported = await culvert(home, ['routes', 'import', file, '--yes']);
  assert.deepEqual([imported.code, imported.stderr], [0, 'Added 2, removed 2.\n']);
  assert.deepEqual(listed(), ['10.0.0.0/8', '10.9.0.1', '10.9.0.2']);
  assert.equal((await culvert(home, ['routes', 'add', 'x.example', '10.0.0.0/8'])).stderr, 'Added 1, removed 0.\n');
  assert.equal((await culvert(home, ['routes', 'remove', '10.9.0.1'])).stderr, 'Added 0, removed 1.\n');
  const document = 'mode exclude\n10.0.0.0/8  # the office\n10.9.0.2\nx.example\n';
  assert.equal((await culvert(home, ['routes', 'export'])).stdout, document);
  assert.equal((await culvert(home, ['routes', 'export', file, '--force'])).code, 0);
  assert.equal(readFileSync(file, 'utf8'), document);
  assert.match((await culvert(home, ['routes', 'remove', '203.0.113.1'])).stderr, /is not in the list/);
  for (let at = 0; at < 3; at++) assert.equal((await culvert(home, ['routes', 'undo'])).code, 0);
  assert.deepEqual(listed(), ['10.0.0.0/8', '198.18.7.0/24', 'example.com']);
  const none = await culvert(home, ['routes', 'undo']);
  assert.equal(none.code, 1);
  assert.match(none.stderr, /^culvert: No earlier document of routes is kept\.\n.*culvert routes add/);
  const history = await culvert(home, ['routes', 'history']);
  assert.match(
    history.stdout,
    /^ +4 +20.* remove +3 entries\n +3 .*\n +2 .* import .*\n\* +1 .* outside +3 entries\n$/,
  );
  assert.equal((await culvert(home, ['routes', 'history', '4'])).stdout, document);
  const binary = await culvert(home, ['routes', 'import'], '\0'.repeat(1_000_000));
  assert.deepEqual([binary.code, listed().length], [1, 3]);
  assert.match(binary.stderr, /takes too many bytes, or is not text/);
  const bad = await culvert(home, ['routes', 'import'], '10.0.0\n');
  assert.deepEqual([bad.code, listed().length], [1, 3]);
  assert.match(bad.stderr, /! line 1: .*\n.*Nothing was changed/s);
});

test('a script replaces the list with --yes or a limit, and adds to it without either', async t => {
  const { home, listed } = await setUp(t);
  const before = listed();
  assert.equal((await culvert(home, ['routes', 'import'], 'mode exclude\na.example\n')).code, 2);
  const more = ['mode exclude', ...before, 'a.example', ''].join('\n');
  assert.equal((await culvert(home, ['routes', 'import'], more)).code, 0);
  assert.equal(listed().length, before.length + 1);
  const limited = await culvert(home, ['routes', 'import', '--confirm-within', '600'], 'mode exclude\na.example\n');
  assert.deepEqual([limited.code, listed()], [0, ['a.example']]);
});

test('edits the document in an editor, again where it has mistakes, and asks before and after it is set', async t => {
  const { home, listed, onTerminal } = await setUp(t);
  const editor = join(home.path, 'editor');
  // the first time it makes a mistake
  writeFileSync(
    editor,
    '#!/bin/sh\nif grep -q "10.0.0$" "$1"; then sed -i "s/10.0.0$/a.example/" "$1"; else printf "10.0.0\\n" > "$1"; fi\n',
    { mode: 0o755 },
  );
  const child = await onTerminal(['routes', 'edit'], { EDITOR: editor });
  await prints(child, 'stdout', /! line 1: .*Edit it again\? \[y\/N\]/s);
  child.stdin.write('y\r');
  await prints(child, 'stdout', /\+ a\.example.*Apply changes\? \[y\/N\]/s);
  child.stdin.write('y\r');
  await prints(child, 'stdout', /Keep this change\?/);
  child.stdin.write('y\r');
  assert.equal((await ended(child)).code, 0);
  assert.deepEqual(listed(), ['a.example']);
  const failed = await ended(await onTerminal(['routes', 'edit'], { EDITOR: 'false' }));
  assert.equal(failed.code, 1);
  assert.match(failed.stdout, /The editor ended with exit status 1/);
  assert.equal((await culvert(home, ['routes', 'edit'])).code, 2);
  assert.deepEqual(
    readdirSync(join(home.path, 'run/culvert')).filter(name => name.startsWith('routes')),
    [],
  );
});

test('keeps the text of the editor where the list cannot be set', async t => {
  let refuses = true;
  const { home, listed, onTerminal } = await setUp(t, () => {
    if (refuses) throw new Problem('tunnel-cli-failed', 'no');
  });
  const editor = join(home.path, 'editor');
  writeFileSync(editor, '#!/bin/sh\necho a.example >> "$1"\n', { mode: 0o755 });
  const { code, stdout } = await ended(await onTerminal(['routes', 'edit', '--yes'], { EDITOR: editor }));
  assert.equal(code, 1);
  const [, file = ''] = /Set it with: culvert routes import (\S+)/.exec(stdout) ?? [];
  refuses = false;
  assert.equal((await culvert(home, ['routes', 'import', file])).code, 0);
  assert.ok(listed().includes('a.example'));
});

test('settings as a file: exported, compared and applied', async t => {
  const { home, values } = await setUp(t);
  const file = join(home.path, 'settings.toml');
  assert.equal((await culvert(home, ['settings', 'export', file])).code, 0);
  assert.deepEqual([(await culvert(home, ['settings', 'diff', file])).stdout], ['Nothing differs.\n']);
  const changed = readFileSync(file, 'utf8').replace('mode = "warp"', 'mode = "doh"');
  const diff = await culvert(home, ['settings', 'diff'], changed);
  assert.deepEqual([diff.code, diff.stdout], [1, '* tunnel.mode: warp -> doh\n']);
  const applied = await culvert(home, ['settings', 'apply', '-', '--confirm-within', '600'], changed);
  assert.deepEqual([applied.code, values.mode], [0, 'doh']);
  assert.match(applied.stderr, /^Set tunnel\.mode\.\nReverts in 600 s unless you run: culvert keep\n$/);
  assert.equal((await culvert(home, ['settings', 'undo', '--json'])).code, 0);
  assert.equal(values.mode, 'warp');
  const refused = await culvert(home, ['settings', 'apply'], changed);
  assert.deepEqual([refused.code, values.mode], [2, 'warp']);
  assert.match(refused.stderr, /This sets tunnel\.mode\..*\n.*--yes/);
  assert.equal((await culvert(home, ['settings', 'apply', file])).code, 0, 'nothing differs');
  assert.equal((await culvert(home, ['settings', 'apply', '--yes'], changed)).code, 0);
  assert.equal(values.mode, 'doh');
  assert.equal((await culvert(home, ['settings', 'undo'])).code, 0);
  const bad = await culvert(home, ['settings', 'apply'], '[tunnel]\nmode = "fast"\n');
  assert.deepEqual([bad.code, values.mode], [1, 'warp']);
});

const OVER_SSH = { SSH_CONNECTION: '203.0.113.5 50000 192.0.2.1 22' };

for (const command of ['connect', 'toggle'])
  test(`${command} over SSH says whether the session survives, and turns the tunnel off again without an answer`, async t => {
    const { values, memory, listed, onTerminal, home } = await setUp(t);
    const before = listed();
    const turnOff = async () => {
      await memory.tunnel.runAction({ action: 'disconnect' });
      await memory.tunnel.refresh('stale');
    };
    await turnOff();
    const child = await onTerminal([command], OVER_SSH);
    await prints(
      child,
      'stdout',
      /session from 203\.0\.113\.5 does not survive this\. .*firewall.*preset ssh, which excludes 203\.0\.113\.5\? \[y\/n\/C\]/s,
    );
    assert.equal(values.connected, false, 'says it before it connects');
    child.stdin.write('n\r');
    await prints(child, 'stdout', /Keep this change\?/);
    assert.deepEqual([values.connected, listed()], [true, before]);
    child.stdin.write('n\r');
    assert.equal((await ended(child)).code, 1);
    assert.equal(values.connected, false);
    await turnOff();
    // an excluded address, a script with a limit, a user at the machine
    const kept = await onTerminal([command], { SSH_CONNECTION: '10.1.2.3 50000 192.0.2.1 22' });
    await prints(kept, 'stdout', /10\.1\.2\.3 survives this\. .*10\.0\.0\.0\/8 is excluded.*Keep this change\?/s);
    kept.stdin.write('y\r');
    assert.deepEqual([(await ended(kept)).code, values.connected], [0, true]);
    await turnOff();
    const limited = await culvert(home, [command, '--confirm-within', '600'], '', OVER_SSH);
    assert.match(
      limited.stderr,
      /does not survive this[\s\S]*culvert routes add --preset ssh[\s\S]*Reverts in 600 s unless you run: culvert keep/,
    );
    await culvert(home, ['revert']);
    assert.equal(values.connected, false);
    await turnOff();
    const local = await ended(await onTerminal([command], { SSH_CONNECTION: '' }));
    assert.doesNotMatch(local.stdout, /Keep this change|session/);
  });

test('the preset keeps the session, and one answer keeps or reverts it together with the tunnel', async t => {
  const order: string[] = [];
  const { home, values, daemon, memory, listed, onTerminal } = await setUp(t, ({ action }) => order.push(action));
  const before = listed();
  values.connected = false;
  await memory.tunnel.refresh('stale');
  for (const [answer, code] of [
    ['n', 1],
    ['y', 0],
  ] as const) {
    order.length = 0;
    const child = await onTerminal(['connect'], OVER_SSH);
    await prints(child, 'stdout', /\[y\/n\/C\]/);
    child.stdin.write('y\r');
    await prints(child, 'stdout', /Excluded 203\.0\.113\.5\.[\s\S]*Connecting\.[\s\S]*Keep this change\?/);
    assert.deepEqual([values.connected, listed().includes('203.0.113.5')], [true, true]);
    const changes = daemon.state.snapshot().changes.map(({ subject }) => subject);
    assert.deepEqual(changes.sort(), ['connection', 'routes']);
    child.stdin.write(`${answer}\r`);
    assert.equal((await ended(child)).code, code, answer);
    assert.deepEqual(daemon.state.snapshot().changes, []);
    if (code === 1) {
      assert.deepEqual([values.connected, listed()], [false, before]);
      // without the route, the session would end before the tunnel does
      assert.deepEqual(order, ['addSplitIp', 'connect', 'disconnect', 'removeSplitIp']);
    }
  }
  assert.deepEqual([values.connected, listed().includes('203.0.113.5')], [true, true]);
  const { stdout } = await culvert(home, ['routes']);
  assert.match(stdout, /203\.0\.113\.5 +# preset/);
});

test('without an answer, the preset and the tunnel are both reverted', async t => {
  const { values, daemon, memory, listed, onTerminal } = await setUp(t);
  const before = listed();
  values.connected = false;
  await memory.tunnel.refresh('stale');
  const child = await onTerminal(['connect', '--confirm-within', '2'], OVER_SSH);
  await prints(child, 'stdout', /\[y\/n\/C\]/);
  child.stdin.write('y\r');
  assert.equal((await ended(child)).code, 1);
  assert.deepEqual([values.connected, listed(), daemon.state.snapshot().changes], [false, before, []]);
});

test('changes nothing if the user cancels, and reverts the preset if the tunnel refuses', async t => {
  const { values, daemon, memory, listed, onTerminal } = await setUp(t, ({ action }) => {
    const refusal = Object.assign(new Problem('tunnel-cli-failed', 'It refuses.'), { uncertain: false });
    if (action === 'connect') throw refusal;
  });
  const before = listed();
  values.connected = false;
  await memory.tunnel.refresh('stale');
  const performed = memory.performed.length;
  for (const typed of ['\r', 'c\r', '\x03']) {
    const child = await onTerminal(['connect'], OVER_SSH);
    await prints(child, 'stdout', /\[y\/n\/C\]/);
    child.stdin.write(typed);
    const { code, stdout } = await ended(child);
    assert.deepEqual([code, memory.performed.length], [1, performed], JSON.stringify(typed));
    assert.match(stdout, /Nothing was changed/);
  }
  const refused = await onTerminal(['connect'], OVER_SSH);
  await prints(refused, 'stdout', /\[y\/n\/C\]/);
  refused.stdin.write('y\r');
  const { code, stdout } = await ended(refused);
  assert.equal(code, 1);
  assert.match(stdout, /It refuses/);
  assert.deepEqual([listed(), daemon.state.snapshot().changes], [before, []]);
});

test('a mode that routes asks in the same way, and a timed change too where the session ends', async t => {
  const { home, values, memory, listed, onTerminal } = await setUp(t);
  values.mode = 'proxy';
  await memory.tunnel.refresh('stale');
  const before = listed();
  for (const words of [
    ['mode', 'warp'],
    ['mode', 'warp', '--for', '1h'],
    ['action', 'setMode', 'warp'],
  ]) {
    const child = await onTerminal(words, OVER_SSH);
    await prints(child, 'stdout', /does not survive this.*\[y\/n\/C\]/s);
    child.stdin.write('y\r');
    await prints(child, 'stdout', /Keep this change\?/);
    assert.deepEqual([values.mode, listed().includes('203.0.113.5')], ['warp', true], words.join(' '));
    child.stdin.write('n\r');
    assert.equal((await ended(child)).code, 1);
    assert.deepEqual([values.mode, listed()], ['proxy', before], words.join(' '));
  }
  const off = await onTerminal(['proxy', 'off'], OVER_SSH);
  await prints(off, 'stdout', /does not survive this.*Switch the proxy off\? \[y\/N\]/s);
  off.stdin.write('n\r');
  assert.equal((await ended(off)).code, 1);
  const quiet = await culvert(home, ['mode', 'doh', '--json'], '', OVER_SSH);
  assert.deepEqual([quiet.code, quiet.stderr, values.mode], [0, '', 'doh']);
});

test('the preset ssh names this session, and refuses where an entry would send it into the tunnel', async t => {
  const { home, values, memory, listed } = await setUp(t);
  const names = await culvert(home, ['routes', 'presets'], '', OVER_SSH);
  assert.match(names.stdout, /^ *ssh +203\.0\.113\.5 +sshd$/m);
  assert.equal((await culvert(home, ['routes', 'add', '--preset', 'ssh', '--yes'], '', OVER_SSH)).code, 0);
  assert.ok(listed().includes('203.0.113.5'));
  values.split = { mode: 'include', ips: [], hosts: [] };
  await memory.tunnel.refresh('stale');
  const refused = await culvert(home, ['routes', 'add', '--preset', 'ssh', '--yes'], '', OVER_SSH);
  assert.deepEqual([refused.code, listed()], [1, []]);
  assert.match(refused.stderr, /would send the SSH session into the tunnel/);
});
