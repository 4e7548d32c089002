// The search of a real GNOME Shell: finds Culvert's provider by its installed file, shows its results, and acts on one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import { evaluateMeanwhile as evaluate } from './shells.ts';
import type { Visit } from './tile.ts';

const ID = 'org.culvert.Culvert.desktop';
const FILES = [`applications/${ID}`, 'gnome-shell/search-providers', 'icons/hicolor'];

/** Puts the files where a package has them. @returns the directory, for `XDG_DATA_DIRS` */
export function installSearch(prefix: string, directory: string): string {
  for (const file of FILES) {
    mkdirSync(join(directory, file, '..'), { recursive: true });
    cpSync(join(prefix, 'share', file), join(directory, file), { recursive: true });
  }
  return directory;
}

export async function searches({ desktop, daemon, pictures }: Visit): Promise<void> {
  const run = (script: string) =>
    evaluate(
      desktop,
      `{ const { _searchResults: search } = Main.overview.searchController ?? Main.overview._overview.controls._searchController;
         const provider = search._providers.find(each => each.id === '${ID}'); ${script} }`,
    );
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
  const file = join(pictures, 'search.png');
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
