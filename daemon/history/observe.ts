// Turns published tunnel states into records: state changes, and samples whose bytes are never negative. Pure.
import type { Status, Tunnel } from '../api/schema.ts';
import { isTurnedOff } from '../view/states/causes.ts';
import { type Change, type Counters, coloOr, modeOr, nameOr, type Sample } from './records.ts';

/** A published state and its time. */
export interface Seen {
  /** ms since the epoch. */
  at: number;
  status: Status;
  mode: string | undefined;
  /** True while an action or a settings change took effect. */
  asked?: boolean;
  /** Effect of the network rule that set this state. */
  effect?: Change['effect'];
  /** Subject of a change that Culvert has just reverted. */
  reverted?: Change['reverted'];
  tunnel: Tunnel;
}

export interface Observer {
  /** Returns the changes since the last call, and a sample of new figures. */
  observe(seen: Seen): { changes: Change[]; sample: Sample | null };
  /** Returns the last change, which each new file repeats at its start. */
  present(): Change | null;
  counters(): Counters | null;
}

/** Last records of an earlier run. */
export interface Left {
  counters: Counters | null;
  /** Time of its last write, in ms since the epoch. */
  lastAt: number | null;
}

export function createObserver({ counters: left, lastAt }: Left): Observer {
  let present: Change | null = null;
  let counters = left;
  let lastRead: string | null = null;

  return {
    observe(seen) {
      const first = present === null;
      const next = {
        ...changeOf(seen, first ? 'start' : 'state', present),
        ...(first && lastAt !== null ? { lastAt } : {}),
      };
      const changes = present && isSame(present, next) ? [] : [next];
      if (changes[0]) present = lasting(changes[0]);
      const { tunnel, status } = seen;
      if (status.state !== 'connected' || tunnel.at === null || tunnel.at === lastRead)
        return { changes, sample: null };
      const continues = lastRead === null && left !== null;
      lastRead = tunnel.at;
      const read = readingOf(tunnel, counters);
      if (continues && read?.counters && !isNew(left, read.counters)) changes.push(changeOf(seen, 'same', present));
      counters = read?.counters ?? counters;
      return { changes, sample: read?.sample ?? null };
    },
    present: () => present,
    counters: () => counters,
  };
}

function changeOf(seen: Seen, kind: Change['kind'], present: Change | null): Change {
  const { at, status, mode, asked, effect, reverted, tunnel } = seen;
  const { state, blocked, network } = status;
  const change: Change = {
    at,
    kind,
    state,
    blocked,
    network,
    ...reasonOf(status, present),
    mode: modeOr(mode),
    // the figures of a tunnel that is down may be cleared a moment later
    colo: state === 'connected' ? coloOr(tunnel.colo) : null,
    ...(asked ? { asked: true as const } : {}),
  };
  if (effect !== undefined) change.effect = effect;
  if (reverted !== undefined) change.reverted = reverted;
  return change;
}

/** Returns the reason of a state. A disconnected tunnel that has accepted a connect keeps its previous reason. */
function reasonOf(status: Status, present: Change | null): Pick<Change, 'reason' | 'byUser'> {
  const { code, byUser } = status.reason ?? {};
  const isKept = code === 'ConnectAccepted' && present?.state === 'disconnected';
  const reason = isKept ? present.reason : isTurnedOff(status) ? 'Manual' : nameOr(code);
  const isByUser = isKept ? present.byUser !== false : code !== 'Manual' || byUser === true;
  return { reason, ...(isByUser ? {} : { byUser: false }) };
}

/** Removes what Culvert did, which belongs only to the moment of the change. */
function lasting({ effect: _, reverted: __, ...change }: Change): Change {
  return change;
}

/** Returns the change that ends a recording. */
export const stopOf = (present: Change, at: number): Change => ({ ...lasting(present), at, kind: 'stop' });

/** True if nothing worth a record changed. All phases of connecting count as one state. */
function isSame(before: Change, after: Change): boolean {
  const { state, reason, blocked, network, mode, colo, asked, effect, reverted } = after;
  const isPhase = state === 'connecting' || state === 'disconnecting';
  return (
    effect === undefined &&
    reverted === undefined &&
    before.state === state &&
    before.blocked === blocked &&
    before.mode === mode &&
    before.colo === colo &&
    (isPhase ? before.asked === true || !asked : before.reason === reason && before.network === network)
  );
}

/** Returns the figures of one read; null without a valid time. The sample is null if the tunnel CLI reported no figures. */
function readingOf(tunnel: Tunnel, last: Counters | null): { sample: Sample | null; counters: Counters | null } | null {
  const at = Math.floor(Date.parse(tunnel.at ?? '') / 1000);
  const { bytesReceived, bytesSent, latencyMs, loss } = tunnel;
  if (!Number.isSafeInteger(at) || at < 0) return null;
  const latency = latencyMs === null ? null : Math.round(latencyMs * 1000);
  const hasBytes = bytesReceived !== null && bytesSent !== null;
  const counters = hasBytes ? { at, received: Math.round(bytesReceived), sent: Math.round(bytesSent) } : null;
  const passed = counters && last ? passedSince(last, counters) : { span: 0, received: 0, sent: 0 };
  if (latency === null && loss === null && !hasBytes) return { sample: null, counters };
  const sample = {
    at,
    count: latency === null && loss === null ? 0 : 1,
    latency,
    least: latency,
    greatest: latency,
    loss: loss === null ? null : Math.round(loss * 1e6),
    ...passed,
  };
  return { sample, counters };
}

/**
 * Returns the bytes between two reads. Counters that fell belong to a new connection, whose bytes are all new. Counters that
 * rose may belong to a new connection as well; the last bytes of the previous connection are then missing, but nothing is
 * counted twice. If the clock was set back, the span is 0.
 */
export function passedSince(last: Counters, now: Counters): Pick<Sample, 'span' | 'received' | 'sent'> {
  const span = Math.max(0, now.at - last.at);
  if (isNew(last, now)) return { span, received: now.received, sent: now.sent };
  return { span, received: now.received - last.received, sent: now.sent - last.sent };
}

const isNew = (last: Counters, now: Counters) => now.received < last.received || now.sent < last.sent;
