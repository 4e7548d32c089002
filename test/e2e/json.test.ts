// `--json` of every command, in the built program against the real daemon with the emulator.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommandSpec } from '../../daemon/cli/command-line/command-spec.ts';
import { COMMANDS } from '../../daemon/cli/command-line/command-table.ts';
import { createHome, culvert, startDemo } from '../support/e2e/culvert.ts';

/** Arguments of the commands that need some, and what ends otherwise than with 0 here. */
const ARGUMENTS: Record<string, string[]> = {
  'split add': ['10.8.0.0/16'],
  'split remove': ['10.8.0.0/16'],
  'split import': ['/dev/null'],
  'routes diff': ['/dev/null'],
  'routes import': ['/dev/null', '--yes'],
  'routes add': ['10.9.0.0/16', '--yes'],
  'routes remove': ['10.9.0.0/16', '--yes'],
  'routes undo': ['--yes'],
  'routes simplify': ['/dev/null'],
  why: ['192.0.2.1'],
  'doctor check': ['--only', 'port'],
  'doctor fix': ['port'],
  'diagnose write': ['--out', 'report.zip'],
  'diagnose read': ['report.zip'],
  explain: ['HappyEyeballsFailed'],
  action: ['rotateKeys'],
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
  'web revoke': ['none'],
};
/** What ends the daemon or the registration, opens an editor, reads a secret, or is not for people. */
const LEFT_OUT = ['stop', 'account delete', 'account license', 'account token', 'routes edit', '__generate'];
/** The kill switch is the machine's, so daemon/cli/json.test.ts asks a daemon without one. */
const OF_THE_MACHINE = ['on', 'off', 'pause', 'resume'].map(verb => `killswitch ${verb}`);

/** Every command as its words. */
function walk(specs: readonly CommandSpec[], path: string[] = []): string[][] {
  return specs.flatMap(spec => (spec.commands ? walk(spec.commands, [...path, spec.name]) : [[...path, spec.name]]));
}

test('every command prints one line of JSON that begins with ok, on standard output or standard error', async t => {
  const home = createHome(t);
  home.env.CULVERT_UPDATES_SOURCE = 'http://127.0.0.1:1';
  await startDemo(home);
  for (const words of walk(COMMANDS)) {
    const name = words.join(' ');
    if ([...LEFT_OUT, ...OF_THE_MACHINE].includes(name)) continue;
    const given = (ARGUMENTS[name] ?? []).map(word => (word === 'report.zip' ? `${home.directory}/${word}` : word));
    const { code, stdout, stderr } = await culvert(home, ...words, ...given, '--json');
    assert.notEqual(code, 2, `${name}: ${stderr}`);
    const line = stdout || stderr;
    assert.match(line, code === 0 ? /^\{"ok":true(,.*)?\}\n$/ : /^\{"ok":false,.*\}\n$/, name);
    JSON.parse(line);
  }
});
