// A repair from a terminal: sudo starts culvert-repair, and the command says whether anything was changed.
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runAsRoot } from '../../../../daemon/cli/commands/doctor/doctor.ts';
import type { Failure } from '../../../../daemon/cli/errors.ts';
import { temporary } from '../../../support/temporary.ts';

/** Puts a `sudo` first in PATH. @returns the file with what it was asked */
function sudo(t: TestContext, code: number): string {
  const directory = temporary(t, 'sudo');
  const { PATH } = process.env;
  const file = join(directory, 'asked');
  writeFileSync(join(directory, 'sudo'), `#!/bin/sh\nprintf '%s\\n' "$@" >${file}\nexit ${code}\n`);
  chmodSync(join(directory, 'sudo'), 0o755);
  process.env.PATH = `${directory}:${PATH}`;
  t.after(() => Object.assign(process.env, { PATH }));
  return file;
}

const tools = { has: (program: string) => program === 'sudo' };
const PROGRAM = '/usr/lib/culvert-repair/culvert-repair';
const run = (argv: string[]) => runAsRoot(argv, tools, PROGRAM);

test('sudo gets root’s side and its words, and nothing else', async t => {
  const asked = sudo(t, 0);
  assert.deepEqual(await run(['fix', 'ipv6-off', 'eth0']), [`sudo ${PROGRAM} fix ipv6-off eth0`]);
  assert.equal(readFileSync(asked, 'utf8'), `${PROGRAM}\nfix\nipv6-off\neth0\n`);
});

test('a password that is not given has changed nothing, and a repair that fails says so', async t => {
  sudo(t, 1);
  await assert.rejects(run(['undo']), (error: Failure) => /Not allowed, so nothing was changed/.test(error.message));
  sudo(t, 3);
  await assert.rejects(run(['undo']), (error: Failure) => /The repair failed/.test(error.message));
  await assert.rejects(runAsRoot(['undo'], { has: () => false }, PROGRAM), /Neither sudo nor pkexec/);
  await assert.rejects(runAsRoot(['undo'], tools, null), /not installed/);
});
