// Writes the committed OpenAPI document: node --import tsx data/openapi.ts
import { readFileSync, writeFileSync } from 'node:fs';
import { openapi } from '../daemon/api/openapi.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
writeFileSync(new URL('openapi.json', import.meta.url), `${JSON.stringify(openapi(version), null, 2)}\n`);
