// Starts an app that uses the tunnel only, as `culvert run --tunnel-only` does, or refuses where it would leave its place.
import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { FeatureContext } from '../../controls.ts';
import { places as usual } from '../../killswitch/client/published-state.ts';
import { requireService } from '../../killswitch/client/tunnel-only.ts';
import { Problem } from '../../problem.ts';
import { message } from '../../view/message.ts';
import type { Launchable } from '../app-list.ts';
import { flag, text } from '../desktop-entry.ts';
import { expandFields, locateProgram, splitExec } from '../exec-key.ts';
import { findProgram } from '../inspect-binary.ts';
import { handsOver, isKept, runsOutside } from './escapes.ts';
import { type Launched, launch, sessionEnv } from './launch.ts';
import { fileNameOf, ownProfile } from './proxy-launch.ts';
import { ownsBusName } from './running.ts';

const PLACE_MS = { each: 50, limit: 60_000 };

/**
 * @param launcher absolute path of `culvert`
 * @returns its process; null for an app in a terminal that has handed over
 * @throws Problem killswitch-not-installed, app-launch-failed
 */
export async function keepApp(
  { app, entry, path }: Launchable,
  { launcher, places = usual }: { launcher: string; places?: typeof usual },
  { env, paths }: FeatureContext,
): Promise<number | null> {
  const { name } = app;
  requireService(places);
  const session = sessionEnv(env);
  const escapes = () =>
    new Problem(
      'app-launch-failed',
      message('%s can’t be kept in the tunnel, because another process starts it. Nothing was started.', name),
    );
  const line = text(entry, 'Exec');
  if (!line) throw escapes(); // D-Bus starts it
  const args = expandFields(splitExec(line), { name, icon: app.icon, file: path });
  const located = locateProgram(args);
  const program = args[located.at]!;
  if (located.packaging !== 'native' || handsOver(program, session.PATH ?? '')) throw escapes();
  const binary = findProgram(program, session.PATH ?? '');
  if (!binary) throw new Problem('app-launch-failed', message('The program of %s is not installed.', name));

  const { argv, env: more, profile } = ownProfile(app, { args, located }, paths);
  const busName = flag(entry, 'DBusActivatable') ? app.id.replace(/\.desktop$/, '') : null;
  if (!profile && (runsOutside(binary) || (busName !== null && (await ownsBusName(busName, session)))))
    throw new Problem(
      'app-launch-failed',
      message(
        '%s is already running and would open the new window itself, outside its place. Nothing was started.',
        name,
      ),
      { hint: `Close ${name}, then try again.` },
    );
  if (profile) mkdirSync(profile, { recursive: true, mode: 0o700 });
  const terminal = flag(entry, 'Terminal');
  const failed = (why: string, cause?: unknown) => {
    const hint = `See why in a terminal: culvert run --tunnel-only -- ${program}`;
    return new Problem('app-launch-failed', message('%s did not start. %s', name, why), { hint }, cause);
  };
  const start = {
    argv: [launcher, 'run', '--tunnel-only', '--', ...argv],
    env: more,
    directory: text(entry, 'Path') || null,
    terminal,
    label: fileNameOf(app.id),
    description: `${name} (only through the tunnel)`,
    watched: true,
  };
  const launched = await launch(start, env).catch(cause => {
    throw failed((cause as Error).message, cause);
  });
  const why = terminal ? null : await arrival(launched);
  if (why !== null) throw failed(why);
  return launched.pid;
}

/** Waits until the process is in its place. @returns the reason where it ended before, or null */
async function arrival({ pid, failure }: Launched): Promise<string | null> {
  if (pid === null) return null;
  const ended = failure.then(why => ({ why }));
  for (let waited = 0; waited < PLACE_MS.limit; waited += PLACE_MS.each) {
    try {
      if (isKept(pid)) return null;
    } catch {
      return failure; // it has ended
    }
    const end = await Promise.race([ended, delay(PLACE_MS.each)]);
    if (end) return end.why;
  }
  return 'It is not in its place after a minute.';
}
