// Reads the status file, which the daemon keeps next to its socket.
import Gio from 'gi://Gio?version=2.0';
import type { LastState } from '../daemon/view/client/client-state.ts';
import { stateInStatusFile } from '../daemon/view/client/status-file.ts';
import { socketPath } from './install-paths.ts';

/** The state that a daemon last wrote, or null if none has run in this session. */
export function readLastState(): LastState | null {
  try {
    const status = Gio.File.new_for_path(socketPath()).get_parent()!.get_child('status');
    return stateInStatusFile(new TextDecoder().decode(status.load_contents(null)[1]));
  } catch {
    return null;
  }
}
