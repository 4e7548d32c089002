// Installing what ./culvert-tool needs: nothing may wait for an answer to a question that nobody sees.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { temporary } from '../support/temporary.ts';

const root = resolve(import.meta.dirname, '../..');

test('packages are installed without a question, also about configuration files that were changed', t => {
  const at = temporary(t);
  const program = (file: string, script: string) => {
    mkdirSync(dirname(join(at, file)), { recursive: true });
    writeFileSync(join(at, file), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  copyFileSync(join(root, 'culvert-tool'), join(at, 'culvert-tool'));
  writeFileSync(join(at, 'package-lock.json'), '{}');
  utimesSync(join(at, 'package-lock.json'), 1, 1); // older than what npm installed
  program('node_modules/.package-lock.json', '');
  program('data/release/key.sh', 'echo made "$@"');
  program('bin/dpkg-query', 'exit 1');
  program('bin/sudo', 'exec "$@"');
  program('bin/apt-get', `printf '%s\\n' "$*" >>${at}/asked; if read -r answer; then exit 1; fi`);
  const env = { PATH: `${join(at, 'bin')}${delimiter}${dirname(process.execPath)}${delimiter}${process.env.PATH}` };
  const { status, stdout, stderr } = spawnSync(join(at, 'culvert-tool'), ['release-key', 'keys'], {
    encoding: 'utf8',
    env,
    input: 'an answer that was meant for something else\n',
  });
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'made keys\n');
  const asked = readFileSync(join(at, 'asked'), 'utf8').trim().split('\n');
  assert.equal(asked.length, 1, 'the first attempt succeeds');
  assert.match(asked[0]!, /--force-confold .*install --no-install-recommends openssl$/);
});
