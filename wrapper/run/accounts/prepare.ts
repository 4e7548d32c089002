// Runs the login step of a CLI that can't be switched by its environment before the upstream, and remembers it by digest.

import type { Provider } from '../../catalog/provider.ts';
import type { CliState } from '../../store/state.ts';
import { parseDuration } from '../../system/duration.ts';
import { sha256 } from '../../system/hash.ts';
import { redact } from '../../system/redact.ts';
import { failureOf, runHelper } from '../../system/run-helper.ts';
import { stripAnsi } from '../rules/classify.ts';

/** Length of the line that is repeated from a prepare command, in characters. */
const LONGEST = 200;

export type Prepared = { ok: true; digest?: string } | { ok: false; problem: string };

/**
 * Runs `prepare_command` when it is due. `once`: for every rendered command once. `switch`: when the last one that ran
 * was another. `always`: every time. `{NAME}` reaches sh as `"$NAME"`, so a credential is in no argument list.
 * @param environment gives the account's whole environment
 * @param account its credentials, for rendering
 * @returns the digest to remember, when it ran
 */
export async function prepare(
  provider: Provider,
  account: { name: string; env: Record<string, string> },
  environment: () => NodeJS.ProcessEnv,
  state: Pick<CliState, 'prepared' | 'lastPrepared'>,
): Promise<Prepared> {
  const template = provider.prepare_command;
  if (!template) return { ok: true };
  const values: Record<string, string> = { ...account.env, account: account.name };
  const rendered = template.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
  const digest = sha256(rendered, JSON.stringify(account.env));
  if (provider.prepare_on === 'once' && state.prepared.includes(digest)) return { ok: true };
  if (provider.prepare_on === 'switch' && state.lastPrepared === digest) return { ok: true };

  const script = template.replace(/\{(\w+)\}/g, (whole, name: string) =>
    name === 'account' ? account.name : name in values ? `"$${name}"` : whole,
  );
  const timeoutMs = parseDuration(provider.prepare_timeout);
  const result = await runHelper(['sh', '-c', script], { env: environment(), timeoutMs });
  if (result.error) return { ok: false, problem: `its prepare command could not be started: ${result.error.message}` };
  if (result.timedOut) return { ok: false, problem: `its prepare command did not end within ${timeoutMs / 1000} s` };
  if (result.exit !== 0) {
    const last = redact(stripAnsi(result.stderr).trim().split('\n').at(-1) ?? '', Object.values(account.env)).slice(
      0,
      LONGEST,
    );
    return { ok: false, problem: `its prepare command ${failureOf(result)}${last && `: ${last}`}` };
  }
  return { ok: true, digest };
}
