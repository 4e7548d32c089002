// Faults on demand: each does what its name says, from the environment and from the state.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type Emulator, emulator } from '../../support/daemon/emulator.ts';

const DOWN =
  'Unable to connect to the CloudflareWARP daemon: No such file or directory (os error 2)\n\nMaybe the daemon is not running?\n';

describe('faults of the emulator', () => {
  let it_: Emulator;
  before(async () => {
    it_ = await emulator();
  });
  after(() => it_.remove());
  beforeEach(() => it_.control('reset', 'clear'));

  const withFault = (faults: string, ...argv: string[]) => it_.runWith({ CULVERT_EMULATOR_FAULTS: faults }, ...argv);

  it('service-down and connection-refused: plain text on stderr even under -j, exit 1', async () => {
    for (const argv of [['status'], ['-j', 'status'], ['connect'], ['-j', 'tunnel', 'stats']]) {
      const down = await withFault('service-down', ...argv);
      assert.deepEqual([down.stdout, down.stderr, down.exitCode], ['', DOWN, 1]);
    }
    const refused = await withFault('connection-refused', 'status');
    assert.match(refused.stderr, /Connection refused \(os error 111\)/);
    assert.equal((await withFault('service-down', '--version')).exitCode, 0, 'the version needs no service');
  });

  it('socket-late: down at first, then up', async () => {
    await it_.control('fault=socket-late=400');
    assert.equal((await it_.run('status')).exitCode, 1);
    const deadline = performance.now() + 10_000;
    let exitCode: number | null = 1;
    while (exitCode !== 0 && performance.now() < deadline) ({ exitCode } = await it_.run('status'));
    assert.equal(exitCode, 0);
  });

  it('terms: refused without a terminal until --accept-tos, which is stored only next to the state', async () => {
    await it_.control('fault=terms');
    for (const argv of [['status'], ['-j', 'settings'], ['connect']]) {
      const { stdout, stderr, exitCode } = await it_.run(...argv);
      assert.deepEqual([stdout, exitCode], ['', 1]);
      assert.match(stderr, /^Please accept the WARP Terms of Service by running this command in a TTY/);
    }
    assert.equal((await it_.run('--help')).exitCode, 0);
    assert.equal((await it_.run('--accept-tos', 'status')).exitCode, 0);
    assert.equal((await it_.run('status')).exitCode, 0);
    const accepted = join(dirname(it_.stateFile), 'home/.local/share/warp/accepted-tos.txt');
    assert.equal(await readFile(accepted, 'utf8'), 'yes');
    await assert.rejects(access(join(it_.env.HOME!, '.local/share/warp')), "the real client's acceptance is untouched");
    await it_.control('reset', 'fault=terms');
    assert.equal((await it_.run('status')).exitCode, 1, 'a reset forgets it');
  });

  it('not-registered: without a registration for as long as it lasts', async () => {
    assert.match((await withFault('not-registered', 'status')).stdout, /Registration Missing due to: Daemon Startup/);
    assert.match((await withFault('not-registered', 'connect')).stderr, /Missing registration/);
    assert.equal(
      JSON.parse((await withFault('not-registered', '-j', 'registration', 'show')).stdout).code,
      'MissingRegistration',
    );
    assert.equal((await it_.run('registration', 'show')).exitCode, 0, 'the registration itself is still there');
  });

  it('not-authorized: all but status and settings', async () => {
    for (const argv of [['connect'], ['registration', 'show'], ['tunnel', 'stats']]) {
      const { stderr, exitCode } = await withFault('not-authorized', ...argv);
      assert.deepEqual([stderr, exitCode], ['Error: Operation not authorized in this context.\n', 1]);
    }
    assert.equal((await withFault('not-authorized', 'status')).exitCode, 0);
  });

  it('policy-lock: settings and the switch are locked, reading and connecting are not, a code unlocks', async () => {
    await it_.control('fault=policy-lock');
    assert.equal((await it_.run('connect')).exitCode, 0);
    assert.match((await it_.run('settings')).stdout, /\(network policy\)\tSwitch Locked: true/);
    for (const argv of [['disconnect'], ['mode', 'doh'], ['registration', 'delete'], ['tunnel', 'ip', 'reset']]) {
      assert.match((await it_.run(...argv)).stderr, /not authorized/, argv.join(' '));
    }
    assert.equal((await it_.run('override', 'unlock', 'CODE123')).exitCode, 0);
    assert.equal((await it_.run('disconnect')).exitCode, 0);
  });

  it('hang: no answer, SIGTERM ends it; hang-deaf: only SIGKILL does', async () => {
    // an emulator in this process would answer before it hangs
    const program = await emulator({ program: true });
    program.env.CULVERT_EMULATOR_FAULTS = 'hang';
    const polite = program.start('status');
    program.env.CULVERT_EMULATOR_FAULTS = 'hang-deaf';
    const deaf = program.start('status');
    delete program.env.CULVERT_EMULATOR_FAULTS;
    try {
      // An answer that takes as long as the hanging ones had so far, and longer.
      for (let i = 0; i < 5; i++) await program.run('status');
      assert.deepEqual([polite.exitCode, deaf.exitCode], [null, null]);
      const ends = Promise.all([once(polite, 'exit'), once(deaf, 'exit')]);
      polite.kill('SIGTERM');
      deaf.kill('SIGTERM');
      await once(polite, 'exit');
      for (let i = 0; i < 3; i++) await program.run('status');
      assert.equal(deaf.exitCode, null);
      assert.equal(deaf.signalCode, null);
      deaf.kill('SIGKILL');
      assert.deepEqual(
        (await ends).map(([, signal]) => signal),
        ['SIGTERM', 'SIGKILL'],
      );
    } finally {
      polite.kill('SIGKILL');
      deaf.kill('SIGKILL');
      await program.remove();
    }
  });

  it('grandchild: the command ends, its stdout stays open', async () => {
    it_.env.CULVERT_EMULATOR_FAULTS = 'grandchild=1';
    const child = it_.start('status');
    delete it_.env.CULVERT_EMULATOR_FAULTS;
    const closed = once(child, 'close');
    const started = performance.now();
    child.stdout.resume();
    child.stderr.resume();
    assert.equal((await once(child, 'exit'))[0], 0);
    const exited = performance.now();
    await closed;
    assert.ok(performance.now() - started > 900, 'the pipe was closed with the command');
    assert.ok(exited - started < performance.now() - started);
  });

  it('cut, unknown-output and huge: the output is damaged', async () => {
    const whole = (await it_.run('-j', 'settings')).stdout;
    assert.equal((await withFault('cut', '-j', 'settings')).stdout, whole.slice(0, Math.floor(whole.length / 2)));
    assert.equal((await withFault('cut=5', 'status')).stdout, 'Statu');
    assert.ok(!(await withFault('unknown-output', 'status')).stdout.includes('Status update'));
    assert.ok(!('status' in JSON.parse((await withFault('unknown-output', '-j', 'status')).stdout)));
    const huge = (await withFault('huge', 'status')).stdout;
    assert.ok(huge.length > 2 ** 21 && huge.endsWith('Reason: Manual Disconnection\n'));
  });

  it('json-exit-0 and json-exit-1: errors under -j are JSON, even without a service', async () => {
    for (const code of [0, 1]) {
      const { stdout, stderr, exitCode } = await withFault(`service-down,json-exit-${code}`, '-j', 'status');
      assert.deepEqual([JSON.parse(stdout).code, stderr, exitCode], ['FailedToConnectToDaemon', '', code]);
      const stats = await withFault(`json-exit-${code}`, '-j', 'tunnel', 'stats');
      assert.deepEqual([JSON.parse(stats.stdout).code, stats.exitCode], ['WarpNotConnected', code]);
    }
    assert.equal((await withFault('json-exit-1', 'tunnel', 'stats')).stderr, 'Error: WARP is not connected.\n');
  });

  it('slow: answers, but late', async () => {
    const started = performance.now();
    assert.equal((await withFault('slow=300', 'status')).exitCode, 0);
    assert.ok(performance.now() - started >= 300);
  });

  it('strikes only the commands of its scope', async () => {
    const faults = 'service-down@tunnel stats,unknown-output@registration';
    assert.equal((await withFault(faults, 'tunnel', 'stats')).stderr, DOWN);
    assert.match((await withFault(faults, 'status')).stdout, /^Status update/);
    assert.match((await withFault(faults, 'registration', 'show')).stdout, /^Tunnel condition/);
  });

  it('refuses a fault that it does not know, in both places', async () => {
    const { stderr, exitCode } = await withFault('servce-down', 'status');
    assert.equal(exitCode, 2);
    assert.match(stderr, /There is no fault "servce-down"\. The faults are: service-down,/);
    const slow = await it_.runWith({ CULVERT_EMULATOR_CONNECT_MS: 'soon' }, 'connect');
    assert.match(slow.stderr, /CULVERT_EMULATOR_CONNECT_MS is "soon", not a number of ms/);
    await assert.rejects(it_.control('fault=nonsense'), /There is no fault/);
    await assert.rejects(it_.control('settings.moed=doh'), /The state has no "settings\.moed"/);
    assert.equal((await it_.run('status')).exitCode, 0);
  });

  it('lists every fault in its help, under a word that the real tool does not have', async () => {
    const help = await it_.control('help');
    for (const name of ['service-down', 'terms', 'hang-deaf', 'grandchild', 'listener-exits', 'huge', 'stuck']) {
      assert.ok(help.includes(`  ${name} `), name);
    }
    assert.match((await it_.run('status', '--emulate')).stderr, /unexpected argument '--emulate' found/);
  });
});
