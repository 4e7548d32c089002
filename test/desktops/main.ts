// Tray, window and tile in real desktops, and modules in bars: node --import tsx test/desktops/main.ts [NAME…]
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { missing } from '../support/gnome/desktop.ts';
import { visitBars } from './bars.ts';
import { SHELLS } from './shells.ts';
import { visitTile } from './tile.ts';
import { type Step, visit } from './visit.ts';

const wanted = process.argv.slice(2);
const names = [...SHELLS.map(({ name }) => name), 'bars'];
const unknown = wanted.filter(name => !names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no desktop ${unknown.join(', ')}; there are ${names.join(', ')}.`);
  process.exit(2);
}
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);
const pictures = resolve('build/desktops');
mkdirSync(pictures, { recursive: true });

let failed = 0;
const report = ({ name, failure }: Step) => {
  console.log(failure === null ? `  ✔ ${name}` : `  ✖ ${name}\n      ${failure}`);
  if (failure !== null) failed++;
};
for (const shell of SHELLS.filter(({ name }) => isWanted(name))) {
  console.log(shell.name);
  const absent = missing('gdbus', 'xdotool', 'import', ...shell.needs);
  if (absent) {
    console.log(`  ✖ ${absent}`);
    failed++;
    continue;
  }
  const version = spawnSync(shell.needs[0]!, ['--version'], { encoding: 'utf8' }).stdout?.trim().split('\n')[0];
  if (version) console.log(`  ${version}`);
  await visit(shell, pictures, report);
  if (shell.name === 'gnome') await visitTile(pictures, report);
}
if (isWanted('bars')) {
  console.log('bars');
  await visitBars(pictures, report);
}
console.log(`${failed === 0 ? 'PASSED' : `FAILED: ${failed}`}; pictures are in ${pictures}`);
process.exit(failed === 0 ? 0 : 1);
