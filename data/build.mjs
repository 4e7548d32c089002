// Bundles every program: node data/build.mjs OUTDIR DEPFILE FORMAT COMMIT. Writes a make depfile, so that ninja knows when to.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { bundleProgram, common, programs } from './bundle.mjs';

const root = resolve(import.meta.dirname, '..');
const [out, depfile, format = 'source', commit = ''] = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const define = {
  __VERSION__: JSON.stringify(version),
  __COMMIT__: JSON.stringify(commit),
  __FORMAT__: JSON.stringify(format),
};

const inputs = Object.keys(programs).flatMap(name => bundleProgram(name, resolve(out, name), define));
const gjs = buildSync({
  ...common,
  minifySyntax: true,
  minifyWhitespace: true,
  entryPoints: { panel: 'gnome/panel/main.ts', tray: 'gnome/tray/main.ts' },
  outdir: resolve(out),
  format: 'esm',
  platform: 'neutral',
  target: 'firefox102', // GJS 1.74, the oldest supported
  external: ['gi://*', 'resource://*', 'system', 'gettext', 'cairo'],
  define,
});
inputs.push(...Object.keys(gjs.metafile.inputs).map(file => resolve(root, file)));
if (depfile) {
  const targets = [...Object.keys(programs), 'panel.js', 'tray.js'].map(name =>
    relative(process.cwd(), resolve(out, name)),
  );
  writeFileSync(depfile, `${targets.join(' ')}: ${[...new Set(inputs)].join(' ')} ${join(root, 'package.json')}\n`);
}
