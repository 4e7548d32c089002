// Runs the emulator, which replaces `warp-cli` on a machine without it, for one command or as a listener.
import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { Failure, FileError, reasonWithPath } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { garbled, type Output, respond } from './answer.ts';
import { answer, type Setting, settingOf, understand, view } from './command.ts';
import { effectiveMode, type Status, statusAt, statusJson, statusText } from './connection.ts';
import { control } from './control.ts';
import { type Faults, usage } from './faults.ts';
import { injectFault, serviceProblem, termsAccepted, write } from './service.ts';
import { load, type State } from './state.ts';

const FAILURE = 1;
/** Exit code for an unknown word or an invalid variable. */
const USAGE = 2;

/** @returns the exit code, or null while a listener keeps running */
async function main(argv: string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  if (argv[0] === '--host-proxy') {
    if (!argv[1]) throw usage('--host-proxy takes the process that the proxy ends with.');
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
  // A listener prints the status itself, at the start and after each change.
  if (failed || words !== 'status') print(output);
  return failed ? 1 : listen({ ...command, json: globals.json });
}

/** Starts the proxy if the state needs it. Its code is loaded late, because few commands need it. */
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

/** Ends the process with one sentence about the error. */
function fail(error: unknown): never {
  write(2, `culvert-emulator: ${printable(explain(error))}\n`);
  process.exit(error instanceof Failure && error.code === 'usage' ? USAGE : FAILURE);
}

function explain(error: unknown): string {
  const text = reasonWithPath(error);
  if (error instanceof Failure) return text;
  if (error instanceof FileError) return `${text} Set CULVERT_EMULATOR_STATE to a file that can be written.`;
  if (error instanceof Error && 'syscall' in error)
    return `The state can't be used: ${text}. Set CULVERT_EMULATOR_STATE to a file that can be written.`;
  return `The state or a fault has a value that can't be used (${text}). Start over with: culvert-emulator --emulate reset`;
}

interface Options extends Setting {
  /** True to print one object per line instead of the text of `status`. */
  json: boolean;
}

/**
 * Prints each change of the status immediately, without polling.
 * @returns null: runs until the service ends
 */
function listen({ file, json, generationFor, faultsFor }: Options): null {
  let reported: string | null = null;
  let settings: string | null = null;
  /** Times of the request for the last reported connection, and of the end of its current phase. */
  let since: number | null = null;
  let due: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(dirname(file), (_, name) => {
    if (name === basename(file)) report();
  });
  watcher.on('error', hangUp);
  report();
  return null;

  /** Writes the changes since the last report. */
  function report(): void {
    const stored = load(file);
    const faults = faultsFor(stored);
    if (serviceProblem(stored, 'status', faults, file)) hangUp();
    const now = Date.now();
    const [state, generation] = [view(stored, faults), generationFor(stored)];
    const lines: string[] = [];
    if (json) {
      const current = JSON.stringify([state.settings, state.policy]);
      if (settings !== null && current !== settings) lines.push('{"update":"SettingsUpdated"}\n');
      settings = current;
    }
    for (const status of statusesUntil(now, state, faults)) {
      const shown = statusJson(status, generation);
      const line = json ? `${JSON.stringify(shown)}\n` : statusText(shown);
      if (line !== reported) lines.push(line);
      reported = line;
    }
    clearTimeout(timer);
    if (due !== null) timer = setTimeout(report, Math.max(due - now, 1));
    if (lines.length > 0) write(1, garbled(lines.join(''), 'status', json, faults));
    if (faults.strikes('cut', 'status') !== null) hangUp();
    const exits = faults.has('listener-exits');
    if (exits !== null) setTimeout(hangUp, Number(exits || 0));
  }

  /** Returns the phases since the last report, then the current phase: a busy machine may wake this process late. */
  function statusesUntil(now: number, state: State, faults: Faults): Status[] {
    const began = state.connection?.since ?? null;
    let at = reported === null ? now : began !== null && began !== since ? began : (due ?? now);
    since = began;
    const statuses: Status[] = [];
    for (;;) {
      const { status, nextAt } = statusAt(state, Math.min(at, now), faults);
      statuses.push(status);
      due = nextAt;
      if (nextAt === null || nextAt > now) return statuses;
      at = nextAt;
    }
  }

  function hangUp(): never {
    write(2, 'IPC client reached EOF, daemon connection lost\n');
    process.exit(1);
  }
}

process.on('uncaughtException', fail);
main(process.argv.slice(2), process.env).then(code => {
  if (code !== null) process.exit(code);
}, fail);
