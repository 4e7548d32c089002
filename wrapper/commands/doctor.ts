// `doctor`: looks for everything that keeps a shim, an account or a file from doing its work, and says what to do.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { loadCatalog } from '../catalog.ts';
import { readConfig } from '../config.ts';
import { callerEnvironment } from '../environment.ts';
import { EXIT, reason, WrapError } from '../errors.ts';
import { type Installed, readInstalls } from '../install.ts';
import type { Context } from '../run.ts';
import { resolveAccount } from '../secrets.ts';
import { type Programs, shimOf } from '../shim.ts';
import { readText } from '../store.ts';
import { emit } from './print.ts';

interface Finding {
  level: 'ok' | 'warning' | 'problem';
  what: string;
  fix?: string;
}

/** Prints findings; exit 1 when one is a problem. */
export async function doctor(options: { json?: boolean }, context: Context, programs: Programs): Promise<void> {
  const { paths } = context;
  const findings: Finding[] = [
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
  ];
  try {
    findings.push(...(await checkAccounts(context)));
  } catch (error) {
    findings.push(asFinding(error));
  }
  const problems = findings.filter(finding => finding.level === 'problem').length;
  const mark = { ok: 'ok      ', warning: 'warning ', problem: 'PROBLEM ' };
  const text = findings
    .map(({ level, what, fix }) => `${mark[level]}${what}${fix ? `\n        ${fix}` : ''}`)
    .join('\n');
  emit(options.json, { problems, findings }, text || 'nothing is installed and no account exists');
  if (problems > 0) process.exitCode = EXIT.failure;
}

function checkCatalog(context: Context): Finding[] {
  const catalog = loadCatalog(context.catalog, context.paths.userCatalog);
  const broken = Object.entries(catalog.problems).map(
    ([cli, why]): Finding => ({
      level: 'problem',
      what: `the catalog entry of ${cli} can't be used: ${why}`,
      fix: `correct it in ${context.paths.userCatalog}`,
    }),
  );
  return broken.length > 0
    ? broken
    : [{ level: 'ok', what: `catalog: ${Object.keys(catalog.providers).length} entries` }];
}

function checkShim(cli: string, entry: Installed, { env }: Context, programs: Programs): Finding[] {
  const repair = `run \`culvert-wrap install ${cli}\``;
  if (!fs.existsSync(entry.bin))
    return [
      {
        level: 'problem',
        what: `${cli}: the shim ${entry.bin} is gone`,
        fix: `${repair}, or \`culvert-wrap uninstall ${cli}\``,
      },
    ];
  if (shimOf(entry.bin) !== cli) {
    return [
      {
        level: 'warning',
        what: `${cli}: ${entry.bin} has been replaced, probably by an upgrade; it runs without accounts`,
        fix: `${repair} to adopt it`,
      },
    ];
  }
  if (!fs.existsSync(entry.original)) {
    return [
      {
        level: 'problem',
        what: `${cli}: the original ${entry.original} is missing`,
        fix: `install ${cli} again, then ${repair}`,
      },
    ];
  }
  const first = (env.PATH ?? '')
    .split(':')
    .map(dir => path.join(dir || '.', path.basename(entry.bin)))
    .find(isExecutable);
  if (!first || fs.realpathSync(first) !== fs.realpathSync(entry.bin)) {
    return [
      {
        level: 'warning',
        what: `${cli}: PATH finds ${first ?? 'nothing'} before the shim ${entry.bin}`,
        fix: `put ${path.dirname(entry.bin)} first on PATH`,
      },
    ];
  }
  const text = readText(entry.bin) ?? '';
  if (!text.includes(`'${programs.bundle}'`))
    return [{ level: 'warning', what: `${cli}: the shim starts another installation of culvert-wrap`, fix: repair }];
  return [{ level: 'ok', what: `${cli}: ${entry.bin} -> ${entry.original}` }];
}

function checkInstalls(file: string): Finding[] {
  try {
    JSON.parse(readText(file) ?? '{}');
    return [];
  } catch {
    return [
      {
        level: 'problem',
        what: `${file} is damaged, so uninstall does not know what to restore`,
        fix: 'the originals are beside it in originals/; move them back by hand, then install again',
      },
    ];
  }
}

function checkModes(files: string[]): Finding[] {
  return files.flatMap(file => {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (!stat || (stat.mode & 0o077) === 0) return [];
    return [{ level: 'warning' as const, what: `others can read ${file}`, fix: `chmod go= ${file}` }];
  });
}

function checkSecretFiles(dir: string): Finding[] {
  return fs.existsSync(dir) ? checkModes(fs.readdirSync(dir).map(name => path.join(dir, name))) : [];
}

async function checkAccounts({ paths, env }: Context): Promise<Finding[]> {
  const config = readConfig(paths.config);
  return Promise.all(
    config.accounts.map(async (account): Promise<Finding> => {
      const what = `${account.cli} account "${account.name}"`;
      if (!account.enabled) return { level: 'ok', what: `${what} is disabled` };
      const resolved = await resolveAccount(account, callerEnvironment(env), 15_000);
      if (!resolved.ok)
        return { level: 'problem', what: `${what}: ${resolved.problem}`, fix: 'correct its source, or disable it' };
      const exposed = Object.values(account.env).filter(
        source => source.startsWith('file:') && isExposed(source.slice(5, source.lastIndexOf('#'))),
      );
      return exposed.length > 0
        ? { level: 'warning', what: `${what}: others can read ${exposed.join(', ')}`, fix: 'chmod go= that file' }
        : { level: 'ok', what: `${what}: its credential can be read` };
    }),
  );
}

function isExposed(file: string): boolean {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && (stat.mode & 0o077) !== 0;
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
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
