// Prints the results of commands as lines or JSON on stdout, and notes and progress on stderr.
import { escaped } from '../../daemon/core/printable.ts';
import type { Purpose, Verified } from '../verify.ts';

/** Parts of the process that the commands use. */
export interface Context {
  env: NodeJS.ProcessEnv;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Path of the program's file, which the hashing thread runs too. */
  worker: string;
  version: string;
  /** Output for results. */
  stdout: Pick<Screen, 'write'>;
  /** Output for failures, notes and progress. */
  stderr: Screen;
}

export function print({ stdout }: Context, line: string): void {
  stdout.write(`${line}\n`);
}

export function printJson({ stdout }: Context, value: unknown): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function note({ stderr }: Context, line: string): void {
  stderr.write(`culvert-manifest: ${line}\n`);
}

/** Describes a verified release for `--json`. */
export function describeRelease(release: Verified<Purpose>) {
  const { version, serial, expiresAt, channel, minimumVersion, signers, revoked } = release;
  return { version, serial, expiresAt, channel, minimumVersion, signer: signers[0], signers, revoked };
}

/** Describes a verified release in a line of text. */
export function releaseSentence({ signers, serial, channel, expiresAt, revoked }: Verified<Purpose>): string {
  const keys = signers.map(({ id, name }) => (name === id ? id : `${escaped(name)} (${id})`)).join(' and ');
  const without = revoked.length === 0 ? '' : `, revokes ${revoked.join(', ')}`;
  return `signed with ${keys}, serial ${serial}, channel ${channel}, expires ${expiresAt}${without}`;
}

/** Output for progress, such as `process.stderr`. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/**
 * Creates a progress line, which is shown only on a terminal.
 * @param what the activity to show, such as "hashing"
 * @param now returns milliseconds of a monotonic clock
 * @returns `show`, which takes the bytes so far and the total, and `clear`, which removes the line
 */
export function progressLine(screen: Screen, what: string, now: () => number) {
  const begin = now();
  let shown = false;
  return {
    show(bytes: number, total: number): void {
      if (!screen.isTTY) return;
      const seconds = (now() - begin) / 1000;
      // a line for less than 0.2 s would only flicker
      if (seconds < 0.2) return;
      const percent = total === 0 ? 100 : Math.floor((100 * bytes) / total);
      const line = `${what} ${percent} %  ${size(bytes)} of ${size(total)}  ${size(bytes / seconds)}/s`;
      screen.write(`\r${line.slice(0, (screen.columns ?? 80) - 1)}\x1b[K`);
      shown = true;
    },
    clear(): void {
      if (shown) screen.write('\r\x1b[K');
      shown = false;
    },
  };
}

/** Formats a number of bytes, such as `1.4 GB`. */
export function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const step = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** step).toFixed(step < 2 ? 0 : 1)} ${units[step]}`;
}
