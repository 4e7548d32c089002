// The emulator: an executable that stands in for `warp-cli`, so that everything runs on a machine without it.
import { effectiveMode } from './client/connection.ts';
import { load, StoreError } from './client/store.ts';
import { answer, type Setting, settingOf, understand } from './command.ts';
import { control } from './control.ts';
import { FaultError } from './faults.ts';
import { write } from './io.ts';
import { listen } from './listen.ts';
import { type Output, respond } from './respond.ts';
import { injectFault } from './service.ts';
import { termsAccepted } from './terms.ts';

/** sysexits(3): a wrong name in the environment; a state that can't be used. */
const USAGE = 64;
const SOFTWARE = 70;

/** @returns the exit code, or null while a listener goes on */
async function main(argv: string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  if (argv[0] === '--host-proxy') {
    (await import('./proxy/host.ts')).hostProxy(settingOf(env), argv[1]!);
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
  const output = respond(given, words, globals, faults);
  if (!globals.listen) return print(output);
  const failed = given.kind === 'refused' || given.kind === 'not-emulated';
  // A listener prints the status itself, first and whenever it changes.
  if (failed || words !== 'status') print(output);
  return failed ? 1 : listen({ ...command, json: globals.json });
}

/** Most commands of most states need no proxy, and not the time that its code takes to load. */
async function ensureProxy(setting: Setting): Promise<void> {
  const state = load(setting.file);
  if (effectiveMode(state) !== 'proxy' || state.connection === null) return;
  (await import('./proxy/host.ts')).ensureProxyHost(setting);
}

/** @returns the exit code */
function print({ stdout, stderr, exitCode }: Output): number {
  write(1, stdout);
  write(2, stderr);
  return exitCode;
}

function unusable({ message }: Error): string {
  return `The state can't be used: ${message}. Set CULVERT_EMULATOR_STATE to a file that can be written.`;
}

main(process.argv.slice(2), process.env).then(
  code => {
    if (code !== null) process.exit(code);
  },
  (error: unknown) => {
    const known = error instanceof FaultError || error instanceof StoreError;
    const fromSystem = error instanceof Error && 'syscall' in error;
    const text = known ? error.message : fromSystem ? unusable(error) : error instanceof Error ? error.stack : error;
    write(2, `culvert-emulator: ${text}\n`);
    process.exit(error instanceof FaultError ? USAGE : SOFTWARE);
  },
);
