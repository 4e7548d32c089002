// Implements `-l`: stays, and prints each change of the status immediately, without polling.
import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { garbled } from './answer.ts';
import { type Setting, view } from './command.ts';
import { type Status, statusAt, statusJson, statusText } from './connection.ts';
import type { Faults } from './faults.ts';
import { serviceProblem, write } from './service.ts';
import type { State } from './state.ts';
import { load } from './store.ts';

interface Options extends Setting {
  /** One object a line instead of the text of `status`. */
  json: boolean;
}

/** @returns null: it goes on until the service does not */
export function listen({ file, json, generationFor, faultsFor }: Options): null {
  let told: string | null = null;
  let settings: string | null = null;
  /** When the connection that was reported last was requested, and when its current phase ends. */
  let since: number | null = null;
  let due: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(dirname(file), (_, name) => {
    if (name === basename(file)) tell();
  });
  watcher.on('error', hangUp);
  tell();
  return null;

  /** Once more what is now; only what differs from the last time is written. */
  function tell(): void {
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
      if (line !== told) lines.push(line);
      told = line;
    }
    clearTimeout(timer);
    if (due !== null) timer = setTimeout(tell, Math.max(due - now, 1));
    if (lines.length > 0) write(1, garbled(lines.join(''), 'status', json, faults));
    if (faults.strikes('cut', 'status') !== null) hangUp();
    const exits = faults.has('listener-exits');
    if (exits !== null) setTimeout(hangUp, Number(exits || 0));
  }

  /** The phases that have passed since the last time, then the present one: a busy machine wakes this process late. */
  function statusesUntil(now: number, state: State, faults: Faults): Status[] {
    const began = state.connection?.since ?? null;
    let at = told === null ? now : began !== null && began !== since ? began : (due ?? now);
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
