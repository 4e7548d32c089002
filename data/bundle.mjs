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

/** Each becomes one file, `panel.js`. */
export const gjsPrograms = {
  panel: 'gnome/panel/main.ts',
  tray: 'gnome/tray/main.ts',
  killswitch: 'daemon/killswitch/service/main.ts',
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
 * the daemon is enough to answer. esbuild splits ES modules only, so each chunk is turned into CommonJS afterwards; and
 * those that `main` needs at once become part of it, because finding and reading a file of its own takes 0.6 ms each.
 */
export function bundleProgram(name, directory, define = {}) {
  // a start pays for every byte: 1 ms of the daemon's; the others keep their names for whoever reads a stack trace
  const minifyIdentifiers = name === 'wrap' || name === 'daemon';
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
  const files = new Map(
    outputFiles.map(({ path, text }) => {
      const settings = { ...node, minifyIdentifiers, format: 'cjs', supported: { 'dynamic-import': false } };
      return [basename(path), transformSync(text, settings).code];
    }),
  );
  const folded = neededAtOnce(metafile.outputs);
  const required = (text, from) =>
    text.replaceAll(/require\("\.\/([\w-]+\.js)"\)/g, (_, file) => {
      if (!folded.includes(file)) return `require("./${file.replace(/js$/, 'cjs')}")`;
      return `${from === 'main.js' ? '__chunks' : 'require("./main.cjs")'}["${file}"]`;
    });
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const parts = folded.map(file => {
    const code = required(files.get(file), 'main.js');
    files.delete(file);
    return `(module=>{${code}__chunks["${file}"]=module.exports})({});\n`;
  });
  if (parts.length) parts.unshift('"use strict";const __chunks=module.exports;\n');
  for (const [file, code] of files) {
    const text = required(code, file);
    writeFileSync(join(directory, file.replace(/js$/, 'cjs')), file === 'main.js' ? parts.join('') + text : text);
  }
  return Object.keys(metafile.inputs).map(file => resolve(root, file));
}

/** The chunks that `main` imports statically, each after those that it imports itself. */
function neededAtOnce(outputs) {
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]));
  const order = new Set();
  const visit = file => {
    for (const { path, kind } of byName.get(file).imports)
      if (kind === 'import-statement' && byName.has(basename(path))) visit(basename(path));
    order.add(file);
  };
  visit('main.js');
  return [...order].filter(file => file !== 'main.js');
}

/** Bundles programs for GJS into `directory`. */
export function bundleGjs(names, directory, define = {}) {
  const { metafile } = buildSync({
    ...common,
    minifySyntax: true,
    minifyWhitespace: true,
    entryPoints: Object.fromEntries(names.map(name => [name, gjsPrograms[name]])),
    outdir: directory,
    format: 'esm',
    platform: 'neutral',
    target: 'firefox102', // GJS 1.74, the oldest supported
    external: ['gi://*', 'resource://*', 'system', 'gettext', 'cairo'],
    define,
  });
  return Object.keys(metafile.inputs).map(file => resolve(root, file));
}
