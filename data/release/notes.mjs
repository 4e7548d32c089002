// Prints the text of a release: how to install it, how to verify it, and what changed. node data/release/notes.mjs VERSION
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/**
 * @param {string} version
 * @param {{ releases: { source: string }, releaseKeys: { pinned: { key: string, revoked?: boolean }[] } }} project
 * @param {string} changelog
 * @param {{ signature?: string, machines?: string[] }} [release] its SHA256SUMS.minisig, which shows the key that signed it, and the
 *   machines that it has an AppImage for
 * @returns {string} Markdown
 */
export function releaseNotes(version, project, changelog, { signature, machines = [] } = {}) {
  return `${installing(version, project.releases.source, machines)}\n\n${verifying(version, project, signature)}\n\n${changes(version, changelog)}\n`;
}

/** One command for each machine. Without an address, the commands name files to download first. */
function installing(version, source, machines) {
  const at = name => addressOf(source, version, name);
  const from = name => at(name) ?? `./${name}`;
  const fetched = (...names) => (at('x') ? `curl -fL --remote-name-all ${names.map(at).join(' ')} && ` : '');
  const debs = names => names.map(name => `culvert-${version}${name}.deb`);
  const apt = names => {
    const files = debs(names);
    return `${fetched(...files)}sudo apt install ${files.map(file => `./${file}`).join(' ')}`;
  };
  const images = machines.map(machine => ({ machine, image: `culvert-${version}-${machine}.AppImage` }));
  const rows = [
    ['Debian 13 or newer with a desktop', apt(['', '-daemon', '-archive-keyring'])],
    ['a server with Debian 13 or newer', apt(['-daemon', '-archive-keyring'])],
    ...images.map(({ machine, image }) => [
      `another desktop (${machine})`,
      `${fetched(image)}chmod +x ${image} && ./${image}`,
    ]),
    [
      'a container, or only tools and MCP servers with API keys',
      `npm install -g ${from(`culvert-wrap-${version}.tgz`)}`,
    ],
    ['only manifests of releases', `npm install -g ${from(`culvert-manifest-${version}.tgz`)}`],
  ];
  return ['| You have | One command |', '|---|---|', ...rows.map(([what, how]) => `| ${what} | \`${how}\` |`)].join(
    '\n',
  );
}

/** @returns the address of a file, or undefined while the project has none */
function addressOf(source, version, name) {
  if (!source) return undefined;
  const pattern = source.includes('{name}') ? source : `${source.replace(/\/+$/, '')}/{channel}/{name}`;
  // a page of a certain release keeps its files; that of the newest one does not
  return pattern
    .replace('{channel}', 'stable')
    .replace('{name}', name)
    .replace('/releases/latest/download/', `/releases/download/v${version}/`)
    .replace('/-/releases/permalink/latest/', `/-/releases/v${version}/`);
}

/** `culvert-manifest verify` refuses a release of which a file is missing; the others check what is there. */
function verifying(version, { releases: { source }, releaseKeys: { pinned } }, signature) {
  const linked = name => (source ? `[${name}](${addressOf(source, version, name)})` : name);
  const keys = pinned.filter(({ revoked }) => !revoked).map(({ key }) => minisignKey(key));
  const signer = signature && Buffer.from(signature.split('\n')[1] ?? '', 'base64').subarray(2, 10);
  const key = keys.find(text => !signer || Buffer.from(text, 'base64').subarray(2, 10).equals(signer));
  const lines = ['sha256sum -c --ignore-missing SHA256SUMS'];
  if (key) lines.push(`minisign -Vm SHA256SUMS -P ${key}`);
  lines.push('culvert-manifest verify release-manifest.v1.json   # with every file of the release beside it');
  const needed = ['SHA256SUMS', ...(key ? ['SHA256SUMS.minisig'] : [])].map(linked).join(' and ');
  return [`Verify what you have downloaded, with ${needed} beside it:`, '', '```sh', ...lines, '```'].join('\n');
}

/** The same text as that of `manifest/minisign.ts`. */
function minisignKey(base64) {
  const raw = Buffer.from(base64, 'base64');
  const id = createHash('sha256').update(raw).digest().subarray(0, 8);
  return Buffer.concat([Buffer.from('Ed'), id, raw]).toString('base64');
}

/** The section of a version, with its heading. */
function changes(version, changelog) {
  const sections = changelog.split(/^(?=## )/m);
  const found = sections.find(section => section.split(/[ ,\n]/)[1] === version);
  if (!found) throw new Error(`CHANGELOG.md says nothing of ${version}.`);
  return found.trim();
}

if (process.argv[1] === import.meta.filename) {
  const version = process.argv[2];
  const text = file => readFileSync(join(root, file), 'utf8');
  const signature = `dist/${version}/SHA256SUMS.minisig`;
  const signed = existsSync(join(root, signature)) ? text(signature) : undefined;
  const made = existsSync(join(root, `dist/${version}`)) ? readdirSync(join(root, `dist/${version}`)) : [];
  const machines = made.flatMap(file => /-(\w+)\.AppImage$/.exec(file)?.[1] ?? []);
  const project = JSON.parse(text('data/project.json'));
  process.stdout.write(releaseNotes(version, project, text('CHANGELOG.md'), { signature: signed, machines }));
}
