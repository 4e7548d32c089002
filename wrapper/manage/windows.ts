// Asks a CLI itself how much of its login's limits is used, such as those of five hours and of a week. Nothing is estimated.
import { spawn } from 'node:child_process';
import { reason } from '../../daemon/core/errors.ts';
import { failureOf, runHelper, signalGroup } from '../../daemon/core/run-helper.ts';
import { isRecord } from '../../daemon/core/shape.ts';
import type { Login } from '../catalog/provider.ts';
import { at, parseJson, stripAnsi } from '../run/rules/classify.ts';
import type { LimitWindow } from '../store/state.ts';
import { resetTime } from './usage.ts';

type Asked = NonNullable<Login['windows']>;

/** The windows that a CLI reports, or why it reports none. */
export type WindowsAnswer = { ok: true; windows: LimitWindow[] } | { ok: false; problem: string };

/** Time for the CLI, which asks its provider. */
const TIMEOUT_MS = 15_000;
const MAX_BYTES = 1024 * 1024;
const MAX_QUOTED = 200;
/** `id` of the request whose answer has the windows; see `ask` in the catalog. */
const ANSWER_ID = 1;

/**
 * Asks a CLI for the windows of a login's limits.
 * @param program absolute path of the CLI
 * @param env the account's environment
 * @param now milliseconds since the epoch
 */
export async function queryWindows(
  asked: Asked,
  program: string,
  env: NodeJS.ProcessEnv,
  now: number,
): Promise<WindowsAnswer> {
  try {
    const answer = asked.ask.length > 0 ? await exchange(asked, program, env) : await output(asked, program, env);
    const windows = readWindows(answer, asked, now);
    return windows.length > 0 ? { ok: true, windows } : { ok: false, problem: 'its answer names no window' };
  } catch (error) {
    return { ok: false, problem: stripAnsi(reason(error)).replace(/\s+/g, ' ').trim().slice(0, MAX_QUOTED) };
  }
}

/** Reads the windows in an answer. A window without a share is left out, because its use is unknown. */
export function readWindows(answer: unknown, { list }: Pick<Asked, 'list'>, now: number): LimitWindow[] {
  return list.flatMap(({ at: place, name, minutes, percent, remaining, limit, resets }) => {
    const value = (path: string | undefined) => (path === undefined ? undefined : at(answer, `${place}.${path}`));
    const number = (path: string | undefined) => {
      const found = value(path);
      return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
    };
    const [rest, most] = [number(remaining), number(limit)];
    const share = number(percent) ?? (rest !== undefined && most ? 100 - (100 * rest) / most : undefined);
    if (share === undefined) return [];
    const length = number(minutes);
    const called = name ?? (length === undefined ? place.split('.').at(-1)! : lengthText(length));
    return [{ name: called, percent: Math.round(share * 10) / 10, resets: resetTime(value(resets), now) }];
  });
}

/** Formats the length of a window: `5 h`, `week`. @param minutes whole number */
function lengthText(minutes: number): string {
  if (minutes === 7 * 24 * 60) return 'week';
  if (minutes % (24 * 60) === 0) return `${minutes / (24 * 60)} d`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
}

async function output({ args }: Asked, program: string, env: NodeJS.ProcessEnv): Promise<unknown> {
  const result = await runHelper([program, ...args], { env, timeoutMs: TIMEOUT_MS });
  if (result.error) throw result.error;
  if (result.timedOut) throw new Error(`it gave no answer within ${TIMEOUT_MS / 1_000} s`);
  if (result.exit !== 0) {
    const last = result.stderr.trim().split('\n').at(-1);
    throw new Error(last ? last : `it ${failureOf(result)}`);
  }
  const parsed = parseJson(result.stdout);
  if (parsed === undefined) throw new Error('its answer is not JSON');
  return parsed;
}

/** Sends the requests to a CLI, and returns the answer to the last one. The CLI is ended then, with its children. */
function exchange({ args, ask }: Asked, program: string, env: NodeJS.ProcessEnv): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
    let text = '';
    let isDone = false;
    const finish = (settle: () => void) => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      child.stdout.destroy();
      child.stdin.destroy();
      signalGroup(child, 'SIGTERM');
      settle();
    };
    const fail = (why: string) => finish(() => reject(new Error(why)));
    const timer = setTimeout(() => fail(`it gave no answer within ${TIMEOUT_MS / 1_000} s`), TIMEOUT_MS);
    child.on('error', error => finish(() => reject(error)));
    child.on('close', exit => fail(`it ended with exit status ${exit} and no answer`));
    child.stdin.on('error', () => {});
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.length > MAX_BYTES) return fail('its answer is longer than 1 MiB');
      const lines = text.split('\n');
      text = lines.pop()!;
      const answer = lines.map(line => parseJson(line)).find(each => isRecord(each) && each.id === ANSWER_ID);
      if (!isRecord(answer)) return;
      const { error } = answer;
      if (isRecord(error)) return fail(String(error.message ?? 'it refused the request'));
      finish(() => resolve(answer));
    });
    child.stdin.write(ask.map(line => `${line}\n`).join(''));
  });
}
