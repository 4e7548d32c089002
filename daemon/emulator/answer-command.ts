// Runs one command against the stored state: reads see it as it is, changes hold its lock.
import type { Answer, Context } from './answer.ts';
import { notAuthorized } from './answer.ts';
import { phaseDurations } from './client/connection.ts';
import { organizationPolicy } from './client/initial-state.ts';
import type { State } from './client/state.ts';
import { load, update } from './client/store.ts';
import type { Faults } from './faults.ts';
import { CHANGES, READS } from './operations/all.ts';
import type { CliGeneration } from './version.ts';

interface Request {
  command: string;
  args: string[];
  file: string;
  generation: CliGeneration;
  faults: Faults;
  /** Duration of connecting in ms, where the environment sets it. */
  connectMs: number | null;
}

export function answerCommand({ command, args, file, generation, faults, connectMs }: Request): Answer {
  const read = Object.hasOwn(READS, command) ? READS[command] : undefined;
  const change = Object.hasOwn(CHANGES, command) ? CHANGES[command] : undefined;
  if (!read && !change) return { kind: 'not-emulated' };
  if (faults.strikes('not-authorized', command) !== null) return notAuthorized;

  const context = (state: State): Context => ({ state, now: Date.now(), generation, faults });
  if (read) return read(context(view(load(file), faults)), args);
  return update(file, state => {
    const overridden = state.override !== null && state.override.until > Date.now();
    if (faults.strikes('policy-lock', command) !== null && !overridden) return notAuthorized;
    const began = state.connection;
    const answer = withoutRegistration(state, faults, () => change!(context(state), args));
    if (connectMs !== null && state.connection && state.connection !== began) {
      state.connection.phases = phaseDurations(connectMs);
    }
    return answer;
  });
}

/** The state as the faults make it look. */
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
