// Reads the status file, which the daemon keeps next to its socket.
import Gio from 'gi://Gio?version=2.0';
import type { Look } from '../daemon/view/client/labels.ts';
import { lookInStatusFile } from '../daemon/view/client/status-file.ts';
import { socketPath } from './install-paths.ts';

/** Look of the state that a daemon last wrote, or null if none has run in this session. */
export function readLastLook(): Exclude<Look, 'unavailable'> | null {
  try {
    const status = Gio.File.new_for_path(socketPath()).get_parent()!.get_child('status');
    return lookInStatusFile(new TextDecoder().decode(status.load_contents(null)[1]));
  } catch {
    return null;
  }
}
