// Builds the browser page: the HTML, the scripts and the catalogs of translations of the first page and of the further pages, each
// compressed here once.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, transform } from 'esbuild';
import { po } from 'gettext-parser';

const root = resolve(import.meta.dirname, '../..');
/** Older than what Debian ships; light-dark() needs them. */
const target = ['chrome125', 'firefox128'];
const ENTRY = 'daemon/webui/main.tsx';
const ICON = 'data/icons/hicolor/scalable/apps/org.culvert.Culvert.svg';

/**
 * Writes the page into `directory`.
 * @param define constants for the bundle, as esbuild takes them
 * @param debuggable whether it is for a development build
 * @returns every source file, absolute
 */
export async function bundleWebui(directory, define = {}, debuggable = false) {
  const { files, scripts, sources, firstSources } = await bundleScripts(define, debuggable);
  const digest = content => createHash('sha256').update(content).digest('hex').slice(0, 8);
  const add = (stem, extension, content) => {
    const name = `${stem}-${digest(content)}${extension}`;
    files.set(name, Buffer.from(content));
    return name;
  };
  const icon = add('culvert', '.svg', readFileSync(join(root, ICON)));
  const locales = {};
  const catalogs = [];
  for (const language of readFileSync(join(root, 'po/LINGUAS'), 'utf8').split(/\s+/).filter(Boolean)) {
    const catalog = join(root, `po/${language}.po`);
    catalogs.push(catalog);
    const { plurals, texts } = readCatalog(readFileSync(catalog), language);
    const first = readCatalog(readFileSync(catalog), language, firstSources);
    const others = Object.entries(texts).filter(([text]) => !(text in first.texts));
    const parts = [first, { plurals, texts: Object.fromEntries(others) }].map(part => JSON.stringify(part));
    // locale.ts derives the second name from the first
    const stem = `${language}-${digest(parts.join(''))}`;
    for (const [i, part] of parts.entries()) files.set(`${stem}${['', '-further'][i]}.json`, Buffer.from(part));
    locales[language.replace('_', '-')] = `${stem}.json`;
  }
  const template = join(root, 'daemon/webui/index.html');
  const html = readFileSync(template, 'utf8')
    .replace('{{icon}}', icon)
    .replace('{{scripts}}', scripts.join('\n    '))
    .replace('{{locales}}', JSON.stringify(locales).replaceAll('"', '&quot;'));
  files.set('index.html', Buffer.from(html));
  write(directory, files, debuggable);
  return [...sources, ...catalogs, join(root, 'po/LINGUAS'), join(root, ICON), template];
}

/**
 * Bundles the scripts: one for the first page, one that it loads for the other pages, and one that both share.
 * @param debuggable keeps all names, and puts the source map into the script, where a debugger finds it without a request
 * @returns the scripts by name, the elements that load the first ones, every source file, absolute, and the sources of the first
 *   ones, relative to the root
 */
async function bundleScripts(define, debuggable) {
  const { outputFiles, metafile } = await build({
    bundle: true,
    write: false,
    charset: 'utf8',
    legalComments: 'none',
    target,
    sourcemap: debuggable ? 'inline' : false,
    minify: !debuggable,
    absWorkingDir: root,
    entryPoints: { app: ENTRY },
    outdir: root,
    format: 'esm',
    splitting: true,
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    metafile: true,
    logLevel: 'warning',
    platform: 'browser',
    define,
    plugins: [symbolicIcons, styleAsText],
  });
  const [[app, { imports }]] = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => entryPoint === ENTRY);
  const shared = imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
  return {
    firstSources: new Set([app, ...shared].flatMap(path => Object.keys(metafile.outputs[path].inputs))),
    files: new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)])),
    scripts: [
      `<script type="module" src="/${app}"></script>`,
      ...shared.map(path => `<link rel="modulepreload" href="/${path}">`),
    ],
    sources: Object.keys(metafile.inputs).flatMap(file =>
      file.startsWith('icons:') ? iconFiles(file.replace('icons:', '')) : [resolve(root, file)],
    ),
  };
}

/** Files whose texts the page shows, as a catalog names them; panel and tray have their own texts. */
const OF_THE_PAGE = { has: file => /^daemon\/(apps|doctor|http|view|webui)\//.test(file) };

/**
 * The translated texts of a catalog that the page shows, and which plural form each category of Intl.PluralRules takes, so
 * that the page evaluates no expression of the catalog (its policy forbids that).
 * @param only the files whose texts are wanted
 */
export function readCatalog(text, language, only = OF_THE_PAGE) {
  const { headers, translations } = po.parse(text);
  const shown = reference => (reference ?? '').split(/\s+/).some(place => only.has(place));
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

/** Symbolic icons of a folder as data, `{NAME: [{d, opacity}]}`: the page draws them in its own color, without a request each. */
const symbolicIcons = {
  name: 'symbolic icons',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^icons:/ }, ({ path }) => ({ path: path.replace('icons:', ''), namespace: 'icons' }));
    onLoad({ filter: /./, namespace: 'icons' }, ({ path }) => {
      const icons = iconFiles(path).map(file => [basename(file, '.svg'), pathsOf(readFileSync(file, 'utf8'))]);
      return { contents: JSON.stringify(Object.fromEntries(icons)), loader: 'json' };
    });
  },
};

/** The files of a folder in data/icons, absolute; with `?PATTERN` only those of such a name. */
function iconFiles(path) {
  const [folder, names = ''] = path.split('?');
  const directory = join(root, 'data/icons', folder);
  const isWanted = file => file.endsWith('-symbolic.svg') && new RegExp(names).test(file);
  return readdirSync(directory)
    .filter(isWanted)
    .map(file => join(directory, file));
}

function pathsOf(svg) {
  return [...svg.matchAll(/<path ([^>]*)\/>/g)].map(([, attributes]) => ({
    d: / ?\bd="([^"]+)"/.exec(attributes)[1],
    ...(/opacity="/.test(attributes) ? { opacity: Number(/opacity="([^"]+)"/.exec(attributes)[1]) } : {}),
  }));
}

/** A style sheet as text in the script, which saves the browser a request. */
const styleAsText = {
  name: 'style as text',
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, 'utf8'), { loader: 'css', minify: true, target });
      return { contents: code, loader: 'text' };
    });
  },
};

function write(directory, files, debuggable) {
  // small takes a second, which a developer would wait for after each change
  const [gzipLevel, quality] = debuggable ? [1, 4] : [9, constants.BROTLI_MAX_QUALITY];
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of files) {
    const file = join(directory, name);
    writeFileSync(file, content);
    writeFileSync(`${file}.gz`, gzipSync(content, { level: gzipLevel }));
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length, [constants.BROTLI_PARAM_QUALITY]: quality };
    writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
  }
  if (readdirSync(directory).length !== 3 * files.size) throw new Error(`Something else wrote into ${directory}.`);
}
