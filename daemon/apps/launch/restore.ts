// Restores the mode, the protocol and the connection after a failed start, for which the local proxy had been turned on.
import { type ActionName, actionRequest } from '../../api/actions.ts';
import type { BeforeProxy } from '../../api/schema.ts';
import type { FeatureContext } from '../../controls.ts';

/**
 * @returns whether anything was restored: a mode that was set since stays
 * @throws Problem of the tunnel client
 */
export async function restore(before: BeforeProxy, { tunnel, state }: FeatureContext): Promise<boolean> {
  await tunnel.refresh('stale');
  const { settings, status } = state.snapshot();
  // the failed start may have set a mode that can't be read now
  const isKnown = !tunnel.stale().some(({ part }) => part === 'settings');
  if ((isKnown && settings.Mode !== 'proxy') || before.mode === 'proxy') return false;
  const act = (action: ActionName, value?: string) => tunnel.runAction(actionRequest(action, value));
  await act('setMode', before.mode);
  if (before.protocol === 'WireGuard') await act('setProtocol', before.protocol); // proxy mode needs MASQUE
  if (!before.connected && status.state !== 'disconnected') await act('disconnect');
  return true;
}
