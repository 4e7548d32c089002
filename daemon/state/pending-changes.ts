// The changes that return by themselves are of two makers: the daemon's own, and the root service's of the kill switch.
import type { Change } from '../api/changes.ts';
import type { State } from './store.ts';

/** Publishes the changes of one maker together with those of the other. */
export function setPart(state: State, maker: 'tunnel' | 'kill-switch', changes: readonly Change[]): void {
  const others = state.snapshot().changes.filter(({ subject }) => (subject === 'killSwitch') === (maker === 'tunnel'));
  state.set('changes', maker === 'tunnel' ? [...changes, ...others] : [...others, ...changes]);
}
