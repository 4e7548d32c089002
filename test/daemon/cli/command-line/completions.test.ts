// Completions in bash, zsh and fish: each in a real shell, after a Tab.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { culvert, program, startHome } from '../../../support/daemon/command.ts';
import { skipWithout, ZSH_DRIVER } from '../../../support/shells.ts';

/** Words typed before the Tab key, and all completions offered. */
const LINES: [string, string[]][] = [
  ['culvert sta', ['status']],
  ['culvert config set ui.th', ['ui.theme']],
  ['culvert config set ui.theme ', ['dark', 'light', 'system']],
  ['culvert config set ui.theme d', ['dark']],
  ['culvert config set tray.autostart ', ['false', 'true']],
  ['culvert config set --session ui.theme ', ['dark', 'light', 'system']],
  ['culvert config set server.port ', []],
  ['culvert config get ui.theme ', []],
  ['culvert action setProt', ['setProtocol']],
  ['culvert action setProtocol ', ['MASQUE', 'WireGuard']],
  ['culvert action setProtocol MASQUE ', []],
  ['culvert action connect ', []],
  ['culvert mode warp ', []],
  ['culvert split re', ['remove', 'reset']],
  ['culvert split remove ', ['*.example.com', '10.0.0.0/8']],
  ['culvert split remove 10', ['10.0.0.0/8']],
  ['culvert apps launch org.', ['org.example.App.desktop']],
  ['culvert help sp', ['split']],
  ['culvert help split re', ['remove', 'reset']],
  ['culvert status --wat', ['--watch']],
];

const BASH = `source "$1"; shift
for line; do
  read -ra COMP_WORDS <<<"$line"; [[ $line == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _culvert; (IFS=,; echo "\${COMPREPLY[*]}")
done`;
const FISH = `source $argv[1]
for line in $argv[2..]
  echo (complete -C $line | string replace -r '\\t.*' '' | string join ,)
end`;
const SHELLS: Record<string, (directory: string) => string[]> = {
  bash: directory => ['bash', '--norc', '-c', BASH, 'bash', join(directory, 'culvert.bash')],
  zsh: directory => ['zsh', '-f', '-c', ZSH_DRIVER, 'zsh', `fpath=(${directory} $fpath); compinit -D -u`],
  fish: directory => ['fish', '--no-config', '-c', FISH, join(directory, 'culvert.fish')],
};

/** A daemon with a split tunnel and an app, and `culvert` on PATH; the directory has no files to offer. */
async function machine(t: TestContext) {
  const { home, daemon } = await startHome(t);
  const route = (value: string) => ({ value, description: 'CLI exclude' });
  daemon.state.set('splitTunnel', { mode: 'exclude', ips: [route('10.0.0.0/8')], hosts: [route('*.example.com')] });
  const app = { id: 'org.example.App.desktop', name: 'App', method: 'none', note: null, shortcut: false };
  daemon.features.handlers['GET /api/apps'] = () => ({ ok: true, apps: [app] as never });
  assert.equal((await culvert(home, ['__generate', home.path])).code, 0);
  const script = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`;
  writeFileSync(join(home.path, 'culvert'), script, { mode: 0o755 });
  return home;
}

for (const [shell, command] of Object.entries(SHELLS))
  test(`${shell} offers commands, values, flags and what the daemon has`, skipWithout(shell), async t => {
    const home = await machine(t);
    const [file, ...args] = command(home.path);
    const env = { ...home.env, PATH: `${home.path}:${home.env.PATH}` };
    const lines = LINES.map(([line]) => line);
    const { stdout, stderr } = await promisify(execFile)(file!, [...args, ...lines], {
      env,
      cwd: join(home.path, 'run'),
      encoding: 'utf8',
      timeout: 120_000,
    });
    // zsh adds a word once for the list and once for what it inserts, as it is quoted
    const words = (row: string) =>
      row
        .split(',')
        .map(word => word.replaceAll('\\', ''))
        .filter(Boolean);
    const rows = stdout.split('\n').map(row => [...new Set(words(row))].sort());
    for (const [i, [line, words]] of LINES.entries()) assert.deepEqual(rows[i], words, `${line}: ${stdout}${stderr}`);
  });
