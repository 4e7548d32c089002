// Writes what an error means for a person, where the catalog says that no other account is to be tried after it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The daemon of Culvert writes the state of WARP here (daemon/view/client/status-file.ts), the third line. */
const STATUS = 'culvert/status';

/** @param note of the catalog; `{vpn}` stands for a sentence about WARP or another VPN */
export function noteText(cli: string, note: string, env: NodeJS.ProcessEnv = process.env): string {
  return `${cli}: ${note.replace('{vpn}', vpnSentence(env))}`;
}

function vpnSentence(env: NodeJS.ProcessEnv): string {
  return isWarpConnected(env)
    ? 'WARP is connected and changes the address that the provider sees, which may be the cause'
    : 'a VPN or proxy such as WARP may be the cause';
}

function isWarpConnected({ XDG_RUNTIME_DIR: directory = '' }: NodeJS.ProcessEnv): boolean {
  try {
    const [process, , state] = readFileSync(join(directory, STATUS), 'utf8').split('\n');
    const [pid = ''] = process!.split(' ');
    // a daemon that is gone left its last state
    return state === 'connected' && readFileSync(`/proc/${Number(pid)}/stat`, 'utf8') !== '';
  } catch {
    return false;
  }
}
