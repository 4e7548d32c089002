// Rows of the history until they are written, with the mode that was in force at their time.
import type { Snapshot } from '../api/schema.ts';
import type { Seen } from './observe.ts';
import { SWITCH_MS } from './records.ts';

/** State of a change of the settings: see `Tunnel.changing`. */
type Changing = 'now' | 'lately' | null;

/** Something that happened in a state. */
export type Occurrence = Pick<Seen, 'signIn' | 'effect'>;

export function createUnwritten() {
  let rows: (Seen & { isModeOld: boolean })[] = [];

  /** A status event arrives before the settings are read: this names the mode of earlier rows. */
  function nameMode(time: number, mode: string | undefined): void {
    let wasConnecting = false;
    for (const row of rows.toReversed()) {
      const isPhase = row.status.state === 'connecting' || row.status.state === 'disconnecting';
      if (row.mode === mode || time - row.at > SWITCH_MS) return;
      // a connection before the reconnect had the mode before
      if (!isPhase && (wasConnecting || !row.isModeOld)) return;
      wasConnecting ||= isPhase;
      row.mode = mode;
      row.isModeOld = false;
    }
  }

  return {
    count: () => rows.length,
    add({ status, settings, tunnel }: Snapshot, changing: Changing, event?: string, occurrence?: Occurrence): void {
      const [at, mode] = [Date.now(), settings.Mode];
      nameMode(at, mode);
      if (changing !== 'now') for (const row of rows) row.isModeOld = false;
      const isModeOld = changing === 'now' && event !== 'settings';
      rows.push({ at, status, mode, asked: changing !== null, isModeOld, tunnel, ...occurrence });
    },
    /** Removes and returns all rows. A mode that may be from before a change is left out. */
    take(changing: Changing): Seen[] {
      const taken = rows.map(row => (changing === 'now' && row.isModeOld ? { ...row, mode: undefined } : row));
      rows = [];
      return taken;
    },
  };
}
