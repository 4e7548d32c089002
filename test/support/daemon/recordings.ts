// Reads the recorded answers of real tunnel CLIs that the parser tests are held to.
import { readFileSync } from 'node:fs';

export interface Recording {
  version: string;
  argv: string[];
  exit_code: number | null;
  stdout: string;
  stderr: string;
  fidelity: string;
}

const file = new URL('../../fixtures/warp-cli/transcripts.jsonl', import.meta.url);

export const recordings: Recording[] = readFileSync(file, 'utf8')
  .split('\n')
  .filter(line => line.trim())
  .map(line => JSON.parse(line));

/** Recordings whose command line, without global options, is one of these. */
export function recorded(...commands: string[]): Recording[] {
  return recordings.filter(({ argv }) => commands.includes(argv.filter(arg => !arg.startsWith('-')).join(' ')));
}

/** The part of a recording that a parser reads. */
export function printed({ stdout, stderr, exit_code }: Recording) {
  return { stdout, stderr, exitCode: exit_code ?? (stderr && !stdout ? 1 : 0) };
}
