// Says early why the root service would not let a program through the kill switch: it knows the program only once that runs.
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { Problem } from '../../problem.ts';
import { ALLOWLIST, parseAllowlist } from '../outside/allowlist.ts';
import { message } from '../wording.ts';

/** @param file path of the program; null: there is none. @throws Problem killswitch-failed */
export function requireAllowed(file: string | null, list = ALLOWLIST): void {
  if (!file || !existsSync(file)) return; // the shell says so
  const real = realpathSync(file);
  const isScript = readFileSync(real).subarray(0, 2).toString() === '#!';
  if (!isScript && parseAllowlist(readFileSync(list, 'utf8')).includes(real)) return;
  throw new Problem(
    'killswitch-failed',
    isScript
      ? message('The kill switch is on, and %s is a script: only the program that it starts can be allowed.', real)
      : message('The kill switch is on, and no administrator has allowed %s outside the tunnel.', real),
    { hint: `An administrator can add the path of the program to ${list}` },
  );
}
