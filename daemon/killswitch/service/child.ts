// A child process of the root service that is spoken with line by line.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';

export interface Child {
  /** As a decimal number; null once it has ended. */
  pid(): string | null;
  write(text: string): void;
  kill(): void;
}

/**
 * Starts a program with a fixed environment, so that nothing of a caller's reaches it.
 * @param heard called with each line of stdout and stderr
 * @param ended called once, when it has closed its output
 * @throws Error where it can't be started
 */
export function startChild(argv: readonly string[], heard: (line: string) => void, ended: () => void): Child {
  const { STDIN_PIPE, STDOUT_PIPE, STDERR_MERGE } = Gio.SubprocessFlags;
  const launcher = new Gio.SubprocessLauncher({ flags: STDIN_PIPE | STDOUT_PIPE | STDERR_MERGE });
  launcher.set_environ(['PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL=C']);
  const process = launcher.spawnv([...argv]);
  const output = new Gio.DataInputStream({ base_stream: process.get_stdout_pipe()! });
  const decoder = new TextDecoder();

  const next = () =>
    output.read_line_async(GLib.PRIORITY_HIGH, null, (_, result) => {
      let bytes: Uint8Array | null = null;
      try {
        [bytes] = output.read_line_finish(result);
      } catch {
        // as an end
      }
      if (!bytes) return ended();
      heard(decoder.decode(bytes));
      next();
    });
  next();

  return {
    pid: () => process.get_identifier(),
    write(text) {
      try {
        process.get_stdin_pipe()!.write_all(new TextEncoder().encode(text), null);
      } catch {
        process.force_exit(); // it closed its input; the end of its output tells the rest
      }
    },
    kill: () => process.force_exit(),
  };
}
