// Loads what a plain run does not need. Built with __REST__ it stands in a bundle of its own, because parsing it would
// cost every wrapped command about 5 ms; built without, it is part of the one bundle.
import { join } from 'node:path';

declare const __REST__: string | undefined;

/** Everything but the way from a shim to its upstream. */
export function loadRest(): Promise<typeof import('./manage.ts')> {
  return typeof __REST__ === 'string' ? Promise.resolve(require(join(__dirname, __REST__))) : import('./manage.ts');
}
