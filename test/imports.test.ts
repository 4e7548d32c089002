// Checks that folders import each other in one direction only. The linter rejects only cycles of files.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

/** Imports, exports from other files, and types by `import('…')`. */
const IMPORT = /\b(?:from|import)\s*\(?\s*'([^'\s]+)'/g;

/** The parts of a path, from the project's root on. */
type Place = readonly string[];

function placeOf(file: string): Place {
  return path.relative('.', file).split(path.sep);
}

/** Every import in the files of a part: the file, and a package or a path below the root, which begins with "./". */
function everyImport(part: string): [from: string, to: string][] {
  return readdirSync(part, { recursive: true, encoding: 'utf8' })
    .filter(name => /(?<!\.d)\.tsx?$/.test(name))
    .map(name => path.join(part, name))
    .flatMap(file =>
      [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, target]): [string, string] => [
        file,
        target!.startsWith('.') ? `./${path.join(file, '..', target!)}` : target!,
      ]),
    );
}

/** The imports of other files of the project. */
function importsOf(part: string): [from: Place, to: Place][] {
  return everyImport(part)
    .filter(([, to]) => to.startsWith('./'))
    .map(([from, to]) => [placeOf(from), placeOf(to)]);
}

/** The folders or files of one directory that import each other: importer -> imported -> an example. */
type Neighbors = Map<string, Map<string, string>>;

/** The neighbors in a part itself and in every directory below. */
function directoriesOf(part: string): Map<string, Neighbors> {
  const directories = new Map<string, Neighbors>();
  for (const [from, to] of importsOf(part)) {
    if (to[0] !== part) continue;
    const depth = from.findIndex((name, i) => name !== to[i]);
    if (depth < 0) continue;
    const directory = from.slice(0, depth).join('/');
    const neighbors: Neighbors = directories.get(directory) ?? new Map();
    directories.set(directory, neighbors);
    const imported = neighbors.get(from[depth]!) ?? new Map<string, string>();
    neighbors.set(from[depth]!, imported.set(to[depth]!, from.join('/')));
  }
  return directories;
}

/** All names that can be reached from one, with an example of each last step. */
function reachableFrom(name: string, neighbors: Neighbors): Map<string, string> {
  const reached = new Map<string, string>();
  const visit = (from: string) => {
    for (const [imported, file] of neighbors.get(from) ?? []) {
      if (reached.has(imported)) continue;
      reached.set(imported, file);
      visit(imported);
    }
  };
  visit(name);
  return reached;
}

for (const part of ['daemon', 'gnome', 'wrapper', 'manifest']) {
  test(`no folder or file of ${part} imports one that leads back to it`, () => {
    const directories = directoriesOf(part);
    assert.ok(directories.has(part), 'no imports were read');
    for (const [directory, neighbors] of directories) {
      const ring = [...neighbors.keys()].filter(name => reachableFrom(name, neighbors).has(name)).sort();
      const steps = ring.map(name => `${reachableFrom(name, neighbors).get(name)} imports ${name}`);
      assert.deepEqual(ring, [], `${directory}: ${steps.join(', ')}`);
    }
  });
}

/**
 * For each folder of a part, and for files directly in it, the neighbors that it may import. A dot means the files directly
 * in the part that lack their own row.
 */
const ALLOWED: Record<string, Record<string, readonly string[]>> = {
  wrapper: {
    system: [],
    catalog: ['system'],
    store: ['system', 'catalog'],
    'context.ts': ['store'],
    run: ['system', 'catalog', 'store', 'context.ts'],
    mcp: ['system', 'catalog', 'store', 'run', 'gateway', 'context.ts'],
    gateway: ['system', 'catalog', 'store', 'run', 'shims', 'context.ts'],
    shims: ['system', 'store', 'run'],
    manage: ['system', 'catalog', 'store', 'run', 'shims', 'context.ts'],
    pool: ['system', 'store', 'run', 'context.ts'],
    commands: ['system', 'catalog', 'store', 'run', 'mcp', 'gateway', 'shims', 'manage', 'pool', 'context.ts'],
    'loader.ts': ['system', 'store'],
    'main.ts': ['system', 'store', 'run', 'manage', 'pool', 'commands', 'context.ts'],
  },
  gnome: { '.': ['.'], panel: ['.'], session: ['.'] },
  manifest: { '.': ['.'], cli: ['.'], 'main.ts': ['.', 'cli'] },
};

