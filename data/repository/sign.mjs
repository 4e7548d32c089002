// Signs the indexes of the package repositories: node data/repository/sign.mjs [--signer COMMAND] FILE…
// The private keys are read from stdin as PEM, or the public one of the command. "Release" becomes "InRelease", the signatures in
// it; any other file gets FILE.asc, by the first key alone. SIGNED_AT, in seconds since 1970, is the time of the signatures; else it is now.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { signingKeys } from './keys.mjs';
import { armored, clearsigned, detached } from './openpgp.mjs';

const files = process.argv.slice(2);
const command = files[0] === '--signer' ? files.splice(0, 2)[1] : undefined;
const time = Number(process.env.SIGNED_AT ?? Math.floor(Date.now() / 1000));
try {
  const keys = signingKeys(readFileSync(0, 'utf8'), command);
  for (const file of files) {
    const bytes = readFileSync(file);
    const inside = basename(file) === 'Release';
    const out = inside ? join(dirname(file), 'InRelease') : `${file}.asc`;
    // replaced as a whole, so that a reader of a directory that is served never sees half of it
    // rpm, by which dnf verifies in Fedora, refuses a second signature in a file
    const text = inside
      ? clearsigned(bytes.toString(), keys, time)
      : armored('SIGNATURE', detached(bytes, keys.slice(0, 1), time));
    writeFileSync(`${out}.new`, text);
    renameSync(`${out}.new`, out);
    if (inside) rmSync(file);
  }
} catch (error) {
  console.error(`sign.mjs: ${error.message}`);
  process.exit(1);
}
