// Prints the results of commands: one line for people, JSON for programs, notes on stderr.
import { escaped } from '../../daemon/core/printable.ts';
import type { Verified } from '../verify.ts';
import type { Context } from './output.ts';

export function print({ stdout }: Context, line: string): void {
  stdout.write(`${line}\n`);
}

export function printJson({ stdout }: Context, value: unknown): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function note({ stderr }: Context, line: string): void {
  stderr.write(`culvert-manifest: ${line}\n`);
}

/** A verified release as `--json` prints it. */
export function describeRelease(release: Verified) {
  const { version, serial, expiresAt, channel, minimumVersion, signers, revoked } = release;
  return { version, serial, expiresAt, channel, minimumVersion, signer: signers[0], signers, revoked };
}

/** A verified release in words. */
export function releaseSentence({ signers, serial, channel, expiresAt, revoked }: Verified): string {
  const keys = signers.map(({ id, name }) => (name === id ? id : `${escaped(name)} (${id})`)).join(' and ');
  const without = revoked.length === 0 ? '' : `, revokes ${revoked.join(', ')}`;
  return `signed with ${keys}, serial ${serial}, channel ${channel}, expires ${expiresAt}${without}`;
}
