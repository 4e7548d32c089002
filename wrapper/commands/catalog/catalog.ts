// `catalog list|show|test`: the catalog's entries, and a test of an installed CLI against its entry.
import { loadCatalog, providerOf } from '../../catalog/catalog.ts';
import type { Context } from '../../context.ts';
import { runProbes } from '../../manage/probe.ts';
import { findOnPath, readInstalls } from '../../store/installs.ts';
import { EXIT, WrapError } from '../../system/errors.ts';
import { emit, table } from '../print.ts';

interface Options {
  json?: boolean;
}

/** `catalog list` */
export function listCatalog(options: Options, context: Context): void {
  const catalog = loadCatalog(context.catalog, context.paths.userCatalog);
  const installs = readInstalls(context.paths);
  const providers = Object.entries(catalog.providers).map(([cli, provider]) => ({
    cli,
    tested: provider.tested,
    origin: catalog.overridden.includes(cli) ? 'user' : 'shipped',
    onPath: findOnPath(provider.bin, context.env.PATH ?? '') !== undefined || cli in installs,
    programsOnly: provider.programs_only,
    installed: cli in installs,
    classes: [...new Set(provider.rules.map(rule => rule.class))],
    accounts: provider.accounts,
  }));
  const rows = providers.map(entry => [
    entry.cli,
    entry.programsOnly ? 'for programs' : entry.installed ? 'shim installed' : entry.onPath ? 'on PATH' : 'not found',
    entry.origin,
    entry.accounts === 'one-per-person' ? '-' : entry.classes.filter(name => name !== 'usage').join(' ') || '-',
    entry.tested.join(' ') || 'untested',
  ]);
  const problems = Object.entries(catalog.problems).map(([cli, problem]) => `${cli} can't be used: ${problem}`);
  emit(
    options.json,
    { providers, problems: catalog.problems },
    [table([['CLI', 'STATE', 'ENTRY', 'MOVES ON AFTER', 'TESTED'], ...rows]), ...problems].join('\n'),
  );
}

/** `catalog show <cli>`: the entry in effect, as JSON. */
export function showCatalog(cli: string, options: Options, context: Context): void {
  const provider = providerOf(loadCatalog(context.catalog, context.paths.userCatalog), cli);
  emit(options.json, { cli, provider }, JSON.stringify(provider, null, 2));
}

/**
 * `catalog test <cli>`: exit 0 when every probe came out as expected, 1 on drift. What programs meet through a gateway is tested
 * as well, where the entry says how they reach the provider.
 * @throws WrapError `no-probes`, `not-on-path`
 */
export async function testCatalog(cli: string, options: Options, context: Context): Promise<void> {
  const provider = providerOf(loadCatalog(context.catalog, context.paths.userCatalog), cli);
  const { http } = provider;
  if (provider.probes.length === 0 && !http) {
    throw new WrapError('no-probes', EXIT.usage, `the catalog has no probes for ${cli}`, {
      hint: `its entry was checked against recordings; add [[providers.${cli}.probes]] to test it here`,
    });
  }
  const search = context.env.PATH ?? '';
  const program = readInstalls(context.paths)[cli]?.original ?? findOnPath(provider.bin, search);
  if (!program && !http) {
    throw new WrapError('not-on-path', EXIT.noInput, `there is no command ${provider.bin} on PATH`, {
      hint: provider.package ? `npm install -g ${provider.package}` : `install ${cli} first`,
    });
  }
  const results = program ? await runProbes(provider, program, search) : [];
  const ofHttp = http ? await (await import('./test-http.ts')).testHttp(cli, { ...provider, http }, context) : [];
  const rows = [
    ...results.map(({ args, status, expect, got, ms }) => ({
      what: `${cli} ${args.join(' ')}`,
      status,
      expect,
      got,
      ms,
    })),
    ...ofHttp.map(result => ({ ...result, what: `http: ${result.what}`, status: '-' })),
  ].map(({ what, status, expect, got, ms }) => [
    got === expect ? 'ok' : 'DRIFT',
    what,
    String(status),
    expect,
    got,
    `${ms} ms`,
  ]);
  const details = results
    .filter(result => result.got !== result.expect)
    .map(result => `\n${cli} ${result.args.join(' ')} (HTTP ${result.status}), exit ${result.exit}:\n${result.stderr}`);
  const drift = rows.filter(([state]) => state === 'DRIFT').length;
  if (!program && !provider.programs_only && provider.probes.length > 0)
    details.push(`\nThere is no command ${provider.bin} on PATH; its probes were not run.`);
  emit(
    options.json,
    { cli, program: program ?? null, drift, results, http: ofHttp },
    [table([['', 'COMMAND', 'HTTP', 'EXPECTED', 'GOT', 'TIME'], ...rows]), ...details].join('\n'),
  );
  if (drift > 0) process.exitCode = EXIT.failure;
}
