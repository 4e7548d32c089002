// Starts an app in or outside the tunnel with `culvert run`, or refuses if the app would leave its place.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod/mini';
import { Problem as Document, type PlacedWay } from '../api/schema.ts';
import { Message } from '../api/values.ts';
import type { FeatureContext } from '../controls.ts';
import { makeDirectory, readText } from '../core/files.ts';
import { findProgram } from '../core/run-helper.ts';
import { parseJson } from '../core/shape.ts';
import { requireService, SERVICE_PATHS, type ServicePaths } from '../killswitch/client/published-state.ts';
import { Problem } from '../problem.ts';
import { quote } from '../view/fix.ts';
import { message } from '../view/message.ts';
import { N_ } from '../view/translator.ts';
import type { Launchable } from './catalog.ts';
import { commandLineOf, fileNameOf, placedCommand } from './command-line.ts';
import { flag, text } from './desktop-entry.ts';
import { handoverReason, isStarted, ownsBusName, runsElsewhere } from './escapes.ts';
import { type Launched, launch, sessionEnv } from './launch.ts';

const CHECK_MS = { interval: 50, limit: 60_000 };

interface Way {
  /** Refusal of an app that another process would start. */
  noPlace: string;
  description: string;
}

const WAYS: Readonly<Record<PlacedWay, Way>> = {
  'tunnel-only': {
    noPlace: N_('%s can’t be kept in the tunnel, because another process starts it. Nothing was started.'),
    description: 'only through the tunnel',
  },
  outside: {
    noPlace: N_('%s can’t run outside the tunnel, because another process starts it. Nothing was started.'),
    description: 'outside the tunnel',
  },
};

/**
 * Starts an app in or outside the tunnel, and waits until it runs there.
 * @param launcher absolute path of `culvert`
 * @returns the app's process, or null if a terminal handed it over, and the app's limits
 * @throws Problem killswitch-not-installed, killswitch-denied, killswitch-failed, app-launch-failed
 */
export async function placeApp(
  launchable: Launchable,
  { way, launcher, service = SERVICE_PATHS }: { way: PlacedWay; launcher: string; service?: ServicePaths },
  { env, paths }: FeatureContext,
): Promise<{ pid: number | null; limits: Message[] }> {
  const { app, entry } = launchable;
  const { noPlace, description } = WAYS[way];
  requireService(service, way);
  const session = sessionEnv(env);
  const line = commandLineOf(launchable);
  const program = line?.args[line.located.at];
  // D-Bus or another program starts the app
  if (!line || !program || line.located.packaging !== 'native' || handoverReason(program, session.PATH ?? ''))
    throw new Problem('app-launch-failed', message(noPlace, app.name));
  const binary = findProgram(program, session.PATH ?? '');
  if (!binary) throw new Problem('app-launch-failed', message('The program of %s is not installed.', app.name));
  const { argv, env: more, profile } = placedCommand(app, line, { way, state: paths.state });
  if (profile) makeDirectory(profile);
  else await refuseRunning({ app, entry }, { way, binary }, session);

  const terminal = flag(entry, 'Terminal');
  const report = openReport(paths.runtime);
  const start = {
    argv: [launcher, 'run', ...(terminal ? [] : ['--json']), `--${way}`, '--', ...argv],
    env: { ...more, ...(terminal ? {} : report.env) },
    directory: text(entry, 'Path') || null,
    terminal,
    label: fileNameOf(app.id),
    description: `${app.name} (${description})`,
    watched: true,
  };
  try {
    const launched = await launch(start, env);
    const why = terminal ? null : await earlyFailure(launched, pid => isStarted(pid, way, launcher));
    if (why !== null) throw new Error(why);
    return { pid: launched.pid, limits: report.limits() };
  } catch (cause) {
    const hint = `See why in a terminal: culvert run --${way} -- ${quote([program])}`;
    const failed = message('%s did not start. %s', app.name, (cause as Error).message);
    throw report.refusal(app.name) ?? new Problem('app-launch-failed', failed, { hint }, cause);
  } finally {
    report.close();
  }
}

/** @throws Problem app-launch-failed if a running instance would open the new window */
async function refuseRunning(
  { app, entry }: Pick<Launchable, 'app' | 'entry'>,
  { way, binary }: { way: PlacedWay; binary: string },
  session: NodeJS.ProcessEnv,
): Promise<void> {
  const busName = flag(entry, 'DBusActivatable') ? app.id.replace(/\.desktop$/, '') : null;
  if (!runsElsewhere(binary, way) && !(busName !== null && (await ownsBusName(busName, session)))) return;
  throw new Problem(
    'app-launch-failed',
    message(
      '%s is already running and would open the new window itself, outside its place. Nothing was started.',
      app.name,
    ),
    { hint: `Close ${app.name}, then try again.` },
  );
}

/** Waits until the process has become the app. @returns the reason if it ends earlier or takes too long, or null */
async function earlyFailure({ pid, failure }: Launched, isStarted: (pid: number) => boolean): Promise<string | null> {
  if (pid === null) return null;
  const ended = failure.then(why => ({ why }));
  for (let waited = 0; waited < CHECK_MS.limit; waited += CHECK_MS.interval) {
    try {
      if (isStarted(pid)) return null;
    } catch {
      return failure; // the process has ended
    }
    const end = await Promise.race([ended, delay(CHECK_MS.interval)]);
    if (end) return end.why;
  }
  return 'It is not in its place after a minute.';
}

/** A refusal by the command line itself, without a problem code. */
const PlainRefusal = z.object({ detail: z.string(), hint: z.optional(z.string()) });

const Limits = z.object({ limits: z.array(Message) });

/** Opens the file in which `culvert run` reports a refusal or limits. @param directory writable by this user only */
function openReport(directory: string) {
  const own = mkdtempSync(join(directory, 'start-'));
  const file = join(own, 'refusal');
  return {
    /** Environment for `culvert run --json`. */
    env: { CULVERT_REPORT: file },
    /** Returns the refusal, or null. @param name the app's name */
    refusal: (name: string) => parseRefusal(readText(file) ?? '', name),
    /** Returns the limits of a started program. */
    limits(): Message[] {
      const { success, data } = Limits.safeParse(parseJson(readText(file) ?? ''));
      return success ? data.limits : [];
    },
    close: () => rmSync(own, { recursive: true, force: true }),
  };
}

function parseRefusal(text: string, name: string): Problem | null {
  if (!text.trim()) return null;
  const json = parseJson(text);
  const { success, data } = Document.safeParse(json);
  if (success) return new Problem(data.code, data.wording?.[0] ?? data.detail, data.hint ? { hint: data.hint } : {});
  const refusal = PlainRefusal.safeParse(json);
  const { detail, hint } = refusal.success ? refusal.data : parseLines(text);
  return new Problem('app-launch-failed', message('%s did not start. %s', name, detail), hint ? { hint } : {});
}

/** Parses a refusal by the script, which does not print JSON. */
function parseLines(text: string): z.infer<typeof PlainRefusal> {
  const [detail = '', ...rest] = text.trim().split('\n');
  return { detail: detail.replace(/^culvert: /, ''), hint: rest.join(' ') };
}
