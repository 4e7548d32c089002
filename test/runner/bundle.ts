// Bundles test files, so that Node starts them as they are. A loader that strips types works in its own thread, for
// which Node 20 waits at each import: that takes time, and can deadlock (https://github.com/nodejs/node/issues/50948).
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const root = resolve(import.meta.dirname, '../..');
/** Below the root, so that packages are found; for each PID namespace, since ids of processes are unique in one only. */
const bundles = join(root, 'build/test/bundles', readlinkSync('/proc/self/ns/pid').replace(/\D/g, ''));
/** The bundles of this process. */
const own = join(bundles, String(process.pid));

/** A change of one source file that exists in the bundle only. */
export interface Change {
  /** Absolute path. */
  file: string;
  /** Offsets into the text, in UTF-16 code units. */
  start: number;
  end: number;
  after: string;
}

/** Packages that start their own programs, or read files by their own path. */
const EXTERNAL = ['esbuild', 'oxc-parser', 'playwright-core'];

/** For packages in CommonJS, which an ES module has no `require` for. */
const REQUIRE = `import { createRequire as _createRequire } from 'node:module';const require = _createRequire(import.meta.url);`;

/**
 * Bundles files with everything that they import: Node takes longer to find a hundred files of a package than to run them.
 * @param files paths below the root
 * @param name of the directory, unique within this process
 * @returns the path of the bundle of each
 */
export async function bundleFiles(
  files: readonly string[],
  name = 'files',
  change: Change | null = null,
): Promise<(file: string) => string> {
  const directory = join(own, name);
  removeLeftovers();
  mkdirSync(directory, { recursive: true });
  await build({
    absWorkingDir: root,
    entryPoints: [...files],
    outbase: root,
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: EXTERNAL,
    banner: { js: REQUIRE },
    mainFields: ['module', 'main'],
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'error',
    define: Object.fromEntries(LOCATIONS.map(([expression, variable]) => [expression, variable])),
    plugins: [sources(change)],
  });
  return file => join(directory, relative(root, resolve(root, file)).replace(/\.ts$/, '.mjs'));
}

/** Makes the directory for what `test/support/built.ts` builds once in a run; removed with the bundles. */
export function makeBuilds(): string {
  const directory = join(own, 'builds');
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** Removes what was bundled and built in this run. */
export function removeBundles(): void {
  rmSync(own, { recursive: true, force: true });
}

/** Expressions by which a source file learns its own path, and the variables that replace them in the bundle. */
const LOCATIONS: [expression: string, variable: string, value: (path: string) => string][] = [
  ['import.meta.dirname', '__sourceDirectory', dirname],
  ['import.meta.filename', '__sourceFile', path => path],
  ['import.meta.url', '__sourceUrl', path => pathToFileURL(path).href],
];

/** The same in the packages that are CommonJS; the bundle is not. */
const OF_COMMONJS: typeof LOCATIONS = [
  ['__dirname', '__dirname', dirname],
  ['__filename', '__filename', path => path],
];
const isDeclared = (variable: string, text: string) => new RegExp(`\\b(?:const|let|var) ${variable}\\b`).test(text);

function sources(change: Change | null): Plugin {
  return {
    name: 'sources',
    setup(bundle) {
      bundle.onLoad({ filter: /\.(ts|m?js)$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        const changed =
          change?.file === path ? text.slice(0, change.start) + change.after + text.slice(change.end) : text;
        const variables = [...LOCATIONS, ...OF_COMMONJS]
          .filter(([expression, variable]) => text.includes(expression) && !isDeclared(variable, text))
          .map(([, variable, value]) => `const ${variable} = ${JSON.stringify(value(path))};`);
        // on the first line, so that the others keep their numbers
        return { contents: variables.join('') + changed, loader: path.endsWith('.ts') ? 'ts' : 'js' };
      });
    },
  };
}

/** Removes bundles of processes that were killed. */
function removeLeftovers(): void {
  mkdirSync(bundles, { recursive: true });
  for (const pid of readdirSync(bundles))
    if (!lives(Number(pid))) rmSync(join(bundles, pid), { recursive: true, force: true });
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
