// Writes the keys that sign the package repositories, for apt and for what imports text: node data/repository/keyring.mjs BASE
// The files are BASE.pgp and BASE.asc; both are empty while no key is pinned. It prints the fingerprints.
import { writeFileSync } from 'node:fs';
import { certified, keyrings } from './keys.mjs';

const { binary, text } = keyrings();
const [base] = process.argv.slice(2);
writeFileSync(`${base}.pgp`, binary);
writeFileSync(`${base}.asc`, text);
for (const { fingerprint } of certified()) console.log(fingerprint);
