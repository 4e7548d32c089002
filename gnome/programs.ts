// Starts and stops Culvert's other programs for the panel and the tray, and reads the daemon's last written state.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { LastState } from '../daemon/view/client/client-state.ts';
import { stateInStatusFile } from '../daemon/view/client/status-file.ts';
import { fill } from '../daemon/view/translator.ts';
import { _ } from './i18n.ts';
import { culvertProgram, socketPath } from './install-paths.ts';

/**
 * Starts `culvert` without panel and tray, in its own session, so that it outlives the caller and its terminal.
 * @param failed called if the program can't be started or ends with a failure.
 */
export function startDaemon(failed: (error: Error) => void): void {
  const program = foundProgram(failed);
  if (!program) return;
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

/** Returns the path of the command-line program; calls `failed` if it is missing. */
function foundProgram(failed: (error: Error) => void): string | null {
  const program = culvertProgram();
  if (!program) failed(new Error(_('The program “culvert” was not found. Install Culvert again.')));
  return program;
}

/**
 * Returns the flags of a daemon that ended without removing its record: a demo restarts as a demo, on the same port. A
 * stopped daemon leaves no record.
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

/** Asks the daemon to end, through the command-line program. */
export function stopDaemon(): void {
  const program = culvertProgram();
  if (program) Gio.Subprocess.new([program, 'stop'], Gio.SubprocessFlags.STDOUT_SILENCE);
}

/**
 * Starts `culvert portal`, which opens a network's login page in a separate browser and restores WARP afterwards.
 * @param failed called with the program's output if it fails, or with the error if it can't be started
 * @param options options of `culvert portal`
 */
export function signInToNetwork(failed: (error: Error) => void, ...options: string[]): void {
  const program = foundProgram(failed);
  if (!program) return;
  try {
    const flags = Gio.SubprocessFlags.STDOUT_PIPE | Gio.SubprocessFlags.STDERR_PIPE;
    const child = Gio.Subprocess.new([program, 'portal', ...options], flags);
    child.communicate_utf8_async(null, null, (_child: unknown, result: Gio.AsyncResult) => {
      const [, stdout, stderr] = child.communicate_utf8_finish(result);
      if (!child.get_successful()) failed(new Error(`${stderr || stdout}`.trim()));
    });
  } catch (error) {
    failed(error as Error);
  }
}

/** Returns the daemon's last written state, or null if no daemon has run in this session. */
export function readLastState(): LastState | null {
  try {
    const status = Gio.File.new_for_path(socketPath()).get_parent()!.get_child('status');
    return stateInStatusFile(new TextDecoder().decode(status.load_contents(null)[1]));
  } catch {
    return null;
  }
}

/**
 * The launcher's settings for malloc and the JavaScript engine (daemon/launcher.ts). The code below removes them from the
 * environment, so that other programs do not inherit them.
 */
const settings = GLib.listenv().flatMap(name => {
  const value = /^MALLOC_|^GJS_DISABLE_JIT$/.test(name) ? GLib.getenv(name) : null;
  return value === null ? [] : [[name, value] as const];
});
for (const [name] of settings) GLib.unsetenv(name);

/** Passes the memory settings on to the panel that the tray starts. */
export function passOnMemorySettings(launcher: Gio.SubprocessLauncher): void {
  for (const [name, value] of settings) launcher.setenv(name, value, true);
}
