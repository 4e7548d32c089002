// Reads the command line of one command, and runs the command against the stored state, without output or processes.
import { join } from 'node:path';
import { type Answer, type Context, notAuthorized, type Output } from './answer.ts';
import { COMMANDS, type Parsed, parse } from './commands.ts';
import { phaseDurations } from './connection.ts';
import { type Faults, parseFaults, usage } from './faults.ts';
import { serviceProblem } from './service.ts';
import { load, organizationPolicy, type State, update } from './state.ts';
import { type CliGeneration, generationOf, NEWEST } from './version.ts';

/** Choices of the environment and the stored state for every command. */
export interface Setting {
  /** The state file. */
  file: string;
  generationFor(state: State): CliGeneration;
  faultsFor(state: State): Faults;
}

export interface Command extends Setting, Parsed {
  /** The state as it was before the command. */
  state: State;
  generation: CliGeneration;
  faults: Faults;
  /** Duration of connecting, in ms; null to use the state's. */
  connectMs: number | null;
}

/**
 * Reads the command line.
 * @param argv without the program
 * @returns the command, or the output of a list of words, a version or an error
 * @throws Failure `usage` for an invalid variable; `failure` if the state is locked
 */
export function understand(argv: string[], env: NodeJS.ProcessEnv): Command | Output {
  const setting = settingOf(env);
  const state = load(setting.file);
  const generation = setting.generationFor(state);
  const faults = setting.faultsFor(state);
  const parsed = parse(argv, generation);
  if ('exitCode' in parsed) return parsed;
  return { ...setting, ...parsed, state, generation, faults, connectMs: connectMs(env) };
}

/**
 * Runs the command: reads use the stored state without its lock, changes hold the lock.
 * @throws Failure when the state is locked
 */
export function answer({ words, args, file, state, generation, faults, connectMs }: Command): Answer {
  const down = serviceProblem(state, words, faults, file);
  if (down) return down;
  if (faults.strikes('not-authorized', words) !== null) return notAuthorized;

  const { run, reads } = COMMANDS[words]!;
  const context = (state: State): Context => ({ state, now: Date.now(), generation, faults });
  if (reads) return run(context(view(load(file), faults)), args);
  return update(file, state => {
    const overridden = state.override !== null && state.override.until > Date.now();
    if (faults.strikes('policy-lock', words) !== null && !overridden) return notAuthorized;
    const began = state.connection;
    const answer = withoutRegistration(state, faults, () => run(context(state), args));
    if (connectMs !== null && state.connection && state.connection !== began) {
      state.connection.phases = phaseDurations(connectMs);
    }
    return answer;
  });
}

/** Returns the state with the effects of the faults. */
export function view(state: State, faults: Faults): State {
  const seen = { ...state };
  if (faults.has('not-registered') !== null) Object.assign(seen, { registration: null, connection: null });
  if (faults.has('policy-lock') !== null) {
    seen.policy = { ...(state.policy ?? organizationPolicy(state.seed)), switchLocked: true, allowModeSwitch: false };
  }
  return seen;
}

function withoutRegistration(state: State, faults: Faults, run: () => Answer): Answer {
  if (faults.has('not-registered') === null) return run();
  const { registration, connection } = state;
  Object.assign(state, { registration: null, connection: null });
  const answer = run();
  if (state.registration === null) Object.assign(state, { registration, connection });
  return answer;
}

/** Reads the choices. @throws Failure `usage` for an unknown fault or version, in the result's functions */
export function settingOf(env: NodeJS.ProcessEnv): Setting {
  return {
    file: stateFile(env),
    generationFor: state => generationOf(env.CULVERT_EMULATOR_VERSION || state.version || NEWEST),
    faultsFor: state => parseFaults(env.CULVERT_EMULATOR_FAULTS ?? '', state.faults),
  };
}

function stateFile(env: NodeJS.ProcessEnv): string {
  if (env.CULVERT_EMULATOR_STATE) return env.CULVERT_EMULATOR_STATE;
  const { XDG_STATE_HOME: state, HOME: home = '/' } = env;
  if (state?.startsWith('/')) return join(state, 'culvert/emulator.json');
  if (!home.startsWith('/')) throw usage(`HOME is "${home}", and has to begin with a slash.`);
  return join(home, '.local/state/culvert/emulator.json');
}

function connectMs(env: NodeJS.ProcessEnv): number | null {
  const text = env.CULVERT_EMULATOR_CONNECT_MS;
  if (!text) return null;
  if (!/^\d{1,9}$/.test(text)) throw usage(`CULVERT_EMULATOR_CONNECT_MS is "${text}", not a number of ms.`);
  return Number(text);
}
