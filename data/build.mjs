// Bundles every program: node data/build.mjs OUTDIR DEPFILE FORMAT COMMIT. Writes a make depfile, so that ninja knows when to.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { bundleGjs, bundleProgram, gjsPrograms, programs } from './bundle.mjs';

const root = resolve(import.meta.dirname, '..');
const [out, depfile, format = 'source', commit = ''] = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const define = {
  __VERSION__: JSON.stringify(version),
  __COMMIT__: JSON.stringify(commit),
  __FORMAT__: JSON.stringify(format),
};

const inputs = Object.keys(programs).flatMap(name => bundleProgram(name, resolve(out, name), define));
inputs.push(...bundleGjs(Object.keys(gjsPrograms), resolve(out), define));
if (depfile) {
  const targets = [...Object.keys(programs), ...Object.keys(gjsPrograms).map(name => `${name}.js`)].map(name =>
    relative(process.cwd(), resolve(out, name)),
  );
  writeFileSync(depfile, `${targets.join(' ')}: ${[...new Set(inputs)].join(' ')} ${join(root, 'package.json')}\n`);
}
