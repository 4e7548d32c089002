// Starts `culvert portal`, which opens a network's login page in a separate browser and brings WARP back afterwards.
import Gio from 'gi://Gio?version=2.0';
import { _ } from './i18n.ts';
import { culvertProgram } from './install-paths.ts';

/**
 * @param failed is called with what it says when it ends with a failure, or when it can't be started
 * @param options of `culvert portal`
 */
export function signInToNetwork(failed: (error: Error) => void, ...options: string[]): void {
  const program = culvertProgram();
  if (!program) {
    failed(new Error(_('The program “culvert” was not found. Install Culvert again.')));
    return;
  }
  try {
    const flags = Gio.SubprocessFlags.STDOUT_PIPE | Gio.SubprocessFlags.STDERR_PIPE;
    const child = Gio.Subprocess.new([program, 'portal', ...options], flags);
    child.communicate_utf8_async(null, null, (_child: unknown, result: Gio.AsyncResult) => {
      const [, stdout, stderr] = child.communicate_utf8_finish(result);
      // the last line that it says is what did not work
      if (!child.get_successful()) failed(new Error(`${stderr || stdout}`.trim()));
    });
  } catch (error) {
    failed(error as Error);
  }
}
