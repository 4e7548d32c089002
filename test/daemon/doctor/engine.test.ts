// The engine under probes that hang, fail, or meet hostile input: a result with the reason, never a crash.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import type { ServiceManager } from '../../../daemon/api/schema.ts';
import { type Check, labeled, message, ok, problem, quoted } from '../../../daemon/doctor/check.ts';
import { CHECKS } from '../../../daemon/doctor/checks/all.ts';
import { resolvConf, search } from '../../../daemon/doctor/checks/dns.ts';
import { runChecks } from '../../../daemon/doctor/engine.ts';
import { ownerOf } from '../../../daemon/doctor/world/sockets.ts';
import { ENV, examine, onlyPrograms, snapshot, startBus, tree, world } from '../../support/doctor/world.ts';
import { missing } from '../../support/temporary.ts';

const check = (probe: Check['probe'], more: Partial<Check> = {}): Check => ({
  id: 'test',
  title: 'Test',
  group: 'culvert',
  source: null,
  probe,
  ...more,
});

test('a probe that hangs is unknown after its time limit, and is aborted', async t => {
  let aborted = false;
  const hanging = check((_, signal) => {
    signal.addEventListener('abort', () => {
      aborted = true;
    });
    return new Promise(() => {});
  });
  const result = await examine(hanging, world(t), { limitMs: 50 });
  assert.deepEqual([result.verdict, result.evidence], ['unknown', ['There was no answer within 0.05 s.']]);
  assert.ok(aborted);
});

test('a probe that throws, synchronously or later, is unknown with the reason', async t => {
  const sync = check(() => {
    throw new Error('broken synchronously');
  });
  const later = check(async () => {
    throw new Error('broken later');
  });
  const evidence = await runChecks([sync, later], world(t));
  assert.deepEqual(
    evidence.map(({ verdict, evidence: [first] }) => [verdict, first]),
    [
      ['unknown', 'The check failed: broken synchronously'],
      ['unknown', 'The check failed: broken later'],
    ],
  );
});

test('without systemd no check offers systemctl, and says what to start', async t => {
  const fixing = (...commands: string[][]) =>
    check(async () =>
      problem([], message('Broken.'), {
        kind: 'commands',
        ...labeled(message('Mend it')),
        commands,
        undo: [],
        privileged: true,
      }),
    );
  const restart = ['systemctl', 'restart', 'some-service'];
  const checks = [fixing(restart), fixing(['true'], restart), fixing(['ip', 'link'])];
  const found = async (serviceManager: ServiceManager | null) =>
    (await runChecks(checks, world(t, { serviceManager }))).map(({ fix, fixId, explanation }) => [
      fix !== null,
      fixId !== null,
      explanation,
    ]);
  const usual = [true, true, 'Broken.'];
  assert.deepEqual(await found(null), [usual, usual, usual]);
  const advice = 'Broken. systemd does not run here. Do this yourself, as root: restart some-service';
  assert.deepEqual(await found({ kind: 'none', startsWarp: false }), [
    [false, false, advice],
    [true, true, advice],
    usual,
  ]);
});

test('an aborted run ends immediately', async t => {
  const end = new AbortController();
  const results = runChecks(
    Array.from({ length: 20 }, () => check(() => new Promise(() => {}))),
    world(t, { signal: end.signal }),
    { limitMs: 60_000 },
  );
  end.abort();
  assert.ok((await results).every(({ verdict }) => verdict === 'unknown'));
});

