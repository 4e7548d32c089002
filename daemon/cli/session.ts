// Informs the user of an SSH session whether it outlives a change of the tunnel, and offers the preset of routes that keeps it.
import { networkInterfaces } from 'node:os';
import type { ActionName, ActionRequest } from '../api/actions.ts';
import type { Subject } from '../api/changes.ts';
import type { Snapshot } from '../api/schema.ts';
import { printable } from '../core/printable.ts';
import { addedTo } from '../routes/document.ts';
import { type After, type Judgment, judge, sessionIn } from '../routes/session.ts';
import { type Context, show } from './context.ts';
import { yesNoCancel } from './dialog.ts';
import { Failure } from './errors.ts';
import { type Keeping, requestKept } from './keep.ts';

interface Action {
  action: ActionName;
  value?: string | undefined;
}

/** Returns the state of the tunnel after an action; null for an action that does not move the session. */
function afterOf({ action, value }: Action, { status, settings }: Snapshot): After | null {
  const isUp = status.state === 'connected' || status.state === 'connecting';
  switch (action) {
    case 'connect':
      return { connected: true, mode: settings.Mode ?? null };
    case 'disconnect':
      return { connected: false, mode: settings.Mode ?? null };
    case 'enableLocalProxy':
      return { connected: true, mode: 'proxy' };
    case 'setMode':
      return { connected: isUp, mode: value ?? null };
    default:
      return null;
  }
}

/**
 * Says whether this SSH session outlives an action, and why.
 * @returns null outside a session, and for an action that does not move it
 */
export async function considerSession(context: Context, action: Action): Promise<Judgment | null> {
  const session = sessionIn(context.env);
  if (!session) return null;
  const answer = await context.client.call('GET /api/snapshot');
  // settings that could not be read again may have changed
  const isOld = answer.stale?.some(({ part }) => part === 'settings');
  const snapshot = isOld ? { ...answer, settings: {} } : answer;
  const after = afterOf(action, snapshot);
  const judgment = after && judge(session, after, snapshot, ownDevices());
  if (!judgment) return null;
  context.say(printable([sentence(judgment), judgment.advice].filter(Boolean).join(' ')));
  return judgment;
}

function sentence({ peer, survives, because }: Judgment): string {
  if (survives === 'unknown') return `Whether your SSH session from ${peer} survives this is not known. ${because}`;
  return `Your SSH session from ${peer} ${survives === 'yes' ? 'survives this' : 'does not survive this'}. ${because}`;
}

/** Returns the devices of this machine's addresses. */
function ownDevices(): Map<string, string> {
  const devices = Object.entries(networkInterfaces());
  return new Map(devices.flatMap(([device, all]) => (all ?? []).map(({ address }) => [address, device] as const)));
}

const COMMAND = 'culvert routes add --preset ssh';

/**
 * Offers to exclude the session's address before the change, or names the command if there is no terminal to ask on.
 * @returns true if the address was excluded, as a change that reverts with the other
 * @throws Failure if the user cancels
 */
export async function offerPreset(context: Context, { exclude }: Judgment, keeping: Keeping): Promise<boolean> {
  if (exclude === null) return false;
  if (!keeping.asks || keeping.confirmWithin === undefined) {
    context.say(`To keep it, exclude ${exclude} first: ${COMMAND}`);
    return false;
  }
  const answer = await yesNoCancel(context, `Keep it with the preset ssh, which excludes ${exclude}?`);
  if (answer === 'cancel') throw new Failure('Nothing was changed.', { hint: `To exclude it: ${COMMAND}` });
  if (answer === 'no') return false;
  await excludeSession(context, exclude, keeping.confirmWithin);
  return true;
}

/** Seconds by which the route stays longer than the tunnel: without it, the session would end before the tunnel does. */
const EXTRA_SECONDS = 30;
const MAX_SECONDS = 600;
/** Comment of an entry of the preset, by which it is recognized. */
const COMMENT = 'ssh, sshd';

async function excludeSession({ client, say }: Context, address: string, confirmWithin: number): Promise<void> {
  const { document, revision } = await client.call('GET /api/routes');
  const body = {
    document: addedTo(document, [{ value: address, comment: COMMENT }]),
    ifRevision: revision,
    cause: 'preset' as const,
    confirmWithin: Math.min(confirmWithin + EXTRA_SECONDS, MAX_SECONDS),
  };
  await client.call('POST /api/routes', { body });
  say(`Excluded ${address}.`);
}

/**
 * Returns the limit of a change for which an address was excluded. It may not be dropped: the exclusion reverts automatically,
 * and would leave a tunnel that never does. It is short enough for the exclusion to stay longer.
 */
export function besideExclusion(keeping: Keeping, isExcluded: boolean): Keeping {
  if (!isExcluded) return keeping;
  return { ...keeping, confirmWithin: Math.min(keeping.confirmWithin!, MAX_SECONDS - EXTRA_SECONDS), isWanted: true };
}

/** Performs a change of which the exclusion is a part: if it fails, the exclusion is reverted too. */
export async function withExclusion<T>({ client }: Context, isExcluded: boolean, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    // the daemon reverts it in any case, only later
    if (isExcluded) await client.call('POST /api/changes/revert', { body: { subject: 'routes' } }).catch(() => {});
    throw error;
  }
}

/** Performs an action like `requestKept`, after the offer to exclude this SSH session's address. @returns true if excluded */
export async function requestInSession(
  context: Context,
  request: ActionRequest,
  { session, keeping }: { session: Judgment | null; keeping: Keeping },
) {
  const isExcluded = session !== null && (await offerPreset(context, session, keeping));
  const response = await withExclusion(context, isExcluded, () =>
    requestKept(context, request, besideExclusion(keeping, isExcluded)),
  );
  if (context.json) show(context, response, () => '');
  return isExcluded;
}

/** Returns the changes to ask about, in the order in which they revert: the tunnel first, because it needs the route. */
export function subjectsOf(subject: Subject, isExcluded: boolean): Subject[] {
  return isExcluded ? [subject, 'routes'] : [subject];
}

/** Returns the address of this SSH session as an entry of the preset; null outside a session. */
export function ownEntry(env: NodeJS.ProcessEnv): { value: string; source: string } | null {
  const session = sessionIn(env);
  return session?.peer && !/^127\.|^::1$/.test(session.peer) ? { value: session.peer, source: 'sshd' } : null;
}
