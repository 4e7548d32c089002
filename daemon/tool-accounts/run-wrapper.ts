// Runs culvert-wrap as a child for one change. Credentials go to its standard input, never onto its command line.
import * as z from 'zod/mini';
import { runHelper } from '../../wrapper/system/run-helper.ts';
import type { ToolAccountsChange } from '../api/accounts.ts';
import { TOOL_CHANGE_MS } from '../api/limits.ts';
import { Problem } from '../problem.ts';

const Refused = z.object({
  ok: z.literal(false),
  error: z.object({ code: z.string(), message: z.string(), hint: z.optional(z.string()) }),
});
const Refreshed = z.object({
  clis: z.array(
    z.object({
      cli: z.string(),
      accounts: z.array(z.object({ name: z.string(), problem: z.nullable(z.string()) })),
    }),
  ),
});

/**
 * Runs culvert-wrap to its end.
 * @param program absolute path of culvert-wrap
 * @returns what it printed, a JSON document
 * @throws Problem wrapper-refused with its own words, wrapper-failed where it could not be run
 */
export async function runWrapper(
  program: string,
  change: ToolAccountsChange,
  env: NodeJS.ProcessEnv,
): Promise<unknown> {
  const input = change.change === 'add' ? change.credentials.map(line => `${line}\n`).join('') : '';
  const argv: [string, ...string[]] = [program, ...wordsFor(change)];
  const { exit, stdout, timedOut, error } = await runHelper(argv, {
    env: childEnv(env),
    input,
    timeoutMs: TOOL_CHANGE_MS,
  });
  if (error)
    throw new Problem('wrapper-failed', `culvert-wrap could not be started: ${error.message}.`, {
      hint: 'Install Culvert again.',
    });
  if (timedOut)
    throw new Problem('wrapper-failed', `culvert-wrap did not end within ${TOOL_CHANGE_MS / 1000} s, and was ended.`, {
      hint: 'Try it in a terminal: culvert-wrap doctor',
    });
  const printed = parse(stdout);
  const refused = Refused.safeParse(printed);
  if (refused.success) {
    const { code, message, hint } = refused.data.error;
    throw new Problem('wrapper-refused', `${message}.`, { reason: code, ...(hint ? { hint: `${hint}.` } : {}) });
  }
  if (exit !== 0)
    throw new Problem('wrapper-failed', `culvert-wrap failed with exit status ${exit ?? 'unknown'}.`, {
      hint: 'Try it in a terminal: culvert-wrap doctor',
    });
  return printed;
}

/** The words of the command line for a change; pure. */
export function wordsFor(change: ToolAccountsChange): string[] {
  switch (change.change) {
    case 'refresh':
      return ['status', '--json'];
    case 'add':
      return ['accounts', 'add', change.cli, change.name, '--json', ...(change.store === 'file' ? ['--file'] : [])];
    case 'install':
    case 'uninstall':
      return [change.change, change.cli, '--json'];
    default:
      return ['accounts', change.change, change.cli, change.name, '--json'];
  }
}

/** By CLI and account, separated by a space: why the provider could not be asked. Anything else in it is left out. */
export function parseRefresh(printed: unknown): Map<string, string> {
  const parsed = Refreshed.safeParse(printed);
  const clis = parsed.success ? parsed.data.clis : [];
  return new Map(
    clis.flatMap(({ cli, accounts }) =>
      accounts.flatMap(({ name, problem }) =>
        problem === null ? [] : [[`${cli} ${name}`, problem] as [string, string]],
      ),
    ),
  );
}

/** The daemon's, without what is about the daemon's own Node or about one wrapped command. */
function childEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => name !== 'NODE_OPTIONS' && !name.startsWith('CULVERT_WRAP_')),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
