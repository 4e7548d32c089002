// Shell completion of culvert-wrap and of the account commands of a wrapped CLI.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { skipWithout, ZSH_DRIVER } from '../../support/shells.ts';
import { inTurn } from '../../support/thoroughness.ts';
import { buildWrapper, type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';

/** Text before the Tab key, and the words that are then offered; a line without any is completed by file names. */
const LINES: [string, string[]][] = [
  ['mytool auth ren', ['rename']],
  ['culvert-wrap uni', ['uninstall']],
  ['culvert-wrap status --ch', ['--check']],
  ['culvert-wrap status myt', ['mytool']],
  ['culvert-wrap accounts remove mytool ', ['team-a', 'team-b']],
  ['culvert-wrap accounts remove mytool team-b', ['team-b']],
  ['culvert-wrap accounts order mytool team-b ', ['team-a', 'team-b']],
  ['mytool auth use ', ['team-a', 'team-b']],
  ['mytool auth use team-b', ['team-b']],
  ['mytool auth --js', []],
  ['mytool search ', []],
];

/** A wrapped `mytool` with two accounts, `culvert-wrap` on PATH, and a directory with one file. */
async function machine(t: TestContext): Promise<{ box: Sandbox; cwd: string }> {
  const box = sandbox(t);
  box.script('mytool', '#!/bin/sh\n');
  box.script('culvert-wrap', `#!/bin/sh\nexec '${process.execPath}' '${buildWrapper()}' "$@"\n`);
  box.provider('mytool', 'auth_command = "auth"\ninject = ["MY_KEY"]');
  box.accounts('mytool', { 'team-a': 'k', 'team-b': 'k' }, 'MY_KEY');
  const cwd = path.join(box.home, 'work');
  fs.mkdirSync(cwd);
  fs.writeFileSync(path.join(cwd, 'a-file'), '');
  return { box, cwd };
}

test(
  'fish offers commands, options and names, and files where there is nothing to offer',
  skipWithout('fish'),
  async t => {
    const { box, cwd } = await machine(t);
    const script = `culvert-wrap completion fish | source
for line in $argv
  complete -C $line
  echo ---
end`;
    const lines = LINES.map(([line]) => line);
    const args = ['120', 'fish', '--no-config', '-c', script, ...lines];
    const { stdout, stderr } = await box.run('/usr/bin/timeout', args, { cwd });
    const offered = stdout.split('---\n').map(part => part.split('\n').filter(Boolean));
    for (const [i, [line, words]] of LINES.entries()) {
      assert.deepEqual(offered[i], words.length > 0 || line.includes('--') ? words : ['a-file'], `${line}: ${stderr}`);
    }
  },
);

for (const [way, turn, set] of [
  ['a line in .zshrc', 0, 'compinit -D -u; eval "$(culvert-wrap completion zsh)"'],
  ['a file in fpath', 1, 'culvert-wrap completion zsh > _culvert-wrap; fpath=($PWD $fpath); compinit -D -u'],
] as const) {
  test(`zsh offers the same, with ${way}`, skipWithout('zsh'), async t => {
    const { box, cwd } = await machine(t);
    const lines = inTurn(LINES, turn);
    const args = ['120', 'zsh', '-f', '-c', ZSH_DRIVER, 'zsh', set, ...lines.map(([line]) => line)];
    const { stdout, stderr } = await box.run('/usr/bin/timeout', args, { cwd });
    const rows = stdout.split('\n').map(row => row.split(',').filter(Boolean));
    for (const [i, [line, words]] of lines.entries()) {
      if (words.length > 0) assert.deepEqual(rows[i], words, `${line}: ${stdout}${stderr}`);
      else assert.equal(rows[i]?.includes('a-file'), !line.includes('--'), `${line}: ${stdout}${stderr}`);
    }
  });
}
