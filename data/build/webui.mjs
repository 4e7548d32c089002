// Builds the browser page: the HTML, which the daemon completes; what draws the first state in the daemon; a script for the
// first page, with the styles in it; a script for the further pages; and catalogs of translations. Files that are served as
// they are are compressed here, once.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, transform } from 'esbuild';
import { po } from 'gettext-parser';

const root = resolve(import.meta.dirname, '../..');
/** Older than what Debian ships; light-dark() needs them. */
const target = ['chrome125', 'firefox128'];
/** What every bundle of the page has in common. */
const common = { bundle: true, write: false, charset: 'utf8', legalComments: 'none' };
/** @param debuggable keeps all names, and puts the source map into the script, where a debugger finds it without a request */
const forBrowser = debuggable => ({
  ...{ ...common, target },
  ...(debuggable ? { sourcemap: 'inline' } : { minify: true }),
});
const ICON = 'data/icons/hicolor/scalable/apps/org.culvert.Culvert.svg';

/**
 * Writes the page into `directory`.
 * @param define constants for the bundle, as esbuild takes them
 * @param debuggable whether it is for a development build
 * @returns every source file, absolute
 */
export async function bundleWebui(directory, define = {}, debuggable = false) {
  const { files, sources, first } = await bundleScripts(define, debuggable);
  const add = (stem, extension, content) => {
    const name = `${stem}-${createHash('sha256').update(content).digest('hex').slice(0, 8)}${extension}`;
    files.set(name, Buffer.from(content));
    return name;
  };
  const icon = add('culvert', '.svg', readFileSync(join(root, ICON)));
  const languages = readFileSync(join(root, 'po/LINGUAS'), 'utf8').split(/\s+/).filter(Boolean);
  const parts = new Map();
  const locales = {};
  for (const language of languages) {
    const text = readFileSync(join(root, `po/${language}.po`));
    const tag = language.replace('_', '-');
    locales[tag] = add(language, '.json', JSON.stringify(readCatalog(text, language)));
    parts.set(`index.${tag}.json`, JSON.stringify(readCatalog(text, language, first)));
  }
  const [script] = files.keys();
  const html = readFileSync(join(root, 'daemon/webui/index.html'), 'utf8')
    .replace('{{icon}}', icon)
    .replace('{{script}}', script)
    .replace('{{locales}}', JSON.stringify(locales).replaceAll('"', '&quot;'));
  parts.set('index.html', html);
  const drawing = await bundleDrawing(define);
  parts.set('draw.cjs', drawing.code);
  write(directory, files, parts, debuggable);
  const catalogs = languages.map(language => join(root, `po/${language}.po`));
  return [
    ...sources,
    ...drawing.sources,
    ...catalogs,
    join(root, 'po/LINGUAS'),
    join(root, ICON),
    join(root, 'daemon/webui/index.html'),
  ];
}

/**
 * Bundles the scripts: `app`, which shows the first page, and `pages`, which it loads for the others. What both need is part of
 * `app`: esbuild makes a third file of it, which would cost a request before the first state is shown. `app` is not a module,
 * because a module takes longer until it runs; `pages` finds what both need in a global variable. The two belong together, so
 * both names carry the hash of both.
 * @returns the scripts by name, `app` first; every source file, absolute; those that went into `app`, relative to the root
 */
async function bundleScripts(define, debuggable) {
  const settings = forBrowser(debuggable);
  const { outputFiles, metafile } = await build({
    ...{ ...settings, absWorkingDir: root, entryPoints: { app: 'daemon/webui/main.ts' }, outdir: root },
    ...{
      format: 'esm',
      splitting: true,
      chunkNames: '[name]',
      metafile: true,
      logLevel: 'warning',
      platform: 'browser',
      define,
    },
    plugins: [symbolicIcons, styleAsText(target)],
  });
  const texts = Object.fromEntries(outputFiles.map(({ path, text }) => [basename(path), text]));
  if (Object.keys(texts).sort().join() !== 'app.js,chunk.js,pages.js,start.js')
    throw new Error(`Not the expected scripts: ${Object.keys(texts).join()}`);
  const assemble = async (format, contents, modules) => {
    const plugins = [inMemory(modules, './pages.js')];
    const assembled = await build({ ...settings, format, stdin: { contents, resolveDir: root }, plugins });
    return assembled.outputFiles[0].text;
  };
  const share = "import * as shared from './chunk.js'; globalThis.culvertShared = shared;";
  const app = await assemble('iife', texts['app.js'], { ...texts, 'start.js': share + texts['start.js'] });
  const pages = await assemble('esm', texts['pages.js'], { 'chunk.js': 'module.exports = globalThis.culvertShared;' });
  const hash = createHash('sha256').update(app).update(pages).digest('hex').slice(0, 8);
  const nameOfPages = `pages-${hash}.js`;
  const files = new Map([
    [`app-${hash}.js`, Buffer.from(app.replace('./pages.js', `./${nameOfPages}`))],
    [nameOfPages, Buffer.from(pages)],
  ]);
  const inputs = name => Object.keys(metafile.outputs[name].inputs).map(withoutNamespace);
  return {
    files,
    sources: sourcesOf(Object.keys(metafile.inputs)),
    first: new Set(['app.js', 'start.js', 'chunk.js'].flatMap(inputs)),
  };
}

