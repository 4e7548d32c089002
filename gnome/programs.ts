// Starts and ends Culvert's other programs for panel and tray, and reads the state that a daemon last wrote.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import type { LastState } from '../daemon/view/client/client-state.ts';
import { stateInStatusFile } from '../daemon/view/client/status-file.ts';
import { fill } from '../daemon/view/translator.ts';
import { _ } from './i18n.ts';
import { culvertProgram, socketPath } from './install-paths.ts';

/**
 * Starts `culvert` without panel and tray, in its own session, so that it outlives the caller and its terminal.
 * @param failed is called when it can't be started or ends with a failure.
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

/** The program of the command line. Without one, `failed` is called. */
function foundProgram(failed: (error: Error) => void): string | null {
  const program = culvertProgram();
  if (!program) failed(new Error(_('The program “culvert” was not found. Install Culvert again.')));
  return program;
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

/**
 * Starts `culvert portal`, which opens a network's login page in a separate browser and brings WARP back afterwards.
 * @param failed is called with what the program says when it fails, or when it can't be started
 * @param options of `culvert portal`
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

/** The state that a daemon last wrote, or null if none has run in this session. */
export function readLastState(): LastState | null {
  try {
    const status = Gio.File.new_for_path(socketPath()).get_parent()!.get_child('status');
    return stateInStatusFile(new TextDecoder().decode(status.load_contents(null)[1]));
  } catch {
    return null;
  }
}

/**
 * The launcher's settings of malloc and of the JavaScript engine (daemon/launcher.ts). They leave the environment, so that
 * other programs do not inherit them.
 */
const settings = GLib.listenv().flatMap(name => {
  const value = /^MALLOC_|^GJS_DISABLE_JIT$/.test(name) ? GLib.getenv(name) : null;
  return value === null ? [] : [[name, value] as const];
});
for (const [name] of settings) GLib.unsetenv(name);

/** Lets the panel that the tray starts inherit them. */
export function passOnMemorySettings(launcher: Gio.SubprocessLauncher): void {
  for (const [name, value] of settings) launcher.setenv(name, value, true);
}
