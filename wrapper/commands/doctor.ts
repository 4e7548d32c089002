// Implements `doctor`, which finds problems of shims, accounts and files, and suggests fixes.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { reason } from '../../daemon/core/errors.ts';
import { isReadableByOthers, isWritableByOthers } from '../../daemon/core/files.ts';
import { masked } from '../../daemon/core/printable.ts';
import { type Catalog, catalogOf, providerOf } from '../catalog/catalog.ts';
import { readUpdated } from '../catalog/updated.ts';
import type { Context } from '../context.ts';
import { checkGateways } from '../gateway/check.ts';
import { probeAccount } from '../manage/confirm.ts';
import { readQueue } from '../manage/queue.ts';
import { readContent } from '../mcp/client-content.ts';
import { filesOf } from '../mcp/clients.ts';
import { isOurs } from '../mcp/entry.ts';
import { readOriginals } from '../mcp/record.ts';
import { poolStatus } from '../pool/status.ts';
import { knownFor, type OwnChoice, ownChoice, type Ruling, ruleOn } from '../run/accounts/own-choice.ts';
import { callerEnvironment } from '../run/accounts/ready.ts';
import { checkInstalls, checkShim, type Finding, foreignFinding } from '../shims/check.ts';
import type { Programs } from '../shims/shim.ts';
import { type Account, readConfig } from '../store/config.ts';
import { describePause } from '../store/describe.ts';
import { findOnPath, foreignShim, readInstalls } from '../store/installs.ts';
import { hasLogins, loginProblem } from '../store/logins.ts';
import { whoseAccount } from '../store/plan.ts';
import { orphanedSecrets, resolveAccount, SOURCE_TIMEOUT_MS } from '../store/secrets.ts';
import { effectiveDefault, readState } from '../store/state.ts';
import { unreadableAuthorities } from '../system/connections.ts';
import { EXIT, WrapError } from '../system/errors.ts';
import { expandHome } from '../system/notation.ts';
import { limitCoreDumps } from '../system/redact.ts';
import { emit, number, pauseText, resetText, wrapped } from './print.ts';
import { checkVersions } from './tool-versions.ts';

/** Prints findings, and sets exit status 1 if one is a problem. */
export async function doctor(
  options: { json?: boolean; probe?: boolean },
  context: Context,
  programs: Programs,
): Promise<void> {
  const { paths } = context;
  const all: Finding[] = [
    ...attempt(() => checkCatalog(context)),
    ...Object.entries(readInstalls(paths)).flatMap(([cli, entry]) => checkShim(cli, entry, context, programs)),
    ...checkInstalls(paths.installs),
    ...checkModes([
      paths.configDir,
      paths.config,
      paths.secrets,
      paths.state,
      paths.accounts,
      paths.queue,
      paths.audit,
    ]),
    ...checkSecretFiles(paths.secrets),
    ...checkWriters([paths.configDir, paths.config, paths.userCatalog, paths.catalogUpdates]),
    ...checkQueue(paths),
    ...attempt(() => checkConfiguration(context)),
    ...attempt(() => checkOwnChoices(context)),
    ...attempt(() => checkClients(context)),
    ...checkWayOut(context),
  ];
  try {
    all.push(...(await checkAccounts(context, options.probe === true)), ...(await checkVersions(context)));
    all.push(...(await checkGateways(context)), ...(await checkCoreDumps(context)));
    all.push(...(await checkPool(context)));
  } catch (error) {
    all.push(asFinding(error));
  }
  // report a finding once, even if several checks have it
  const findings = all.filter(({ what }, index) => all.findIndex(other => other.what === what) === index);
  const problems = findings.filter(finding => finding.level === 'problem').length;
  const mark = { ok: 'ok      ', warning: 'warning ', problem: 'PROBLEM ' };
  const text = findings
    .map(({ level, what, fix }) => wrapped(`${mark[level]}${what}${fix ? `\n        ${fix}` : ''}`, 8))
    .join('\n');
  emit(
    options.json,
    { problems, findings },
    text || 'No tool is installed and there is no account.\nStart with: culvert-wrap install firecrawl',
  );
  if (problems > 0) process.exitCode = EXIT.failure;
}

