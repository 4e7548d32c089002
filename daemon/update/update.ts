// Updates: whether there is a newer release, and this installation replaced by it. What a check or an update needs is
// loaded when there is one.
import { existsSync, readFileSync } from 'node:fs';
import type { releaseKeys, Verified } from '../../manifest/verify.ts';
import { INSTALL_FORMAT, VERSION } from '../about.ts';
import type { UpdateCheck, UpdateResponse, Version } from '../api/schema.ts';
import type { Ground, UpdatesControl } from '../features.ts';
import { prefix } from '../place.ts';
import { Problem } from '../problem.ts';
import type { Limits } from './fetch.ts';
import { placesOf } from './places.ts';
import type { Target } from './target.ts';
import { asProblem, describe, utc } from './tell.ts';

/** What a test replaces: the clock, the trusted keys, and what this build is. */
export interface Means {
  version: string;
  format: Version['installFormat'];
  prefix: string;
  now(): number;
  keys?: typeof releaseKeys;
  limits?: Limits;
  /** From the start to the check of `updates.checkOnStartup`, in milliseconds. */
  startupMs: number;
}

const MEANS: Means = { version: VERSION, format: INSTALL_FORMAT, prefix, now: Date.now, startupMs: 30_000 };
/** How long an answer serves whoever does not ask for a new one; a failure is forgotten sooner. */
const ANSWER_MS = 15 * 60_000;
const FAILURE_MS = 30_000;
const PROGRESS_MS = 250;

interface Found {
  of: string;
  at: number;
  release: Verified | null;
  problem: UpdateCheck['problem'];
  command: string | null;
}