/** Bundles what draws the first state: the same components as in the script, for the daemon. The further pages stay away. */
async function bundleDrawing(define) {
  const { outputFiles, metafile } = await build({
    ...{ ...common, minify: true, absWorkingDir: root, entryPoints: ['daemon/webui/draw.tsx'], outfile: 'draw.cjs' },
    ...{ format: 'cjs', platform: 'node', target: 'node20', mainFields: ['module', 'main'], define },
    ...{ plugins: [symbolicIcons], external: ['./pages/index.tsx'], metafile: true, logLevel: 'warning' },
  });
  return { code: outputFiles[0].text, sources: sourcesOf(Object.keys(metafile.inputs)) };
}

/** Source files that went into a bundle, absolute. */
function sourcesOf(inputs) {
  return inputs.map(file => resolve(root, withoutNamespace(file)));
}

function withoutNamespace(file) {
  return file.replace(/^symbolic:/, '');
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

/** Files whose texts the page shows, as a catalog names them; panel and tray have their own texts. */
const OF_THE_PAGE = /^daemon\/(apps|doctor|http|view|webui)\//;

/**
 * The translated texts of a catalog that the page shows, or those of them that come from the files `only`, and which plural form each category of Intl.PluralRules takes, so that the page
 * evaluates no expression of the catalog (its policy forbids that).
 */
export function readCatalog(text, language, only) {
  const { headers, translations } = po.parse(text);
  const shown = reference => {
    const files = (reference ?? '').split(/\s+/).map(place => place.replace(/:\d+$/, ''));
    return files.some(file => OF_THE_PAGE.test(file) && (only?.has(file) ?? true));
  };
  const texts = {};
  for (const { msgid, msgstr, comments } of Object.values(translations['']))
    if (msgid && msgstr.every(Boolean) && !comments?.flag?.includes('fuzzy') && shown(comments?.reference))
      texts[msgid] = msgstr.length > 1 ? msgstr : msgstr[0];
  const rule = /plural=([n\d\s()%!=<>&|?:]+);?/.exec(headers['Plural-Forms'] ?? 'nplurals=2; plural=n != 1;')[1];
  const formOf = new Function('n', `return Number(${rule})`); // arithmetic alone: the expression above admits nothing else
  const categories = new Intl.PluralRules(language.replace('_', '-'));
  const plurals = {};
  for (let n = 0; n < 1000; n++) plurals[categories.select(n)] ??= formOf(n);
  return { plurals, texts };
}

/** Symbolic icons as data, `[{d, opacity}]`: the page draws them in its own color, without a request each. */
const symbolicIcons = {
  name: 'symbolic icons',
  setup({ onLoad }) {
    onLoad({ filter: /-symbolic\.svg$/ }, ({ path }) => {
      const paths = [...readFileSync(path, 'utf8').matchAll(/<path ([^>]*)\/>/g)].map(([, attributes]) => ({
        d: / ?\bd="([^"]+)"/.exec(attributes)[1],
        ...(/opacity="/.test(attributes) ? { opacity: Number(/opacity="([^"]+)"/.exec(attributes)[1]) } : {}),
      }));
      return { contents: JSON.stringify(paths), loader: 'json' };
    });
  },
};

/** A style sheet as text in the script, which saves the browser a request. */
function styleAsText(target) {
  return {
    name: 'style as text',
    setup({ onLoad }) {
      onLoad({ filter: /\.css$/ }, async ({ path }) => {
        const { code } = await transform(readFileSync(path, 'utf8'), { loader: 'css', minify: true, target });
        return { contents: code, loader: 'text' };
      });
    },
  };
}

/** @param files served as they are @param parts what the daemon makes the HTML of */
function write(directory, files, parts, debuggable) {
  // small takes a second, which a developer would wait for after each change
  const [gzipLevel, quality] = debuggable ? [1, 4] : [9, constants.BROTLI_MAX_QUALITY];
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of parts) writeFileSync(join(directory, name), content);
  for (const [name, content] of files) {
    const file = join(directory, name);
    writeFileSync(file, content);
    writeFileSync(`${file}.gz`, gzipSync(content, { level: gzipLevel }));
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length, [constants.BROTLI_PARAM_QUALITY]: quality };
    writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
  }
  if (readdirSync(directory).length !== 3 * files.size + parts.size)
    throw new Error(`Something else wrote into ${directory}.`);
}
