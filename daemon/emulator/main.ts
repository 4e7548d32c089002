// The emulator: an executable that stands in for `warp-cli`, so that everything runs on a machine without it.
import { join } from 'node:path';
import { effectiveMode } from './client/connection.ts';
import type { State } from './client/state.ts';
import { load, StoreError } from './client/store.ts';
import { helpPage } from './command-line/help.ts';
import { parse } from './command-line/parse.ts';
import { problem } from './command-line/problems.ts';
import { control } from './control.ts';
import { FaultError, parseFaults } from './faults.ts';
import { write } from './io.ts';
import { listen } from './listen.ts';
import { perform } from './perform.ts';
import type { Setting } from './proxy/host.ts';
import { respond } from './respond.ts';
import { injectFault, serviceProblem } from './service.ts';
import { termsAccepted } from './terms.ts';
import { generationOf, NEWEST } from './version.ts';

/** sysexits(3): a wrong name in the environment; a state that can't be used. */
const USAGE = 64;
const SOFTWARE = 70;

/** @returns the exit code, or null while a listener goes on */
async function main(argv: string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  const file = stateFile(env);
  const generationFor = (state: State) => generationOf(env.CULVERT_EMULATOR_VERSION || state.version || NEWEST);
  const faultsFor = (state: State) => parseFaults(env.CULVERT_EMULATOR_FAULTS ?? '', state.faults);
  const setting = { file, generationFor, faultsFor };
  if (argv[0] === '--host-proxy') {
    (await import('./proxy/host.ts')).hostProxy(setting, argv[1]!);
    return null;
  }
  if (argv[0] === '--emulate') {
    const code = control(argv.slice(1), file);
    if (code === 0) await ensureProxy(setting);
    return code;
  }

  const stored = load(file);
  const generation = generationFor(stored);
  const faults = faultsFor(stored);

  const parsed = parse(argv, generation);
  switch (parsed.kind) {
    case 'help':
      return print(1, helpPage(parsed.path, parsed.long, generation), 0);
    case 'version':
      return print(1, `${generation.has('clap4') ? 'warp-cli' : 'WARP'} ${generation.version}\n`, 0);
    case 'bare':
      return print(2, helpPage(parsed.path, false, generation), generation.has('clap4') ? 2 : 1);
    case 'problem': {
      const { text, exitCode } = problem(parsed.problem, parsed.path, generation);
      return print(2, text, exitCode);
    }
  }

  const { words, args, globals, options, deprecated } = parsed;
  const command = words.join(' ');
  if (deprecated) {
    const { old, now } = deprecated;
    write(2, `Warning: The "${old}" command will be deprecated in a future release. Please use "${now}" instead\n`);
  }
  await injectFault(command, faults);
  if (faults.strikes('terms', command) !== null && !termsAccepted(file, globals.acceptTos)) return 1;
  const down = serviceProblem(stored, command, faults, file);
  if (down) return respond(down, command, globals, faults);

  if (options.length > 0) return respond({ kind: 'not-emulated' }, `${command} --${options[0]}`, globals, faults);
  const answer = perform({ command, args, file, generation, faults, connectMs: connectMs(env) });
  await ensureProxy(setting);
  // A listener prints the status itself, first and whenever it changes.
  if (globals.listen) {
    const failed = answer.kind !== 'said' && answer.kind !== 'success';
    if (failed || command !== 'status') respond(answer, command, globals, faults);
    return failed ? 1 : listen({ ...setting, json: globals.json });
  }
  return respond(answer, command, globals, faults);
}

/** Most commands of most states need no proxy, and not the time that its code takes to load. */
async function ensureProxy(setting: Setting): Promise<void> {
  const state = load(setting.file);
  if (effectiveMode(state) !== 'proxy' || state.connection === null) return;
  (await import('./proxy/host.ts')).ensureProxyHost(setting);
}

function print(stream: 1 | 2, text: string, exitCode: number): number {
  write(stream, text);
  return exitCode;
}

/** How long connecting takes, or null where the state decides. */
function connectMs(env: NodeJS.ProcessEnv): number | null {
  const text = env.CULVERT_EMULATOR_CONNECT_MS;
  if (!text) return null;
  if (!/^\d{1,9}$/.test(text)) throw new FaultError(`CULVERT_EMULATOR_CONNECT_MS is "${text}", not a number of ms.`);
  return Number(text);
}

function stateFile(env: NodeJS.ProcessEnv): string {
  if (env.CULVERT_EMULATOR_STATE) return env.CULVERT_EMULATOR_STATE;
  const state = env.XDG_STATE_HOME?.startsWith('/') ? env.XDG_STATE_HOME : join(env.HOME ?? '/', '.local/state');
  return join(state, 'culvert/emulator.json');
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
