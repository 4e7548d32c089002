// tray.autostart: an entry in the user's autostart directory, as the Desktop Application Autostart Specification has it.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory, readText, replaceFile } from '../core/files.ts';
import type { Paths } from './paths.ts';

/** Ours: a file of the same name that the user wrote is left alone. */
const MARK = 'X-Culvert-Autostart=true';

/**
 * Makes the entry, or takes it away.
 * @param program absolute path of `culvert`.
 * @param hidden start without the window.
 * @throws NodeJS.ErrnoException when the directory can't be written.
 */
export function setAutostart(
  { autostart }: Pick<Paths, 'autostart'>,
  program: string,
  wanted: boolean,
  hidden = true,
): void {
  const present = readText(autostart);
  if (present !== null && !present.includes(MARK)) return;
  if (!wanted) {
    if (present !== null) rmSync(autostart, { force: true });
    return;
  }
  const text = `[Desktop Entry]
Type=Application
Name=Culvert
Comment=Starts the daemon and its tray icon
Exec=${quote(program)}${hidden ? ' --no-panel' : ''}
Icon=org.culvert.Culvert
${MARK}
`;
  if (present === text) return;
  makeDirectory(dirname(autostart), 0o777);
  replaceFile(autostart, text);
}

/** An argument of Exec: quoted, with its own escapes, and a per cent sign doubled. */
function quote(argument: string): string {
  return `"${argument.replace(/[\\"`$]/g, '\\\\$&').replaceAll('%', '%%')}"`;
}
