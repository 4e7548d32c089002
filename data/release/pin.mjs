// Pins a release key in data/project.json: node data/release/pin.mjs NAME PUBLIC.pub
// Keys are in the order of their rank: one that is pinned later can revoke those before it.
import { createHash, createPublicKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { format } from './project.mjs';

const file = join(resolve(import.meta.dirname, '../..'), 'data/project.json');
const [name, publicFile] = process.argv.slice(2);
const raw = Buffer.from(createPublicKey(readFileSync(publicFile)).export({ format: 'jwk' }).x, 'base64url');
const project = JSON.parse(readFileSync(file, 'utf8'));
const { pinned } = project.releaseKeys;
const key = raw.toString('base64');
if (!pinned.some(known => known.key === key)) pinned.push({ name, key });
writeFileSync(file, format(project));
console.log(`${name}: ${createHash('sha256').update(raw).digest('hex').slice(0, 16)} is pinned`);
