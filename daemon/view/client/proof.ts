// Decides whether a proof that the tunnel carries requests still belongs to the connection that it was made for.

import type { Snapshot } from '../../api/schema.ts';
import type { Proof } from '../../api/why.ts';

/** The parts of the state that make up one connection. */
interface Connection {
  state: string;
  since: string;
  mode: string | undefined;
  colo: string | null;
}

export interface ProofState {
  connection: Connection;
  /** null while the page is being asked. */
  result: Proof | null;
}

export function connectionOf({ status, settings, tunnel }: Snapshot): Connection {
  return { state: status.state, since: status.since, mode: settings.Mode, colo: tunnel.colo };
}

/** False once the connection changed. The data center is reported some seconds after the connection. */
export function isSameConnection(before: Connection, { state, since, mode, colo }: Connection): boolean {
  const moved = before.colo !== null && colo !== null && before.colo !== colo;
  return before.state === state && before.since === since && before.mode === mode && !moved;
}