export function createUpdates(ground: Ground, given: Partial<Means> = {}): UpdatesControl {
  const means = { ...MEANS, ...given };
  const { state, settings, paths, env } = ground;
  const ending = new AbortController();
  let target: Promise<Target | null> | undefined;
  let found: Found | undefined;
  let looking: Promise<Found> | undefined;
  let operation: Promise<unknown> | undefined;
  let progress: UpdateCheck['progress'] = null;
  let startup: NodeJS.Timeout | undefined;

  const wanted = () => settings.config.updates;
  const asked = () => `${wanted().channel} ${wanted().source}`;

  /** Looks at the source, once for all who ask meanwhile. Rejects with Refused, Refusal. */
  async function look(): Promise<{ release: Verified; found: Found }> {
    const [{ fetchRelease }, { recall }, { releaseKeys }, { LIMITS }] = await Promise.all([
      import('./release.ts'),
      import('./memory.ts'),
      import('../../manifest/verify.ts'),
      import('./fetch.ts'),
    ]);
    const of = asked();
    const { channel, source } = wanted();
    const release = await fetchRelease(
      source,
      channel,
      {
        keys: (means.keys ?? releaseKeys)(),
        now: means.now(),
        lastSerial: recall(paths).serials[channel],
        installed: means.version,
      },
      fetching(means.limits ?? LIMITS),
    );
    const { commandFor } = await import('./command.ts');
    const command = commandFor(means.format, release, source, channel, means.prefix);
    found = { of, at: means.now(), release, problem: null, command };
    return { release, found };
  }

  function lookQuietly(): Promise<Found> {
    looking ??= look()
      .then(async ({ release, found }) => {
        const { rememberSerial } = await import('./memory.ts');
        rememberSerial(paths, release.channel, release.serial);
        return found;
      })
      .catch((error: Error): Found => {
        found = { of: asked(), at: means.now(), release: null, problem: describe(error), command: null };
        return found;
      })
      .finally(() => {
        looking = undefined;
      });
    return looking;
  }

  function fetching(limits: Limits) {
    return { limits, env, signal: ending.signal, agent: `culvert/${means.version}` };
  }

  const loadTarget = () => {
    target ??= openTarget(means, ground).catch(() => null);
    return target;
  };

  /** @param shown the progress of the moment of the call: what comes later is told later. */
  async function answer({ at, release, problem, command }: Found, shown = progress): Promise<UpdateCheck> {
    const [{ default: gt }, { recall }, replaceable] = await Promise.all([
      import('semver/functions/gt.js'),
      import('./memory.ts'),
      loadTarget(),
    ]);
    const read = <T>(what: () => T, otherwise: T) => {
      try {
        return what();
      } catch {
        return otherwise; // why stands in `problem`: the check reads it as well
      }
    };
    const newer = release !== null && gt(release.version, means.version);
    return {
      ok: true,
      current: means.version,
      channel: wanted().channel,
      latest: release?.version ?? null,
      updateAvailable: newer && read(() => recall(paths).declined, null) !== release.version,
      manifest: release && {
        generatedAt: utc(release.manifest.generated_at),
        tag: release.manifest.tag ?? null,
        signed: true,
        signer: release.signer.name,
      },
      checkedAt: new Date(at).toISOString(),
      problem,
      applicable: newer && replaceable !== null && replaceable.obstacle() === null,
      command: newer ? command : null,
      previous: read(() => replaceable?.previous() ?? null, null),
      progress: shown,
    };
  }

  /** Tells everybody, in the order of the calls. */
  let telling = Promise.resolve();
  function announce(): Promise<void> {
    const [what, shown] = [found, progress];
    telling = telling.then(async () => {
      if (what) state.set('update', await answer(what, shown));
    });
    return telling;
  }

  let told = 0;
  function advance(next: NonNullable<UpdateCheck['progress']>): void {
    const same = progress?.phase === next.phase;
    progress = next;
    if (same && means.now() - told < PROGRESS_MS) return;
    told = means.now();
    void announce();
  }

  /** One at a time; afterwards the daemon is started again as what was installed. */
  async function change(work: (replaceable: Target) => Promise<string>): Promise<UpdateResponse> {
    if (operation) throw new Problem('busy', 'An update is under way already.');
    const running = perform(work);
    operation = running;
    try {
      const to = await running;
      setImmediate(ground.restart); // the reply is written by then
      return { ok: true, from: means.version, to };
    } catch (error) {
      throw asProblem(error);
    } finally {
      operation = undefined;
      progress = null;
      await announce();
    }
  }

  async function perform(work: (replaceable: Target) => Promise<string>): Promise<string> {
    const replaceable = await loadTarget();
    const obstacle = replaceable === null ? NOT_HERE[means.format] : replaceable.obstacle();
    if (replaceable === null || obstacle !== null) {
      const { command } = await lookQuietly();
      throw new Problem('update-not-applicable', obstacle ?? '', command === null ? {} : { hint: `Run: ${command}` });
    }
    return work(replaceable);
  }

  async function update(replaceable: Target): Promise<string> {
    const { release } = await look();
    const [{ default: gt }, { addressOf, artifactIn, fetchVerified }, { remember, rememberSerial }, { LIMITS }] =
      await Promise.all([
        import('semver/functions/gt.js'),
        import('./release.ts'),
        import('./memory.ts'),
        import('./fetch.ts'),
      ]);
    const { version } = release;
    if (!gt(version, means.version))
      throw new Problem('update-not-applicable', `Culvert ${means.version} is the newest.`, { reason: 'up-to-date' });
    const artifact = artifactIn(release, replaceable.artifactOf(version));
    const total = artifact.size;
    const url = addressOf(wanted().source, release.channel, artifact.name);
    advance({ phase: 'downloading', received: 0, total });
    await replaceable.replace({
      version,
      artifact,
      signal: ending.signal,
      fetch: file =>
        fetchVerified(
          url,
          artifact,
          file,
          fetching(means.limits ?? LIMITS),
          received => advance({ phase: 'downloading', received, total }),
          () => advance({ phase: 'verifying', received: total, total }),
        ),
      installing: () => advance({ phase: 'installing', received: total, total }),
    });
    // only now: a release that could not be installed changes nothing
    note(() => {
      rememberSerial(paths, release.channel, release.serial);
      remember(paths, { declined: null });
    });
    return version;
  }

  /** What is installed by now is not undone because it can't be noted. */
  function note(work: () => void): void {
    try {
      work();
    } catch (error) {
      ground.say(`The update was made, but could not be noted: ${(error as Error).message}`);
    }
  }

  return {
    start() {
      if (means.format === 'user') void complete(ground);
      if (!wanted().checkOnStartup) return;
      startup = setTimeout(() => {
        void lookQuietly().then(async ({ problem }) => {
          if (problem === null) await announce(); // nobody asked, so nobody is told of a failure
        });
      }, means.startupMs);
      startup.unref();
    },
    async stop() {
      clearTimeout(startup);
      ending.abort();
      await Promise.allSettled([looking, operation]);
    },
    async check(fresh = false) {
      const age = found?.of === asked() ? means.now() - found.at : Number.POSITIVE_INFINITY;
      // a clock that was set back makes no answer young
      const young = age >= 0 && age < (found?.problem ? FAILURE_MS : ANSWER_MS);
      if (found && young && !fresh) return answer(found);
      const now = await answer(await lookQuietly());
      state.set('update', now);
      return now;
    },
    apply: () => change(update),
    rollback: () =>
      change(async replaceable => {
        const version = await replaceable.goBack();
        const { remember } = await import('./memory.ts');
        note(() => remember(paths, { declined: means.version }));
        return version;
      }),
  };
}

const NOT_HERE: Record<Version['installFormat'], string> = {
  source: 'This Culvert was built from source, and is updated there.',
  deb: 'This Culvert was installed as a Debian package, and is updated as one.',
  system: 'This Culvert was installed for the whole system, and is updated by who installed it.',
  user: 'Where this installation lies is not known, because HOME is not set.',
  appimage: '',
};

/** What can replace this installation; null where something else does. */
async function openTarget(means: Means, { env, paths, say }: Ground): Promise<Target | null> {
  if (means.format === 'user') {
    const { userTree } = await import('./user-tree.ts');
    return userTree(placesOf(env), means.prefix, env, say);
  }
  if (means.format !== 'appimage') return null;
  const [{ appImage }, { machine }] = await Promise.all([import('./appimage.ts'), import('node:os')]);
  return appImage({ file: env.APPIMAGE, version: means.version, machine: machine(), env, paths });
}

/** Completes what was interrupted, if anything. Mostly there is nothing, and then nothing is loaded. */
async function complete({ env, say }: Ground): Promise<void> {
  try {
    const places = placesOf(env);
    if (!existsSync(places.record) || !readFileSync(places.record, 'utf8').includes('"pending": true')) return;
    await (await import('./user-tree.ts')).completeInterrupted(places);
  } catch (error) {
    say(`An update that was interrupted could not be completed: ${(error as Error).message}`);
  }
}
