// The program as it is shipped.
import { join } from 'node:path';
import { bundledOnce } from '../built.ts';

/**
 * Builds `culvert-manifest`.
 * @param define constants besides those of the project's build, such as `__RELEASE_KEYS__`
 * @returns the bundle's path
 */
export function buildManifest(define: Record<string, string> = {}): string {
  return join(bundledOnce('manifest', { __VERSION__: '"0.0.0-test"', ...define }), 'main.cjs');
}
