// Lists the modes to choose from, and decides which changes of the tunnel revert unless they are confirmed.
import type { ChangeOptions } from '../../../api/changes.ts';
import type { Mode, Snapshot } from '../../../api/schema.ts';
import { CONFIRM_SECONDS } from '../../form.ts';

/** The choices of most people, in this order; the others are variants. */
export const MAIN_MODES: readonly Mode[] = ['warp', 'doh', 'proxy', 'tunnel_only'];
export const VARIANTS: readonly Mode[] = ['warp+doh', 'warp+dot', 'dot'];

/**
 * A change that may break a tunnel which is up reverts unless it is confirmed. The mode has to be one that can be set
 * again.
 */
export function toBeConfirmed(snapshot: Snapshot | null): ChangeOptions {
  const returns = [...MAIN_MODES, ...VARIANTS].some(mode => mode === snapshot?.settings.Mode);
  return snapshot?.status.state === 'connected' && returns ? { confirmWithin: CONFIRM_SECONDS } : {};
}
