// Applies the faults of the service and of the process before a command acts, and asks for the terms of service.
import { readSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import { errno } from '../core/errors.ts';
import { makeDirectory, readText } from '../core/files.ts';
import { type Refusal, refuse } from './answer.ts';
import type { Faults } from './faults.ts';
import { type State, update } from './state.ts';

const DAEMON = 'Unable to connect to the CloudflareWARP daemon';

/** @returns the refusal of a service that can't be reached, or null */
export function serviceProblem(state: State, command: string, faults: Faults, file: string): Refusal | null {
  const absent: Refusal = {
    ...refuse('FailedToConnectToDaemon', `${DAEMON}: No such file or directory (os error 2)`),
    daemon: true,
  };
  if (faults.strikes('service-down', command) !== null) return absent;
  if (faults.strikes('connection-refused', command) !== null) {
    return { ...absent, message: `${DAEMON}: Connection refused (os error 111)` };
  }
  const late = faults.strikes('socket-late', command);
  if (late === null) return null;
  const upAt =
    state.serviceUpAt ??
    update(file, fresh => {
      fresh.serviceUpAt ??= Date.now() + Number(late || 2000);
      return fresh.serviceUpAt;
    });
  return Date.now() < upAt ? absent : null;
}

/** Applies the process faults; resolves when the command may continue, which is never with `hang`. */
export async function injectFault(command: string, faults: Faults): Promise<void> {
  const grandchild = faults.strikes('grandchild', command);
  if (grandchild !== null) {
    const { spawn } = await import('node:child_process');
    spawn('sleep', [grandchild || '30'], { stdio: ['ignore', 'inherit', 'inherit'] }).unref();
  }
  const slow = faults.strikes('slow', command);
  if (slow !== null) await new Promise(resolve => setTimeout(resolve, Number(slow || 1000)));
  const deaf = faults.strikes('hang-deaf', command) !== null;
  if (!deaf && faults.strikes('hang', command) === null) return;
  if (deaf) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  setInterval(() => {}, 2 ** 30);
  await new Promise(() => {});
}

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

/** Returns a path next to the state, never in the user's home: the real tool would count the terms as accepted. */
export function acceptedFile(stateFile: string): string {
  return join(dirname(stateFile), 'home/.local/share/warp/accepted-tos.txt');
}

/**
 * Asks for the terms on a terminal, refuses without one, and remembers a yes as the real tool does.
 * @param flag true if `--accept-tos` was given
 * @returns true if the command may run; otherwise a refusal without a terminal is already on stderr
 */
export function termsAccepted(stateFile: string, flag: boolean): boolean {
  const file = acceptedFile(stateFile);
  if (readText(file)?.trim() === 'yes') return true;
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

function readLine(): string {
  const byte = Buffer.alloc(1);
  let line = '';
  while (readSync(0, byte) === 1 && byte[0] !== 10) line += byte.toString('latin1');
  return line.trim();
}

/**
 * Writes a whole text synchronously, so that an immediate exit loses nothing, and a listener's line is not delayed.
 * Waits if a full pipe does not block. Ends the process if the text can't be written.
 */
export function write(fd: 1 | 2, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const code = errno(error);
      if (code === 'EAGAIN') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      else {
        if (code !== 'EPIPE' && fd === 1) write(2, `culvert-emulator: The output can't be written (${code}).\n`);
        process.exit(1);
      }
    }
  }
}
