// Checks that no top folder has more lines of source than its budget: node data/build/budget.mjs [ROOT]
// A commit that raises a budget says why.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PLACE = 'data/build/budget.json';
const SOURCE = /\.(ts|tsx|mjs|js|css|lua|sh)$/;
const root = process.argv[2] ?? '.';
/** Most lines by top folder. */
const budget = JSON.parse(readFileSync(join(root, PLACE), 'utf8'));

const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 1 << 24,
})
  .split('\0')
  .filter(file => SOURCE.test(file) && file.includes('/') && !file.startsWith('.') && existsSync(join(root, file)));
const lines = {};
for (const file of files) {
  const [folder] = file.split('/');
  lines[folder] = (lines[folder] ?? 0) + readFileSync(join(root, file), 'utf8').split('\n').length - 1;
}

for (const [folder, count] of Object.entries(lines))
  if (!(count <= budget[folder])) {
    console.error(`${folder} has ${count} lines of source; its budget in ${PLACE} is ${budget[folder] ?? 'missing'}.`);
    process.exitCode = 1;
  }