/** Finds entries of MCP clients that start culvert-wrap where it is not anymore. */
function checkClients(context: Context): Finding[] {
  const contents = filesOf(readOriginals(context.paths), catalogOf(context), context).map(readContent);
  return contents.flatMap(({ file, entries }) =>
    entries.flatMap(({ server, line }): Finding[] => {
      if (!line || !isOurs(line) || !path.isAbsolute(line.command) || fs.existsSync(line.command)) return [];
      const what = `"${masked(server)}" of ${file.file} starts ${masked(line.command)}, which does not exist`;
      const where = file.isShared ? ' in its project' : '';
      return [{ level: 'problem', what, fix: `run \`culvert-wrap mcp install\`${where}` }];
    }),
  );
}

/** Checks the variables for certificates and proxies. Findings leave out their values, which may contain a login. */
function checkWayOut({ env }: Context): Finding[] {
  const unreadable = unreadableAuthorities(callerEnvironment(env)).map(
    (name): Finding => ({
      level: 'warning',
      what: `${name} names a file or directory that can't be read, so its certificates are not trusted`,
      fix: 'correct the variable, or run `culvert trust apply`',
    }),
  );
  const socks = ['all_proxy', 'ALL_PROXY'].find(name => /^\s*socks/i.test(env[name] ?? ''));
  const others = ['https_proxy', 'HTTPS_PROXY'].some(name => env[name]);
  if (socks === undefined || others) return unreadable;
  const what = `${socks} names a SOCKS proxy, which culvert-wrap and programs in Node.js do not use`;
  return [...unreadable, { level: 'warning', what, fix: 'name an HTTP proxy in HTTPS_PROXY' }];
}

/** Tests on this process whether gateways and MCP servers can limit their core dumps. */
async function checkCoreDumps({ paths }: Context): Promise<Finding[]> {
  if (readConfig(paths.config).accounts.length === 0) return [];
  const problem = await limitCoreDumps();
  if (problem === undefined) return [];
  const what = `a core dump of a gateway, or of culvert-wrap before an MCP server, would hold keys: ${problem}`;
  return [{ level: 'warning', what, fix: 'install util-linux, which has prlimit' }];
}

function checkCatalog(context: Context): Finding[] {
  const catalog = catalogOf(context);
  const broken = Object.entries(catalog.problems).map(
    ([cli, why]): Finding => ({
      level: 'problem',
      what: `the catalog entry of ${cli} can't be used: ${why}`,
      fix: `correct it in ${context.paths.userCatalog}`,
    }),
  );
  const whole: Finding = { level: 'ok', what: `catalog: ${Object.keys(catalog.providers).length} entries` };
  return [...(broken.length > 0 ? broken : [whole]), ...checkSignedCatalog(context)];
}

/** Says whether a signed catalog is in use, and why not. */
function checkSignedCatalog({ paths }: Context): Finding[] {
  const { updated, outdated, problem } = readUpdated(paths.catalogUpdates);
  if (problem !== undefined)
    return [
      {
        level: 'problem',
        what: `the catalog that you took is not used: ${problem}`,
        fix: `take it again, or remove ${paths.catalogUpdates}`,
      },
    ];
  if (outdated)
    return [{ level: 'ok', what: 'the catalog that you took is older than that of this version, which is used' }];
  return updated
    ? [{ level: 'ok', what: `catalog of ${updated.generatedAt}, taken by \`culvert-wrap catalog update\`` }]
    : [];
}

function checkModes(files: string[]): Finding[] {
  return files
    .filter(isReadableByOthers)
    .map(file => ({ level: 'warning' as const, what: `others can read ${file}`, fix: `chmod go= ${file}` }));
}

/** Checks that no other user can write the files that select programs and accounts. */
function checkWriters(files: string[]): Finding[] {
  return files.filter(isWritableByOthers).map(file => ({
    level: 'problem' as const,
    what: `others can change ${file}`,
    fix: `chown and chmod go-w ${file}`,
  }));
}

function checkSecretFiles(dir: string): Finding[] {
  return fs.existsSync(dir) ? checkModes(fs.readdirSync(dir).map(name => path.join(dir, name))) : [];
}

