// Prints the text of a release: how to install it, how to verify it, and what changed. node data/release/notes.mjs VERSION
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { addressOf, minisignKey, validKeys } from './published.mjs';

const root = resolve(import.meta.dirname, '../..');

/**
 * @param {string} version
 * @param {{ releases: { source: string }, releaseKeys: { pinned: { key: string, revoked?: boolean }[] } }} project
 * @param {string} changelog
 * @param {{ channel?: string, signature?: string, machines?: string[] }} [release] its channel, its SHA256SUMS.minisig, which shows
 *   the key that signed it, and the machines that it has an AppImage for
 * @returns {string} Markdown
 */
export function releaseNotes(version, project, changelog, { channel = 'stable', signature, machines = [] } = {}) {
  const at = name => addressOf(project.releases.source, { version, channel }, name);
  return `${installing(version, at, machines)}\n\n${verifying(at, project.releaseKeys.pinned, signature)}\n\n${changes(version, changelog)}\n`;
}

/** One command for each machine. Without an address, the commands name files to download first. */
function installing(version, at, machines) {
  const from = name => at(name) || `./${name}`;
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

/** `culvert-manifest verify` refuses a release of which a file is missing; the others check what is there. */
function verifying(at, pinned, signature) {
  const linked = name => (at(name) ? `[${name}](${at(name)})` : name);
  const keys = validKeys(pinned).map(minisignKey);
  const signer = signature && Buffer.from(signature.split('\n')[1] ?? '', 'base64').subarray(2, 10);
  const key = keys.find(text => !signer || Buffer.from(text, 'base64').subarray(2, 10).equals(signer));
  const lines = ['sha256sum -c --ignore-missing SHA256SUMS'];
  if (key) lines.push(`minisign -Vm SHA256SUMS -P ${key}`);
  lines.push('culvert-manifest verify release-manifest.v1.json   # with every file of the release beside it');
  const needed = ['SHA256SUMS', ...(key ? ['SHA256SUMS.minisig'] : [])].map(linked).join(' and ');
  return [`Verify what you have downloaded, with ${needed} beside it:`, '', '```sh', ...lines, '```'].join('\n');
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
  const made = existsSync(join(root, `dist/${version}`)) ? readdirSync(join(root, `dist/${version}`)) : [];
  const optional = file => (made.includes(file) ? text(`dist/${version}/${file}`) : undefined);
  const [statement] = /\{.*/s.exec(optional('release-manifest.v1.json.sig') ?? '') ?? ['{}'];
  const { channel } = JSON.parse(statement);
  const signature = optional('SHA256SUMS.minisig');
  const machines = made.flatMap(file => /-(\w+)\.AppImage$/.exec(file)?.[1] ?? []);
  const project = JSON.parse(text('data/project.json'));
  process.stdout.write(releaseNotes(version, project, text('CHANGELOG.md'), { channel, signature, machines }));
}
