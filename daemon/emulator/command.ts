// One command: what it means, and what it answers. Nothing is printed here, and no process is started.

import { join } from 'node:path';
import type { Answer } from './answer.ts';
import { answerCommand } from './answer-command.ts';
import type { State } from './client/state.ts';
import { load } from './client/store.ts';
import { helpPage } from './command-line/help.ts';
import { type Globals, parse } from './command-line/parse.ts';
import { problemText } from './command-line/problems.ts';
import { ROOT } from './commands/root.ts';
import { FaultError, type Faults, parseFaults } from './faults.ts';
import type { Output } from './respond.ts';
import { serviceProblem } from './service.ts';
import { type CliGeneration, generationOf, NEWEST } from './version.ts';

/** Choices of the environment and the stored state that hold for every command. */
export interface Setting {
  /** The state file. */
  file: string;
  generationFor(state: State): CliGeneration;
  faultsFor(state: State): Faults;
}

export interface Command extends Setting {
  /** `tunnel ip add`. */
  words: string;
  args: string[];
  globals: Globals;
  /** Long names of the command's own options that were given. */
  options: string[];
  /** The state as it was before the command. */
  state: State;
  generation: CliGeneration;
  faults: Faults;
  /** Duration of connecting, in ms; null if the state decides. */
  connectMs: number | null;
}

/**
 * Reads the command line.
 * @param argv without the program
 * @returns the command, or what is printed instead: a help page, the version, or what is wrong with the command line
 * @throws FaultError for a variable that is not understood; StoreError when the state is locked
 */
export function understand(argv: string[], env: NodeJS.ProcessEnv): Command | Output {
  const setting = settingOf(env);
  const state = load(setting.file);
  const generation = setting.generationFor(state);
  const faults = setting.faultsFor(state);
  const parsed = parse(ROOT, argv, generation);
  switch (parsed.kind) {
    case 'help':
      return { stdout: helpPage(parsed.path, parsed.long, generation), stderr: '', exitCode: 0 };
    case 'version':
      return { stdout: `warp-cli ${generation.version}\n`, stderr: '', exitCode: 0 };
    case 'bare':
      return { stdout: '', stderr: helpPage(parsed.path, false, generation), exitCode: 2 };
    case 'problem':
      return { stdout: '', stderr: problemText(parsed.problem, parsed.path, generation), exitCode: 2 };
  }
  const { args, globals, options } = parsed;
  const words = parsed.words.join(' ');
  return {
    ...setting,
    words,
    args,
    globals,
    options,
    state,
    generation,
    faults,
    connectMs: connectMs(env),
  };
}

/** Does what the command says to the stored state. @throws StoreError when the state is locked */
export function answer({ words, args, options, file, state, generation, faults, connectMs }: Command): Answer {
  const down = serviceProblem(state, words, faults, file);
  if (down) return down;
  if (options.length > 0) return { kind: 'not-emulated', option: options[0]! };
  return answerCommand({ command: words, args, file, generation, faults, connectMs });
}

/** @throws FaultError for faults or a version that there is not, once they are asked for */
export function settingOf(env: NodeJS.ProcessEnv): Setting {
  return {
    file: stateFile(env),
    generationFor: state => generationOf(env.CULVERT_EMULATOR_VERSION || state.version || NEWEST),
    faultsFor: state => parseFaults(env.CULVERT_EMULATOR_FAULTS ?? '', state.faults),
  };
}

function stateFile(env: NodeJS.ProcessEnv): string {
  if (env.CULVERT_EMULATOR_STATE) return env.CULVERT_EMULATOR_STATE;
  const state = env.XDG_STATE_HOME?.startsWith('/') ? env.XDG_STATE_HOME : join(env.HOME ?? '/', '.local/state');
  return join(state, 'culvert/emulator.json');
}

function connectMs(env: NodeJS.ProcessEnv): number | null {
  const text = env.CULVERT_EMULATOR_CONNECT_MS;
  if (!text) return null;
  if (!/^\d{1,9}$/.test(text)) throw new FaultError(`CULVERT_EMULATOR_CONNECT_MS is "${text}", not a number of ms.`);
  return Number(text);
}
