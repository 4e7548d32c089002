// Real children that hang, ignore signals, flood and multiply: none may hold the daemon, outlive it, or read its secrets.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test, { after } from 'node:test';
import { Problem } from '../../../../daemon/problem.ts';
import { createLog } from '../../../../daemon/state/store.ts';
import { mayHaveChanged } from '../../../../daemon/warp/cli/failures.ts';
import { type Command, childEnv, createRunner } from '../../../../daemon/warp/cli/run.ts';
import { alive, folder } from '../../../support/daemon/fake-cli.ts';
import { bundleScript } from '../../../support/script.ts';
import { until } from '../../../support/until.ts';

const place = folder();
after(() => place.remove());

function runner(env: NodeJS.ProcessEnv = childEnv(process.env, false)) {
  const log = createLog({ capacity: 100 });
  const { run, stop } = createRunner({ env, log });
  const start = (file: string, args: string[] = [], more: Partial<Command> = {}) =>
    run({ file, args, source: 'read', timeoutMs: 5000, ...more });
  return { log, start, stop };
}

test('an answer comes back with its streams, exit code, time and command line, and is logged', async () => {
  const { log, start } = runner();
  const file = place.script('answer', 'echo "out $1"; echo err >&2; exit 3');
  const { output, timedOut, notStarted } = await start(file, ['a b']);
  assert.deepEqual(
    { ...output, durationMs: 0, at: '' },
    { ok: false, argv: ['answer', 'a b'], exitCode: 3, stdout: 'out a b\n', stderr: 'err\n', durationMs: 0, at: '' },
  );
  assert.deepEqual([timedOut, notStarted], [false, false]);
  const [entry] = log.since(0, 10);
  assert.deepEqual(entry, { id: 1, source: 'read', ...output });
});

test('no shell reads the arguments', async () => {
  const file = place.script('arguments', 'printf "%s\\n" "$@"');
  const hostile = ['$(touch pwned)', '`id`', ';', '*', '"', "'", '\\', 'a\tb'];
  const { output } = await runner().start(file, hostile);
  assert.equal(output.stdout, `${hostile.join('\n')}\n`);
});

test('a JSON error at exit 0 is not ok', async () => {
  const file = place.script('error0', `echo '{"code":"MissingRegistration","error":"Missing registration."}'`);
  assert.equal((await runner().start(file)).output.ok, false);
});

test('a child that hangs and ignores SIGTERM is killed with its whole group at the time limit', async () => {
  const inner = place.script('inner', `trap '' TERM; echo $$ > ${place.path}/hang.pid; sleep 60`);
  const file = place.script('hang', `trap '' TERM; ${inner} & wait`);
  const begin = performance.now();
  const { output, timedOut } = await runner().start(file, [], { timeoutMs: 300 });
  assert.equal(timedOut, true);
  assert.deepEqual([output.ok, output.exitCode], [false, null]);
  assert.ok(performance.now() - begin < 20_000);
  const grandchild = Number(place.read('hang.pid'));
  assert.ok(grandchild > 1);
  await until(() => !alive(grandchild));
});

test('a grandchild that holds stdout does not hold the answer', async () => {
  const file = place.script('holder', `sleep 60 & echo $! > ${place.path}/holder.pid; echo done`);
  const begin = performance.now();
  const { output } = await runner().start(file);
  assert.ok(performance.now() - begin < 20_000);
  assert.deepEqual([output.exitCode, output.stdout], [0, 'done\n']);
  // a process that a command leaves running on purpose (a browser) is left alone
  const pid = Number(place.read('holder.pid'));
  assert.ok(pid > 1 && alive(pid));
  process.kill(pid, 'SIGKILL');
});

test('the first MiB of 2 MiB of output is kept, and the child is not blocked', async () => {
  const file = place.script('flood', 'head -c 2097152 /dev/zero | tr "\\0" x; echo end >&2');
  const { output } = await runner().start(file);
  assert.equal(output.exitCode, 0);
  assert.equal(output.stderr, 'end\n');
  assert.ok(output.stdout.startsWith('x'.repeat(1024 * 1024)));
  assert.ok(output.stdout.endsWith('x\n[output cut at 1 MiB]\n'));
  assert.ok(output.stdout.length < 1024 * 1024 + 100);
});

test('children see the allowed variables only', async () => {
  const file = place.script('env', 'env');
  const env = {
    PATH: process.env.PATH,
    HOME: '/home/x',
    LC_ALL: 'C',
    XDG_RUNTIME_DIR: '/run/x',
    NODE_OPTIONS: '--require /canary',
    LD_PRELOAD: '',
    LD_LIBRARY_PATH: '/canary',
    CULVERT_TOKEN: 'canary',
    CULVERT_EMULATOR_STATE: '/state',
    SECRET: 'canary',
  };
  const names = async (emulated: boolean) => {
    const { output } = await runner(childEnv(env, emulated)).start(file);
    assert.doesNotMatch(output.stdout, /canary/);
    const own = new Set(['PWD', 'OLDPWD', 'SHLVL', '_']); // the shell's
    return output.stdout
      .split('\n')
      .map(line => line.split('=')[0] ?? '')
      .filter(name => name && !own.has(name))
      .sort();
  };
  assert.deepEqual(await names(false), ['HOME', 'LC_ALL', 'PATH', 'XDG_RUNTIME_DIR']);
  assert.deepEqual(await names(true), ['CULVERT_EMULATOR_STATE', 'HOME', 'LC_ALL', 'PATH', 'XDG_RUNTIME_DIR']);
});

