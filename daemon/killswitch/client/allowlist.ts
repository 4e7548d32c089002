// Says early why the root service would not let a program through the kill switch: it knows the program only once that runs.
import { closeSync, existsSync, openSync, readFileSync, readSync, realpathSync } from 'node:fs';
import { Problem } from '../../problem.ts';
import { ALLOWLIST, parseAllowlist } from '../outside/allowlist.ts';
import { message } from '../wording.ts';

/** @param file path of the program; null if it was not found. @throws Problem killswitch-failed */
export function requireAllowed(file: string | null): void {
  if (!file || !existsSync(file)) return; // the shell says so
  const real = realpathSync(file);
  const script = startOf(real) === '#!';
  const text = readable(() => readFileSync(ALLOWLIST, 'utf8'));
  // the root service knows a list that only root may read
  if (!script && (text === null || parseAllowlist(text).includes(real))) return;
  throw new Problem(
    'killswitch-failed',
    script
      ? message('The kill switch is on, and %s is a script: only the program that it starts can be allowed.', real)
      : message('The kill switch is on, and no administrator has allowed %s outside the tunnel.', real),
    { hint: `An administrator can add the path of the program to ${ALLOWLIST}` },
  );
}

/** The first two bytes; null for a program that may be run, but not read. */
function startOf(file: string): string | null {
  return readable(() => {
    const start = Buffer.alloc(2);
    const fd = openSync(file, 'r');
    try {
      readSync(fd, start);
    } finally {
      closeSync(fd);
    }
    return start.toString('latin1');
  });
}

function readable(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}
