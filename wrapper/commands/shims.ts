// Implements `install` and `uninstall`, which put shims in place of tools and remove them.
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import * as path from 'node:path';
import { isatty } from 'node:tty';
import { isExecutable } from '../../daemon/core/files.ts';
import { type Catalog, catalogOf, providerOf } from '../catalog/catalog.ts';
import { SYSTEM } from '../catalog/knowledge-commands.ts';
import type { Context } from '../context.ts';
import { refreshPlans } from '../manage/compile.ts';
import { closedToOthers, describeClosed, OPEN_TO_OTHERS } from '../shims/check.ts';
import { type InstallResult, install } from '../shims/install.ts';
import { assertInstalled, type Programs } from '../shims/shim.ts';
import { uninstall } from '../shims/uninstall.ts';
import { readConfig } from '../store/config.ts';
import { findOnPath, pathsOf, readInstalls } from '../store/installs.ts';
import { readLastPlan } from '../store/plan.ts';
import { EXIT, say, WrapError } from '../system/errors.ts';
import { emit } from './print.ts';
import { confirm } from './prompt.ts';

/**
 * `install [cli…]`: installs shims. Without a name, it wraps every CLI of the catalog that PATH finds in a directory of the user,
 * after a question at a terminal. CLIs in system directories must be named.
 */
export async function installShims(
  names: readonly string[],
  options: { json?: boolean; dir?: string; force?: boolean },
  context: Context,
  programs: Programs,
): Promise<void> {
  const { paths, env } = context;
  assertInstalled(programs.bundle, 'a shim');
  const catalog = catalogOf(context);
  const search = env.PATH ?? '';
  const clis = names.length > 0 ? names : await findInstallable(catalog, options, context);
  const results: (InstallResult & { cli: string })[] = [];
  const failures: WrapError[] = [];
  for (const cli of new Set(clis)) {
    try {
      const {
        bin,
        auth_command: authCommand,
        package: npmPackage,
        programs_only: isForPrograms,
      } = providerOf(catalog, cli);
      if (isForPrograms) {
        throw new WrapError('no-tool', EXIT.usage, `${cli} has no tool that could be wrapped`, {
          hint: `programs use its accounts with \`culvert-wrap serve ${cli}\``,
        });
      }
      const { dir: directory, force } = options;
      const result = install({ cli, bin, authCommand, npmPackage, paths, programs, search, directory, force });
      results.push({ cli, ...result });
    } catch (error) {
      if (!(error instanceof WrapError)) throw error;
      failures.push(error);
    }
  }
  // A missing configuration may return, so only a named CLI gets a new plan without its accounts.
  const isLost = (cli: string) =>
    names.length === 0 && !existsSync(paths.config) && (readLastPlan(cli, paths)?.accounts.length ?? 0) > 0;
  try {
    refreshPlans(
      results.filter(({ change, cli }) => change !== 'foreign' && !isLost(cli)).map(({ cli }) => cli),
      context,
    );
  } catch (error) {
    // A shim also works without a plan.
    if (!(error instanceof WrapError)) throw error;
    process.stderr.write(`culvert-wrap: ${error.message}\n`);
  }
  for (const { cli, bin, change, shared } of results) {
    const entry = readInstalls(paths)[cli];
    const closed = change !== 'foreign' && entry ? closedToOthers(entry, programs.bundle) : undefined;
    if (closed) {
      say(`${cli}: ${describeClosed(bin, closed)}`);
      say(OPEN_TO_OTHERS);
    } else if (shared && change === 'installed')
      say(`${cli}: other users of ${path.dirname(bin)} run this shim as well, each with accounts of their own or none`);
    if ((change === 'installed' || change === 'adopted') && entry?.kind !== 'beside' && !shared)
      say(
        `${cli}: the next upgrade of ${cli} replaces this shim. One in a directory of its own stays: culvert-wrap uninstall ${cli}, then culvert-wrap install ${cli} --dir ~/.local/bin`,
      );
    reportPath(cli, bin, { search, isNew: change === 'installed' && entry?.kind === 'beside' });
  }
  const text = results.map(({ cli, change, bin }) => `${cli}: ${CHANGES[change]} ${bin}`);
  const failed = failures.map(({ code, message, hint }) => ({ code, message, hint }));
  if (failures.length > 0 && results.length === 0) throw failures[0];
  emit(options.json, { installed: results, failed }, text.length > 0 ? text.join('\n') : 'nothing was installed');
  // Other shims are installed; the first failure sets the exit status.
  for (const { message } of failed) process.stderr.write(`culvert-wrap: ${message}\n`);
  if (failures[0]) process.exitCode = failures[0].exit;
}

