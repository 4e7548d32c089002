// Replays a transcript of `culvert diagnose record`: a daemon's tunnel reads a program that answers from the file, and the
// parsers judge each answer. Needs no network.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CommandName, Snapshot, UnknownValue } from '../../daemon/api/schema.ts';
import { reason } from '../../daemon/core/errors.ts';
import { printable } from '../../daemon/core/printable.ts';
import { statusLine } from '../../daemon/state/status-line.ts';
import { createLog, createState } from '../../daemon/state/store.ts';
import { capabilitiesOf, NEWEST, READ_NAMES, readArgv } from '../../daemon/warp/cli/version.ts';
import { failureOf } from '../../daemon/warp/parse/output.ts';
import { unknownIn } from '../../daemon/warp/parse/unknown.ts';
import { formatTranscript, parseTranscript, plainArgv, type Row } from '../../daemon/warp/record/transcript.ts';
import { createTunnel } from '../../daemon/warp/tunnel.ts';

/** Exit codes of a replay. */
const REPLAY = {
  /** Culvert knows every answer. */
  known: 0,
  /** A value, an answer or a failure is not known. */
  unknown: 1,
  /** The file is missing, or no transcript. */
  unusable: 2,
} as const;

interface Judged {
  /** Values that Culvert does not know, with the command that printed them. */
  unknown: (UnknownValue & { command: string })[];
  /** Failed commands with a reason that Culvert knows, and those that it never runs. */
  failed: { command: string; why: string }[];
  /** Failed commands of Culvert's own with a reason that it does not know. */
  strange: { command: string; why: string }[];
  /** Reads of Culvert's that the transcript lacks. */
  missing: string[];
}

/** Prints what a transcript shows. @returns the exit code */
export async function replayTranscript(file: string, print: (line: string) => void): Promise<number> {
  let rows: Row[];
  try {
    rows = parseTranscript(readFileSync(file, 'utf8')).map(withSamples);
  } catch (error) {
    print(`${file} can't be replayed: ${printable(reason(error))}`);
    return REPLAY.unusable;
  }
  const { version, system } = rows[0]!;
  const recorder = system ? ` (${[system.distribution, system.kernel].filter(Boolean).join(', ')})` : '';
  print(printable(`${file}: ${rows.length} answers of warp-cli ${version}${recorder}`));
  print(`The daemon shows: ${statusLine(await stateOf(rows))}`);
  const judged = judge(rows);
  for (const { command, name, value } of judged.unknown) print(printable(`Not known: ${command}: ${name}: ${value}`));
  for (const { command, why } of judged.strange) print(printable(`Failed, not known why: ${command}: ${why}`));
  for (const { command, why } of judged.failed) print(printable(`Failed: ${command}: ${why}`));
  for (const command of judged.missing) print(printable(`Not recorded: ${command}`));
  const { unknown, strange, failed } = judged;
  print(`${unknown.length} unknown values, ${strange.length} unknown failures, ${failed.length} known failures.`);
  return unknown.length + strange.length > 0 ? REPLAY.unknown : REPLAY.known;
}

/** Judges each answer by the parsers. */
function judge(rows: readonly Row[]): Judged {
  const can = capabilitiesOf(rows[0]?.version ?? null) ?? NEWEST;
  const reads = READ_NAMES.flatMap(read => {
    const argv = readArgv(read, can, false)?.join(' ');
    return argv === undefined ? [] : [{ read, argv }];
  });
  const judged: Judged = { unknown: [], failed: [], strange: [], missing: [] };
  for (const row of rows) {
    const command = plainArgv(row.argv).join(' ');
    const read = reads.find(({ argv }) => argv === command)?.read;
    const isListener = command === '-j -l status';
    const failure = isListener ? null : failureOf(printedBy(row));
    if (row.exit_code === null && row.note && !isListener && row.stdout === '') {
      judged.failed.push({ command, why: row.note });
    } else if (failure) {
      const isKnown = failure.kind !== 'failed' || read === undefined;
      judged[isKnown ? 'failed' : 'strange'].push({ command, why: failure.message || `exit code ${row.exit_code}` });
    } else if (read) judged.unknown.push(...unknownIn(read, row.stdout).map(each => ({ command, ...each })));
    else if (isListener)
      for (const line of row.stdout.split('\n').filter(Boolean))
        judged.unknown.push(...unknownIn('status' satisfies CommandName, line).map(each => ({ command, ...each })));
  }
  const recorded = new Set(rows.map(({ argv }) => plainArgv(argv).join(' ')));
  judged.missing.push(...reads.map(({ argv }) => argv).filter(argv => !recorded.has(argv)));
  return judged;
}

function printedBy({ stdout, stderr, exit_code }: Row) {
  return { stdout, stderr, exitCode: exit_code ?? (stderr && !stdout ? 1 : 0) };
}

/** Returns the state of a tunnel that reads a program which answers from the rows. */
async function stateOf(rows: readonly Row[]): Promise<Snapshot> {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-replay-'));
  const transcript = join(directory, 'transcript.jsonl');
  const cli = join(directory, 'warp-cli');
  writeFileSync(transcript, formatTranscript(rows));
  const program = resolve(import.meta.dirname, 'recorded-cli.mjs');
  writeFileSync(cli, `#!/bin/sh\nexec '${process.execPath}' '${program}' '${transcript}' "$@"\n`, { mode: 0o755 });
  const state = createState({ available: false, path: null, version: null, emulated: false });
  const tunnel = createTunnel({
    cli,
    emulated: false,
    env: { PATH: process.env.PATH, HOME: directory },
    acceptedTerms: join(directory, 'accepted-terms'),
    state,
    log: createLog({ capacity: 200, onEntry() {} }),
  });
  try {
    tunnel.start();
    await tunnel.refresh('all');
    return state.snapshot();
  } finally {
    await tunnel.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Values that stand for placeholders, so that the parsers see what a client prints. */
const SAMPLES: Record<string, (number: string) => string> = {
  ip: number => `198.51.100.${Number(number) % 256}`,
  'lan-ip': number => `192.168.77.${Number(number) % 256}`,
  host: number => `host-${number}.example`,
  email: number => `person-${number}@example.org`,
  mac: number => `02:00:5e:10:00:${(Number(number) % 256).toString(16).padStart(2, '0')}`,
  id: number => `00000000-0000-4000-8000-${number.padStart(12, '0')}`,
};

/** Replaces the placeholders of a redaction. */
function withSamples(row: Row): Row {
  const fill = (text: string) =>
    text.replace(/<([a-z][a-z-]*)-(\d{1,9})>/g, (_, kind: string, number: string) =>
      (SAMPLES[kind] ?? (each => `${kind}-${each}`))(number),
    );
  return { ...row, argv: row.argv.map(fill), stdout: fill(row.stdout), stderr: fill(row.stderr) };
}
