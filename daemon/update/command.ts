// Builds the command that a person runs to update an installation that the daemon can't replace.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Verified } from '../../manifest/verify.ts';
import type { Version } from '../api/schema.ts';
import { quote } from '../view/fix.ts';
import { addressOf, type ReleaseSource } from './source/release.ts';

/** The source of Culvert's own package repository, under the name that its documented subscription gives it. */
const APT_SOURCE = '/etc/apt/sources.list.d/culvert.sources';
/** The same for dnf. */
const DNF_SOURCE = '/etc/yum.repos.d/culvert.repo';
/** Packages that apt upgrades; it skips those that are not installed. */
const DEBIAN_PACKAGES = ['culvert', 'culvert-daemon', 'culvert-archive-keyring'];

type Format = Version['installFormat'];

/**
 * The command that updates an installation, ready to be copied; null if the daemon replaces it, or no release is known.
 * Downloads are pinned to the digest in the signed manifest.
 * @param prefix where this program is installed
 */
export function commandFor(format: Format, prefix: string, release: Verified | null, from: ReleaseSource) {
  if (format === 'source') return sourceCommand(prefix);
  if (release === null) return null;
  const { version } = release;
  const download = (name: string, then: string) => downloadCommand(release, from, [name], then);
  const source = `culvert-${version}-source.tar.gz`;
  // a server has no panel
  const parts = [...(existsSync(join(prefix, 'share/culvert/panel.js')) ? [''] : []), '-daemon', '-archive-keyring'];
  switch (format) {
    case 'deb': {
      if (existsSync(APT_SOURCE))
        return `sudo apt update && sudo apt install --only-upgrade ${DEBIAN_PACKAGES.join(' ')}`;
      const names = parts.map(part => `culvert-${version}${part}.deb`);
      return downloadCommand(release, from, names, `sudo apt install ${names.map(name => `./${name}`).join(' ')}`);
    }
    case 'rpm': {
      if (existsSync(DNF_SOURCE)) return "sudo dnf upgrade --refresh 'culvert*'";
      const build = `SOURCE_DATE_EPOCH=$(date +%s) culvert-${version}/data/rpm/build.sh ${source} culvert.rpm work`;
      return download(
        source,
        `tar xzf ${source} && ${build} && sudo rpm -U ${parts.map(part => `culvert${part}.rpm`).join(' ')}`,
      );
    }
    case 'arch': {
      // the recipe names the address, the digest and the keys of the source
      const recipes = `culvert-${version}-recipes`;
      const build = '{ gpg --import *.asc; makepkg -si; }';
      return download(`${recipes}.tar.gz`, `tar xzf ${recipes}.tar.gz && cd ${recipes} && ${build}`);
    }
    case 'system': {
      const setup = `npm ci && meson setup build/system --prefix ${quote([prefix])} -Dinstall_format=system`;
      return download(
        source,
        `tar xzf ${source} && cd culvert-${version} && ${setup} && sudo meson install -C build/system`,
      );
    }
    default:
      return null; // user and appimage: the daemon replaces these
  }
}

function sourceCommand(prefix: string): string {
  const repository = join(prefix, '../..'); // build/prefix has the tree two levels up
  const enter = existsSync(join(repository, 'culvert-tool')) ? `cd ${quote([repository])} && ` : '';
  return `${enter}git pull && ./culvert-tool build`;
}

/** The names consist of a version, and the address of characters without a meaning for a shell. */
function downloadCommand({ manifest }: Verified, from: ReleaseSource, names: string[], then: string): string | null {
  const artifacts = names.flatMap(name => manifest.artifacts.find(listed => listed.name === name) ?? []);
  if (artifacts.length < names.length) return null;
  const steps = artifacts.map(
    ({ name, sha256 }) => `curl -fLO ${addressOf(from, name).href} && echo '${sha256}  ${name}' | sha256sum -c`,
  );
  return ['cd "$(mktemp -d)"', ...steps, then].join(' && ');
}
