// Turns the recorded answers of a tunnel CLI into a transcript to share: redacted, with the versions of the system.
import { hostname, release, userInfo } from 'node:os';
import type { CommandOutput, LogEntry, Snapshot } from '../../api/schema.ts';
import { readText } from '../../core/files.ts';
import { parseJson } from '../../core/shape.ts';
import { createState, type State } from '../../state/store.ts';
import { VERSION } from '../../system/installation.ts';
import { capabilitiesOf, NEWEST, READ_NAMES, type Read, readArgv } from '../../warp/cli/version.ts';
import { failureOf } from '../../warp/parse/output.ts';
import { parseStatus } from '../../warp/parse/status.ts';
import type { RawRow } from '../../warp/record/record.ts';
import { plainArgv, type Row } from '../../warp/record/transcript.ts';
import { createTunnelStore, type TunnelStore } from '../../warp/tunnel-store.ts';
import { namesOf } from './bundle.ts';
import { createRedactor } from './redact.ts';

interface Recording {
  rows: Row[];
  /** Number of different replaced values, by kind. */
  redacted: Record<string, number>;
}

interface RecordingOptions {
  /** True if the answers are the emulator's. */
  emulated: boolean;
  /** Addresses and ranges that are public knowledge. */
  public: readonly string[];
  /** A directory that stands for `/`. */
  root?: string;
}

/** Redacts recorded answers, and adds where they come from. */
export function createRecording(raw: readonly RawRow[], options: RecordingOptions): Recording {
  const file = (path: string) => readText(`${options.root ?? ''}${path}`) ?? '';
  const redactor = createRedactor({
    names: namesOf({
      hostname: hostname(),
      username: userInfo().username,
      passwd: file('/etc/passwd'),
      resolvConf: file('/etc/resolv.conf'),
      snapshot: snapshotOf(raw),
      entries: raw.map(entryOf),
      config: null,
      changes: [],
    }),
    public: [...options.public, '1.1.1.1', '1.0.0.1'],
  });
  const system = {
    culvert: VERSION,
    kernel: redactor.text(release()),
    distribution: /^PRETTY_NAME="?([^"\n]*)/m.exec(file('/etc/os-release'))?.[1] ?? null,
    architecture: process.arch,
  };
  const rows = raw.map(
    ({ version, argv, exit_code, stdout, stderr, note }, at): Row => ({
      version,
      argv: redactor.value(argv),
      exit_code,
      stdout: redactOutput(stdout, redactor),
      stderr: redactOutput(stderr, redactor),
      source: `culvert diagnose record, version ${VERSION}`,
      fidelity: options.emulated ? 'emulated' : 'recorded',
      ...(note === undefined ? {} : { note }),
      ...(at === 0 ? { system } : {}),
    }),
  );
  return { rows, redacted: redactor.counts() };
}

type Redactor = ReturnType<typeof createRedactor>;

/** Redacts an output; JSON by its values, so that it stays JSON. */
function redactOutput(text: string, redactor: Redactor): string {
  const whole = redactDocument(text, redactor);
  if (whole !== null) return whole;
  const lines = text.split('\n');
  if (!lines.some(line => /^[{[]/.test(line))) return redactor.text(text);
  // one document a line, as a listener prints them
  return lines.map(line => redactDocument(line, redactor) ?? redactor.text(line)).join('\n');
}

/** Redacts a JSON document in its layout; null for any other text. */
function redactDocument(text: string, redactor: Redactor): string | null {
  if (!/^\s*[{[]/.test(text)) return null;
  const value = parseJson(text);
  if (value === null) return null;
  const isPretty = text.trim().includes('\n');
  return JSON.stringify(redactor.value(value), null, isPretty ? 2 : 0) + (text.endsWith('\n') ? '\n' : '');
}

function entryOf({ argv, exit_code, stdout, stderr }: RawRow, id: number): LogEntry {
  return {
    id,
    at: new Date().toISOString(),
    source: 'read',
    argv: ['warp-cli', ...argv],
    ok: failureOf({ stdout, stderr, exitCode: exit_code }) === null,
    exitCode: exit_code,
    durationMs: 0,
    stdout,
    stderr,
  };
}

/** Returns the row with the answer to a read of Culvert's. */
function answerTo(read: Read, rows: readonly RawRow[]): RawRow | undefined {
  const can = capabilitiesOf(rows[0]?.version ?? null) ?? NEWEST;
  const wanted = readArgv(read, can, false)?.join(' ');
  return rows.find(({ argv }) => plainArgv(argv).join(' ') === wanted);
}

/** Returns the state that a daemon publishes after these answers; names in it are found by their places. */
function snapshotOf(rows: readonly RawRow[]): Snapshot {
  const state = createState({ available: true, path: null, version: rows[0]?.version ?? null, emulated: false });
  const store = createTunnelStore(state);
  for (const read of READ_NAMES) {
    const row = answerTo(read, rows);
    if (!row) continue;
    const { id: _, source: __, ...output } = entryOf(row, 0);
    take(read, output, { state, store });
  }
  return state.snapshot();
}

/** Stores the answer to a read, as a daemon does. */
function take(read: Read, output: CommandOutput, { state, store }: { state: State; store: TunnelStore }): void {
  switch (read) {
    case 'status':
      store.status(parseStatus(output), output.stdout);
      break;
    case 'settings':
      store.settings(output);
      break;
    case 'registration':
      store.registration(output);
      break;
    case 'devices':
      store.devices(output);
      break;
    case 'tunnelStats':
      store.stats(output);
      break;
    case 'splitTunnelIps':
      store.splitIps(output);
      break;
    case 'splitTunnelHosts':
      store.splitHosts(output);
      break;
    case 'splitTunnelDump':
      state.record(read, output);
      break;
    default:
      store.extra(read, output);
  }
}
