// Implements `catalog new`, which writes an entry to the user's catalog.
import { isatty } from 'node:tty';
import { parse } from 'smol-toml';
import { loadCatalog } from '../../catalog/catalog.ts';
import { Provider } from '../../catalog/provider.ts';
import type { Context } from '../../context.ts';
import { findOnPath } from '../../store/installs.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { explainIssues } from '../../system/explain-issues.ts';
import { readText, withLock, writeLinked } from '../../system/files.ts';
import { emit } from '../print.ts';
import { ask } from '../prompt.ts';

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
 * `catalog new NAME`: writes an entry to the user's catalog, from options or, at a terminal, from answers.
 * @throws WrapError `entry-exists`, `no-variables`, `catalog-broken`
 */
export async function newEntry(name: string, options: NewOptions, context: Context): Promise<void> {
  const { paths } = context;
  const catalog = loadCatalog(context.catalog, paths.userCatalog);
  if (Object.hasOwn(catalog.providers, name) || Object.hasOwn(catalog.problems, name)) {
    throw new WrapError('entry-exists', EXIT.usage, `${name} is already in the catalog`, {
      hint: `see \`culvert-wrap catalog show ${name}\`; keys of [providers.${name}] in ${paths.userCatalog} replace those of the shipped entry`,
    });
  }
  const asks = isatty(0) && isatty(2) && !options.json;
  const bin = options.bin ?? (asks ? (await ask(`Command on PATH [${name}]: `)) || name : name);
  let inject = options.inject ?? [];
  if (inject.length === 0 && asks) {
    inject = (await ask('Environment variable that carries the credential: ')).split(/[\s,]+/).filter(Boolean);
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

/** `https://api.example.com/v1` is a base with a path. What is no address stays whole, for the form to refuse. */
function baseLines(address: string): string[] {
  const [, base = address, basePath = ''] = /^(https?:\/\/[^/]+)((?:\/[^/?#]+)*)\/?$/.exec(address) ?? [];
  return [`base = ${toml(base)}`, ...(basePath === '' ? [] : [`base_path = ${toml(basePath)}`])];
}

/** Adds text to the user's catalog, if the whole is right. */
function append(text: string, name: string, { paths }: Context): void {
  withLock(paths.userCatalog, () => {
    const before = readText(paths.userCatalog) ?? '';
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

/** A TOML string. Patterns are easier to read as literal strings. */
function toml(value: string): string {
  return value.includes('\\') && !value.includes("'") ? `'${value}'` : JSON.stringify(value);
}
