// Finds out whether an app runs outside the proxy already, so that it would take over a start.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, realpathSync } from 'node:fs';

/** True if a process of this program runs without our switch; `file` is its executable. For Electron apps. */
export function runsWithoutProxy(file: string): boolean {
  let real: string;
  try {
    real = realpathSync(file);
  } catch {
    return false;
  }
  return readdirSync('/proc').some(pid => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      // its helpers (--type=renderer) inherit nothing that shows it; the first process does
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (words.some(word => word.startsWith('--type=') || word.startsWith('--proxy-server='))) return false;
      return realpathSync(`/proc/${pid}/exe`) === real || words[0] === file || words[1] === file;
    } catch {
      return false; // ended, or of another user
    }
  });
}

/** True if a name is owned on the session bus; false without a bus, or without a program to ask it with. */
export function ownsBusName(name: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const call = 'org.freedesktop.DBus.NameHasOwner';
  const args = ['call', '--session', '--dest', 'org.freedesktop.DBus', '--object-path', '/org/freedesktop/DBus'];
  return new Promise(resolve => {
    execFile('gdbus', [...args, '--method', call, '--', name], { env, timeout: 3000 }, (error, stdout) =>
      resolve(!error && stdout.includes('true')),
    );
  });
}