/** Reports why a shell doesn't find a shim. @param isNew true if the shim is new, in a directory without the tool */
function reportPath(cli: string, bin: string, { search, isNew }: { search: string; isNew: boolean }): void {
  const directory = path.dirname(bin);
  const found = pathsOf(path.basename(bin), search).find(isExecutable);
  if (!search.split(':').some(dir => dir && bin.startsWith(`${dir}/`)))
    say(`${bin} is not on PATH, so ${cli} is not wrapped yet; add its directory to PATH`);
  else if (isNew && found !== undefined && realpathSync(found) !== realpathSync(bin))
    say(`${cli}: PATH finds ${found} before ${bin}, so ${cli} is not wrapped yet; put ${directory} first on PATH`);
  else if (isNew) say(`${cli}: a shell that has run it before finds the shim after \`hash -r\``);
}

const CHANGES = {
  installed: 'installed the shim',
  adopted: 'adopted the upgraded original and installed the shim',
  refreshed: 'refreshed the shim',
  unchanged: 'is already installed:',
  foreign: 'another user has installed a shim that uses your accounts:',
};

/** Finds the CLIs for `install` without names. */
async function findInstallable(
  catalog: Catalog,
  options: { json?: boolean },
  { paths, env }: Context,
): Promise<string[]> {
  const installed = Object.keys(readInstalls(paths));
  const uid = process.getuid?.();
  const programs = Object.entries(catalog.providers).flatMap(([cli, { bin }]) => {
    const file = findOnPath(bin, env.PATH ?? '');
    return file && !installed.includes(cli) ? [{ cli, file }] : [];
  });
  const isOwn = (file: string) => statSync(path.dirname(file)).uid === uid && !SYSTEM.test(file);
  const own = programs.filter(({ file }) => isOwn(file));
  for (const { cli, file } of programs.filter(each => !own.includes(each))) {
    const command = `culvert-wrap install ${cli}${isWritable(path.dirname(file)) ? '' : ' --dir ~/.local/bin'}`;
    say(`${cli}: ${file} is in a system directory and left alone; \`${command}\` wraps it`);
  }
  if (own.length > 0 && isatty(0) && isatty(2) && !options.json) {
    say(`this puts shims in place of ${own.map(({ file }) => file).join(', ')}`);
    if (!(await confirm('Continue? [y/N] '))) return installed;
  }
  return [...own.map(({ cli }) => cli), ...installed];
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** `uninstall [cli…]`: removes the shims of these CLIs, or all shims, but no accounts. */
export function uninstallShims(names: readonly string[], options: { json?: boolean }, context: Context): void {
  const clis = names.length > 0 ? names : Object.keys(readInstalls(context.paths));
  const results = clis.map(cli => ({
    cli,
    ...uninstall(cli, binOf(cli, context), context.paths, context.env.PATH ?? ''),
  }));
  const accounts = countAccounts(clis, context);
  const lines = results.map(({ cli, change, bin, kept }) => {
    if (change === 'not-installed') return `${cli}: is not installed`;
    if (change === 'kept-foreign')
      return `${cli}: ${bin} is not the shim anymore and was left alone${kept ? `; the original is kept at ${kept}` : ''}`;
    if (change === 'gone') return `${cli}: ${bin} was removed already`;
    return `${cli}: ${change === 'restored' ? 'restored' : 'removed'} ${bin}`;
  });
  if (clis.length === 0) lines.push('no shim is installed');
  if (accounts > 0)
    lines.push(
      `${accounts} ${accounts === 1 ? 'account stays' : 'accounts stay'} in ${context.paths.config}; \`culvert-wrap accounts remove CLI NAME\` removes one`,
    );
  emit(options.json, { uninstalled: results }, lines.join('\n'));
}

/** Returns a CLI's command, or its name if the catalog is broken, which must not prevent an uninstall. */
function binOf(cli: string, context: Context): string {
  try {
    return providerOf(catalogOf(context), cli).bin;
  } catch {
    return cli;
  }
}

/** Counts the accounts of these CLIs. The count is 0 if the configuration can't be read. */
function countAccounts(clis: readonly string[], context: Context): number {
  try {
    return readConfig(context.paths.config).accounts.filter(({ cli }) => clis.includes(cli)).length;
  } catch {
    return 0;
  }
}
