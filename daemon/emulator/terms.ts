// The terms of service: refused without a terminal, asked on one, and remembered like the real tool does.
import { readFileSync, readSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import { makeDirectory } from '../system/files.ts';
import { write } from './io.ts';

const NOTICE = `NOTICE:

Cloudflare only collects limited DNS query and traffic data (excluding payload)
that is sent to our network when you have the app enabled on your device. We
will not sell, rent, share, or otherwise disclose your personal information to
anyone, except as otherwise described in this Policy, without first providing
you with notice and the opportunity to consent. All information is handled in
accordance with our Privacy Policy.

More information is available at:
- https://www.cloudflare.com/application/terms/
- https://www.cloudflare.com/application/privacypolicy/

Accept Terms of Service and Privacy Policy? [y/N] `;
const REFUSAL =
  'Please accept the WARP Terms of Service by running this command in a TTY or by passing the --accept-tos flag.\n';

/** Next to the state, never in the user's own home, where the real tool would take its word for accepted. */
export function acceptedFile(stateFile: string): string {
  return join(dirname(stateFile), 'home/.local/share/warp/accepted-tos.txt');
}

/**
 * @param flag whether `--accept-tos` was given
 * @returns whether the command may run; the refusal is already on stderr
 */
export function termsAccepted(stateFile: string, flag: boolean): boolean {
  const file = acceptedFile(stateFile);
  if (isAccepted(file)) return true;
  if (!flag) {
    if (!isatty(0)) {
      write(2, REFUSAL);
      return false;
    }
    write(1, NOTICE);
    if (!/^y(es)?$/i.test(readLine())) return false;
    write(1, '\n');
  }
  makeDirectory(dirname(file));
  writeFileSync(file, 'yes');
  return true;
}

function isAccepted(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').trim() === 'yes';
  } catch {
    return false;
  }
}

function readLine(): string {
  const byte = Buffer.alloc(1);
  let line = '';
  while (readSync(0, byte) === 1 && byte[0] !== 10) line += byte.toString('latin1');
  return line.trim();
}
