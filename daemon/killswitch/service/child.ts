// Runs child processes of the root service, and collects garbage before the GJS engine starts an incremental collection.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import system from 'system';

export interface Child {
  write(text: string): void;
  kill(): void;
}

const PIECE_BYTES = 64 << 10;

/**
 * Starts a program with a fixed environment, so that no variable of a caller reaches it.
 * @param heard called with each line of stdout and stderr
 * @param ended called once, when the program has closed its output
 * @throws Error if it can't be started
 */
export function startChild(argv: readonly string[], heard: (line: string) => void, ended: () => void): Child {
  const { STDIN_PIPE, STDOUT_PIPE, STDERR_MERGE } = Gio.SubprocessFlags;
  const launcher = new Gio.SubprocessLauncher({ flags: STDIN_PIPE | STDOUT_PIPE | STDERR_MERGE });
  launcher.set_environ(['PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL=C']);
  const process = launcher.spawnv([...argv]);
  // read whole pieces, not lines: a flush makes the monitors print a hundred lines, and each read is a turn of the loop
  const output = Gio.BufferedInputStream.new_sized(process.get_stdout_pipe()!, PIECE_BYTES);
  const decoder = new TextDecoder();
  let partialLine = '';
  const next = () =>
    output.fill_async(PIECE_BYTES, GLib.PRIORITY_HIGH, null, (_, result) => {
      let size = 0;
      try {
        size = output.fill_finish(result);
      } catch {
        // counts as the end of the output
      }
      if (size <= 0) return ended();
      const bytes = output.peek_buffer();
      output.skip(bytes.length, null);
      // nft prints ASCII, except for comments in other programs' rules, which are not parsed
      const lines = (partialLine + decoder.decode(bytes)).split('\n');
      partialLine = lines.pop()!;
      for (const line of lines) heard(line);
      countGarbage(bytes.length);
      next();
    });
  next();

  return {
    write(text) {
      try {
        process.get_stdin_pipe()!.write_all(new TextEncoder().encode(text), null);
      } catch {
        process.force_exit(); // it closed its input; the end of its output follows
      }
    },
    kill: () => process.force_exit(),
  };
}

/** Delay in ms before a child that keeps dying is restarted. It doubles each time, and resets after a child that lived long. */
const BACK_OFF_MS = { first: 20, last: 10_000, lived: 30_000 };

/** Restarts immediately after the first death, since the table may have lost its owner, and later after each further death. */
export function createBackOff(): (act: () => void) => void {
  let ms = 0;
  let last = 0;
  return (act: () => void) => {
    const now = Date.now();
    ms = now - last > BACK_OFF_MS.lived ? 0 : Math.min(Math.max(ms * 2, BACK_OFF_MS.first), BACK_OFF_MS.last);
    last = now;
    setTimeout(act, ms);
  };
}

export interface Finished {
  /** null if the program was killed. */
  status: number | null;
  out: string;
  err: string;
}

/** @param ms time limit, after which the program is killed. @throws GLib.Error if it can't be started */
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

/** Returns the output of a program that succeeds. @throws Error with the program's message if it fails */
export async function output(argv: readonly string[]): Promise<string> {
  const { status, out, err } = await runCommand(argv);
  if (status !== 0) throw new Error(`${argv.slice(0, 4).join(' ')}: ${err || `exit status ${status}`}`);
  return out;
}

/**
 * Bytes read between two collections. GJS (1.74 to 1.82 at least) drops every callback that arrives between the slices of an
 * incremental collection ("Attempting to run a JS callback during garbage collection"), so that readers get no more data. The
 * engine begins such a collection at some tens of megabytes; a full collection, well before that, drops nothing. A parsed
 * listing takes many times the bytes of its text.
 */
const COLLECT_BYTES = 1 << 20;

let uncollected = 0;

/** @param bytes bytes that were read, and are garbage now or soon */
export function countGarbage(bytes: number): void {
  uncollected += bytes;
  if (uncollected < COLLECT_BYTES) return;
  uncollected = 0;
  system.gc();
}
