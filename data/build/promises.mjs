// Checks that each promise in SECURITY.md names the tests that prove it: node data/build/promises.mjs [ROOT]. A promise is a
// sentence in the second column of the table there. test/promises.json has its tests: row, sentence, file, titles.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

const PLACE = 'test/promises.json';
/** Options and methods of tests that don't run. */
const NEVER = ['skip', 'todo'];
const root = process.argv[2] ?? '.';
const faults = [];
const promises = promisesOf(readFileSync(join(root, 'SECURITY.md'), 'utf8'));
const proofs = JSON.parse(readFileSync(join(root, PLACE), 'utf8'));
/** Titles by the file that has them. */
const known = new Map();

if (promises.size === 0) faults.push('SECURITY.md: no table with the heading "| What | It promises | … |" was found');
for (const [row, sentences] of promises)
  for (const sentence of sentences) {
    const tests = Object.entries(proofs[row]?.[sentence] ?? {});
    if (tests.length === 0) faults.push(`SECURITY.md: no test in ${PLACE} proves "${sentence}" (${row})`);
    for (const [file, titles] of tests) checkTests(sentence, file, titles);
  }
for (const [row, sentences] of Object.entries(proofs))
  for (const sentence of Object.keys(sentences))
    if (!promises.get(row)?.includes(sentence))
      faults.push(`${PLACE}: SECURITY.md does not promise "${sentence}" (${row})`);

for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

/** Promises of the table, by the row. */
function promisesOf(text) {
  const [, table = ''] = text.split(/^\| What \| It promises \|.*\n\|[-| ]+\|\n/m);
  const rows = table
    .split(/\n(?!\|)/, 1)[0]
    .split('\n')
    .filter(Boolean);
  return new Map(
    rows.map(line => {
      const [, row, promise] = line.split('|').map(cell => cell.trim());
      return [row.replaceAll(/\*\*|`/g, ''), promise.split(/(?<=\.)\s+/)];
    }),
  );
}

function checkTests(sentence, file, titles) {
  const place = join(root, file);
  if (!/^test\/.*\.ts$/.test(file) || !existsSync(place)) {
    faults.push(`${PLACE}: there is no test file "${file}", which proves "${sentence}"`);
    return;
  }
  if (!known.has(file)) known.set(file, titlesIn(file, readFileSync(place, 'utf8')));
  if (titles.length === 0) faults.push(`${PLACE}: name the tests in ${file} that prove "${sentence}"`);
  for (const title of titles)
    if (!known.get(file).has(title))
      faults.push(`${PLACE}: ${file} has no test "${title}", which proves "${sentence}"`);
}

/** Each string that can be a title, as tables have some of them; a template counts as it is written. Tests that never run don't. */
function titlesIn(file, text) {
  const titles = new Set();
  const skipped = new Set();
  const add = (title, start) => skipped.has(start) || titles.add(title);
  new Visitor({
    CallExpression({ callee, arguments: [first, second] }) {
      const never = second?.properties?.some(({ key, value }) => NEVER.includes(key?.name) && value.value);
      if (first && (never || NEVER.includes(callee.property?.name))) skipped.add(first.start);
    },
    Literal: ({ value, start }) => typeof value === 'string' && add(value, start),
    TemplateLiteral: ({ start, end }) => add(text.slice(start + 1, end - 1), start),
  }).visit(parseSync(file, text).program);
  return titles;
}
