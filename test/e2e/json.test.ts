// `--json` of every command of the built program against the built daemon with the emulator.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../daemon/cli/command-line/program.ts';
import type { CommandSpec } from '../../daemon/cli/context.ts';
import { createHome, culvert, prefix, startDemo } from '../support/e2e/culvert.ts';
import { runInProcess } from '../support/in-process.ts';

const main = join(prefix, 'share/culvert/cli/main.cjs');

/** Arguments of the commands that need some, and what ends otherwise than with 0 here. */
const ARGUMENTS: Record<string, string[]> = {
  'routes diff': ['/dev/null'],
  'routes import': ['/dev/null', '--yes'],
  'routes add': ['10.9.0.0/16', '--yes'],
  'routes remove': ['10.9.0.0/16', '--yes'],
  'routes undo': ['--yes'],
  'routes simplify': ['/dev/null'],
  'network beacon': ['--make', '/dev/null'],
  'network apply': ['/dev/null', '--yes'],
  'network allow': ['no-such-rule'],
  'network refuse': ['no-such-rule'],
  why: ['192.0.2.1'],
  run: ['--tunnel-only', 'true'],
  'doctor check': ['--only', 'port'],
  'doctor fix': ['port'],
  'trust show': ['node'],
  'trust undo': ['--yes'],
  'diagnose write': ['--out', 'report.zip'],
  'diagnose read': ['report.zip'],
  'diagnose record': ['recording.jsonl'],
  explain: ['HappyEyeballsFailed'],
  action: ['rotateKeys'],
  'proxy on': ['--yes'],
  'proxy off': ['--yes'],
  'apps launch': ['no.such.app'],
  'apps shortcut': ['no.such.app'],
  'config get': ['ui.theme'],
  'config set': ['ui.theme', 'dark'],
  'config unset': ['ui.theme'],
  'settings diff': ['/dev/null'],
  'settings apply': ['/dev/null'],
  'history clear': ['--yes'],
  extend: ['5m'],
  wait: ['--timeout', '1'],
};
/** Commands that end the daemon or the registration, change the desktop, open an editor, read a secret, or are not for people. */
const LEFT_OUT = [
  'stop',
  'restart',
  'account delete',
  'account license',
  'account token',
  'account sign-in',
  'routes edit',
  'portal',
  'network edit',
  'shell install',
  '__generate',
];
/** The kill switch is the machine's, so daemon/cli/json.test.ts asks a daemon without one. */
const OF_THE_MACHINE = ['on', 'off', 'pause', 'resume'].map(verb => `killswitch ${verb}`);

/** Every command as its words. */
function walk(specs: readonly CommandSpec[], path: string[] = []): string[][] {
  const own = specs.filter(({ aliasOf }) => !aliasOf);
  return own.flatMap(spec => (spec.commands ? walk(spec.commands, [...path, spec.name]) : [[...path, spec.name]]));
}

test('every command prints one line of JSON that begins with ok', async t => {
  const home = createHome(t);
  home.env.CULVERT_UPDATES_SOURCE = 'http://127.0.0.1:1';
  await startDemo(home);
  for (const words of walk(COMMANDS)) {
    const name = words.join(' ');
    if ([...LEFT_OUT, ...OF_THE_MACHINE].includes(name)) continue;
    const given = (ARGUMENTS[name] ?? []).map(word =>
      /^(?:report\.zip|recording\.jsonl)$/.test(word) ? `${home.directory}/${word}` : word,
    );
    const command = [...words, ...given, '--json'];
    // one in a process as well, which the launcher starts
    const ran =
      name === 'status'
        ? culvert(home, ...command)
        : runInProcess(main, command, { env: home.env, cwd: home.directory, input: '' });
    const { code, stdout, stderr } = await ran;
    assert.notEqual(code, 2, `${name}: ${stderr}`);
    // a program that runs has the standard output
    const line = name === 'run' ? stderr : stdout;
    assert.match(line, code === 0 ? /^\{"ok":true(,.*)?\}\n$/ : /^\{"ok":false,.*\}\n$/, name);
    JSON.parse(line);
  }
});
