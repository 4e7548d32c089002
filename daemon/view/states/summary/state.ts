// Pure: sums the state up in one word for shells, bars and icons: what the tunnel does, and what a pause, the kill switch or a missing step makes of it.
import type { KillSwitch, Snapshot } from '../../../api/schema.ts';
import type { State } from '../../../api/states.ts';
import { type ClientState, current } from '../../client/client-state.ts';
import { isPause } from '../changes.ts';

/** The parts of a snapshot that make the state. */
export type Summed = Pick<Snapshot, 'status' | 'killSwitch' | 'changes'>;

/** A snapshot that is out of date is as good as none. */
export function stateOf(client: ClientState): State {
  const snapshot = current(client);
  return snapshot ? stateIn(snapshot) : 'unknown';
}

export function stateIn({ status, killSwitch, changes }: Summed): State {
  if (status.blocked !== null || (status.state !== 'connected' && wantsSignIn(status))) return 'needs-you';
  const off = status.state === 'disconnected' || status.state === 'unable';
  if (off && isBlocking(killSwitch)) return 'blocked';
  if (status.state === 'disconnected' && changes.some(isPause)) return 'paused';
  return status.state;
}

/** A network wants its user to sign in on a page. */
export function wantsSignIn({ reason }: Pick<Snapshot['status'], 'reason'>): boolean {
  return reason?.code?.startsWith('CaptivePortal') === true;
}

/** WARP accepted to connect, and did not. */
export function isConnectIgnored({ status }: Pick<Snapshot, 'status'>): boolean {
  return status.reason?.code === 'ConnectIgnored';
}

/** Traffic outside the tunnel is being blocked, as measured. */
export function isBlocking({ active, pausedUntil }: KillSwitch): boolean {
  return active === true && pausedUntil === null;
}

/** The kill switch stops all traffic, because there is no tunnel that it could go through. */
export function isOffline({ status, killSwitch }: Pick<Snapshot, 'status' | 'killSwitch'>): boolean {
  return isBlocking(killSwitch) && (status.blocked !== null || status.state !== 'connected');
}
