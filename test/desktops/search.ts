// The search of a real GNOME Shell: finds Culvert's provider, shows its results, and acts on one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FakeDaemon } from '../support/gnome/daemon.ts';
import { until } from '../support/until.ts';
import { type Desktop, evaluateMeanwhile as evaluate } from './shells.ts';

/** The part of a visit that a search needs. */
interface Visit {
  desktop: Desktop;
  daemon: FakeDaemon;
  prefix: string;
  /** Directory of `XDG_DATA_DIRS`. */
  system: string;
  /** Directory for pictures. */
  pictures: string;
}

const ID = 'org.culvert.Culvert.desktop';
const OF_TILE = 'culvert@culvert.org';
const PROVIDERS = 'gnome-shell/search-providers';

/** Puts the app and its icons where a package has them. @returns the directory, for `XDG_DATA_DIRS` */
export function installApp(prefix: string, directory: string): string {
  for (const part of [`applications/${ID}`, 'icons/hicolor']) install(prefix, directory, part);
  return directory;
}

function install(prefix: string, directory: string, part: string): void {
  mkdirSync(join(directory, part, '..'), { recursive: true });
  cpSync(join(prefix, 'share', part), join(directory, part), { recursive: true });
}

const SEARCH =
  'const { _searchResults: search } = Main.overview.searchController ?? Main.overview._overview.controls._searchController;';

/** The provider of a package, which the Shell finds by its file. */
export async function searchesAsPackage(visit: Visit): Promise<void> {
  install(visit.prefix, visit.system, PROVIDERS);
  await evaluate(visit.desktop, `{ ${SEARCH} search._reloadRemoteProviders(); null }`);
  await searches(visit, ID);
}

/** The provider that the tile adds where there is no such file. */
export const searchesAsTile = (visit: Visit) => searches(visit, OF_TILE);

async function searches({ desktop, daemon, pictures }: Visit, id: string): Promise<void> {
  const run = (script: string) =>
    evaluate(desktop, `{ ${SEARCH} const provider = search._providers.find(each => each.id === '${id}'); ${script} }`);
  const others = id === ID ? OF_TILE : ID;
  assert.equal(await run(`search._providers.some(each => each.id === '${others}')`), false, 'one provider');
  daemon.onAction = ({ action }) => {
    if (action === 'connect') daemon.set('status', { state: 'connected' });
    if (action === 'disconnect') daemon.set('status', { state: 'disconnected' });
  };
  daemon.set('settings', { Mode: 'warp' });
  daemon.set('status', { state: 'disconnected' });
  await run('Main.overview.show(); null');
  const found = async (words: string, id: string) => {
    let last: unknown;
    await run(`Main.overview.searchEntry.set_text(${JSON.stringify(words)}); null`);
    const isFound = async () => {
      last = await run('(search._results[provider?.id] ?? [])');
      return (last as string[]).includes(id);
    };
    await until(isFound, () => `${id} for “${words}”; there are ${JSON.stringify(last)}`, { limitMs: 30_000 });
  };
  await found('warp', 'action:connect');
  const file = join(pictures, `search-${id}.png`);
  const at = ['--dest', 'org.gnome.Shell.Screenshot', '--object-path', '/org/gnome/Shell/Screenshot'];
  const method = ['--method', 'org.gnome.Shell.Screenshot.Screenshot', 'false', 'false', file];
  execFileSync('gdbus', ['call', '--session', ...at, ...method], { env: desktop.env });
  daemon.actions = [];
  await run(`provider.activateResult('action:connect', ['warp']); null`);
  await until(() => daemon.actions.length > 0, 'the action');
  assert.deepEqual(daemon.actions, [{ action: 'connect' }]);
  await found('dns only', 'mode:doh');
  await run('Main.overview.hide(); null');
}
