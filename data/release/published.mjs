// Finds the addresses of a release's files, and the keys that sign them.
// node data/release/published.mjs VERSION CHANNEL FILE prints for a recipe: quoted keys, address of the file, contact, homepage.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * @param {string} source as `releases.source` in data/project.json; empty while the project has no address
 * @param {{ version: string, channel: string }} release
 * @param {string} name of the file
 * @returns {string} its address, or an empty text without a source
 */
export function addressOf(source, { version, channel }, name) {
  if (!source) return '';
  const pattern = source.includes('{name}') ? source : `${source.replace(/\/+$/, '')}/{channel}/{name}`;
  // a page of a certain release keeps its files; that of the newest one does not
  return pattern
    .replaceAll('{channel}', channel)
    .replaceAll('{name}', name)
    .replace('/releases/latest/download/', `/releases/download/v${version}/`)
    .replace('/-/releases/permalink/latest/', `/-/releases/v${version}/`);
}

/**
 * @param {string} key public key in Base64
 * @returns {string} the key as `minisign -P` takes it, the same text as that of `manifest/minisign.ts`
 */
export function minisignKey(key) {
  const raw = Buffer.from(key, 'base64');
  const id = createHash('sha256').update(raw).digest().subarray(0, 8);
  return Buffer.concat([Buffer.from('Ed'), id, raw]).toString('base64');
}

/** Returns the public keys that are not revoked. @param {{ key: string, revoked?: boolean }[]} pinned */
export const validKeys = pinned => pinned.filter(({ revoked }) => !revoked).map(({ key }) => key);

if (process.argv[1] === import.meta.filename) {
  const [version, channel, file] = process.argv.slice(2);
  const project = JSON.parse(readFileSync(resolve(import.meta.dirname, '../project.json'), 'utf8'));
  const { homepage, contact, releases, releaseKeys } = project;
  const keys = validKeys(releaseKeys.pinned).map(key => `'${minisignKey(key)}'`);
  const address = addressOf(releases.source, { version, channel }, file) || file;
  console.log([keys.join(' '), address, contact, homepage].join('\n'));
}
