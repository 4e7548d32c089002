// Implements `catalog list`, `show`, `test` and `new`.
import { isatty } from 'node:tty';
import { parse } from 'smol-toml';
import { readOptional } from '../../../daemon/core/files.ts';
import { ask } from '../../../daemon/core/prompt.ts';
import { catalogOf, providerOf } from '../../catalog/catalog.ts';
import { checkedText } from '../../catalog/fields.ts';
import { Provider } from '../../catalog/provider.ts';
import type { Context } from '../../context.ts';
import { runProbes } from '../../manage/probe.ts';
import { findOnPath, readInstalls } from '../../store/installs.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { explainIssues } from '../../system/explain-issues.ts';
import { withLock, writeLinked } from '../../system/files.ts';
import { emit, type Options, table } from '../print.ts';

/** `catalog list`: shows the entries of the catalog. */
export function listCatalog(options: Options, context: Context): void {
  const catalog = catalogOf(context);
  const installs = readInstalls(context.paths);
  const providers = Object.entries(catalog.providers).map(([cli, provider]) => ({
    cli,
    tested: provider.tested,
    checked: provider.checked ?? null,
    origin: catalog.overridden.includes(cli) ? 'user' : catalog.updated.includes(cli) ? 'signed' : 'shipped',
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
    checkedText(entry.checked ?? undefined),
  ]);
  const problems = Object.entries(catalog.problems).map(([cli, problem]) => `${cli} can't be used: ${problem}`);
  emit(
    options.json,
    { providers, problems: catalog.problems },
    [table([['CLI', 'STATE', 'ENTRY', 'MOVES ON AFTER', 'CHECKED WITH'], ...rows]), ...problems].join('\n'),
  );
}

/** `catalog show <cli>`: prints the entry in effect as JSON. */
export function showCatalog(cli: string, options: Options, context: Context): void {
  const provider = providerOf(catalogOf(context), cli);
  emit(options.json, { cli, provider }, JSON.stringify(provider, null, 2));
}

/**
 * `catalog test <cli>`: runs every probe, and exits with 0 if all results are as expected, or 1 on drift. If the entry has a
 * part `http`, it also tests the access of programs through a gateway.
 * @throws WrapError `no-probes`, `not-on-path`
 */
export async function testCatalog(cli: string, options: Options, context: Context): Promise<void> {
  const provider = providerOf(catalogOf(context), cli);
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

export interface NewOptions {
  json?: boolean;
  bin?: string;
  inject?: string[];
  authCommand?: string;
  passthrough?: string[];
  /** The provider's address, for the gateway. */
  http?: string;
  keyHeader?: string;
}

/**
 * `catalog new NAME`: adds an entry to the user's catalog from options or, at a terminal, from answers.
 * @throws WrapError `entry-exists`, `no-variables`, `catalog-broken`
 */
export async function newEntry(name: string, options: NewOptions, context: Context): Promise<void> {
  const { paths } = context;
  const catalog = catalogOf(context);
  if (Object.hasOwn(catalog.providers, name) || Object.hasOwn(catalog.problems, name)) {
    throw new WrapError('entry-exists', EXIT.usage, `${name} is already in the catalog`, {
      hint: `see \`culvert-wrap catalog show ${name}\`; keys of [providers.${name}] in ${paths.userCatalog} replace those of the shipped entry`,
    });
  }
  const asks = isatty(0) && isatty(2) && !options.json;
  const bin = options.bin ?? (asks ? (await ask(process, `Command on PATH [${name}]: `)) || name : name);
  let inject = options.inject ?? [];
  if (inject.length === 0 && asks) {
    inject = (await ask(process, 'Environment variable that carries the credential: ')).split(/[\s,]+/).filter(Boolean);
  }
  if (inject.length === 0) {
    throw new WrapError('no-variables', EXIT.usage, `${name} needs a variable that carries its credential`, {
      hint: `give --inject VARIABLE, for example: culvert-wrap catalog new ${name} --inject ${name.toUpperCase().replaceAll(/\W/g, '_')}_API_KEY`,
    });
  }
  const auth = options.authCommand ?? 'accounts';
  const passthrough = options.passthrough ?? ['login', 'logout', '--help', '-h', '--version'];
  const lines = [
    `[providers.${toml(name)}]`,
    `bin = ${toml(bin)}`,
    `auth_command = ${toml(auth)}`,
    `inject = [${inject.map(toml).join(', ')}]`,
    '# These run without an account.',
    `passthrough = [${passthrough.map(toml).join(', ')}]`,
    '# Without rules no failure leads to another account. A rule names words of the message:',
    '#   rules = [{ class = "quota", stderr = "quota exceeded" }]',
    '# A tool that logs in to one file of its own instead of reading a variable:',
    `#   prepare_command = "printf %s {${inject[0]}} | ${bin} login --with-token"`,
    '# It runs before the command whenever another account is used (prepare_on = "switch"), or before each command',
    '# ("always"). "once" runs it once for each credential: right only if the tool keeps each login in a place of its own,',
    '# because otherwise the last login is used for every account.',
  ];
  const isForPrograms = options.http !== undefined && options.bin === undefined;
  if (isForPrograms) lines.splice(2, 0, 'programs_only = true');
  if (options.http !== undefined) {
    lines.push('', `[providers.${toml(name)}.http]`, ...baseLines(options.http), `key_variable = ${toml(inject[0]!)}`);
    if (options.keyHeader !== undefined) lines.push(`key_header = ${toml(options.keyHeader.toLowerCase())}`);
  }
  append(lines.join('\n'), name, context);
  const installed = findOnPath(bin, context.env.PATH ?? '') !== undefined;
  emit(
    options.json,
    { cli: name, file: paths.userCatalog },
    [
      `wrote [providers.${name}] to ${paths.userCatalog}`,
      ...(installed || isForPrograms ? [] : [`there is no command ${bin} on PATH yet`]),
      isForPrograms
        ? `next: culvert-wrap accounts add ${name} <account>; culvert-wrap serve ${name}`
        : `next: culvert-wrap install ${name}; ${bin} ${auth} add <name>`,
    ].join('\n'),
  );
}

/** Splits an address such as `https://api.example.com/v1` into a base and a path. Other text stays whole. */
function baseLines(address: string): string[] {
  const [, base = address, basePath = ''] = /^(https?:\/\/[^/]+)((?:\/[^/?#]+)*)\/?$/.exec(address) ?? [];
  return [`base = ${toml(base)}`, ...(basePath === '' ? [] : [`base_path = ${toml(basePath)}`])];
}

/** Adds an entry's text to the user's catalog if the resulting entry is valid. */
function append(text: string, name: string, { paths }: Context): void {
  withLock(paths.userCatalog, () => {
    const before = readOptional(paths.userCatalog) ?? '';
    const after = `${before}${before === '' || before.endsWith('\n\n') ? '' : '\n'}${text}\n`;
    const document: unknown = parse(after);
    const entries = typeof document === 'object' && document !== null ? Reflect.get(document, 'providers') : undefined;
    const parsed = Provider.safeParse({ bin: name, ...Reflect.get(entries ?? {}, name) });
    if (!parsed.success) {
      throw new WrapError('catalog-broken', EXIT.data, `nothing was written: ${explainIssues(parsed.error)}`, {
        hint: 'correct the values and try again',
      });
    }
    writeLinked(paths.userCatalog, after);
  });
  say(`${paths.userCatalog} was changed`);
}

/** Formats a TOML string. Patterns become literal strings, which are easier to read. */
function toml(value: string): string {
  return value.includes('\\') && !value.includes("'") ? `'${value}'` : JSON.stringify(value);
}
