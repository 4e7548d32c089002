// What a person runs to update where the daemon does not do it: a download whose digest the signed manifest told.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Channel, Verified } from '../../manifest/verify.ts';
import type { Version } from '../api/schema.ts';
import { addressOf } from './release.ts';

/**
 * The command for an installation, ready to be copied; null where there is none.
 * @param prefix where this program is installed
 */
export function commandFor(
  format: Version['installFormat'],
  { manifest, version }: Verified,
  source: string,
  channel: Channel,
  prefix: string,
): string | null {
  const repository = join(prefix, '../..'); // of build/prefix
  switch (format) {
    case 'source':
      return `${existsSync(join(repository, 'culvert-tool')) ? `cd ${quote(repository)} && ` : ''}git pull && ./culvert-tool build`;
    case 'deb':
      return download(`culvert-${version}.deb`, name => `sudo apt install ./${name}`);
    case 'system':
      return download(`culvert-${version}-source.tar.gz`, name => {
        const setup = `npm ci && meson setup build/system --prefix ${quote(prefix)} -Dinstall_format=system`;
        return `tar xzf ${name} && cd culvert-${version} && ${setup} && sudo meson install -C build/system`;
      });
    default:
      return null;
  }

  /** The name is made of a version, and the address of characters that mean nothing to a shell. */
  function download(name: string, then: (name: string) => string): string | null {
    const artifact = manifest.artifacts.find(listed => listed.name === name);
    if (!artifact) return null;
    const url = addressOf(source, channel, name).href;
    return `cd "$(mktemp -d)" && curl -fLO ${url} && echo '${artifact.sha256}  ${name}' | sha256sum -c && ${then(name)}`;
  }
}

function quote(path: string): string {
  return /^[\w/.+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
