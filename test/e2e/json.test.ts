// `--json` of every command against the built daemon with the emulator. Commands run in the process of the test, as main.ts of the
// command line runs them, but for some that the built program runs.
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { createClient } from '../../daemon/api/client.ts';
import { COMMANDS } from '../../daemon/cli/command-line/command-table.ts';
import { parse } from '../../daemon/cli/command-line/program.ts';
import type { CommandSpec } from '../../daemon/cli/command-spec.ts';
import type { Context } from '../../daemon/cli/context.ts';
import { toExitReport } from '../../daemon/cli/errors.ts';
import { createTransport } from '../../daemon/cli/transport.ts';
import { paths } from '../../daemon/system/paths.ts';
import { createStyle } from '../../daemon/system/terminal.ts';
import { createHome, culvert, type Home, startDemo } from '../support/e2e/culvert.ts';

/** Arguments of the commands that need some, and what ends otherwise than with 0 here. */
const ARGUMENTS: Record<string, string[]> = {
  'routes diff': ['/dev/null'],
  'routes import': ['/dev/null', '--yes'],
  'routes add': ['10.9.0.0/16', '--yes'],
  'routes remove': ['10.9.0.0/16', '--yes'],
  'routes undo': ['--yes'],
  'routes simplify': ['/dev/null'],
  why: ['192.0.2.1'],
  'doctor check': ['--only', 'port'],
  'doctor fix': ['port'],
  'trust show': ['node'],
  'trust undo': ['--yes'],
  'diagnose write': ['--out', 'report.zip'],
  'diagnose read': ['report.zip'],
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
  'web revoke': ['none'],
};
/** Commands that end the daemon or the registration, open an editor, read a secret, or are not for people. */
const LEFT_OUT = [
  'stop',
  'restart',
  'account delete',
  'account license',
  'account token',
  'account sign-in',
  'routes edit',
  '__generate',
];
/** The kill switch is the machine's, so daemon/cli/json.test.ts asks a daemon without one. */
const OF_THE_MACHINE = ['on', 'off', 'pause', 'resume'].map(verb => `killswitch ${verb}`);

/** Commands of the built program: one that ends its own process, one that succeeds and one that fails. */
const PROCESSES = ['doctor check', 'status', 'apps launch'];

/** Every command as its words. */
function walk(specs: readonly CommandSpec[], path: string[] = []): string[][] {
  const own = specs.filter(({ aliasOf }) => !aliasOf);
  return own.flatMap(spec => (spec.commands ? walk(spec.commands, [...path, spec.name]) : [[...path, spec.name]]));
}

/** Runs a command to its end in this process. */
async function run({ env }: Home, words: readonly string[]) {
  const text = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof text) =>
    new Writable({
      write(piece, _encoding, done) {
        text[name] += piece;
        done();
      },
    }) as NodeJS.WriteStream;
  const where = paths(env);
  const style = createStyle(false);
  const context: Context = {
    client: createClient(createTransport(where.socket)),
    paths: where,
    env,
    json: true,
    isDemo: () => false,
    signal: new AbortController().signal,
    stdin: process.stdin,
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    style,
    width: Number.POSITIVE_INFINITY,
    print: line => (text.stdout += `${line}\n`),
    printDocument: line => (text.stdout += `${line}\n`),
    say: () => {},
  };
  try {
    const { run: command, args, options } = await parse(words, style);
    return { code: (await command(context, args, options)) ?? 0, ...text };
  } catch (error) {
    const { exitCode, report } = toExitReport(error);
    text.stderr += `${JSON.stringify({ ok: false, ...report })}\n`;
    return { code: exitCode, ...text };
  }
}

test('every command prints one line of JSON that begins with ok, on standard output or standard error', async t => {
  const home = createHome(t);
  home.env.CULVERT_UPDATES_SOURCE = 'http://127.0.0.1:1';
  await startDemo(home);
  for (const words of walk(COMMANDS)) {
    const name = words.join(' ');
    if ([...LEFT_OUT, ...OF_THE_MACHINE].includes(name)) continue;
    const given = (ARGUMENTS[name] ?? []).map(word => (word === 'report.zip' ? `${home.directory}/${word}` : word));
    const command = [...words, ...given, '--json'];
    const { code, stdout, stderr } = await (PROCESSES.includes(name) ? culvert(home, ...command) : run(home, command));
    assert.notEqual(code, 2, `${name}: ${stderr}`);
    const line = stdout || stderr;
    assert.match(line, code === 0 ? /^\{"ok":true(,.*)?\}\n$/ : /^\{"ok":false,.*\}\n$/, name);
    JSON.parse(line);
  }
});
