// Defines a transcript: the recorded answers of a tunnel CLI as JSON lines, in the format of test/fixtures/warp-cli.
import * as z from 'zod/mini';
import { Failure } from '../../core/errors.ts';

/** A recorded run of the tunnel CLI. */
export const Row = z.object({
  /** Version of the tunnel CLI; `unknown` if it does not tell. */
  version: z.string(),
  /** Arguments without the program, and without the agreement to the terms. */
  argv: z.array(z.string()),
  /** null if the command was killed or never started, and where a source does not tell. */
  exit_code: z.nullable(z.int()),
  stdout: z.string(),
  stderr: z.string(),
  source: z.optional(z.string()),
  /** `recorded`: by `culvert diagnose record`; `emulated`: the same with the emulator. README.md there has the others. */
  fidelity: z.string(),
  /** Why there is no whole answer, or the step of a trial. */
  note: z.optional(z.string()),
  /** The recorded system, in the first row. */
  system: z.optional(
    z.object({
      culvert: z.string(),
      kernel: z.string(),
      distribution: z.nullable(z.string()),
      architecture: z.string(),
    }),
  ),
});
export type Row = z.infer<typeof Row>;

/** Maximum size of a recording. Real recordings have a megabyte. */
const MAX_CHARACTERS = 64 * 1024 * 1024;

/** Parses the text of a transcript. @throws Failure for a line in another form, and for a file without a row */
export function parseTranscript(text: string): Row[] {
  if (text.length > MAX_CHARACTERS) throw new Failure('The file is larger than 64 MiB.');
  const rows = text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [rowOf(line, at + 1)]));
  if (rows.length === 0) throw new Failure('The file has no line.');
  return rows;
}

function rowOf(line: string, number: number): Row {
  try {
    return z.parse(Row, JSON.parse(line));
  } catch (error) {
    const [issue] = error instanceof z.core.$ZodError ? error.issues : [];
    const why = issue ? `${issue.path.join('.') || 'it'}: ${issue.message}` : 'it is not JSON';
    throw new Failure(`Line ${number} is not a recorded command: ${why}.`);
  }
}

/** Returns the text of a transcript. */
export function formatTranscript(rows: readonly Row[]): string {
  return rows.map(row => `${JSON.stringify(row)}\n`).join('');
}

/** Returns the arguments that tell rows apart: without the agreement to the terms, in the short form of options. */
export function plainArgv(argv: readonly string[]): string[] {
  const short = new Map([
    ['--json', '-j'],
    ['--listen', '-l'],
  ]);
  return argv.filter(word => word !== '--accept-tos').map(word => short.get(word) ?? word);
}
