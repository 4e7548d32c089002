// Bundles every program: node data/build/build.mjs OUTDIR DEPFILE FORMAT COMMIT PROFILE. Writes a make depfile, so that ninja knows when to.
// A release's source has the bundles in prebuilt/FORMAT, and where there are no npm packages those are taken.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const [out, depfile, format = 'source', commit = '', profile = 'default'] = process.argv.slice(2);
const inputs = existsSync(join(root, 'node_modules')) ? await bundle() : copy();
if (depfile) {
  // ninja knows a target by its first output
  const target = relative(process.cwd(), resolve(out, 'daemon'));
  writeFileSync(depfile, `${target}: ${[...new Set(inputs)].join(' ')} ${join(root, 'package.json')}\n`);
}

async function bundle() {
  const { bundleGjs, bundlePanel, bundleProgram, bundleShell, programs, SHELL_EXTENSION } = await import(
    './bundle.mjs'
  );
  const { bundleWebui } = await import('./webui.mjs');
  const { profiles } = await import('./profiles.mjs');
  const { npmLicenses } = await import('./licenses.mjs');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { homepage } = JSON.parse(readFileSync(join(root, 'data/project.json'), 'utf8'));
  const define = {
    __VERSION__: JSON.stringify(version),
    __COMMIT__: JSON.stringify(commit),
    __FORMAT__: JSON.stringify(format),
    __CATALOG_TIME__: String(commitTime()),
    ...profiles[profile],
  };
  const debuggable = profile === 'development';
  const sources = Object.keys(programs).flatMap(name => bundleProgram(name, resolve(out, name), define, debuggable));
  sources.push(...bundleGjs(['tray', 'bridge', 'killswitch'], resolve(out), define, debuggable));
  sources.push(...bundlePanel(resolve(out), define, debuggable));
  sources.push(...bundleShell(resolve(out, SHELL_EXTENSION), { version, homepage }, debuggable));
  sources.push(...(await bundleWebui(resolve(out, 'webui'), define, debuggable)));
  writeFileSync(resolve(out, 'licenses.txt'), npmLicenses(sources));
  return sources;
}

/**
 * Returns the time of the commit in seconds since 1970, by which a signed catalog is older or newer than this tree's: packages name it, so
 * that the same commit gives the same bytes. 0 without either.
 */
function commitTime() {
  const named = process.env.SOURCE_DATE_EPOCH;
  if (named) return Number.parseInt(named, 10) || 0;
  try {
    const git = (...words) => execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim();
    // the commits of another repository above an unpacked source say nothing about its time
    if (realpathSync(git('rev-parse', '--show-toplevel')) !== realpathSync(root)) return 0;
    return Number.parseInt(git('log', '-1', '--format=%ct'), 10) || 0;
  } catch {
    return 0;
  }
}

function copy() {
  cpSync(join(root, 'prebuilt', format), resolve(out), { recursive: true });
  return [];
}
