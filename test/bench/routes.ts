// Measures how long a preview of 5,000 entries against 5,000 takes. Exits 1 when the bar is not met. Run: ./culvert-tool
// bench routes

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { quiet } from './support/quiet.ts';
import { median, note, report, roundsOf } from './support/report.ts';

const BAR_MS = 50;
const rounds = roundsOf(30);
const directory = mkdtempSync(join(tmpdir(), 'culvert-bench-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

// bundled as the daemon is: what runs TypeScript here adds its own cost to each function
const outfile = join(directory, 'routes.mjs');
buildSync({
  stdin: {
    contents: `export { parseDocument } from './document.ts'; export { preview } from './preview.ts';`,
    resolveDir: resolve('daemon/routes'),
  },
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  minify: true,
  mainFields: ['module', 'main'],
});
const { parseDocument, preview } = await import(pathToFileURL(outfile).href);

await quiet();
const networks = (first: number) =>
  Array.from({ length: 5_000 }, (_, at) => `20.${(first + at) >> 8}.${(first + at) & 255}.0/24`);
const split = { mode: 'exclude', ips: networks(0).map(value => ({ value, description: null })), hosts: [] };
const document = networks(2_500).join('\n');

const times = Array.from({ length: rounds }, () => {
  const started = performance.now();
  const { add, remove } = preview(parseDocument(document), split);
  if (add.length !== 2_500 || remove.length !== 2_500) throw new Error(`${add.length} and ${remove.length}`);
  return performance.now() - started;
});
report('preview of 5,000 entries against 5,000', median(times), BAR_MS, 'ms');
note('the best of them', Math.min(...times), 'ms');
note('the worst of them', Math.max(...times), 'ms');
