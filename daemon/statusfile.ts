// The state as a small file, so that prompts and bars can ask every second without starting Node (data/bin/culvert.in).
import { statusJson, statusLine } from './cli/statusline.ts';
import { createStyle } from './cli/terminal.ts';
import { replaceFile, startOf } from './instance.ts';
import type { State } from './state.ts';

/**
 * Keeps the file true. Its lines: pid and start time of the daemon, port (or -), state, the line for people, the same
 * in colour, and the JSON of `culvert status --json`.
 */
export function keepStatusFile(path: string, state: State, port: () => number | null): void {
  const owner = `${process.pid} ${startOf(process.pid)}`;
  let before = '';
  const write = () => {
    const snapshot = state.snapshot();
    const lines = [
      owner,
      port() ?? '-',
      snapshot.status.state,
      statusLine(snapshot),
      statusLine(snapshot, createStyle(true)),
      JSON.stringify(statusJson(snapshot, port())),
    ];
    const text = `${lines.join('\n')}\n`;
    if (text === before) return;
    try {
      replaceFile(path, text);
      before = text;
    } catch (error) {
      console.error(`culvert: ${path} could not be written, so "culvert status" may be late: ${error}`);
    }
  };
  write();
  state.subscribe(({ event }) => {
    if (event !== 'log') write();
  });
}
