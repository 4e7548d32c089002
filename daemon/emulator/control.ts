// Runs `culvert-emulator --emulate …`, which changes the emulator's state, sets faults and shows the state.
import { rmSync } from 'node:fs';
import type { Output } from './answer.ts';
import { FAULTS, parseFaults, usage } from './faults.ts';
import { acceptedFile } from './service.ts';
import { initialRegistration, initialState, load, organizationPolicy, type State, update } from './state.ts';

const HELP = `Control of the emulator. The words take effect in their order, in one change that listeners hear of at once.

Usage: culvert-emulator --emulate <WORD>...

Words:
  show                 Print the state
  reset                Start over: registered, free account, disconnected, terms accepted
  clear                Remove all faults
  fault=<FAULTS>       Replace the faults: NAME[=VALUE][@COMMAND],...
  organization=<NAME>  Be enrolled in an organization
  <KEY>=<VALUE>        Set a part of the state: settings.mode=proxy, registration=null, stats.latency=11
  help                 Print this

Faults:
${Object.entries(FAULTS)
  .map(([name, about]) => `  ${name.padEnd(23)}${about}`)
  .join('\n')}

Environment:
  CULVERT_EMULATOR_STATE       the state file (default: $XDG_STATE_HOME/culvert/emulator.json)
  CULVERT_EMULATOR_VERSION     the release to be, from 2024.9.346 on: 2026.7.1377, 2025.8 …
  CULVERT_EMULATOR_FAULTS      faults for this process
  CULVERT_EMULATOR_CONNECT_MS  how long connecting takes (default 1200)
`;

/** Applies the words in order. */
export function control(words: string[], file: string): Output {
  if (words.length === 0) return { stdout: '', stderr: HELP, exitCode: 2 };
  if (words.includes('help')) return { stdout: HELP, stderr: '', exitCode: 0 };
  const changes = words.filter(word => word !== 'show');
  if (changes.length > 0) {
    update(file, state => {
      for (const word of changes) apply(word, state);
    });
    if (changes.includes('reset')) rmSync(acceptedFile(file), { force: true });
  }
  const stdout = words.includes('show') ? `${JSON.stringify(load(file), null, 2)}\n` : '';
  return { stdout, stderr: '', exitCode: 0 };
}

function apply(word: string, state: State): void {
  const [, key, value] = word.match(/^([^=]+)=(.*)$/s) ?? [];
  if (word === 'reset') Object.assign(state, initialState(state.seed));
  else if (word === 'clear') Object.assign(state, { faults: '', serviceUpAt: null });
  else if (key === undefined || value === undefined)
    throw usage(`"${word}" is not a word of --emulate. See --emulate help.`);
  else if (key === 'fault') {
    parseFaults(value);
    Object.assign(state, { faults: value, serviceUpAt: null });
  } else if (key === 'organization') enroll(state, value);
  else assign(state, key.split('.'), key, parsed(value));
}

function enroll(state: State, organization: string): void {
  state.registration = { ...initialRegistration(state.seed), accountType: 'team', license: null, organization };
  state.policy = organizationPolicy(state.seed);
}

/** Sets only existing parts of the state, so that a typing error is reported. */
function assign(target: object, path: string[], whole: string, value: unknown): void {
  const [name = '', ...rest] = path;
  const open = whole.startsWith('stats.') || whole.startsWith('sources.');
  if (!Object.hasOwn(target, name) && !(open && rest.length === 0)) {
    throw usage(`The state has no "${whole}". See --emulate show.`);
  }
  const record = target as Record<string, unknown>;
  if (rest.length === 0) record[name] = value;
  else if (typeof record[name] === 'object' && record[name] !== null) assign(record[name], rest, whole, value);
  else throw usage(`The state has no "${whole}" now, as ${name} is ${JSON.stringify(record[name])}.`);
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
