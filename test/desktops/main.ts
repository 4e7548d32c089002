// Tray, window, applet and tile in real desktops: node --import tsx test/desktops/main.ts [NAME…]
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { missing } from '../support/gnome/desktop.ts';
import { visitApplet } from './applet.ts';
import { SHELLS } from './shells.ts';
import { visitTile } from './tile.ts';
import { type Step, visit } from './visit.ts';

const wanted = process.argv.slice(2);
const unknown = wanted.filter(name => !SHELLS.some(shell => shell.name === name));
if (unknown.length > 0) {
  console.error(`There is no desktop ${unknown.join(', ')}; there are ${SHELLS.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}
const pictures = resolve('build/desktops');
mkdirSync(pictures, { recursive: true });

let failed = 0;
for (const shell of SHELLS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  console.log(shell.name);
  const absent = missing('gdbus', 'xdotool', 'import', ...shell.needs);
  if (absent) {
    console.log(`  ✖ ${absent}`);
    failed++;
    continue;
  }
  const version = spawnSync(shell.needs[0]!, ['--version'], { encoding: 'utf8' }).stdout?.trim().split('\n')[0];
  if (version) console.log(`  ${version}`);
  const report = ({ name, failure }: Step) => {
    console.log(failure === null ? `  ✔ ${name}` : `  ✖ ${name}\n      ${failure}`);
    if (failure !== null) failed++;
  };
  await visit(shell, pictures, report);
  if (shell.name === 'gnome') await visitTile(pictures, report);
  if (shell.name === 'plasma') await visitApplet(shell.env, pictures, report);
}
console.log(`${failed === 0 ? 'PASSED' : `FAILED: ${failed}`}; pictures are in ${pictures}`);
process.exit(failed === 0 ? 0 : 1);
