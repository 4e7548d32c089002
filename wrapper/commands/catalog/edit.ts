// Implements `catalog new` and `catalog learn`: write an entry, and propose the rule that recognizes a failure.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import { parse } from 'smol-toml';
import { type Catalog, loadCatalog } from '../../catalog/catalog.ts';
import { Provider } from '../../catalog/provider.ts';
import type { Context } from '../../context.ts';
import { type Failure, proposeRule } from '../../manage/propose-rule.ts';
import { callerEnvironment } from '../../run/accounts/environment.ts';
import { valuesOf } from '../../run/accounts/own-choice.ts';
import { readInvocation } from '../../run/invocation.ts';
import { classify } from '../../run/rules/classify.ts';
import { readConfig } from '../../store/config.ts';
import { findOnPath, readInstalls } from '../../store/installs.ts';
import { resolveAccount, SOURCE_TIMEOUT_MS } from '../../store/secrets.ts';
import { EXIT, say, WrapError } from '../../system/errors.ts';
import { explainIssues } from '../../system/explain-issues.ts';
import { expandHome, readText, withLock, writeLinked } from '../../system/files.ts';
import { storedCredential } from '../accounts/import-stored.ts';
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
    '# Without rules no failure leads to another account:',
    `#   culvert-wrap catalog learn ${name} -- <arguments that fail>`,
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

export interface LearnOptions {
  json?: boolean;
  class?: string;
  /** Add the rule to the user's catalog. */
  write?: boolean;
}

/**
 * `catalog learn CLI -- ARGS`: runs the original and proposes the rule that recognizes its failure.
 * @throws WrapError `not-on-path`, `not-failed`, `nothing-to-learn`
 */
export async function learn(
  cli: string,
  args: readonly string[],
  options: LearnOptions,
  context: Context,
): Promise<void> {
  const { paths, env } = context;
  const catalog = loadCatalog(context.catalog, paths.userCatalog);
  const provider = Object.hasOwn(catalog.providers, cli) ? catalog.providers[cli]! : Provider.parse({ bin: cli });
  const program = readInstalls(paths)[cli]?.original ?? findOnPath(provider.bin, env.PATH ?? '');
  if (!program) {
    throw new WrapError('not-on-path', EXIT.noInput, `there is no command ${provider.bin} on PATH`, {
      hint: `install ${cli} first`,
    });
  }
  const result = await watch(program, args, callerEnvironment(env));
  const outcome = { ...result, signal: null, command: readInvocation(args, provider).command };
  if (result.exit === 0) {
    throw new WrapError('not-failed', EXIT.data, `${cli} succeeded, so there is no failure to learn`, {
      hint: 'run a command that fails, for example with a key that has no quota left',
    });
  }
  const verdict = classify(outcome, provider.rules);
  if (verdict.kind === 'retry') {
    emit(
      options.json,
      { cli, known: verdict.class, rule: null },
      `the catalog knows this failure already: ${verdict.class}`,
    );
    return;
  }
  const rule = proposeRule(result, await secretsFor(cli, { args, catalog }, context), options.class);
  if (!rule) {
    throw new WrapError('nothing-to-learn', EXIT.data, `${cli} failed with exit ${result.exit} and no error message`, {
      hint: 'a rule needs some words on stderr, or in an error in JSON on stdout, that are no part of a credential',
    });
  }
  const text = [
    `[[providers.${toml(cli)}.rules]]`,
    ...Object.entries(rule).map(([key, value]) => `${key} = ${toml(value)}`),
  ].join('\n');
  // The user's rules replace the shipped ones, as every list does, so those have to be carried over by hand.
  const shipped = provider.rules.length > 0 && !catalog.overridden.includes(cli);
  if (options.write && shipped) {
    throw new WrapError('shipped-rules', EXIT.usage, `the shipped rules of ${cli} would be replaced by this one`, {
      hint: `copy them from \`culvert-wrap catalog show ${cli}\` to ${paths.userCatalog}, then add:\n${text}`,
    });
  }
  if (options.write) append(text, cli, context);
  emit(
    options.json,
    { cli, rule, written: options.write === true },
    options.write ? `added to ${paths.userCatalog}:\n${text}` : `${text}\n\n# --write adds it to ${paths.userCatalog}`,
  );
}

/** Variables of other tools that carry a credential, and not the path of a file. */
const SECRET_NAME = /(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PAT)(?:_|$)/i;

/** Credentials that the command may have run with. A message may repeat them; a rule must not. */
async function secretsFor(
  cli: string,
  { args, catalog }: { args: readonly string[]; catalog: Catalog },
  { paths, env, cwd }: Context,
): Promise<string[]> {
  const caller = callerEnvironment(env);
  const provider = Object.hasOwn(catalog.providers, cli) ? catalog.providers[cli] : undefined;
  const variables = new Set(
    Object.values(catalog.providers).flatMap(({ inject, credentials }) => [...inject, ...credentials]),
  );
  const fromEnvironment = Object.entries(caller)
    .filter(([name, value]) => variables.has(name) || (SECRET_NAME.test(name) && !value?.startsWith('/')))
    .map(([, value]) => value ?? '');
  const given = (provider?.own_credential ?? []).flatMap(option =>
    valuesOf(option, args, file => resolve(cwd, expandHome(file, env))),
  );
  const accounts = readConfig(paths.config).accounts.filter(account => account.cli === cli);
  const resolved = await Promise.all(accounts.map(account => resolveAccount(account, caller, SOURCE_TIMEOUT_MS)));
  const ofAccounts = resolved.flatMap(each => (each.ok ? Object.values(each.env) : []));
  const stored = provider && storedCredential(provider, env).value;
  return [...fromEnvironment, ...given, ...ofAccounts, ...(stored === undefined ? [] : [stored])];
}

/** Runs a command with the caller's terminal in view, and keeps what it prints. */
function watch(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Failure> {
  const child = spawn(program, args, { env, stdio: ['inherit', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      texts[name] = (texts[name] + chunk.toString('utf8')).slice(0, 64 * 1024);
      process.stderr.write(chunk);
    });
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', exit => resolve({ exit, ...texts }));
  });
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

/** A TOML value. Patterns are easier to read as literal strings. */
function toml(value: string | number[] | Record<string, string>): string {
  if (Array.isArray(value)) return `[${value.join(', ')}]`;
  if (typeof value === 'object') {
    return `{ ${Object.entries(value)
      .map(([key, item]) => `${key} = ${toml(item)}`)
      .join(', ')} }`;
  }
  return value.includes('\\') && !value.includes("'") ? `'${value}'` : JSON.stringify(value);
}
