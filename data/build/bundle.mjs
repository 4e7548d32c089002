// Bundles programs, for the build and for the tests alike.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { buildSync, transformSync } from 'esbuild';

const root = resolve(import.meta.dirname, '../..');

/** Each becomes a directory with `main.cjs`. */
export const programs = {
  daemon: 'daemon/main.ts',
  cli: 'daemon/cli/main.ts',
  emulator: 'daemon/emulator/main.ts',
  wrap: 'wrapper/main.ts',
  manifest: 'manifest/main.ts',
  repair: 'daemon/doctor/repair/main.ts',
};

/** Each becomes one file, such as `tray.js`; the panel becomes three. */
export const gjsPrograms = {
  panel: 'gnome/panel/main.ts',
  tray: 'gnome/session/tray.ts',
  bridge: 'gnome/session/bridge.ts',
  killswitch: 'daemon/killswitch/service/main.ts',
};

/** Options of every bundle, also those for GJS. */
export const common = {
  absWorkingDir: root,
  bundle: true,
  metafile: true,
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
};

/** Files that a program reads from its own directory: copied next to its `main.cjs`. */
const beside = { wrap: ['wrapper/pool/pool.lua'] };

function copyBeside(name, directory) {
  const copied = (beside[name] ?? []).map(file => {
    copyFileSync(join(root, file), join(directory, basename(file)));
    return resolve(root, file);
  });
  return name === 'wrap' ? [...copied, ...joinCatalog(directory)] : copied;
}

/**
 * Joins the files of the catalog, one for each tool, so that a program reads one file (wrapper/catalog/files.ts).
 * @returns their paths, and that of their directory, whose time changes with a new file
 */
function joinCatalog(directory) {
  const catalog = join(root, 'wrapper/catalog/providers');
  const files = readdirSync(catalog)
    .filter(name => name.endsWith('.toml'))
    .sort()
    .map(name => join(catalog, name));
  writeFileSync(join(directory, 'providers.toml'), files.map(file => readFileSync(file, 'utf8')).join('\n'));
  return [catalog, ...files];
}

/** CommonJS: Node 20 starts such a bundle a quarter faster than an ES module. */
const node = { platform: 'node', target: 'node20', charset: 'utf8', minifySyntax: true, minifyWhitespace: true };

const forNode = define => ({
  mainFields: ['module', 'main'],
  define: {
    'import.meta.dirname': '__dirname',
    'import.meta.filename': '__filename',
    ...define,
  },
  // 430 of Koa's 540 KB are three copies of a table of media types, of which the API uses two
  alias: { 'mime-db': join(root, 'data/build/mime-db.json') },
});

/**
 * Bundles a program as `main.cjs` and chunks, so that what is imported lazily is not even parsed before: a quarter of
 * the daemon is enough to answer. esbuild splits ES modules only, so each chunk is turned into CommonJS afterwards. Those
 * that `main` needs immediately become part of it, so that a cache of compiled code is for one file, as those of `wholes` do of theirs.
 */
export function bundleProgram(name, directory, define = {}, debuggable = false) {
  if (debuggable) return bundleForDebugger(name, directory, define);
  const { outputFiles, metafile } = buildSync({
    ...common,
    ...node,
    entryPoints: { main: programs[name] },
    outdir: directory,
    format: 'esm',
    splitting: true,
    write: false,
    ...forNode(define),
  });
  const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  const owners = ownersOf(metafile.outputs, wholes[name] ?? []);
  const settings = { ...node, format: 'cjs', supported: { 'dynamic-import': false } };
  const required = text => {
    const code = text.replaceAll(/require\("\.\/([\w-]+\.js)"\)/g, (_, file) => {
      const owner = owners.get(file);
      if (owner === 'main.js') return `culvertMain.${exportOf(file)}`;
      const from = `require("./${(owner ?? file).replace(/js$/, 'cjs')}")`;
      return owner ? `${from}.${exportOf(file)}` : from;
    });
    return code.includes('culvertMain.') ? `const culvertMain=require("./main.cjs");${code}` : code;
  };
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of files) {
    if (owners.has(file)) continue;
    const whole = [...owners.values()].includes(file);
    const code = required(whole ? joined(files, owners, file, settings) : transformSync(text, settings).code);
    writeFileSync(join(directory, file.replace(/js$/, 'cjs')), code);
  }
  const sources = [...copyBeside(name, directory), ...Object.keys(metafile.inputs).map(file => resolve(root, file))];
  ignoreDebugSignal(join(directory, 'main.cjs'));
  if (loaders[name]) sources.push(...putLoaderBefore(join(directory, 'main.cjs'), loaders[name], define));
  return sources;
}

