// Writes the state into a small file, so that prompts and bars can ask every second without starting Node (data/bin/culvert.in).

import { existsSync, rmSync } from 'node:fs';
import { replaceFile } from '../system/files.ts';
import { startTime } from '../system/process.ts';
import { createStyle, plain } from '../system/terminal.ts';
import { createLongTimer } from '../view/client/client-state.ts';
import { formatStatusFile } from '../view/client/status-file.ts';
import { statusJson, statusLine, statusWarning } from './status-line.ts';
import type { State } from './store.ts';

/**
 * Keeps the file current.
 * @param now the clock, in ms since the epoch
 * @param isModeKnown whether the settings are those of now; until they are read again, mode and protocol are left out
 * @returns writes the file again, if it would read differently or is gone
 */
export function keepStatusFile(
  path: string,
  state: State,
  { port, isModeKnown, now = Date.now }: { port(): number | null; isModeKnown(): boolean; now?(): number },
): () => void {
  const owner = `${process.pid} ${startTime(process.pid)}`;
  let before = '';
  const write = () => {
    const current = state.snapshot();
    long.follow(current.status)?.unref();
    const isKnown = isModeKnown();
    const snapshot = isKnown ? current : { ...current, settings: {}, tunnel: { ...current.tunnel, protocol: null } };
    const text = formatStatusFile({
      owner,
      port: port(),
      state: isKnown || snapshot.status.state !== 'connected' ? snapshot.status.state : 'reading',
      line: statusLine(snapshot, plain, now()),
      coloredLine: statusLine(snapshot, createStyle(true), now()),
      json: statusJson(snapshot, port()),
      warning: statusWarning(snapshot),
    });
    if (text === before && existsSync(path)) return;
    try {
      replaceFile(path, text, { durable: false });
      before = text;
    } catch (error) {
      // without the file, "culvert status" asks the daemon: a state from before is not shown as the present one
      before = '';
      removeFile(path);
      console.error(`culvert: ${path} could not be written, so "culvert status" takes longer: ${error}`);
    }
  };
  const long = createLongTimer(write, now);
  write();
  state.subscribe(({ event }) => {
    if (event !== 'log' && event !== 'routes') write();
  });
  return write;
}

/** Reports whether the settings are those of now: old ones are, but not those that were never read or are being changed. */
export function areSettingsKnown({
  stale,
  changing,
}: {
  stale(): readonly { part: string; ageSeconds: number | null }[];
  changing(): 'now' | 'lately' | null;
}): boolean {
  const settings = stale().find(({ part }) => part === 'settings');
  return !settings || (settings.ageSeconds !== null && changing() !== 'now');
}

/** Also on a full disk, which still lets files be removed. */
function removeFile(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // the log says that it is old
  }
}
