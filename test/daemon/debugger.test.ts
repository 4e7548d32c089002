// A debugger of Node on 127.0.0.1 is open to every user of the machine: no program of the project opens one.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { programs } from '../../data/build/bundle.mjs';
import { bundledOnce } from '../support/built.ts';
import { temporary } from '../support/temporary.ts';
import { until } from '../support/until.ts';

/** Keeps a program at its end, where signals still arrive, until a file is there. */
const HOLD = `const { RELEASED } = process.env;
process.once('exit', () => {
  const { existsSync, writeSync } = require('node:fs');
  writeSync(1, 'held\\n');
  while (!existsSync(RELEASED)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
});`;

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
