// Bundles every program: node data/build.mjs OUTDIR DEPFILE FORMAT COMMIT. Writes a make depfile, so that ninja knows when to.
// A release's source has the bundles in prebuilt/FORMAT, and where there are no npm packages those are taken.
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const [out, depfile, format = 'source', commit = ''] = process.argv.slice(2);
const inputs = existsSync(join(root, 'node_modules')) ? await bundle() : copy();
if (depfile) {
  const made = [
    'daemon',
    'cli',
    'emulator',
    'wrap',
    'manifest',
    'panel.js',
    'tray.js',
    'killswitch.js',
    'licences.txt',
  ];
  const targets = made.map(name => relative(process.cwd(), resolve(out, name)));
  writeFileSync(depfile, `${targets.join(' ')}: ${[...new Set(inputs)].join(' ')} ${join(root, 'package.json')}\n`);
}

async function bundle() {
  const { bundleGjs, bundleProgram, gjsPrograms, programs } = await import('./bundle.mjs');
  const { npmLicences } = await import('./licences.mjs');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const define = {
    __VERSION__: JSON.stringify(version),
    __COMMIT__: JSON.stringify(commit),
    __FORMAT__: JSON.stringify(format),
  };
  const sources = Object.keys(programs).flatMap(name => bundleProgram(name, resolve(out, name), define));
  sources.push(...bundleGjs(Object.keys(gjsPrograms), resolve(out), define));
  writeFileSync(resolve(out, 'licences.txt'), npmLicences(sources));
  return sources;
}

function copy() {
  cpSync(join(root, 'prebuilt', format), resolve(out), { recursive: true });
  return [];
}
