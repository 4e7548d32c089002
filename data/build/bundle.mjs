// Bundles programs, for the build and for the tests alike.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
};

/** Each becomes one file, such as `tray.js`; the panel becomes three. */
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

/** What a program reads from its own directory: copied beside its `main.cjs`. */
const beside = { wrap: ['wrapper/pool/pool.lua'] };

function copyBeside(name, directory) {
  return (beside[name] ?? []).map(file => {
    copyFileSync(join(root, file), join(directory, basename(file)));
    return resolve(root, file);
  });
}

/** CommonJS: Node 20 starts such a bundle a quarter faster than an ES module. */
const node = { platform: 'node', target: 'node20', charset: 'utf8', minifySyntax: true, minifyWhitespace: true };

/** SHA-1 by which Redis and Valkey know a script: https://valkey.io/commands/evalsha/ */
const poolSha = () =>
  createHash('sha1')
    .update(readFileSync(join(root, 'wrapper/pool/pool.lua')))
    .digest('hex');

const forNode = define => ({
  mainFields: ['module', 'main'],
  define: {
    'import.meta.dirname': '__dirname',
    'import.meta.filename': '__filename',
    __POOL_SHA__: JSON.stringify(poolSha()),
    ...define,
  },
  // of Koa's 540 KB, 430 are three copies of a table of media types, of which the API uses two
  alias: { 'mime-db': join(root, 'data/build/mime-db.json') },
});

/**
 * Bundles a program as `main.cjs` and chunks, so that what is imported lazily is not even parsed before: a quarter of
 * the daemon is enough to answer. esbuild splits ES modules only, so each chunk is turned into CommonJS afterwards. Those
 * that `main` needs at once become part of it, as those of `wholes` do of theirs: finding and reading a separate file
 * takes 0.6 ms each.
 */
export function bundleProgram(name, directory, define = {}, debuggable = false) {
  if (debuggable) return bundleForDebugger(name, directory, define);
  // a start pays for every byte: 1 ms of the daemon's; the others keep their names for stack traces
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
    ...forNode(define),
  });
  const files = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  const owners = ownersOf(metafile.outputs, wholes[name] ?? []);
  const larger = loaded[name] && withPart(files, metafile.outputs, loaded[name].part);
  const settings = { ...node, minifyIdentifiers, format: 'cjs', supported: { 'dynamic-import': false } };
  const required = (text, importer) => {
    const code = text.replaceAll(/require\("\.\/([\w-]+\.js)"\)/g, (_, file) => {
      const owner = owners.get(file);
      const inMain = `culvertMain.${exportOf(file)}`;
      if (owner === 'main.js') return inMain;
      const from = `require("./${(owner ?? file).replace(/js$/, 'cjs')}")`;
      if (owner) return `${from}.${exportOf(file)}`;
      // a second copy would have classes of its own
      return importer !== 'main.js' && larger?.owners.has(file) ? `(${inMain}??${from})` : from;
    });
    // once, because Node resolves the path each time
    return code.includes('culvertMain.') ? `const culvertMain=require("./main.cjs");${code}` : code;
  };
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of files) {
    if (owners.has(file)) continue;
    const whole = [...owners.values()].includes(file);
    const code = required(whole ? joined(files, owners, file, settings) : transformSync(text, settings).code, file);
    writeFileSync(join(directory, file.replace(/js$/, 'cjs')), code);
  }
  const sources = [...copyBeside(name, directory), ...Object.keys(metafile.inputs).map(file => resolve(root, file))];
  if (larger) {
    const code = required(joined(larger.files, larger.owners, 'main.js', settings), 'main.js');
    sources.push(...putLoaderBefore(join(directory, 'main.cjs'), code, loaded[name].loader, define));
  }
  return sources;
}

/**
 * A program that is there twice: as it is, and with a part in it that is otherwise loaded later. Its `main` is a loader, which
 * takes one of them. To load the part of a pool from a file of its own takes a wrapped command 0.4 ms.
 */
const loaded = { wrap: { loader: 'wrapper/loader.ts', part: 'wrapper/pool/pooled-run.ts' } };

/** The files of a program whose `main` has a part at once, and the chunks that become part of it. */
function withPart(files, outputs, part) {
  const file = fileOf(outputs, part);
  const later = `import("./${file}")`;
  const main = files.get('main.js');
  if (main.split(later).length !== 2) throw new Error(`main.js has no ${later}, or several`);
  const text = `import*as culvertPart from"./${file}";${main.replace(later, 'Promise.resolve(culvertPart)')}`;
  return { files: new Map(files).set('main.js', text), owners: ownersOf(outputs, [], [part]) };
}

/**
 * V8 keeps a string of at least this many bytes outside of its new space. Inside of it, the text of a wrapped command with
 * a pool set off a garbage collection (0.7 ms) before the upstream had ended.
 */
const LARGE = 2 ** 17;

/** The text of a module as a function: V8 would copy joined texts, which brings its first collection of garbage (0.8 ms). */
const asFunction = code => `(function(exports,require,module,__filename,__dirname){${code}\n})`;

/**
 * Makes `main` the loader of what it was, and of a larger program, which both become functions in files named by their digests.
 * @returns the sources of the loader
 */
function putLoaderBefore(main, larger, loader, define) {
  const [program, programWithPool] = [readFileSync(main, 'utf8'), larger].map(code => {
    const text = asFunction(code);
    const file = `program-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.cjs`;
    writeFileSync(join(dirname(main), file), text.padEnd(LARGE));
    return JSON.stringify(file);
  });
  const { metafile } = buildSync({
    ...common,
    ...node,
    minifyIdentifiers: true,
    format: 'cjs',
    define: { ...define, __PROGRAM__: program, __PROGRAM_WITH_POOL__: programWithPool },
    entryPoints: [loader],
    outfile: main,
  });
  return Object.keys(metafile.inputs).map(file => resolve(root, file));
}

/** How a file that became part of another is exported by it, for the chunks that are loaded later. */
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
      // V8 keeps a text as two bytes a character where one of them is not ASCII
      charset: 'ascii',
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
 * What is loaded later, and then as one file with its chunks. A daemon loads its own once it answers: resolving the paths
 * of nine files made V8 load its optimizing compiler (3.6 MB).
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
 * @param parts what becomes part of `main` as well
 */
function ownersOf(outputs, wholes, parts = []) {
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]));
  const owners = new Map();
  const own = (chunk, owner) => {
    if (owners.has(chunk)) return;
    visit(chunk, owner);
    owners.set(chunk, owner);
  };
  const visit = (file, owner) => {
    for (const { path, kind } of byName.get(file).imports) {
      if (kind === 'import-statement' && byName.has(basename(path))) own(basename(path), owner);
    }
  };
  visit('main.js', 'main.js');
  for (const part of parts) own(fileOf(outputs, part), 'main.js');
  for (const owner of wholes.map(whole => fileOf(outputs, whole))) visit(owner, owner);
  return owners;
}

/** What the bundle of a program for GJS is made with. */
const forGjs = (name, file, define, debuggable) => {
  // what runs as root stays readable: its installer is a script that an administrator reads before running it
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
