// Compares the versions of wrapped tools with those that their rules were checked with, for `doctor`.
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import coerce from 'semver/functions/coerce.js';
import gt from 'semver/functions/gt.js';
import { readText } from '../../daemon/core/files.ts';
import { isRecord, parseJson } from '../../daemon/core/shape.ts';
import { catalogOf } from '../catalog/catalog.ts';
import type { Provider } from '../catalog/provider.ts';
import type { Context } from '../context.ts';
import { callerEnvironment } from '../run/accounts/ready.ts';
import type { Finding } from '../shims/check.ts';
import { readConfig } from '../store/config.ts';
import { findOnPath, readInstalls } from '../store/installs.ts';

const run = promisify(execFile);
/** Time for a tool to print its version. */
const VERSION_MS = 5_000;

/** Checks the tools that have a shim or an account. A version that can't be found out is said to be unknown. */
export async function checkVersions(context: Context): Promise<Finding[]> {
  const installs = readInstalls(context.paths);
  const { providers, overridden } = catalogOf(context);
  const used = new Set([...Object.keys(installs), ...readConfig(context.paths.config).accounts.map(({ cli }) => cli)]);
  const tools = Object.entries(providers).filter(([cli, { programs_only: only }]) => used.has(cli) && !only);
  const findings = tools.map(async ([cli, provider]): Promise<Finding[]> => {
    const { checked } = provider;
    // a person who writes an entry need not write down with what
    if (!checked)
      return overridden.includes(cli) ? [] : [unknown(`with which version of ${cli} its rules were checked`)];
    const program = installs[cli]?.original ?? findOnPath(provider.bin, context.env.PATH ?? '');
    if (program === undefined) return [];
    const version = await versionOf(program, provider, callerEnvironment(context.env));
    const [own, known] = [coerce(version), coerce(checked.version)];
    if (version === undefined || !own || !known) return [unknown(`which version of ${cli} is installed`)];
    const when = `checked with ${checked.version} on ${checked.on}`;
    if (!gt(own, known)) return [{ level: 'ok', what: `${cli} ${version}: its rules were ${when}` }];
    return [
      {
        level: 'warning',
        what: `${cli} ${version} is newer than its rules, which were ${when}`,
        fix: `\`culvert-wrap catalog update\` may have newer ones; \`culvert-wrap catalog test ${cli}\` tries those that you have`,
      },
    ];
  });
  return (await Promise.all(findings)).flat();
}

function unknown(what: string): Finding {
  return { level: 'ok', what: `${what} is unknown` };
}

/** Returns a tool's version: the version of its npm package, or else what it prints for `--version`. */
async function versionOf(program: string, provider: Provider, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const packaged = provider.package && packageVersion(program, provider.package);
  if (packaged) return packaged;
  try {
    const { stdout } = await run(program, ['--version'], {
      env,
      timeout: VERSION_MS,
      killSignal: 'SIGKILL',
      maxBuffer: 65_536,
    });
    return /\d+\.\d+(?:\.\d+)*/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}

function packageVersion(program: string, name: string): string | undefined {
  let directory: string;
  try {
    directory = dirname(realpathSync(program));
  } catch {
    return undefined;
  }
  for (; ; directory = dirname(directory)) {
    const found = parseJson(readText(join(directory, 'package.json')));
    if (isRecord(found) && found.name === name) return typeof found.version === 'string' ? found.version : undefined;
    if (directory === dirname(directory)) return undefined;
  }
}
