// Sets the project's address in data/project.json: node data/release/project.mjs URL [MAIL]
// URL is the repository on a forge, whose release pages then serve updates, or the homepage, with releases below it.
// MAIL is the address of the maintainer that packages name.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const top = resolve(import.meta.dirname, '../..');
const file = join(top, 'data/project.json');

/**
 * Address of the files of the newest release, and the hosts that serve them after a redirect. GitLab and Forgejo may
 * store files elsewhere: `curl -sIL ADDRESS` shows the hosts, which belong into redirectHosts.
 * @param {URL} url
 */
export function releasesAt(url) {
  const base = url.href.replace(/\/+$/, '').replace(/\.git$/, '');
  const host = url.host;
  if (host === 'github.com')
    return {
      source: `${base}/releases/latest/download/{name}`,
      // objects… served the files until 2025
      redirectHosts: [host, 'release-assets.githubusercontent.com', 'objects.githubusercontent.com'],
    };
  if (/(^|\.)gitlab\./.test(host))
    return { source: `${base}/-/releases/permalink/latest/downloads/{name}`, redirectHosts: [host] };
  // Forgejo has no address for the newest release; its files are attached to a release named after the channel
  if (host === 'codeberg.org' || /(^|\.)(forgejo|gitea)\./.test(host))
    return { source: `${base}/releases/download/{channel}/{name}`, redirectHosts: [host] };
  return { source: `${base}/releases`, redirectHosts: [] };
}

/**
 * The account that a repository on a forge belongs to, as `@name` or, in a subgroup of GitLab, `@group/subgroup`.
 * @param {URL} url
 * @returns {string | null} null: not a repository on a forge
 */
export function ownerAt(url) {
  const [owner] = /^\/(.+?)\/[^/]+\/?$/.exec(url.pathname)?.slice(1) ?? [];
  return owner && isForge(url) ? `@${owner}` : null;
}

/**
 * Address of the package repository: below the homepage, or the pages of the repository on a forge.
 * @param {URL} url
 */
export function packagesAt(url) {
  const [owner, ...rest] = url.pathname
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .split('/')
    .filter(Boolean);
  if (!isForge(url)) return `${url.href.replace(/\/+$/, '')}/packages`;
  const host = { 'github.com': 'github.io', 'gitlab.com': 'gitlab.io', 'codeberg.org': 'codeberg.page' }[url.host];
  // another forge has its pages where its administrator wants them
  return host ? `https://${owner}.${host}/${rest.join('/')}` : '';
}

/** True where releases are on pages that name each file, and not in directories. */
const isForge = url => releasesAt(url).source.includes('{name}');

/** Turns on the lines of CODEOWNERS that have no owner yet. Lines that have an owner stay as they are. */
export function withOwner(text, owner) {
  return text.replace(/^# (\S+) @OWNER$/gm, `$1 ${owner}`);
}

if (process.argv[1] === import.meta.filename) {
  const [address, contact] = process.argv.slice(2);
  const url = URL.canParse(address ?? '') ? new URL(address) : null;
  if (url?.protocol !== 'https:' || url.search || url.hash || url.username) {
    console.error('Usage: ./culvert-tool project https://ADDRESS [MAIL]');
    process.exit(2);
  }
  const owner = ownerAt(url);
  if (isForge(url) && owner === null) {
    console.error(`${address} is not a repository. Give its whole address, such as https://${url.host}/YOU/culvert.`);
    process.exit(2);
  }
  const project = JSON.parse(readFileSync(file, 'utf8'));
  project.homepage = url.href;
  project.releases = releasesAt(url);
  project.packages = packagesAt(url);
  if (contact) project.contact = contact;
  writeFileSync(file, format(project));
  console.log(`${file}: updates come from ${project.releases.source}`);
  console.log(`Packages come from ${project.packages || 'nowhere yet: set "packages" in it'}`);
  console.log(`The maintainer that packages name is ${project.contact}`);
  const owners = join(top, 'CODEOWNERS');
  if (owner && existsSync(owners)) writeFileSync(owners, withOwner(readFileSync(owners, 'utf8'), owner));
}

/** As the formatter of this repository writes JSON: short objects on one line. */
export function format(project) {
  const line = value => JSON.stringify(value, null, 1).replace(/\n */g, ' ').replace(/\[ /g, '[').replace(/ \]/g, ']');
  const { pinned, threshold } = project.releaseKeys;
  const keys = pinned.map(key => `\n      ${line(key)}`).join(',');
  const releases = line(project.releases);
  const list = project.releases.redirectHosts.map(host => JSON.stringify(host)).join(', ');
  return `{
  "homepage": ${JSON.stringify(project.homepage)},
  "contact": ${JSON.stringify(project.contact)},
  "schemas": ${JSON.stringify(project.schemas)},
  "packages": ${JSON.stringify(project.packages ?? '')},
  "releases": ${releases.length < 100 ? releases : `{\n    "source": ${JSON.stringify(project.releases.source)},\n    "redirectHosts": [${list}]\n  }`},
  "releaseKeys": ${keys === '' ? `{ "threshold": ${threshold}, "pinned": [] }` : `{\n    "threshold": ${threshold},\n    "pinned": [${keys}\n    ]\n  }`}
}
`;
}
