// Runs `culvert __install` and `__uninstall` for ./culvert-tool, which install Culvert for this user and remove it.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { assertOwn, readText, removeIfEmpty } from '../../../core/files.ts';
import { parseJson } from '../../../core/shape.ts';
import { linkAt } from '../../../core/undo.ts';
import { prefix } from '../../../system/installation.ts';
import { type Paths, paths as pathsOf } from '../../../system/paths.ts';
import { setAutostart } from '../../../system/session.ts';
import { install, repair, uninstall, withInstallLock } from '../../../update/installation.ts';
import { findDaemon, restartDaemon, stopDaemon, systemctl } from '../../../update/running-daemon.ts';
import { currentOf, mentionsInstall, prune, type UserLayout, userLayout } from '../../../update/user-layout.ts';
import { quote } from '../../../view/fix.ts';
import { EXIT, Failure, usage } from '../../errors.ts';

type Say = (line: string) => void;

/**
 * Installs a tree for this user, or updates the installed tree to its version.
 * @param words the tree: a prefix with bin, share and lib; default: this program's tree
 */
export async function installCommand(words: readonly string[], env: NodeJS.ProcessEnv, say: Say): Promise<number> {
  const [given = prefix, ...more] = words;
  if (more.length > 0 || given.startsWith('-')) throw usage('__install takes the tree to install, or nothing.');
  const tree = resolve(given);
  const layout = userLayout(env);
  assertOwn(layout.root, layout.bin, ...layout.own);
  const version = versionIn(tree);
  const before = currentOf(layout);
  if (mentionsInstall(layout, `${tree}/`)) throw new Failure(`${tree} is installed already.`);

  const kept = await withInstallLock(layout, () => {
    repair(layout);
    const left = install(layout, tree, version);
    prune(layout, prefix);
    return left;
  });

  say(`${before === null ? 'Installed' : 'Updated to'} Culvert ${version} in ${layout.root}.`);
  if (kept.length > 0) say(`Left as they are, because Culvert did not write them: ${kept.join(', ')}`);
  await systemctl('daemon-reload');
  await again(pathsOf(env), layout, say);
  adviseOnPath(layout, env, say);
  return EXIT.ok;
}

/**
 * Removes exactly the files that install wrote and, with `--purge`, configuration and state.
 * @throws Failure before removing anything, if an MCP client or an original command still needs a file
 */
export async function uninstallCommand(words: readonly string[], env: NodeJS.ProcessEnv, say: Say): Promise<number> {
  const purge = words.includes('--purge');
  if (words.some(word => word !== '--purge')) throw usage('__uninstall takes --purge, or nothing.');
  const layout = userLayout(env);
  const isInstalled = currentOf(layout) !== null || existsSync(layout.record);
  if (isInstalled || purge) restoreClients(layout, { env, say, purge });
  const own = layout.own.filter(directory => existsSync(directory) && !isInUse(directory));
  const clean = () => {
    if (!purge) return;
    for (const directory of own) rmSync(directory, { recursive: true, force: true });
  };

  if (!isInstalled) {
    say('Culvert is not installed for this user.');
    const { pendingChanges, stayingText } = await import('../../pending.ts');
    if (purge) for (const line of stayingText(await pendingChanges(env), purge)) say(line);
    clean();
  } else {
    removeShims(layout, env, say);
    removeShortcuts(layout, env, say);
    removeShells(layout, env, say);
    await removeRunning(layout, { env, say, purge });
    const kept = await withInstallLock(layout, () => {
      const changed = uninstall(layout);
      clean();
      return changed;
    });
    await systemctl('daemon-reload');
    say('Removed Culvert.');
    if (kept.length > 0) say(`Left as they are, because they were changed since: ${kept.join(', ')}`);
  }
  if (own.length > 0 && purge) say(`Removed configuration and state: ${own.join(', ')}`);
  if (own.length > 0 && !purge) say(`Configuration and state stay in ${own.join(', ')}; --purge removes them.`);
  return EXIT.ok;
}

function versionIn(tree: string): string {
  try {
    const said = execFileSync(join(tree, 'bin/culvert'), ['--version'], { encoding: 'utf8', timeout: 10_000 });
    const version = /^culvert (\d+\.\d+\.\d+[\w.+-]*)\n$/.exec(said)?.[1];
    if (version && existsSync(join(tree, 'share/culvert/daemon/main.cjs'))) return version;
  } catch {
    // reported below
  }
  throw new Failure(`${tree} is not a built Culvert.`, { hint: 'From its source: ./culvert-tool install' });
}

async function again(paths: Paths, layout: UserLayout, say: Say): Promise<void> {
  const daemon = findDaemon(paths, layout);
  if (daemon === 'other') say('Another Culvert is running. To use this one: culvert stop, then culvert');
  else if (daemon) say(`Started the daemon again; it is ${await restartDaemon(daemon, paths, layout)} now.`);
}

function adviseOnPath({ bin, data }: UserLayout, env: NodeJS.ProcessEnv, say: Say): void {
  const shell = basename(env.SHELL ?? '');
  if (!(env.PATH ?? '').split(delimiter).includes(bin)) {
    say(`${bin} is not in PATH, so "culvert" is not found yet. Add it:`);
    if (shell === 'fish') say(`  fish_add_path ${quote([bin])}`);
    else {
      const line = quote([`export PATH=${quote([bin])}:"$PATH"`]);
      say(`  echo ${line} >> ~/${shell === 'zsh' ? '.zprofile' : '.profile'}   # then log in again`);
    }
  }
  if (shell === 'zsh')
    say(`For completions in zsh, before compinit:  fpath+=(${quote([join(data, 'zsh/site-functions')])})`);
}

