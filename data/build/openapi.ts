// Writes the committed OpenAPI document: node --import tsx data/build/openapi.ts; with --check it only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { openapi } from '../../daemon/api/openapi.ts';

const file = new URL('../openapi.json', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const text = `${JSON.stringify(openapi(version), null, 2)}\n`;
if (process.argv[2] !== '--check') writeFileSync(file, text);
else if (readFileSync(file, 'utf8') !== text) {
  console.error('data/openapi.json is out of date. Run: node --import tsx data/build/openapi.ts');
  process.exitCode = 1;
}
