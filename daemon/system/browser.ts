// Opens an address in the desktop's browser.
import { spawn } from 'node:child_process';

/**
 * Hands an address to xdg-open, which outlives this process.
 * @returns why it could not be opened, or null once it was handed over.
 */
export function openInBrowser(address: string, env: NodeJS.ProcessEnv): Promise<string | null> {
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY) return Promise.resolve('there is no display');
  return new Promise(resolve => {
    const child = spawn('xdg-open', [address], { env, detached: true, stdio: 'ignore' });
    child.once('error', error => resolve(`xdg-open can't be started: ${error.message}`));
    child.once('spawn', () => resolve(null));
    child.unref();
  });
}
