// The program as it is shipped: one CommonJS file, built once per test process.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const root = fileURLToPath(new URL('../../', import.meta.url));
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
  const outfile = path.join(directory, 'manifest.cjs');
  buildSync({
    entryPoints: [path.join(root, 'manifest/main.ts')],
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: 'error',
    define: { __VERSION__: '"0.0.0-test"', 'import.meta.filename': '__filename', ...define },
  });
  process.on('exit', () => fs.rmSync(directory, { recursive: true, force: true }));
  bundles.set(JSON.stringify(define), outfile);
  return outfile;
}
