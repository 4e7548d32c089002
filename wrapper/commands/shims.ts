// `install` and `uninstall`.
import { loadCatalog, providerOf } from '../catalog.ts';
import { refreshPlans } from '../compile.ts';
import { readConfig } from '../config.ts';
import { WrapError } from '../errors.ts';
import { findOnPath, install, readInstalls, uninstall } from '../install.ts';
import type { Context } from '../run.ts';
import type { Programs } from '../shim.ts';
import { emit } from './print.ts';

/** `install [cli…]`: with no name, every CLI of the catalog that is on PATH. */
export function installShims(
  names: readonly string[],
  options: { json?: boolean; dir?: string; force?: boolean },
  context: Context,
  programs: Programs,
): void {
  const { paths, env } = context;
  const catalog = loadCatalog(context.catalog, paths.userCatalog);
  const search = env.PATH ?? '';
  const present = Object.keys(catalog.providers).filter(cli => findOnPath(catalog.providers[cli]!.bin, search));
  const wanted = names.length > 0 ? names : [...present, ...Object.keys(readInstalls(paths))];
  const results: { cli: string; change: string; bin: string; original: string }[] = [];
  const failures: WrapError[] = [];
  for (const cli of new Set(wanted)) {
    try {
      const { bin, auth_command: authCommand } = providerOf(catalog, cli);
      const { dir: directory, force } = options;
      results.push({ cli, ...install({ cli, bin, authCommand, paths, programs, search, directory, force }) });
    } catch (error) {
      if (!(error instanceof WrapError)) throw error;
      failures.push(error);
    }
  }
  try {
    refreshPlans(
      results.map(({ cli }) => cli),
      context,
    );
  } catch (error) {
    // The shims work without a plan; whoever broke the configuration is told.
    if (!(error instanceof WrapError)) throw error;
    process.stderr.write(`culvert-wrap: ${error.message}\n`);
  }
  for (const { cli, bin } of results) {
    const first = search.split(':').find(dir => dir && bin.startsWith(`${dir}/`));
    if (!first)
      process.stderr.write(
        `culvert-wrap: ${bin} is not on PATH, so ${cli} is not wrapped yet; add its directory to PATH\n`,
      );
  }
  const text = results.map(({ cli, change, bin }) => `${cli}: ${CHANGES[change as keyof typeof CHANGES]} ${bin}`);
  const failed = failures.map(({ code, message, hint }) => ({ code, message, hint }));
  if (failures.length > 0 && results.length === 0) throw failures[0];
  emit(
    options.json,
    { installed: results, failed },
    text.length > 0 ? text.join('\n') : 'no CLI of the catalog is on PATH',
  );
  // The others are in place; the first failure decides the exit status.
  for (const { message } of failed) process.stderr.write(`culvert-wrap: ${message}\n`);
  if (failures[0]) process.exitCode = failures[0].exit;
}

const CHANGES = {
  installed: 'installed the shim',
  adopted: 'adopted the upgraded original and installed the shim',
  refreshed: 'refreshed the shim',
  unchanged: 'is installed already:',
};

/** `uninstall [cli…]`: with no name, all of them. Accounts stay. */
export function uninstallShims(names: readonly string[], options: { json?: boolean }, context: Context): void {
  const wanted = names.length > 0 ? names : Object.keys(readInstalls(context.paths));
  const results = wanted.map(cli => ({
    cli,
    ...uninstall(cli, binOf(cli, context), context.paths, context.env.PATH ?? ''),
  }));
  const accounts = readAccountsQuietly(context);
  const lines = results.map(({ cli, change, bin, kept }) => {
    if (change === 'not-installed') return `${cli}: is not installed`;
    if (change === 'kept-foreign')
      return `${cli}: ${bin} is not the shim any more and was left alone${kept ? `; the original is kept at ${kept}` : ''}`;
    return `${cli}: ${change === 'restored' ? 'restored' : 'removed'} ${bin}`;
  });
  if (accounts > 0) lines.push(`${accounts} account${accounts === 1 ? '' : 's'} stay in ${context.paths.config}`);
  emit(options.json, { uninstalled: results }, lines.join('\n'));
}

/** A broken catalog must not keep anybody from uninstalling. */
function binOf(cli: string, context: Context): string {
  try {
    return providerOf(loadCatalog(context.catalog, context.paths.userCatalog), cli).bin;
  } catch {
    return cli;
  }
}

function readAccountsQuietly(context: Context): number {
  try {
    return readConfig(context.paths.config).accounts.length;
  } catch {
    return 0;
  }
}
