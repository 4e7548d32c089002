// Pins a release key in data/project.json: node data/release/pin.mjs NAME PUBLIC.pub [--private | --signer COMMAND]
// Keys are in the order of their rank: a later key can revoke those before it.
// With the private key on stdin, or a command that signs, the key also signs repositories of packages: it gets a certificate.
// node data/release/pin.mjs --revoke NAME marks a key that was stolen or lost: every further release revokes it, and no package brings it.
import { createHash, createPublicKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { commandSigner, LIFETIME, privateKeys, rawKey } from '../repository/keys.mjs';
import { certificate, signerOf } from '../repository/openpgp.mjs';
import { format } from './project.mjs';

const file = join(resolve(import.meta.dirname, '../..'), 'data/project.json');
const [name, publicFile, how, command] = process.argv.slice(2);
const project = JSON.parse(readFileSync(file, 'utf8'));
const { pinned, threshold } = project.releaseKeys;
const idOf = raw => createHash('sha256').update(raw).digest('hex').slice(0, 16);
if (name === '--revoke') {
  revoke(publicFile);
  process.exit();
}
const raw = rawKey(createPublicKey(readFileSync(publicFile)));
const text = raw.toString('base64');
let pin = pinned.find(({ key }) => key === text);
if (!pin) {
  pin = { name, key: text };
  pinned.push(pin);
}
if (how && !pin.certificate) {
  const signer = how === '--signer' ? commandSigner(command) : signerOf(privateKeys(readFileSync(0, 'utf8'))[0]);
  const created = Number(process.env.SOURCE_DATE_EPOCH ?? Math.floor(Date.now() / 1000));
  const expires = created + LIFETIME;
  const date = seconds => new Date(seconds * 1000).toISOString().replace('.000', '');
  const owner = `Culvert releases, key "${pin.name}" <${project.contact}>`;
  Object.assign(pin, { created: date(created), expires: date(expires) });
  pin.certificate = certificate({ key: raw, created }, owner, expires, signer).toString('base64');
}
writeFileSync(file, format(project));
const lacking = pin.certificate ? '' : '; it signs no package repository until it is pinned with --signer COMMAND';
console.log(`${name}: ${idOf(raw)} is pinned${lacking}`);

/** @param wanted name or id of a pinned key */
function revoke(wanted) {
  const die = why => {
    console.error(`release-key: ${why}`);
    process.exit(1);
  };
  const list = pinned.map(pin => ({ pin, id: idOf(Buffer.from(pin.key, 'base64')) }));
  const at = list.findIndex(({ pin, id }) => wanted === pin.name || wanted === id);
  const known = list.map(({ pin, id }) => `${pin.name} (${id})`).join(', ') || 'none';
  if (at < 0) die(`No key ${wanted} is pinned. Pinned: ${known}.`);
  // installations refuse a revocation by keys of a lower rank
  const above = list.slice(at + 1).filter(({ pin }) => !pin.revoked).length;
  if (above < threshold)
    die(
      `Revoking ${wanted} takes ${threshold} key(s) that are pinned behind it, and there are ${above}. Pinned: ${known}.`,
    );
  list[at].pin.revoked = true;
  writeFileSync(file, format(project));
  console.log(`${list[at].pin.name}: ${list[at].id} is revoked by the next release, and by each one after it`);
}