/** Programs whose `main` is a loader, which runs what it was. */
const loaders = { wrap: 'wrapper/loader.ts' };

/**
 * Makes `main` the loader of what it was, which becomes a function in a file named by its digest.
 * @returns the sources of the loader
 */
function putLoaderBefore(main, loader, define) {
  const text = `(function(exports,require,module,__filename,__dirname){${readFileSync(main, 'utf8')}\n})`;
  const file = `program-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.cjs`;
  writeFileSync(join(dirname(main), file), text);
  const { metafile } = buildSync({
    ...common,
    ...node,
    format: 'cjs',
    define: { ...define, __PROGRAM__: JSON.stringify(file) },
    entryPoints: [loader],
    outfile: main,
  });
  ignoreDebugSignal(main);
  return Object.keys(metafile.inputs).map(file => resolve(root, file));
}

/**
 * Has a program ignore SIGUSR1 from its first line: Node opens a debugger on it, to which every user of the machine can connect.
 * Development builds keep theirs.
 */
function ignoreDebugSignal(main) {
  const code = readFileSync(main, 'utf8');
  const ignored = 'if(process.listenerCount("SIGUSR1")===0)process.on("SIGUSR1",()=>{});';
  // behind the directive, which has to be first
  writeFileSync(main, code.replace(/^("use strict";)?/, `$1${ignored}`));
}

/** Export name of a file that became part of another, for the chunks that are loaded later. */
const exportOf = part => part.replace(/\.js$/, '').replaceAll(/\W/g, '_');

/** Joins a file and the chunks that become part of it in one scope, where names need no getters. @returns CommonJS */
function joined(files, owners, file, settings) {
  const scratch = mkdtempSync(join(tmpdir(), 'culvert-bundle-'));
  try {
    for (const [name, text] of files) writeFileSync(join(scratch, name), text);
    const parts = [...owners].filter(([, owner]) => owner === file).map(([part]) => part);
    const names = [...files.keys()].filter(name => name !== file && owners.get(name) !== file);
    const { outputFiles } = buildSync({
      ...common,
      ...settings,
      stdin: {
        contents: [
          `export * from './${file}';`,
          ...parts.map(part => `export * as ${exportOf(part)} from './${part}';`),
        ].join('\n'),
        resolveDir: scratch,
      },
      absWorkingDir: scratch,
      bundle: true,
      external: names.map(name => `./${name}`),
      write: false,
    });
    return outputFiles[0].text;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** One file with its source map and all names, for a development build. */
function bundleForDebugger(name, directory, define) {
  rmSync(directory, { recursive: true, force: true });
  const { metafile } = buildSync({
    ...common,
    ...forNode(define),
    platform: 'node',
    target: node.target,
    entryPoints: { main: programs[name] },
    outdir: directory,
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    sourcemap: 'linked',
  });
  return [...copyBeside(name, directory), ...Object.keys(metafile.inputs).map(file => resolve(root, file))];
}

/**
 * Modules that are loaded later, as one file with their chunks. A daemon loads its own once it answers: resolving the
 * paths of nine files made V8 load its optimizing compiler (3.6 MB).
 */
const wholes = { daemon: ['daemon/killswitch/client/client.ts', 'daemon/history/history-service.ts'] };

/** The file of a module that is loaded later. */
function fileOf(outputs, entry) {
  const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry);
  if (!found) throw new Error(`${entry} is part of main.js or of no file`);
  return basename(found[0]);
}

/**
 * The chunks that become part of another file, and of which: each after those that it imports itself.
 * @param wholes what is loaded later as one file
 */
function ownersOf(outputs, wholes) {
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]));
  const owners = new Map();
  const visit = (file, owner) => {
    for (const { path, kind } of byName.get(file).imports) {
      const chunk = basename(path);
      if (kind !== 'import-statement' || !byName.has(chunk) || owners.has(chunk)) continue;
      visit(chunk, owner);
      owners.set(chunk, owner);
    }
  };
  visit('main.js', 'main.js');
  for (const owner of wholes.map(whole => fileOf(outputs, whole))) visit(owner, owner);
  return owners;
}

