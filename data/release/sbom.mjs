// Writes the CycloneDX list of what the packages of a release contain: node sbom.mjs LICENSES OUT COMPONENTS…
// LICENSES is licenses.txt of the bundles, COMPONENTS what the build of each AppImage wrote.
// SOURCE_DATE_EPOCH gives its time; the same inputs give the same bytes. https://cyclonedx.org/docs/1.6/json/
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const json = file => JSON.parse(readFileSync(file, 'utf8'));

/** The npm packages that licenses.txt names, with the lockfile's hash of each download. */
function npmComponents(licenses) {
  const { packages } = json(join(root, 'package-lock.json'));
  return [...licenses.matchAll(/^== (\S+) (\S+) \((.*)\)$/gm)].map(([, name, version, license]) => {
    const locked = Object.entries(packages).find(
      ([path, entry]) => path.endsWith(`node_modules/${name}`) && entry.version === version,
    )?.[1];
    const sha512 = /^sha512-(\S+)$/.exec(locked?.integrity ?? '')?.[1];
    const [group, short] = name.startsWith('@') ? name.split('/') : [undefined, name];
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    return {
      type: 'library',
      'bom-ref': purl,
      ...(group && { group }),
      name: short,
      version,
      ...(sha512 && { hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }] }),
      licenses: [{ license: { id: license } }],
      purl,
    };
  });
}

function nodeComponent({ package: name, version, integrity }) {
  const purl = `pkg:npm/${name}@${version}`;
  return {
    type: 'application',
    'bom-ref': purl,
    name: 'node',
    version,
    description: `the Node program of the npm package ${name}, stripped; needs glibc 2.28`,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }],
    licenses: [{ license: { name: 'Node.js license and those of its parts, see LICENSE.node in the image' } }],
    purl,
  };
}

function debianComponent(architecture, { name, version, source, sourceVersion, distribution, licenses }) {
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${distribution}`;
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    licenses: licenses.map(license => ({ license })),
    purl,
    properties: [
      { name: 'culvert:debian-source', value: source },
      { name: 'culvert:debian-source-version', value: sourceVersion },
    ],
  };
}

const [licensesFile, out, ...componentsFiles] = process.argv.slice(2);
const { version, description } = json(join(root, 'package.json'));
const time = new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000).toISOString().replace('.000Z', 'Z');
const npm = npmComponents(readFileSync(licensesFile, 'utf8'));
const own = `pkg:generic/culvert@${version}`;
const images = componentsFiles.map(json).map(({ architecture, node, debian }) => ({
  ref: `${own}#AppImage-${architecture}`,
  bundled: [nodeComponent(node), ...debian.map(each => debianComponent(architecture, each))],
}));
const license = [{ license: { id: 'MIT' } }];

const bom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    timestamp: time,
    lifecycles: [{ phase: 'build' }],
    component: {
      type: 'application',
      'bom-ref': own,
      name: 'culvert',
      version,
      description,
      licenses: license,
      purl: own,
    },
  },
  components: [
    ...npm,
    ...images.flatMap(({ ref, bundled }) => [
      { type: 'application', 'bom-ref': ref, name: 'culvert-AppImage', version, licenses: license },
      ...bundled,
    ]),
  ],
  dependencies: [
    { ref: own, dependsOn: npm.map(component => component['bom-ref']) },
    ...images.map(({ ref, bundled }) => ({ ref, dependsOn: [own, ...bundled.map(part => part['bom-ref'])] })),
  ],
};
const text = JSON.stringify(bom);
// the format wants a unique serial number for each content; the same content gets the same one
const digest = createHash('sha256').update(text).digest('hex');
const variant = ((Number.parseInt(digest[16], 16) & 3) | 8).toString(16);
const uuid = [
  digest.slice(0, 8),
  digest.slice(8, 12),
  `8${digest.slice(13, 16)}`,
  `${variant}${digest.slice(17, 20)}`,
  digest.slice(20, 32),
];
const { $schema, bomFormat, specVersion, ...rest } = bom;
const numbered = { $schema, bomFormat, specVersion, serialNumber: `urn:uuid:${uuid.join('-')}`, ...rest };
writeFileSync(out, `${JSON.stringify(numbered, null, 1)}\n`);
