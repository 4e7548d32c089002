// Programs of the tests' own, bundled so that a child process starts them without a loader.
import { join } from 'node:path';
import { buildSync } from 'esbuild';

/** For packages in CommonJS, which an ES module has no `require` for. */
const REQUIRE = `import { createRequire as _createRequire } from 'node:module';
const require = _createRequire(import.meta.url);`;

/**
 * Bundles a TypeScript module with all that it imports.
 * @param source the path of a file, or the text of a module that imports by absolute paths
 * @param directory where the bundle is written
 * @returns its path
 */
export function bundleScript(source: string | { text: string }, directory: string): string {
  const path = join(directory, `script-${scripts++}.mjs`);
  buildSync({
    ...(typeof source === 'string'
      ? { entryPoints: [source] }
      : { stdin: { contents: source.text, loader: 'ts', resolveDir: directory } }),
    outfile: path,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    banner: { js: REQUIRE },
    mainFields: ['module', 'main'],
    define: { __VERSION__: '"9.9.9"' },
    logLevel: 'error',
  });
  return path;
}

let scripts = 0;