/** Build options of a program for GJS. */
const forGjs = (name, file, define, debuggable) => {
  // the root service stays readable: its installer is a script that an administrator reads before running it
  const minify = name !== 'killswitch' && !debuggable;
  return {
    ...common,
    minifySyntax: minify,
    minifyWhitespace: minify,
    // as part of the file: a debugger needs it, and the build installs the files that it knows
    sourcemap: debuggable && name !== 'killswitch' ? 'inline' : false,
    entryPoints: { [name]: file },
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'firefox102', // GJS 1.74, the oldest supported
    external: ['gi://*', 'resource://*', 'system', 'gettext', 'cairo'],
    loader: { '.xml': 'text' },
    define,
  };
};

/** Bundles programs for GJS, each as one file in `directory`. */
export function bundleGjs(names, directory, define = {}, debuggable = false) {
  const inputs = names.flatMap(name => {
    const { metafile } = buildSync({ ...forGjs(name, gjsPrograms[name], define, debuggable), outdir: directory });
    return Object.keys(metafile.inputs);
  });
  return [...new Set(inputs)].map(file => resolve(root, file));
}

/**
 * Bundles the panel, or a program that contains it: `panel.js`; `panel-further-pages.js`, which it loads later; and `panel-chunk.js`,
 * which both need. With that one merged into the first and shared as an object, as `webui.mjs` does, a search took twice as long.
 */
export function bundlePanel(directory, define = {}, debuggable = false, program = { panel: gjsPrograms.panel }) {
  const [[name, file]] = Object.entries(program);
  const settings = { ...forGjs(name, file, define, debuggable), splitting: true, chunkNames: `${name}-[name]` };
  const { metafile } = buildSync({ ...settings, outdir: directory });
  return Object.keys(metafile.inputs).map(source => resolve(root, source));
}

/** Directory name of the extension of GNOME Shell, by which the Shell knows it. */
export const SHELL_EXTENSION = 'culvert@culvert.org';
/** Every major version of GNOME Shell that loads it. */
const SHELL_VERSIONS = ['43', '44', '45', '46', '47', '48', '49', '50', '51'];

/**
 * Bundles the extension of GNOME Shell. Icons and catalogs are linked or copied next to it.
 * @param facts version and homepage, for its description
 */
export function bundleShell(directory, { version, homepage }, debuggable = false) {
  const settings = { ...forGjs('shell', 'gnome/shell/extension.ts', {}, debuggable), outdir: directory };
  rmSync(directory, { recursive: true, force: true });
  const results = [
    buildSync({ ...settings, entryPoints: { extension: 'gnome/shell/extension.ts' } }),
    buildSync({
      ...settings,
      entryPoints: { 'extension/__init__': 'gnome/shell/extension-43.ts' },
      format: 'iife',
      globalName: 'culvert',
      // functions of the file are what these versions import
      footer: { js: 'function init(extension) { return culvert.init(extension); }' },
    }),
  ];
  const metadata = {
    uuid: SHELL_EXTENSION,
    name: 'Culvert',
    description: 'WARP in the quick settings: its state, connecting, pausing, mode and kill switch.',
    url: homepage,
    'shell-version': SHELL_VERSIONS,
    'version-name': version,
  };
  writeFileSync(join(directory, 'metadata.json'), `${JSON.stringify(metadata, null, 2)}\n`);
  return results.flatMap(({ metafile }) => Object.keys(metafile.inputs)).map(file => resolve(root, file));
}
