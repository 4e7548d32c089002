// `-l`: stays, and tells every change of the status the moment it happens, without polling.
import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { statusAt } from './connection.ts';
import type { Faults } from './faults.ts';
import { write } from './io.ts';
import { view } from './perform.ts';
import { statusJson, statusText } from './render/status.ts';
import { garbled } from './respond.ts';
import { serviceProblem } from './service.ts';
import type { State } from './state.ts';
import { load } from './store.ts';
import type { Era } from './version.ts';

interface Options {
  file: string;
  /** One object a line instead of the text of `status`. */
  json: boolean;
  eraFor(state: State): Era;
  faultsFor(state: State): Faults;
}

/** @returns null: it goes on until the service does not */
export function listen({ file, json, eraFor, faultsFor }: Options): null {
  let told: string | null = null;
  let settings: string | null = null;
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
    const context = { state: view(stored, faults), era: eraFor(stored), now, faults };
    const { status, nextAt } = statusAt(context.state, now, faults);
    clearTimeout(timer);
    if (nextAt !== null) timer = setTimeout(tell, Math.max(nextAt - now, 1));

    const lines: string[] = [];
    if (json) {
      const current = JSON.stringify([context.state.settings, context.state.policy]);
      if (settings !== null && current !== settings) lines.push('{"update":"SettingsUpdated"}\n');
      settings = current;
    }
    const line = json ? `${JSON.stringify(statusJson(status, context.era))}\n` : statusText(status, context.era);
    if (line !== told) lines.push(line);
    told = line;
    if (lines.length > 0) write(1, garbled(lines.join(''), 'status', json, faults));
    if (faults.strikes('cut', 'status') !== null) hangUp();
    const exits = faults.has('listener-exits');
    if (exits !== null) setTimeout(hangUp, Number(exits || 0));
  }

  function hangUp(): never {
    write(2, 'IPC client reached EOF, daemon connection lost\n');
    process.exit(1);
  }
}
