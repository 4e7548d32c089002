// Starts the daemon for a command that needs one, so that it outlives the command.
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Unreachable } from '../api/client.ts';
import { programs } from '../system/install-paths.ts';
import { assertOwn } from '../system/own-home.ts';
import type { Context } from './context.ts';
import { Failure } from './errors.ts';

const LIMIT_MS = 20_000;

/** As the user's unit where it is installed, else detached. @throws Failure when it doesn't answer in time, Error where it would refuse */
export async function startDaemon({ client, env, paths, signal }: Context): Promise<void> {
  assertOwn(paths.runtime, paths.state, paths.config);
  if (!(await startUnit(env))) {
    const child = spawn(programs.culvert, ['--no-open', '--no-panel', '--no-tray'], {
      env,
      cwd: '/',
      detached: true,
      stdio: 'ignore',
    });
    child.once('error', () => {}); // nothing will answer, which is reported below
    child.unref();
  }
  for (const end = performance.now() + LIMIT_MS; performance.now() < end; ) {
    try {
      await client.call('GET /api/health');
      return;
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
    }
    await delay(100, undefined, { signal });
  }
  throw new Failure('The daemon was started, but does not answer.', {
    hint: 'Start it in a terminal to see why: culvert',
  });
}

function startUnit(env: NodeJS.ProcessEnv): Promise<boolean> {
  if (!env.XDG_RUNTIME_DIR || !existsSync(join(env.XDG_RUNTIME_DIR, 'systemd/private'))) return Promise.resolve(false);
  return new Promise(resolve => {
    execFile('systemctl', ['--user', 'start', 'culvert.service'], { env, timeout: LIMIT_MS }, error => resolve(!error));
  });
}
