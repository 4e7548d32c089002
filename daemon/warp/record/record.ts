// Runs the reading commands of the installed tunnel CLI, for a recording. A command that fails is part of it.
import { Failure } from '../../core/errors.ts';
import { isRecord } from '../../core/shape.ts';
import type { Finished, Runner } from '../cli/run.ts';
import { parseVersion, READ_LIMIT_MS } from '../cli/version.ts';
import { jsonOf } from '../parse/output.ts';
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
 * @throws Failure if the CLI does not start, or after an abort
 */
export async function recordReadings(options: Options): Promise<RawRow[]> {
  const [first, ...rest] = readings();
  const started = await run(first!, options);
  if (started.notStarted) throw notRecorded(`${options.file} does not start: ${started.output.stderr.trim()}`, options);
  const version = parseVersion(started.output.stdout) ?? 'unknown';
  const rows: RawRow[] = [rowOf(version, first!, started)];
  const waiting = [...rest.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [at, reading] = next;
      if (options.signal.aborted) throw notRecorded('It was interrupted, and nothing was written.', options);
      options.onStart?.(reading.argv);
      rows[at + 1] = rowOf(version, reading, await run(reading, options));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return rows;
}

const notRecorded = (why: string, { signal }: Options) =>
  new Failure(why, { code: signal.aborted ? 'interrupted' : 'failure' });

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

/**
 * Names that are labels and keys of answers, and not names of people, teams or machines (parameters of the management file
 * in Cloudflare's documentation; the answers of 2026.7). Another name may be one, as in `db-alice: up`.
 */
const NAMES = new Set([
  'colo',
  ...`account id|address|allow mode switch|allow updates|allowed to leave org|auth_client_id|auth_client_secret
  |auto_connect|certificate|certificates|code|configs|connectivity|data|description|details|device id|devices
  |display_name|dns|domain|domains|enable_netbt|enable_pmtud|enabled|environment|error|expires|fallback domains
  |fingerprint|gateway_unique_id|host|hostname|id|interface|interfaces|ip|ips|ipv4|ipv6|issuer|key|last seen|mac|message
  |mode|model|mtu|name|network|not after|not before|onboarding|organization|organization_configs|os|override code
  |override_api_endpoint|override_doh_endpoint|override_warp_endpoint|port|posture|protocol|proxy_port|public key|reason
  |result|results|role|routes|serial|server|servers|service_mode|settings|state|status|subject|support_url|switch
  |switch_locked|target|targets|time|timestamp|tunnel_protocol|type|unique_client_id|update|url|user|valid until|value
  |version|virtual networks|warning|warp_tunnel_protocol`
    .split('|')
    .map(name => name.trim()),
]);
const isKnownName = (name: string) => NAMES.has(name.trim().toLowerCase());

/** Returns the shape of an answer: the known names and the types of JSON, or the known labels of lines; an error stays as it is. */
export function shapeOf(text: string): string {
  const value = jsonOf(text);
  if (isRecord(value) && typeof value.error === 'string') return text;
  if (value !== undefined) return `${JSON.stringify(typed(value))}\n`;
  const lines = text.split('\n').map(line => (line.trim() === '' ? '' : `${labelIn(line)} <value>`.trim()));
  return lines.join('\n');
}

function labelIn(line: string): string {
  const label = LABEL.exec(line)?.[0] ?? '';
  return label === '' || isKnownName(label.slice(0, -1)) ? label : '<name>:';
}

function typed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(typed);
  if (isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, inner], at) => [isKnownName(key) ? key : `<name-${at + 1}>`, typed(inner)]),
    );
  return typeof value === 'string' ? '<value>' : typeof value === 'number' ? 0 : value;
}
