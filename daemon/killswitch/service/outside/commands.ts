// Runs a program of the system to its end, with a fixed environment, so that nothing of a caller's reaches it.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import { countGarbage } from '../garbage.ts';

export interface Finished {
  /** null: killed. */
  status: number | null;
  out: string;
  err: string;
}

/** @param ms it is killed after. @throws GLib.Error where it can't be started */
export function runCommand(argv: readonly string[], ms = 10_000): Promise<Finished> {
  const { STDOUT_PIPE, STDERR_PIPE } = Gio.SubprocessFlags;
  const launcher = new Gio.SubprocessLauncher({ flags: STDOUT_PIPE | STDERR_PIPE });
  launcher.set_environ(['PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL=C']);
  const process = launcher.spawnv([...argv]);
  const timer = GLib.timeout_add(GLib.PRIORITY_DEFAULT, ms, () => {
    process.force_exit();
    return GLib.SOURCE_CONTINUE;
  });
  return new Promise((resolve, reject) => {
    process.communicate_utf8_async(null, null, (_, result) => {
      GLib.source_remove(timer);
      try {
        const [, out, err] = process.communicate_utf8_finish(result);
        countGarbage(out.length + err.length);
        resolve({ status: process.get_if_exited() ? process.get_exit_status() : null, out, err: err.trim() });
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** Output of a program that succeeds. @throws Error with its own words where it fails */
export async function output(argv: readonly string[]): Promise<string> {
  const { status, out, err } = await runCommand(argv);
  if (status !== 0) throw new Error(`${argv.slice(0, 4).join(' ')}: ${err || `exit status ${status}`}`);
  return out;
}
