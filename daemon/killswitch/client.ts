// Not written yet.
import type { Ground, KillSwitchControl } from '../features.ts';
import { Problem } from '../problem.ts';

export function createKillSwitch(_: Ground): KillSwitchControl {
  const missing = () => {
    throw new Problem('not-implemented', 'This is not part of this version.');
  };
  return new Proxy({} as KillSwitchControl, {
    get: (_, name) => (name === 'then' ? undefined : name === 'start' || name === 'stop' ? () => {} : missing),
  });
}
