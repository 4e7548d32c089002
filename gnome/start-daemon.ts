// Starts the daemon of this prefix, for the panel and the tray when none is running, and ends it.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { fill } from '../daemon/view/translator.ts';
import { _ } from './i18n.ts';
import { culvertProgram, socketPath } from './install-paths.ts';

/**
 * Starts `culvert` without panel and tray, in its own session, so that it outlives the caller and its terminal.
 * @param failed is called when it can't be started or ends with a failure.
 */
export function startDaemon(failed: (error: Error) => void): void {
  const program = culvertProgram();
  if (!program) {
    failed(new Error(_('The program “culvert” was not found. Install Culvert again.')));
    return;
  }
  const command = [program, '--no-panel', '--no-tray', ...flagsOfCrashed()];
  const setsid = GLib.find_program_in_path('setsid');
  try {
    const child = Gio.Subprocess.new(setsid ? [setsid, ...command] : command, Gio.SubprocessFlags.STDOUT_SILENCE);
    child.wait_check_async(null, (_source: unknown, result: Gio.AsyncResult) => {
      try {
        child.wait_check_finish(result);
      } catch {
        failed(
          new Error(fill(_('The daemon could not be started. Run “%s” in a terminal to see why.'), command.join(' '))),
        );
      }
    });
  } catch (error) {
    failed(new Error(fill(_('The daemon could not be started: %s'), (error as Error).message)));
  }
}

/**
 * Flags of a daemon that ended without removing its record: a demo starts as a demo again, and on its port. A daemon that
 * was stopped leaves no record.
 */
function flagsOfCrashed(): string[] {
  try {
    const file = Gio.File.new_for_path(socketPath()).get_parent()!.get_child('daemon.json');
    const record: unknown = JSON.parse(new TextDecoder().decode(file.load_contents(null)[1]));
    if (typeof record !== 'object' || record === null || !('demo' in record) || record.demo !== true) return [];
    const port = 'port' in record && typeof record.port === 'number' && record.port > 0 ? record.port : null;
    return port === null ? ['--demo'] : ['--demo', '--port', String(port)];
  } catch {
    return [];
  }
}

/** Asks the daemon to end, through its command line. */
export function stopDaemon(): void {
  const program = culvertProgram();
  if (program) Gio.Subprocess.new([program, 'stop'], Gio.SubprocessFlags.STDOUT_SILENCE);
}
