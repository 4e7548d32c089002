// Runs the emulator, an executable that stands in for `warp-cli` on a machine without it.

import { printable } from '../system/printable.ts';
import { type Output, respond } from './answer.ts';
import { answer, type Setting, settingOf, understand } from './command.ts';
import { effectiveMode } from './connection.ts';
import { control } from './control.ts';
import { FaultError } from './faults.ts';
import { listen } from './listen.ts';
import { injectFault, termsAccepted, write } from './service.ts';
import { load, StoreError } from './store.ts';

const FAILURE = 1;
/** A word or a variable that is not understood. */
const USAGE = 2;

/** @returns the exit code, or null while a listener goes on */
async function main(argv: string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  if (argv[0] === '--host-proxy') {
    if (!argv[1]) throw new FaultError('--host-proxy takes the process that the proxy ends with.');
    (await import('./proxy-host.ts')).hostProxy(settingOf(env), argv[1]);
    return null;
  }
  if (argv[0] === '--emulate') {
    const setting = settingOf(env);
    const output = control(argv.slice(1), setting.file);
    if (output.exitCode === 0) await ensureProxy(setting);
    return print(output);
  }

  const command = understand(argv, env);
  if ('exitCode' in command) return print(command);
  const { words, globals, faults, file } = command;
  await injectFault(words, faults);
  if (faults.strikes('terms', words) !== null && !termsAccepted(file, globals.acceptTos)) return 1;
  const given = answer(command);
  await ensureProxy(command);
  const output = respond(given, words, globals.json, faults);
  if (!globals.listen) return print(output);
  const failed = given.kind === 'refused';
  // A listener prints the status itself, first and whenever it changes.
  if (failed || words !== 'status') print(output);
  return failed ? 1 : listen({ ...command, json: globals.json });
}

/** Most commands of most states need no proxy, and not the time that its code takes to load. */
async function ensureProxy(setting: Setting): Promise<void> {
  const state = load(setting.file);
  if (effectiveMode(state) !== 'proxy' || state.connection === null) return;
  (await import('./proxy-host.ts')).ensureProxyHost(setting);
}

/** @returns the exit code */
function print({ stdout, stderr, exitCode }: Output): number {
  write(1, stdout);
  write(2, stderr);
  return exitCode;
}

/** Ends the process with one sentence on the error. */
function fail(error: unknown): never {
  write(2, `culvert-emulator: ${printable(explain(error))}\n`);
  process.exit(error instanceof FaultError ? USAGE : FAILURE);
}

function explain(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof FaultError || error instanceof StoreError) return text;
  if (error instanceof Error && 'syscall' in error)
    return `The state can't be used: ${text}. Set CULVERT_EMULATOR_STATE to a file that can be written.`;
  return `The state or a fault has a value that can't be used (${text}). Start over with: culvert-emulator --emulate reset`;
}

process.on('uncaughtException', fail);
main(process.argv.slice(2), process.env).then(code => {
  if (code !== null) process.exit(code);
}, fail);