test('stdin is empty, so that a question is never waited on', async () => {
  const { output } = await runner().start(place.script('ask', 'read answer && echo "got $answer" || echo eof'));
  assert.equal(output.stdout, 'eof\n');
});

test('a file that is missing or cannot be executed is reported as not started', async () => {
  for (const file of [`${place.path}/nothing`, place.path]) {
    const { output, notStarted } = await runner().start(file);
    assert.equal(notStarted, true, file);
    assert.deepEqual([output.ok, output.exitCode], [false, null]);
    assert.notEqual(output.stderr, '');
  }
});

test('secrets of the command line are blanked out in the answer and in the log', async () => {
  const { log, start } = runner();
  const file = place.script('echoes', 'echo "invalid value $3"; echo "License: $3" >&2; exit 2');
  const license = 'CaNaRy77-CaNaRy77-aaaa1234';
  const { output } = await start(file, ['registration', 'license', license]);
  assert.doesNotMatch(JSON.stringify([output, log.since(0, 9)]), /CaNaRy/);
  assert.equal(output.stdout, 'invalid value ****1234\n');
});

test('at most four run in parallel, 32 wait, and the next one is refused as busy', async () => {
  const { start, stop } = runner();
  const file = place.script('slow', `echo start >> ${place.path}/slow.log; exec sleep 60`);
  const runs = Array.from({ length: 36 }, () => start(file).catch((error: unknown) => error));
  await assert.rejects(start(file), (error: unknown) => error instanceof Problem && error.code === 'busy');
  await until(() => place.read('slow.log') === 'start\n'.repeat(4));
  const begin = performance.now();
  await stop();
  assert.ok(performance.now() - begin < 20_000);
  const ends = await Promise.all(runs);
  const refused = ends.filter(end => end instanceof Problem);
  assert.equal(refused.length, 32);
  assert.equal(place.read('slow.log'), 'start\n'.repeat(4));
  const late = await start(file).catch((error: unknown) => error);
  assert.deepEqual(new Set([...refused, late].map(mayHaveChanged)), new Set([false]), 'no command started');
});

test('writes run one after the other, and reads in parallel', async () => {
  const { start } = runner();
  const note = `>> ${place.path}/order`;
  const file = place.script('write', `echo "begin $1" ${note}; sleep 0.1; echo "end $1" ${note}`);
  const fast = place.script('fast', 'echo hi');
  let written = 0;
  const writes = ['1', '2', '3'].map(async name => {
    await start(file, [name], { write: true });
    written += 1;
  });
  await start(fast);
  assert.ok(written < 3, 'a read does not wait for all writes');
  await Promise.all(writes);
  assert.equal(place.read('order'), 'begin 1\nend 1\nbegin 2\nend 2\nbegin 3\nend 3\n');
});

test('200 runs that time out leave no zombie and no open file', async () => {
  const { start } = runner();
  const file = place.script('sleepy', 'exec sleep 60');
  await start(file, [], { timeoutMs: 20 });
  const before = readdirSync('/proc/self/fd').length;
  for (let round = 0; round < 25; round++) {
    await Promise.all(Array.from({ length: 8 }, () => start(file, [], { timeoutMs: 10 })));
  }
  assert.ok(readdirSync('/proc/self/fd').length <= before + 1);
  const children = readdirSync('/proc/self/task').flatMap(task =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
  assert.deepEqual(
    children.filter(child => !alive(Number(child))),
    [],
  );
});

for (const victim of ['run', 'watch']) {
  test(`kill -9 of the daemon leaves no child of ${victim}.ts`, async () => {
    const file = place.script(`orphan-${victim}`, `echo $$ > ${place.path}/orphan-${victim}.pid; exec sleep 60`);
    const program = bundleScript(resolve(import.meta.dirname, '../../../support/daemon/parent.ts'), place.path);
    const parent = spawn(process.execPath, [program, victim, file], { stdio: 'ignore' });
    const pid = await until(() => Number(place.read(`orphan-${victim}.pid`)));
    assert.ok(alive(pid));
    parent.kill('SIGKILL');
    await until(() => !alive(pid));
  });
}

test('a command that waits too long for its turn is refused, and the others go on', async () => {
  const log = createLog({ capacity: 100 });
  const { run, stop } = createRunner({ env: childEnv(process.env, false), log, waitLimitMs: 100 });
  const command = (body: string): Command => ({
    file: place.script(`turn-${body.length}`, body),
    args: [],
    source: 'action',
    timeoutMs: 5000,
    write: true,
  });
  const first = run(command(`until [ -e ${place.path}/go ]; do sleep 0.02; done`));
  const late = run(command('echo late'));
  await assert.rejects(late, (error: unknown) => error instanceof Problem && error.code === 'busy');
  place.script('go', '');
  assert.equal((await first).output.ok, true);
  assert.equal((await run(command('echo next'))).output.stdout, 'next\n');
  await stop();
});

test('the event loop goes on while a command prints without end', async () => {
  const { start } = runner();
  const before = process.cpuUsage();
  const begin = performance.now();
  const { timedOut } = await start(place.script('endless', 'exec yes x'), [], { timeoutMs: 1500 });
  const ms = performance.now() - begin;
  const { user, system } = process.cpuUsage(before);
  assert.ok(timedOut && ms < 10_000, `${ms} ms`);
  const share = (user + system) / 1000 / ms;
  assert.ok(share < 0.6, `CPU ${(share * 100).toFixed()} %`);
});
