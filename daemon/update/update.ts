// Not written yet.
import type { Ground, UpdatesControl } from '../features.ts';
import { Problem } from '../problem.ts';

export function createUpdates(_: Ground): UpdatesControl {
  const missing = () => {
    throw new Problem('not-implemented', 'This is not part of this version.');
  };
  return new Proxy({} as UpdatesControl, {
    get: (_, name) => (name === 'then' ? undefined : name === 'start' || name === 'stop' ? () => {} : missing),
  });
}
