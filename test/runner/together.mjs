// Runs bundled test files in one process, one after the other: together.mjs BUNDLE…
// A test with the name of a bundle follows those of its file, so that the runner knows to which file each belongs.
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

for (const bundle of process.argv.slice(2)) {
  await import(pathToFileURL(bundle).href);
  await test(bundle, () => {});
}
