// Checks for newer releases on request and once a day, and replaces this installation with a release or the previous version.
import { existsSync, readFileSync } from 'node:fs';
import gt from 'semver/functions/gt.js';
import project from '../../data/project.json' with { type: 'json' };
import { releaseTrust } from '../../manifest/verify.ts';
import type { UpdateCheck } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { reason } from '../core/errors.ts';
import { installFormat, prefix, VERSION } from '../system/installation.ts';
import { type Answer, type CheckerOptions, createChecker } from './checker.ts';
import { type Build, createInstaller, createPublisher } from './installer.ts';
import { commandFor, describeManifest, describeSource } from './report.ts';
import type { Target } from './target.ts';
import { attempt, loadUpdateState, saveUpdateState, type UpdateState } from './update-state.ts';
import { userLayout } from './user-layout.ts';

/** Options of the updater: this build, and values that tests replace. */
export interface UpdaterOptions extends CheckerOptions, Build {
  /** Time from the start to the first automatic check, in milliseconds. */
  startupMs: number;
  /** Interval for reading the clock, in milliseconds. */
  tickMs?: number;
}

const DEFAULTS: UpdaterOptions = {
  version: VERSION,
  format: installFormat(),
  prefix,
  now: Date.now,
  startupMs: 30_000,
  redirectHosts: project.releases.redirectHosts,
};

export function createUpdates(context: FeatureContext, given: Partial<UpdaterOptions> = {}) {
  const options = { ...DEFAULTS, ...given };
  const { paths, settings, state } = context;
  const ending = new AbortController();
  const checker = createChecker(context, options, ending.signal);
  const publisher = createPublisher(
    async progress => {
      const answer = checker.last();
      return answer && describe({ answer, progress, target: await installer.target(), options, context });
    },
    update => state.set('update', update),
    options.now,
  );
  const installer = createInstaller({ build: options, context, checker, publisher, signal: ending.signal });
  let schedule: Schedule | undefined;

  /** Checks for a release, and records the time of the first failure until the source answers again. */
  async function checkAutomatically(): Promise<void> {
    const { problem } = await checker.checkLatest();
    if (ending.signal.aborted) return;
    if (problem && problem.code !== 'no-source')
      attempt(context, 'A failed check for updates could not be recorded', () => {
        if (loadUpdateState(paths).failingSince === null) saveUpdateState(paths, { failingSince: options.now() });
      });
    await publisher.publish();
  }

  return {
    /** Schedules checks if `updates.checkOnStartup` is on, and publishes the results as `update`. */
    start(): void {
      if (options.format === 'user') void completeInterruptedUpdate(context);
      const { keys } = (options.trust ?? releaseTrust)();
      // a build without keys would refuse every release
      const { checkOnStartup, source } = settings.config.updates;
      if (checkOnStartup && source !== '' && keys.length > 0) schedule = startSchedule(options, checkAutomatically);
    },
    async stop(): Promise<void> {
      schedule?.stop();
      ending.abort();
      await Promise.all([checker.idle(), installer.idle()]);
    },
    /**
     * Checks for a release. Never rejects: `problem` has the reason for a missing answer.
     * @param fresh true to check now instead of returning a result of the last minutes.
     */
    async check(fresh = false): Promise<UpdateCheck> {
      const recent = checker.recent(fresh);
      const answer = recent ?? (await checker.checkLatest());
      const progress = publisher.progress();
      const update = describe({ answer, progress, target: await installer.target(), options, context });
      if (!recent) state.set('update', update);
      return update;
    },
    /** @throws Problem update-refused (with `reason`), update-not-applicable, update-failed, busy */
    apply: installer.apply,
    /** @throws Problem in the same cases as `apply` */
    rollback: installer.rollback,
  };
}

/** The service that checks for updates and installs them. */
export type Updates = ReturnType<typeof createUpdates>;

interface Described {
  answer: Answer;
  progress: UpdateCheck['progress'];
  target: Target | null;
  options: UpdaterOptions;
  context: FeatureContext;
}

function describe({ answer, progress, target, options, context }: Described): UpdateCheck {
  const { release, problem, at } = answer;
  const { updates } = context.settings.config;
  const state = stateOrNull(context);
  const newer = release !== null && gt(release.version, options.version);
  return {
    ok: true,
    current: options.version,
    channel: updates.channel,
    latest: release?.version ?? null,
    updateAvailable: newer && state?.declined !== release.version,
    manifest: release && describeManifest(release),
    checkedAt: new Date(at).toISOString(),
    problem,
    source: describeSource(problem, state ?? { answeredAt: null, failingSince: null }, options.now()),
    applicable: newer && target?.notApplicableReason() === null,
    // the command for a source tree does not depend on a release
    command: newer || problem ? commandFor(options.format, options.prefix, release, updates) : null,
    previous: previousOf(target),
    progress,
  };
}

/** Returns the state, or null if it can't be read, which the check already reports. */
function stateOrNull({ paths }: FeatureContext): UpdateState | null {
  try {
    return loadUpdateState(paths);
  } catch {
    return null;
  }
}

function previousOf(target: Target | null): string | null {
  try {
    return target?.previous() ?? null;
  } catch {
    return null;
  }
}

/** Completes a killed update. This is rare, so its code is loaded only on demand. */
async function completeInterruptedUpdate({ env, say }: FeatureContext): Promise<void> {
  try {
    const layout = userLayout(env);
    if (!existsSync(layout.record) || !readFileSync(layout.record, 'utf8').includes('"pending": true')) return;
    await (await import('./user-tree.ts')).completeInterrupted(layout);
  } catch (error) {
    say(`An interrupted update could not be completed: ${reason(error)}`);
  }
}

/** Interval of checks, plus or minus an eighth, because installations should not check at the same time. */
const INTERVAL_MS = 24 * 3_600_000;
/** Interval for reading the clock, because timers do not advance while a machine sleeps. */
const TICK_MS = 15 * 60_000;

interface Schedule {
  stop(): void;
}

interface ScheduleOptions {
  /** Time from the start to the first check, in milliseconds. */
  startupMs: number;
  /** Milliseconds since 1970. */
  now(): number;
  /** Interval for reading the clock, in milliseconds. Default: 15 minutes. */
  tickMs?: number;
  /** Returns a number from 0 to 1 that determines the time of the next check. Default: Math.random. */
  random?(): number;
}

/** @param check never rejects */
export function startSchedule(
  { startupMs, now, tickMs = TICK_MS, random = Math.random }: ScheduleOptions,
  check: () => Promise<void>,
): Schedule {
  let due = 0;
  let interval: NodeJS.Timeout | undefined;
  const checkNow = () => {
    due = now() + INTERVAL_MS * (0.875 + random() / 4);
    void check();
  };
  const startup = setTimeout(() => {
    checkNow();
    // check now if the clock was set back by more than a day, which would delay the check
    interval = setInterval(() => (now() >= due || due - now() > 2 * INTERVAL_MS) && checkNow(), tickMs);
    interval.unref();
  }, startupMs);
  startup.unref();
  return {
    stop() {
      clearTimeout(startup);
      clearInterval(interval);
    },
  };
}
