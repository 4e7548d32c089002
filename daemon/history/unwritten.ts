// Rows of the history until they are written, with the mode that was in force at their time.
import type { Snapshot } from '../api/schema.ts';
import type { Seen } from './observe.ts';
import { SWITCH_MS } from './records.ts';

/** State of a change of the settings: see `Tunnel.changing`. */
type Changing = 'now' | 'lately' | null;

/** The last thing that a rule for networks did. */
type Acted = NonNullable<Snapshot['networks']>['acted'] | undefined;

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

  /** A rule says that it acted after the state has changed. */
  function nameRule(acted: Acted): void {
    if (!acted) return;
    const at = Date.parse(acted.at);
    for (const row of rows) if (row.asked && Math.abs(row.at - at) <= SWITCH_MS) row.rule = acted.rule;
  }

  return {
    count: () => rows.length,
    add({ status, settings, tunnel }: Snapshot, changing: Changing, event?: string, signIn?: Seen['signIn']): void {
      const [at, mode] = [Date.now(), settings.Mode];
      nameMode(at, mode);
      if (changing !== 'now') for (const row of rows) row.isModeOld = false;
      const isModeOld = changing === 'now' && event !== 'settings';
      const row = { at, status, mode, asked: changing !== null, isModeOld, tunnel };
      rows.push(signIn ? { ...row, signIn } : row);
    },
    /** Removes and returns all rows. A mode that may be from before a change is left out. */
    take(changing: Changing, acted: Acted): Seen[] {
      nameRule(acted);
      const taken = rows.map(row => (changing === 'now' && row.isModeOld ? { ...row, mode: undefined } : row));
      rows = [];
      return taken;
    },
  };
}
