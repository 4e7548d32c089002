// Bundles every program: node data/build.mjs OUTDIR DEPFILE FORMAT COMMIT. Writes a make depfile, so that ninja knows when to.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { build, transform } from 'esbuild';

const root = resolve(import.meta.dirname, '..');
const [out, depfile, format = 'source', commit = ''] = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

const common = {
  absWorkingDir: root,
  outdir: resolve(out),
  bundle: true,
  metafile: true,
  minifySyntax: true,
  minifyWhitespace: true,
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
  define: {
    __VERSION__: JSON.stringify(version),
    __COMMIT__: JSON.stringify(commit),
    __FORMAT__: JSON.stringify(format),
  },
};

/** CommonJS: Node 20 starts such a bundle a quarter faster than an ES module. */
const node = {
  ...common,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  mainFields: ['module', 'main'],
  define: { ...common.define, 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
  // of Koa's 540 KB, 430 are three copies of a table of media types, of which the API uses two
  alias: { 'mime-db': join(root, 'data/mime-db.json') },
};

/** GJS 1.74, the oldest supported, is SpiderMonkey 102. */
const gjs = {
  ...common,
  entryPoints: { panel: 'gnome/panel/main.ts', tray: 'gnome/tray/main.ts' },
  format: 'esm',
  platform: 'neutral',
  target: 'firefox102',
  external: ['gi://*', 'resource://*', 'system', 'gettext', 'cairo'],
};

/** Each becomes a directory with `main.cjs`. */
const programs = {
  daemon: 'daemon/main.ts',
  cli: 'daemon/cli/main.ts',
  emulator: 'daemon/warp/emulator/main.ts',
  wrap: 'wrapper/main.ts',
  manifest: 'manifest/main.ts',
};

const metafiles = await Promise.all([
  ...Object.entries(programs).map(([name, entry]) => split(name, entry)),
  build(gjs).then(({ metafile }) => metafile),
]);
if (depfile) {
  const inputs = metafiles.flatMap(({ inputs }) => Object.keys(inputs)).map(file => resolve(root, file));
  const outputs = [...Object.keys(programs), 'panel.js', 'tray.js'];
  const targets = outputs.map(name => relative(process.cwd(), resolve(out, name)));
  writeFileSync(depfile, `${targets.join(' ')}: ${[...new Set(inputs)].join(' ')} ${join(root, 'package.json')}\n`);
}

/**
 * A program as a directory of `main.cjs` and chunks, so that what is imported lazily is not even parsed before: a
 * quarter of the daemon is enough to answer. esbuild splits ES modules only, so each chunk is turned afterwards.
 */
async function split(name, entry) {
  const { outputFiles, metafile } = await build({
    ...node,
    entryPoints: { main: entry },
    format: 'esm',
    splitting: true,
    write: false,
  });
  const directory = join(resolve(out), name);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const { path, text } of outputFiles) {
    const imports = text.replaceAll(/(["'])\.\/([\w-]+)\.js\1/g, '"./$2.cjs"');
    const { code } = await transform(imports, {
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      charset: 'utf8',
      minifySyntax: true,
      minifyWhitespace: true,
      supported: { 'dynamic-import': false },
    });
    writeFileSync(join(directory, basename(path).replace(/\.js$/, '.cjs')), code);
  }
  return metafile;
}
