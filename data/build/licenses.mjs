// Collects the licenses of the npm packages in the bundles: their notices have to go with every copy.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {readonly string[]} inputs absolute paths of the sources that went into the bundles
 * @returns {string} a heading `== name version (license)` and the license's text for each package, sorted
 */
export function npmLicenses(inputs) {
  const directories = new Set(inputs.map(file => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]));
  directories.delete(undefined);
  const parts = [...directories].map(directory => {
    const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    const file = readdirSync(directory).find(entry => /^(licen[cs]e|copying)(\.\w+)?$/i.test(entry));
    const text = file
      ? readFileSync(join(directory, file), 'utf8').trim()
      : 'The package carries no text of its license.';
    return `== ${name} ${version} (${license})\n\n${text}\n`;
  });
  return `What the bundles of Culvert contain beside its own code.\n\n${parts.sort().join('\n')}`;
}
