// A debugger of Node on 127.0.0.1 is open to every user of the machine: no program of the project opens one.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { programs } from '../../data/build/bundle.mjs';
import { bundledOnce } from '../support/built.ts';
import { temporary } from '../support/temporary.ts';
import { until } from '../support/until.ts';

/** Holds a program that is about to end, where signals still arrive, until a file exists. */
const HOLD = `const { RELEASED } = process.env;
process.once('exit', () => {
  const { existsSync, writeSync } = require('node:fs');
  writeSync(1, 'held\\n');
  while (!existsSync(RELEASED)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
});`;

/** The files with commands that hand arguments of the user to Node. */
const LAUNCHERS = [
  'data/bin/culvert.in',
  'data/bin/node.in',
  'data/repair/culvert-repair.in',
  'data/appimage/tree/AppRun',
  'wrapper/shims/shim.ts',
];

interface Started {
  child: ChildProcess;
  out: () => string;
  err: () => string;
}

function start(words: readonly string[], env: NodeJS.ProcessEnv): Started {
  const child = spawn(words[0]!, words.slice(1), { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    texts.out += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    texts.err += chunk;
  });
  return { child, out: () => texts.out, err: () => texts.err };
}

test('every program ignores SIGUSR1, on which Node would open a debugger', async t => {
  const home = temporary(t, 'debugger');
  fs.writeFileSync(join(home, 'hold.cjs'), HOLD);
  fs.writeFileSync(join(home, 'other.cjs'), '');
  const released = join(home, 'released');
  const env = { HOME: home, PATH: process.env.PATH, RELEASED: released };
  const run = (file: string) =>
    start([process.execPath, '--inspect-port=0', '--require', join(home, 'hold.cjs'), file, '--version'], env);
  const all = Object.keys(programs) as (keyof typeof programs)[];
  const own = all.map(name => ({ name, ...run(join(bundledOnce(name), 'main.cjs')) }));
  // shows when a debugger would have been open
  const other = run(join(home, 'other.cjs'));
  t.after(() => {
    for (const { child } of [...own, other]) child.kill('SIGKILL');
  });
  for (const { name, out, child } of [...own, { name: 'other', ...other }]) {
    await until(() => out().includes('held'), name);
    child.kill('SIGUSR1');
  }
  await until(() => other.err().includes('Debugger listening'));
  fs.writeFileSync(released, '');
  for (const { name, child, err } of own) {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    assert.equal(child.signalCode, null, name);
    assert.doesNotMatch(err(), /Debugger/, name);
  }
});

test('no launcher and no unit hands NODE_OPTIONS to a program of the project, and culvert-wrap keeps it for what it starts', async t => {
  const home = temporary(t, 'launchers');
  const bin = join(home, 'bin');
  fs.mkdirSync(bin);
  // says what it got in place of Node
  const node = join(home, 'node');
  fs.writeFileSync(node, '#!/bin/sh\necho "got <$NODE_OPTIONS> $CULVERT_WRAP_KEPT_NODE_OPTIONS"\n', {
    mode: 0o755,
  });
  const make = (template: string, name: string) => {
    const text = fs.readFileSync(join('data/bin', template), 'utf8');
    const filled = text.replaceAll('@NODE@', node).replaceAll('@NAME@', 'culvert').replaceAll('@PROGRAM@', name);
    fs.writeFileSync(join(bin, name), filled, { mode: 0o755 });
    return join(bin, name);
  };
  const culvert = make('culvert.in', 'culvert');
  const options = '--inspect=127.0.0.1:0';
  const env = { HOME: home, PATH: process.env.PATH, NODE_OPTIONS: options };
  const ask = async (...words: string[]) => {
    const { child, out } = start(words, env);
    await once(child, 'close');
    return out().trim();
  };
  const calls = [['--no-open'], [], ['logs', '-f'], ['status', '--watch'], ['portal'], ['com.cloudflare.warp://x']];
  for (const words of calls) assert.equal(await ask(culvert, ...words), 'got <>', words.join(' '));
  for (const name of ['wrap', 'emulator', 'manifest'])
    assert.equal(await ask(make('node.in', name), 'x'), `got <> ${options}`, name);
  assert.match(fs.readFileSync('data/culvert.service.in', 'utf8'), /^UnsetEnvironment=NODE_OPTIONS$/m);
  // the command line before a program of the user
  fs.writeFileSync(node, '#!/bin/sh\necho "got <$NODE_OPTIONS>"; exit 1\n', { mode: 0o755 });
  assert.equal(await ask(culvert, 'run', '--tunnel-only', 'true'), 'got <>');
});

test('no launcher lets Node read an --env-file of the arguments, whose NODE_OPTIONS would reach a program of the project', t => {
  const home = temporary(t, 'env-file');
  const say = join(home, 'say.cjs');
  const file = join(home, 'x.env');
  fs.writeFileSync(file, 'NODE_OPTIONS=--frozen-intrinsics\n');
  fs.writeFileSync(say, 'console.log(process.argv.slice(2).join(" ") + " " + Object.isFrozen(Array.prototype))');
  // each line that hands arguments to Node, with this program in place of the line's program
  const lines = LAUNCHERS.flatMap(launcher =>
    fs
      .readFileSync(launcher, 'utf8')
      .split('\n')
      .filter(line => /(?:@NODE@|"\$node"|culvert\/node"|"\$__cw_n").*"\$@"/.test(line))
      .map(line => [launcher, line.slice(line.indexOf('exec ')).replace(/`;$|;;$|<\/dev\/null| 7<<E.*$/, '')] as const),
  );
  assert.deepEqual([...new Set(lines.map(([launcher]) => launcher))], LAUNCHERS);
  for (const [launcher, line] of lines)
    for (const option of [`--env-file=${file}`, `--env-file ${file}`, '--env-file=none.env', '--env-file none.env']) {
      const text = line
        .replace(/@NODE@|"\$node"|"\$here[^"]*\/node"|"\$__cw_n"/, process.execPath)
        .replace(/"\$(?:here|share|__cw_h)\/[^"]*main\.cjs"|@LIBDIR@\/main\.cjs|"\$__cw_b" .*(?= "\$@")/, say);
      const words = ['a', ...option.split(' ')];
      const { stdout, stderr } = spawnSync('/bin/sh', ['-c', text, 'sh', ...words], { encoding: 'utf8', cwd: home });
      assert.deepEqual([stdout, stderr], [`${words.join(' ')} false\n`, ''], `${launcher}: ${text}`);
    }
});