for (const [part, rows] of Object.entries(ALLOWED)) {
  test(`each folder of ${part} imports only what it may`, () => {
    const rowOf = (name: string) => (name in rows || !name.endsWith('.ts') ? name : '.');
    for (const [from, to] of importsOf(part)) {
      const [importer, imported] = [rowOf(from[1]!), rowOf(to[1] ?? '')];
      if (to[0] !== part || (importer === imported && importer !== '.')) continue;
      assert.ok(rows[importer]?.includes(imported), `${from.join('/')} imports ${to.join('/')}`);
    }
  });
}

/** Packages made for Node, in a program that runs elsewhere. */
const NODE = /^(?:node:|(?:zod|koa|execa)(?:\/|$))/;

/** Files, what none of them may import, and why. */
const WALLS: [importer: RegExp, imported: RegExp, reason: string][] = [
  [/^daemon\/(?!killswitch\/service\/)/, /^(?:\.\/gnome\/|gi:)/, 'the daemon does not know its panel'],
  [/^daemon\/core\//, /^(?!node:|\.\/daemon\/core\/)/, 'primitives are below all programs'],
  [
    /^daemon\//,
    /^\.\/wrapper\/(?!store\/|catalog\/|run\/candidates\.ts)/,
    'the daemon reads store and catalog, and asks for the order of accounts',
  ],
  [/^daemon\//, /^\.\/manifest\/(?!schema\.ts|verify\.ts)/, 'the daemon uses schema and verify only'],
  [/^daemon\/(?!emulator\/)/, /^\.\/daemon\/emulator\//, 'the daemon spawns the emulator like warp-cli'],
  [/^daemon\/api\//, /^(?!zod(?:\/|$)|\.\/daemon\/api\/)/, 'the contract has zod and itself only'],
  [
    /^daemon\/view\//,
    /^(?!\.\/daemon\/(?:api\/|view\/|core\/(?:address|shape)\.ts$))/,
    'what clients share has the contract, pure primitives, and itself only',
  ],
  [/^daemon\/system\//, /^\.\/(?!daemon\/(?:core|api|system)\/)/, 'the installation is below everything else'],
  [/^daemon\/emulator\//, /^\.\/(?!daemon\/(?:emulator|core)\/)/, 'it shares nothing with what reads warp-cli'],
  [/^daemon\/killswitch\/(?!client\/)/, NODE, 'root runs it on GJS'],
  [
    /^daemon\/killswitch\/(?!client\/)/,
    /^\.\/daemon\/killswitch\/client\//,
    'root runs it without the daemon’s client',
  ],
  [
    /^daemon\/killswitch\/service\//,
    /^\.\/(?!daemon\/killswitch\/(?!client\/))/,
    'root’s service has the pure parts and its own edges',
  ],
  [
    /^daemon\/killswitch\/rules\//,
    /^\.\/(?!daemon\/killswitch\/(?:rules\/|wording\.ts)|daemon\/core\/printable\.ts|data\/killswitch\/)/,
    'the rules have themselves and their wording only',
  ],
  [/^daemon\/webui\//, NODE, 'the page runs in a browser'],
  [
    /^daemon\/webui\//,
    /^\.\/(?!daemon\/(?:webui|api|view)\/|data\/icons\/)/,
    'the page has the contract and what clients share',
  ],
  [/^gnome\//, NODE, 'GJS has no Node'],
  [
    /^gnome\//,
    /^\.\/(?:wrapper|manifest|daemon\/(?!api\/|view\/|core\/errors\.ts))/,
    'the panel has the contract, what clients share, and the failures of all programs',
  ],
  [
    /^wrapper\//,
    /^(?:\.\/(?:daemon\/(?!core\/)|gnome\/|manifest\/(?!schema\.ts|verify\.ts))|gi:)/,
    'the wrapper has the primitives, what verifies a catalog, and itself only',
  ],
  [/^manifest\//, /^(?:\.\/(?:daemon\/(?!core\/)|gnome\/|wrapper\/)|gi:)/, 'the manifest tool likewise'],
];

test('no part imports what it is kept apart from', () => {
  const imports = ['daemon', 'gnome', 'wrapper', 'manifest'].flatMap(everyImport);
  for (const [importer, imported, reason] of WALLS) {
    const files = imports.filter(([from]) => importer.test(from));
    assert.ok(files.length > 0, `${importer} names no file`);
    for (const [from, to] of files) assert.doesNotMatch(to, imported, `${from}: ${reason}`);
  }
});
