// Bundles a script that loads a second one later. What both need becomes part of the first: esbuild makes a third file of it,
// which costs a request in a browser, and 10 ms in GJS.
import { basename } from 'node:path';
import { build } from 'esbuild';

/**
 * @param settings esbuild's for both scripts; `entryPoints` has the first alone
 * @param first its name there
 * @param later the second one's name: that of its source file, or of its folder for an `index`
 * @param sharer the name of a script that becomes part of the first, but runs when it is imported; the second is loaded after it
 * @param format of the first; the second is a module
 * @returns outputs of esbuild: `FIRST.js`, which imports `./FIRST-LATER.js`, and that; the source files of the two, relative
 * @throws Error when the sources are split in another way
 */
export async function bundleInTwo(settings, { first, later, sharer, format = 'esm' }) {
  const { plugins, entryPoints, define, ...common } = settings;
  const { outputFiles, metafile } = await build({
    ...{ ...settings, format: 'esm', splitting: true, chunkNames: `${first}-[name]`, outdir: settings.absWorkingDir },
    ...{ write: false, metafile: true, sourcemap: settings.sourcemap ? 'inline' : false },
  });
  const texts = Object.fromEntries(outputFiles.map(({ path, text }) => [basename(path), text]));
  const [main, second, chunk] = [`${first}.js`, `${first}-${later}.js`, `${first}-chunk.js`];
  const lazy = sharer && `${first}-${sharer}.js`;
  const parts = [main, chunk, ...(lazy ? [lazy] : [])];
  const [expected, made] = [[...parts, second], Object.keys(texts)].map(names => names.sort().join(' '));
  if (made !== expected) throw new Error(`The bundle should consist of ${expected}, and consists of ${made}.`);
  texts[lazy ?? main] = `import * as shared from './${chunk}';globalThis.culvertShared=shared;${texts[lazy ?? main]}`;
  const assemble = async (file, modules, format) => {
    const entry = { contents: modules[file], sourcefile: file, resolveDir: settings.absWorkingDir };
    const plugins = [inMemory(modules, `./${second}`)];
    const assembled = await build({ ...common, stdin: entry, plugins, outfile: file, format, write: false });
    return assembled.outputFiles;
  };
  return {
    first: await assemble(main, texts, format),
    later: await assemble(second, { ...texts, [chunk]: 'module.exports=globalThis.culvertShared;' }, 'esm'),
    sources: {
      first: parts.flatMap(name => Object.keys(metafile.outputs[name].inputs)),
      all: Object.keys(metafile.inputs),
    },
  };
}

/** Modules that are texts by their file names; `external` stays an import. */
function inMemory(texts, external) {
  return {
    name: 'in memory',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\// }, ({ path }) =>
        path === external ? { path, external: true } : { path: basename(path), namespace: 'memory' },
      );
      onLoad({ filter: /./, namespace: 'memory' }, ({ path }) => ({ contents: texts[path], loader: 'js' }));
    },
  };
}
