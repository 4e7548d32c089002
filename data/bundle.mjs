// How a program for Node is bundled, for the build and for the tests alike.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { buildSync, transformSync } from 'esbuild';

const root = resolve(import.meta.dirname, '..');

/** Each becomes a directory with `main.cjs`. */
export const programs = {
  daemon: 'daemon/main.ts',
  cli: 'daemon/cli/main.ts',
  emulator: 'daemon/warp/emulator/main.ts',
  wrap: 'wrapper/main.ts',
  manifest: 'manifest/main.ts',
};

/** What every bundle has in common, also those for GJS. */
export const common = {
  absWorkingDir: root,
  bundle: true,
  metafile: true,
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
};

/** CommonJS: Node 20 starts such a bundle a quarter faster than an ES module. */
const node = { platform: 'node', target: 'node20', charset: 'utf8', minifySyntax: true, minifyWhitespace: true };

/**
 * Bundles a program as `main.cjs` and chunks, so that what is imported lazily is not even parsed before: a quarter of
 * the daemon is enough to answer. esbuild splits ES modules only, so each chunk is turned into CommonJS afterwards.
 */
export function bundleProgram(name, directory, define = {}) {
  // a wrapped command pays for every byte; the others keep their names for whoever reads a stack trace
  const minifyIdentifiers = name === 'wrap';
  const { outputFiles, metafile } = buildSync({
    ...common,
    ...node,
    minifyIdentifiers,
    entryPoints: { main: programs[name] },
    outdir: directory,
    format: 'esm',
    splitting: true,
    write: false,
    mainFields: ['module', 'main'],
    define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename', ...define },
    // of Koa's 540 KB, 430 are three copies of a table of media types, of which the API uses two
    alias: { 'mime-db': join(root, 'data/mime-db.json') },
  });
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const { path, text } of outputFiles) {
    const imports = text.replaceAll(/(["'])\.\/([\w-]+)\.js\1/g, '"./$2.cjs"');
    const { code } = transformSync(imports, {
      ...node,
      minifyIdentifiers,
      format: 'cjs',
      supported: { 'dynamic-import': false },
    });
    writeFileSync(join(directory, basename(path).replace(/\.js$/, '.cjs')), code);
  }
  return Object.keys(metafile.inputs).map(file => resolve(root, file));
}