/** Restores MCP clients first: accounts may hold the only copy of a client's key, and clients start `culvert-wrap`. */
function restoreClients(
  { current, own }: UserLayout,
  { env, say, purge }: { env: NodeJS.ProcessEnv; say: Say; purge: boolean },
): void {
  const wrap = [current, prefix].map(tree => join(tree, 'bin/culvert-wrap')).find(file => existsSync(file));
  if (wrap === undefined) {
    if (!purge || !own.some(hasOriginals)) return;
    throw new Failure('MCP clients may lack their keys, and there is no culvert-wrap: nothing was removed.', {
      hint: 'Install Culvert again, then run: culvert-wrap mcp uninstall',
    });
  }
  const options = { env, encoding: 'utf8', timeout: 60_000 } as const;
  const { status, stdout, stderr, error } = spawnSync(wrap, ['mcp', 'uninstall', '--yes'], options);
  if (stdout && !stdout.startsWith('No client uses ')) say(`culvert-wrap mcp uninstall reports:\n${stdout.trimEnd()}`);
  if (status === 0) return;
  const why = stderr.trim() || error?.message;
  if (purge) {
    throw new Failure(`Not all MCP clients are restored, so nothing was removed: ${why}`, {
      hint: 'Correct that, then run: culvert-wrap mcp uninstall',
    });
  }
  say(`Not all MCP clients are restored: ${why}`);
}

/** True if culvert-wrap's state has configuration that `mcp install` replaced. */
function hasOriginals(directory: string): boolean {
  return !['', '{}'].includes((readText(join(directory, 'mcp-originals.json')) ?? '').trim());
}

/** Removes shims first: they refer to the tree, and the original commands must keep working. */
function removeShims(layout: UserLayout, env: NodeJS.ProcessEnv, say: Say): void {
  const shims = shimsOf(layout);
  if (shims.length === 0) return;
  say(`culvert-wrap wraps ${shims.join(', ')}: putting the originals back.`);
  try {
    const wrap = join(layout.current, 'bin/culvert-wrap');
    say(execFileSync(wrap, ['uninstall', ...shims], { env, encoding: 'utf8', timeout: 60_000 }).trimEnd());
  } catch (error) {
    throw new Failure('Not all originals could be put back, so nothing was removed.', {
      hint: `Run: culvert-wrap uninstall ${shims.join(' ')}`,
      cause: error,
    });
  }
}

/** Returns the commands whose shims start this installation. */
function shimsOf(layout: UserLayout): string[] {
  const record = layout.own.map(directory => join(directory, 'installs.json')).find(file => existsSync(file));
  const installs = parseJson(record ? readText(record) : null) as Record<string, { bin?: unknown }> | null;
  return Object.entries(installs ?? {})
    .filter(([, entry]) => typeof entry?.bin === 'string' && mentionsInstall(layout, readText(entry.bin) ?? ''))
    .map(([cli]) => cli);
}

/** Removes shortcuts, which start apps through this program. Ignores versions without the command. */
function removeShortcuts({ current }: UserLayout, env: NodeJS.ProcessEnv, say: Say): void {
  try {
    const words = ['apps', 'shortcut', '--remove-all'];
    const options = { env, encoding: 'utf8', timeout: 30_000, stdio: 'pipe' } as const;
    execFileSync(join(current, 'bin/culvert'), words, options);
  } catch (error) {
    const { status, stderr } = error as { status?: number; stderr?: string };
    if (status === EXIT.usage) return;
    say(`Shortcuts of apps through the proxy may be left in the menu: ${(stderr ?? '').trim().split('\n')[0]}`);
  }
}

/** Removes the tile, whose link points into the tree. Ignores versions without the command. */
function removeShells({ current }: UserLayout, env: NodeJS.ProcessEnv, say: Say): void {
  try {
    const options = { env, encoding: 'utf8', timeout: 60_000, stdio: 'pipe' } as const;
    execFileSync(join(current, 'bin/culvert'), ['shell', 'remove'], options);
  } catch (error) {
    const { status, stderr } = error as { status?: number; stderr?: string };
    if (status === EXIT.usage) return;
    say(`A tile in the shell of the desktop may be left: ${(stderr ?? '').trim().split('\n')[0]}`);
  }
}

/** Stops the daemon of this tree, and removes its start at login. */
async function removeRunning(
  layout: UserLayout,
  { env, say, purge }: { env: NodeJS.ProcessEnv; say: Say; purge: boolean },
): Promise<void> {
  const paths = pathsOf(env);
  const daemon = findDaemon(paths, layout);
  const { outcomeOf, outcomeText, pendingChanges } = await import('../../pending.ts');
  const before = await pendingChanges(env);
  if (mentionsInstall(layout, readText(paths.autostart) ?? '')) setAutostart(paths, '', false);
  const config = dirname(dirname(paths.userConfig));
  const wanted = join(config, 'systemd/user/default.target.wants');
  const enabled = join(wanted, 'culvert.service');
  if (linkAt(enabled) === join(layout.data, 'systemd/user/culvert.service')) {
    await systemctl('disable', 'culvert.service');
    rmSync(enabled, { force: true });
    removeIfEmpty(wanted);
  }
  if (daemon && daemon !== 'other') {
    await stopDaemon(daemon);
    say('Stopped the daemon.');
  }
  for (const line of outcomeText(await outcomeOf(before, env), purge)) say(line);
  removeIfEmpty(paths.runtime);
}

/** True while another installation's shims still need the wrapper's accounts and originals. */
function isInUse(directory: string): boolean {
  if (basename(directory) !== 'culvert-wrap') return false;
  return Object.keys(parseJson(readText(join(directory, 'installs.json'))) ?? {}).length > 0;
}