test('evidence is one line, without control characters, and of a length that can be read', async t => {
  const result = await examine(
    check(async () => ok(quoted(`a\x1b[2J\u202eb\n${'x'.repeat(10_000)}`), ...Array(50).fill(quoted('y')))),
    world(t),
  );
  assert.match(result.evidence[0] ?? '', /^a \[2J b x+…$/);
  assert.ok((result.evidence[0]?.length ?? 0) < 310);
  assert.equal(result.evidence.at(-1), 'Further lines: 39');
});

test('a check for other versions does not run', async t => {
  const never = check(() => assert.fail(), { appliesTo: { versions: { before: '2026.1.1.0' } } });
  assert.equal((await examine(never, world(t))).verdict, 'not-applicable');
  const unknown = world(t, { tunnel: snapshot({ tunnelCli: { version: null } }) });
  assert.equal((await examine(never, unknown)).verdict, 'unknown');
});

test('without any program, every check still has a result with a reason', async t => {
  for (const tunnel of [null, snapshot(), snapshot({ settings: { Mode: undefined } as never })]) {
    const results = await runChecks(CHECKS, world(t, { env: { ...ENV, PATH: missing(t) }, tunnel }));
    assert.equal(results.length, CHECKS.length);
    for (const { id, verdict, evidence } of results) {
      assert.ok(evidence.length > 0 || verdict === 'ok', id);
      for (const line of evidence) assert.doesNotMatch(line, /^The check failed/, id);
    }
    const bridge = results.find(({ id }) => id === 'bridge-mtu');
    assert.deepEqual([bridge?.verdict, bridge?.evidence], ['unknown', ['ip is not installed.']]);
  }
});

test('programs that hang, print garbage or print without end lead to unknown', async t => {
  const scripts = { hangs: 'sleep 60', garbage: 'echo "{"', endless: 'yes', fails: 'echo no >&2; exit 3' };
  for (const [name, text] of Object.entries(scripts)) {
    const env = {
      ...ENV,
      PATH: `${onlyPrograms(t, { ip: text, busctl: text, nft: text, systemctl: text }).PATH}:/usr/bin:/bin`,
    };
    const limitMs = name === 'hangs' ? 2_000 : 20_000;
    const results = await runChecks(CHECKS, world(t, { env }), { limitMs });
    for (const { id, evidence } of results)
      for (const line of evidence) assert.doesNotMatch(line, /^The check failed/, `${name}: ${id}`);
    assert.equal(results.find(({ id }) => id === 'bridge-mtu')?.verdict, 'unknown', name);
  }
});

test('a service that owns its name and never answers leads to unknown', async t => {
  const bus = await startBus(t, {
    'org.freedesktop.NetworkManager': {
      '/org/freedesktop/NetworkManager': { 'org.freedesktop.NetworkManager': { Connectivity: ['hang', ''] } },
    },
  });
  const captive = CHECKS.find(({ id }) => id === 'captive-portal') as Check;
  const result = await examine(captive, world(t, { bus }), { limitMs: 2_000 });
  assert.equal(result.verdict, 'unknown');
});

test('an /etc/resolv.conf of 1 MB is not read, and control characters in it do no harm', async t => {
  const large = world(t, { root: tree(t, { '/etc/resolv.conf': `search ${'a.b '.repeat(260_000)}` }) });
  for (const each of [resolvConf, search]) {
    const { verdict, evidence } = await examine(each, large);
    assert.deepEqual([verdict, evidence], ['unknown', ['/etc/resolv.conf is longer than 64 KiB, so it was not read.']]);
  }
  const control = world(t, {
    root: tree(t, {
      '/etc/resolv.conf': `# Generated by \x1b]0;x\x07NetworkManager\nnameserver \x1b[31m1.1.1.1\x00\nsearch ${'x'.repeat(60_000)}\n`,
    }),
  });
  for (const each of [resolvConf, search]) {
    const result = await examine(each, control);
    assert.doesNotMatch(result.evidence.join(''), /[\x00-\x1f]/);
    assert.match(result.verdict, /^(problem|notice)$/);
  }
});

test('a pipe, a directory or a device in place of a file is unknown, and nothing waits for it', async t => {
  const root = tree(t, { '/etc/hosts': '' });
  spawnSync('mkfifo', [`${root}/etc/resolv.conf`]);
  const { verdict, evidence } = await examine(resolvConf, world(t, { root }));
  assert.deepEqual([verdict, evidence], ['unknown', ['/etc/resolv.conf is not a regular file.']]);
});

test('a process that ends while its sockets are read is not a failure', async t => {
  const children = Array.from({ length: 8 }, () => spawn('sleep', ['60']));
  await Promise.all(children.map(child => once(child, 'spawn')));
  const found = ownerOf(world(t, { root: '' }), '1', new AbortController().signal);
  for (const child of children) child.kill('SIGKILL');
  assert.equal(await found, null);
});

test('every check has an identifier, its own title, and a source unless it is about Culvert', () => {
  assert.equal(new Set(CHECKS.map(({ id }) => id)).size, CHECKS.length);
  assert.equal(new Set(CHECKS.map(({ title }) => title)).size, CHECKS.length);
  for (const { id, group, source } of CHECKS) {
    assert.match(id, /^[a-z0-9-]{4,32}$/);
    assert.equal(source === null, group === 'culvert' || group === 'desktop', id);
    if (source) assert.match(source, /^https:\/\//);
  }
});