async function checkAccounts(context: Context, probe: boolean): Promise<Finding[]> {
  const { paths, env } = context;
  const config = readConfig(paths.config);
  const catalog = catalogOf(context);
  return Promise.all(
    config.accounts.map(async (account): Promise<Finding> => {
      const what = `${account.cli} account "${account.name}"`;
      if (!account.enabled) return { level: 'ok', what: `${what} is disabled` };
      const resolved = await resolveAccount(account, callerEnvironment(env), SOURCE_TIMEOUT_MS);
      if (!resolved.ok)
        return { level: 'problem', what: `${what}: ${resolved.problem}`, fix: 'correct its source, or disable it' };
      const exposed = Object.values(account.env).filter(
        source =>
          source.startsWith('file:') && isReadableByOthers(expandHome(source.slice(5, source.lastIndexOf('#')), env)),
      );
      const provider = Object.hasOwn(catalog.providers, account.cli) ? catalog.providers[account.cli]! : undefined;
      const unusable = provider && loginProblem(provider, account, env);
      if (unusable !== undefined)
        return { level: 'problem', what: `${what}: ${unusable}`, fix: 'log in again, or disable it' };
      if (exposed.length > 0) {
        return { level: 'warning', what: `${what}: others can read ${exposed.join(', ')}`, fix: 'chmod go= that file' };
      }
      if (account.login !== undefined)
        return {
          level: 'ok',
          what: `${what}: its login is in ${account.login} (whether it works, only ${account.cli} knows)`,
        };
      if (probe) return probed(what, account, resolved.env, { catalog, context });
      const paused = describePause(readState(paths, account.cli).paused[account.name], context.now());
      return paused
        ? {
            level: 'warning',
            what: `${what}: its credential can be read, but it is paused ${pauseText(paused)}`,
            fix: `\`culvert-wrap accounts wake ${account.cli} ${account.name}\` ends that`,
          }
        : { level: 'ok', what: `${what}: its credential can be read (--probe asks whether it works)` };
    }),
  );
}

/** Reports the user's own choices in the environment that compete with the accounts of a tool. */
function checkOwnChoices(context: Context): Finding[] {
  const { accounts, tools } = readConfig(context.paths.config);
  const { providers } = catalogOf(context);
  return Object.entries(providers)
    .filter(([, { programs_only: isForPrograms }]) => !isForPrograms)
    .map(([cli, provider]) => ({ cli, provider, accounts: accounts.filter(account => account.cli === cli) }))
    .filter(tool => tool.accounts.some(({ enabled }) => enabled))
    .flatMap((tool): Finding[] => {
      const plan = { ...tool, ...whoseAccount(tool.provider, tools[tool.cli], tool.accounts) };
      const known = knownFor(plan, effectiveDefault(tool.accounts, readState(context.paths, tool.cli)));
      const own = ownChoice(known, [], context.env);
      if (!own) return [];
      const { runs, line } = ruleOn(own, { by: 'default' }, known);
      return [{ level: 'warning', what: line, fix: fixFor(own, runs) }];
    });
}

function fixFor({ hosts, accounts, fixed }: OwnChoice, runs: Ruling['runs']): string {
  if (fixed?.why === 'other-host') return 'remove the address from that file where an account is meant';
  const isInFile = [...hosts, ...accounts].every(name => name.includes(' in '));
  const remedy = isInFile ? 'remove it from that file' : 'unset it';
  return runs === 'original' && !fixed
    ? `${remedy}, name an account with CULVERT_WRAP_ACCOUNT, or see [tools] in culvert-wrap(1)`
    : `${remedy}, or see [tools] in culvert-wrap(1)`;
}

async function checkPool(context: Context): Promise<Finding[]> {
  const pool = await poolStatus(context);
  if (!pool) return [];
  if (pool.reachable) return [{ level: 'ok', what: `the pool at ${pool.address} can be reached` }];
  return [
    {
      level: 'problem',
      what: `the pool at ${pool.address} can't be reached: ${pool.problem}`,
      fix: 'start the store, or correct the address with `culvert-wrap pool join`',
    },
  ];
}

async function probed(
  what: string,
  account: Account,
  credentials: Record<string, string>,
  { catalog, context }: { catalog: Catalog; context: Context },
): Promise<Finding> {
  const answer = await probeAccount(providerOf(catalog, account.cli), account, credentials, context);
  if (answer.ok === undefined) return { level: 'ok', what: `${what}: the catalog knows no way to ask about it` };
  if (!answer.ok && !answer.unusable)
    return {
      level: 'warning',
      what: `${what}: ${answer.problem}`,
      fix: 'whether it works is not known; try again later',
    };
  if (!answer.ok)
    return { level: 'problem', what: `${what}: ${answer.problem}`, fix: 'correct its credential, or disable it' };
  if (!answer.remaining) return { level: 'ok', what: `${what}: works` };
  const { remaining, limit, resets } = answer.remaining;
  const reset = resets ? `resets ${resetText(resets, context.now())}` : undefined;
  const rest = `${number(remaining)} of ${number(limit)} left${reset ? `, ${reset}` : ''}`;
  return remaining !== null && remaining <= 0
    ? { level: 'warning', what: `${what}: works, but has nothing left${reset ? `; ${reset}` : ''}` }
    : { level: 'ok', what: `${what}: works, ${rest}` };
}

