// The program as it is shipped: built once per test process.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { bundleProgram } from '../../../data/build/bundle.mjs';

const bundles = new Map<string, string>();

/**
 * Builds `culvert-manifest`.
 * @param define constants beside those of the project's build, such as `__RELEASE_KEYS__`
 * @returns the bundle's path
 */
export function buildManifest(define: Record<string, string> = {}): string {
  const known = bundles.get(JSON.stringify(define));
  if (known) return known;
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'culvert-manifest-build-'));
  const outfile = path.join(directory, 'main.cjs');
  bundleProgram('manifest', directory, { __VERSION__: '"0.0.0-test"', ...define });
  process.on('exit', () => fs.rmSync(directory, { recursive: true, force: true }));
  bundles.set(JSON.stringify(define), outfile);
  return outfile;
}
