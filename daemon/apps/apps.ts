// Not written yet.
import type { AppsControl, Ground } from '../features.ts';
import { Problem } from '../problem.ts';

export function createApps(_: Ground): AppsControl {
  const missing = () => {
    throw new Problem('not-implemented', 'This is not part of this version.');
  };
  return new Proxy({} as AppsControl, {
    get: (_, name) => (name === 'then' ? undefined : name === 'start' || name === 'stop' ? () => {} : missing),
  });
}
