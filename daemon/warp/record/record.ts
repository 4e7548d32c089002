// Runs the reading commands of the installed tunnel CLI, for a recording. A command that fails is part of it.
import type { Finished, Runner } from '../cli/run.ts';
import { parseVersion, READ_LIMIT_MS } from '../cli/version.ts';
import { isObject, jsonOf } from '../parse/output.ts';
import { type Reading, readings } from './commands.ts';
import type { Row } from './transcript.ts';

/** Commands in parallel: as many as the runner starts, so that none waits for its turn. */
const AT_ONCE = 4;
/** A listener prints its first message immediately, and runs until it is ended. */
const LISTEN_MS = 1500;

interface Options {
  /** Absolute path of the tunnel CLI. */
  file: string;
  runner: Runner;
  /** True if the user agreed to the vendor's terms in Culvert. */
  acceptTerms: boolean;
  /** Aborts the recording. */
  signal: AbortSignal;
  /** Limit of a command, in milliseconds. */
  limitMs?: number;
  onStart?(argv: readonly string[]): void;
}

/** A row that is not yet redacted throughout: the runner removed secrets, but not names and addresses. */
export type RawRow = Omit<Row, 'source' | 'fidelity' | 'system'>;

/**
 * Records the answers of all reading commands, in the order of the table.
 * @throws NotRecorded if the CLI does not start, or after an abort
 */
export async function recordReadings(options: Options): Promise<RawRow[]> {
  const [first, ...rest] = readings();
  const started = await run(first!, options);
  if (started.notStarted) throw new NotRecorded(`${options.file} does not start: ${started.output.stderr.trim()}`);
  const version = parseVersion(started.output.stdout) ?? 'unknown';
  const rows: RawRow[] = [rowOf(version, first!, started)];
  const waiting = [...rest.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [at, reading] = next;
      if (options.signal.aborted) throw new NotRecorded('It was interrupted, and nothing was written.');
      options.onStart?.(reading.argv);
      rows[at + 1] = rowOf(version, reading, await run(reading, options));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return rows;
}

export class NotRecorded extends Error {
  override name = 'NotRecorded';
}

function run({ argv, form }: Reading, { file, runner, acceptTerms, limitMs = READ_LIMIT_MS }: Options) {
  const args = [...(acceptTerms ? ['--accept-tos'] : []), ...argv];
  return runner.run({ file, args, source: 'read', timeoutMs: form === 'listen' ? LISTEN_MS : limitMs });
}

function rowOf(version: string, { argv, form, isPrivate }: Reading, { output, timedOut }: Finished): RawRow {
  const { exitCode, stderr, durationMs } = output;
  const stdout = isPrivate ? shapeOf(output.stdout) : output.stdout;
  const row = { version, argv: [...argv], exit_code: timedOut ? null : exitCode, stdout, stderr };
  if (!timedOut) return row;
  const seconds = Math.round(durationMs / 100) / 10;
  return { ...row, note: form === 'listen' ? `ended after ${seconds} s` : `no end within ${seconds} s` };
}

/** A name such as `Account type`, at the start of a line with a value. */
const LABEL = /^\s*[A-Za-z][\w -]{0,40}:/;

/** Returns the shape of an answer: the names and types of JSON, or the labels of lines; an error stays as it is. */
export function shapeOf(text: string): string {
  const value = jsonOf(text);
  if (isObject(value) && typeof value.error === 'string') return text;
  if (value !== undefined) return `${JSON.stringify(typed(value))}\n`;
  const lines = text
    .split('\n')
    .map(line => (line.trim() === '' ? '' : `${LABEL.exec(line)?.[0] ?? ''} <value>`.trim()));
  return lines.join('\n');
}

function typed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(typed);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, typed(inner)]));
  return typeof value === 'string' ? '<value>' : typeof value === 'number' ? 0 : value;
}
