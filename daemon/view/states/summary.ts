// Sums up the state in one word for shells, bars and icons, and words an outdated state.
import type { KillSwitch, Snapshot } from '../../api/schema.ts';
import type { State } from '../../api/states.ts';
import { type ClientState, current } from '../client/client-state.ts';
import { timeOfDay } from '../format.ts';
import { fill, type Translator } from '../translator.ts';
import { isPause } from './changes.ts';

/** The parts of a snapshot that determine the state. */
type Summed = Pick<Snapshot, 'status' | 'killSwitch' | 'changes'>;

/** Returns the state; `unknown` without a current snapshot. */
export function stateOf(client: ClientState): State {
  const snapshot = current(client);
  return snapshot ? stateIn(snapshot) : 'unknown';
}

export function stateIn({ status, killSwitch, changes }: Summed): State {
  if (status.blocked !== null || (status.state !== 'connected' && wantsSignIn(status))) return 'needs-you';
  const off = status.state === 'disconnected' || status.state === 'unable';
  if (off && !isOld(status) && isBlocking(killSwitch)) return 'blocked';
  if (status.state === 'disconnected' && changes.some(isPause)) return 'paused';
  return status.state;
}

/** True if the network wants the user to sign in on a page. */
export function wantsSignIn({ reason }: Pick<Snapshot['status'], 'reason'>): boolean {
  return reason?.code?.startsWith('CaptivePortal') === true;
}

/** True if WARP accepted the command to connect, but did not connect. */
export function isConnectIgnored({ status }: Pick<Snapshot, 'status'>): boolean {
  return status.reason?.code === 'ConnectIgnored';
}

/** True if a measurement found that traffic outside the tunnel is blocked. */
export function isBlocking({ active, pausedUntil }: KillSwitch): boolean {
  return active === true && pausedUntil === null;
}

/** True if the kill switch blocks all traffic, because there is no tunnel. While WARP disconnects, the tunnel may still be up. */
export function isOffline({ status, killSwitch }: Pick<Snapshot, 'status' | 'killSwitch'>): boolean {
  return isBlocking(killSwitch) && !mayBeUp(status) && !isTunnelUnknown(status);
}

/** True if the kill switch blocks what does not use the tunnel, and it is not known whether there is a tunnel. */
export function isOnlyTunnelLeft({ status, killSwitch }: Pick<Snapshot, 'status' | 'killSwitch'>): boolean {
  return isBlocking(killSwitch) && !mayBeUp(status) && isTunnelUnknown(status);
}

function mayBeUp({ state, blocked }: Status): boolean {
  return isStateRead(blocked) && (state === 'connected' || state === 'disconnecting');
}

/** Obstacles without a tunnel. The others keep Culvert from reading the state, while WARP may hold a tunnel for any user. */
const WITHOUT_TUNNEL: readonly Status['blocked'][] = ['service-stopped', 'not-registered'];

/** A user who may not change WARP still reads its state. */
function isStateRead(blocked: Status['blocked']): boolean {
  return blocked === null || blocked === 'not-authorized';
}

function isTunnelUnknown({ state, blocked, lastKnown }: Status): boolean {
  if (isStateRead(blocked)) return state === 'unknown' || lastKnown !== undefined;
  return !WITHOUT_TUNNEL.includes(blocked);
}

/** True if the kill switch is on, but no measurement says whether it blocks. */
export function isUnmeasured({ enabled, active, pausedUntil }: KillSwitch): boolean {
  return enabled && active === null && pausedUntil === null;
}

/** Returns the state, or the network, in WARP's own word if Culvert does not know it; otherwise null. */
export function unknownWord(
  { unknown }: Pick<Snapshot['status'], 'unknown'>,
  name: 'status' | 'network',
): string | null {
  return unknown?.find(each => each.name === name)?.value ?? null;
}

type Status = Pick<Snapshot['status'], 'state' | 'blocked' | 'lastKnown'>;
type Old = Status & { lastKnown: NonNullable<Status['lastKnown']> };

/** True if reads of the status fail and the last known status still counts. */
export function isOld<S extends Status>(status: S): status is S & Old {
  return status.lastKnown !== undefined && status.state !== 'unknown' && status.blocked === null;
}

/** True if the last read of the status found a connection. */
export function isKnownConnected(status: Status): boolean {
  return status.state === 'connected' && !isOld(status);
}

/** Words that settings may be old; null if they are not, or where the state itself says that nothing can be read. */
export function oldText({ status, hasOldParts }: Pick<Snapshot, 'status' | 'hasOldParts'>, { _ }: Translator) {
  if (!hasOldParts || status.blocked !== null || isOld(status)) return null;
  return _('WARP’s settings could not be read again, so these may be old');
}

/** Adds the time of an outdated state: `Connected, as of 15:21`. @param name name of the state */
export function asOf(name: string, { lastKnown }: Old, { _ }: Translator): string {
  // Translators: the first %s is a state such as Connected, the second the time of day at which it was last known
  return fill(_('%s, as of %s'), name, timeOfDay(lastKnown.at, false));
}

/** Text that a crashed Rust program prints. */
export const PANICKED = /\bpanicked at\b/i;

/** Says why the state could not be read again. */
export function silenceText({ lastKnown: { said } }: Old, { _ }: Translator): string {
  if (said === null) return _('WARP does not answer.');
  // Translators: %s is the error message of a program, in English
  if (PANICKED.test(said)) return fill(_('warp-cli crashed: %s'), said);
  // Translators: %s is an error message of WARP, in English
  return fill(_('WARP answers with an error: %s'), said.replace(/^error: /i, ''));
}