function checkQueue(paths: Context['paths']): Finding[] {
  return readQueue(paths).damaged.map(({ id, file, why }) => ({
    level: 'problem' as const,
    what: `the queued command ${file} is damaged: ${why}`,
    fix: `\`culvert-wrap queue drop ${id}\` removes it`,
  }));
}

/** Finds unknown tools, tools without rules or a shim, and stored secrets without an account. */
function checkConfiguration(context: Context): Finding[] {
  const { accounts, capacity, pool, tools } = readConfig(context.paths.config);
  const catalog = catalogOf(context);
  const named = [
    ...accounts.map(({ cli }) => cli),
    ...Object.keys(capacity),
    ...Object.keys(pool?.accounts ?? {}),
    ...Object.keys(tools),
  ];
  const unknown = [...new Set(named)].filter(
    cli => !Object.hasOwn(catalog.providers, cli) && !Object.hasOwn(catalog.problems, cli),
  );
  const used = [...new Set(accounts.map(account => account.cli))].filter(
    cli => !Object.hasOwn(catalog.providers, cli) || !catalog.providers[cli]!.programs_only,
  );
  const withoutRules = used.filter(
    cli => Object.hasOwn(catalog.providers, cli) && catalog.providers[cli]!.rules.every(rule => rule.class === 'usage'),
  );
  const installs = readInstalls(context.paths);
  const withoutShim = used.filter(cli => !Object.hasOwn(installs, cli) && !unknown.includes(cli));
  return [
    ...unknown.map(cli => ({
      level: 'warning' as const,
      what: `${context.paths.config} names "${cli}", which is not in the catalog`,
      fix: `correct the name (\`culvert-wrap catalog list\` has them), or run \`culvert-wrap catalog new ${cli}\``,
    })),
    ...Object.entries(tools)
      .filter(([cli, { failover }]) => failover && hasLogins(accounts.filter(account => account.cli === cli)))
      .map(([cli]) => ({
        level: 'warning' as const,
        what: `${cli}: [tools.${cli}] failover has no effect, because an account is a login and no other one is tried by itself`,
        fix: `remove it from ${context.paths.config}`,
      })),
    ...withoutRules.map(cli => ({
      level: 'warning' as const,
      what: `${cli}: the catalog has no rules, so no failure leads to another account`,
      fix: `add them to ${context.paths.userCatalog}, such as rules = [{ class = "quota", stderr = "quota exceeded" }]`,
    })),
    ...withoutShim.flatMap((cli): Finding[] => {
      const bin = Object.hasOwn(catalog.providers, cli) ? catalog.providers[cli]!.bin : cli;
      const search = context.env.PATH ?? '';
      const foreign = foreignShim(bin, search, context.paths);
      if (foreign !== undefined) return [foreignFinding(cli, foreign)];
      // an MCP server or a gateway uses accounts without the command
      if (findOnPath(bin, search) === undefined) return [];
      const fix = `run \`culvert-wrap install ${cli}\`, or each command with \`culvert-wrap run ${cli} -- …\``;
      return [{ level: 'warning', what: `${cli}: it has accounts but no shim`, fix }];
    }),
    ...orphanedSecrets(accounts, context.paths).map(({ file, key }) => ({
      level: 'warning' as const,
      what: `${file} holds ${key}, which no account uses`,
      fix: 'run `culvert-wrap accounts purge`',
    })),
  ];
}

function attempt(check: () => Finding[]): Finding[] {
  try {
    return check();
  } catch (error) {
    return [asFinding(error)];
  }
}

function asFinding(error: unknown): Finding {
  const fix = error instanceof WrapError ? error.hint : undefined;
  return { level: 'problem', what: reason(error), ...(fix !== undefined && { fix }) };
}
