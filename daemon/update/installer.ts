// Replaces this installation by the newest release or the previous version, one operation at a time, and publishes the progress.
import gt from 'semver/functions/gt.js';
import type { UpdateCheck, UpdateResponse, Version } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { Problem } from '../problem.ts';
import { message } from '../view/message.ts';
import type { Checker } from './checker.ts';
import { addressOf, artifactIn, fetchVerified } from './release.ts';
import { commandFor, toProblem } from './report.ts';
import type { Target } from './target.ts';
import { attempt, recordRelease, saveUpdateState } from './update-state.ts';
import { userLayout } from './user-layout.ts';

/** The running build. */
export interface Build {
  version: string;
  format: Version['installFormat'];
  prefix: string;
}

interface Parts {
  build: Build;
  context: FeatureContext;
  checker: Checker;
  publisher: Publisher;
  /** Aborted when the daemon stops. */
  signal: AbortSignal;
}

interface Installer {
  /** The installation that can be replaced; null when something else updates it. */
  target(): Promise<Target | null>;
  /** @throws Problem `update-refused`, `update-not-applicable`, `update-failed`, `busy` */
  apply(): Promise<UpdateResponse>;
  /** @throws as `apply` */
  rollback(): Promise<UpdateResponse>;
  /** Resolves when no operation is under way. */
  idle(): Promise<unknown>;
}

export function createInstaller(parts: Parts): Installer {
  const { build, context, checker, publisher } = parts;
  let target: Promise<Target | null> | undefined;
  let operation: Promise<string> | undefined;

  const openTarget = () => {
    target ??= targetFor(build, context).catch(() => null);
    return target;
  };

  /** One at a time; afterwards the daemon restarts as the version that was installed. */
  async function change(work: (target: Target) => Promise<string>, changes: 'keep' | 'revert') {
    if (operation) throw new Problem('busy', message('An update is already in progress.'));
    operation = requireTarget().then(work);
    try {
      const to = await operation;
      setImmediate(context.restart, changes); // after the reply is written
      return { ok: true as const, from: build.version, to };
    } catch (error) {
      throw toProblem(error);
    } finally {
      operation = undefined;
      await publisher.end();
    }
  }

  async function requireTarget(): Promise<Target> {
    const target = await openTarget();
    const why = target === null ? NOT_APPLICABLE[build.format] : target.notApplicableReason();
    if (target !== null && why === null) return target;
    const needsRelease = build.format !== 'source';
    const release = needsRelease ? (await checker.checkLatest()).release : null;
    const command = commandFor(build.format, build.prefix, release, checker.source());
    throw new Problem('update-not-applicable', why ?? '', command === null ? {} : { hint: `Run: ${command}` });
  }

  return {
    target: openTarget,
    apply: () => change(target => update(target, parts), 'keep'),
    // an older version may not understand the file of pending changes
    rollback: () => change(target => rollBack(target, parts), 'revert'),
    idle: () => Promise.allSettled([operation]),
  };
}

async function update(target: Target, { build, context, checker, publisher, signal }: Parts): Promise<string> {
  const release = await checker.fetchLatest();
  const { version } = release;
  if (!gt(version, build.version))
    throw new Problem('update-not-applicable', `Culvert ${build.version} is the newest.`, { reason: 'up-to-date' });
  const artifact = artifactIn(release, target.artifactName(version));
  const total = artifact.size;
  publisher.advance({ phase: 'downloading', received: 0, total });
  const download = {
    url: addressOf(checker.source(), artifact.name),
    artifact,
    onProgress: (received: number) => publisher.advance({ phase: 'downloading', received, total }),
    onVerifying: () => publisher.advance({ phase: 'verifying', received: total, total }),
  };
  await target.replace({
    version,
    artifact,
    signal,
    fetch: file => fetchVerified(download, file, checker.fetching()),
    installing: () => publisher.advance({ phase: 'installing', received: total, total }),
  });
  // only now: a release that could not be installed changes nothing
  attempt(context, 'The update was made, but could not be recorded', () => {
    recordRelease(context.paths, release);
    saveUpdateState(context.paths, { declined: null });
  });
  return version;
}

async function rollBack(target: Target, { build, context }: Parts): Promise<string> {
  const version = await target.rollBack();
  attempt(context, 'The rollback was made, but could not be recorded', () =>
    saveUpdateState(context.paths, { declined: build.version }),
  );
  return version;
}

const NOT_APPLICABLE: Record<Version['installFormat'], string> = {
  source: 'This Culvert was built from source, and is updated there.',
  deb: 'This Culvert was installed as a Debian package, and is updated as one.',
  system: 'This Culvert was installed for the whole system, and is updated by its administrator.',
  rpm: 'This Culvert was installed as an rpm package, and is updated as one.',
  arch: 'This Culvert was installed as an Arch package, and is updated as one.',
  user: 'It is not known where this Culvert is installed, because HOME is not set.',
  appimage: '',
};

/** @returns null when something else updates this installation */
async function targetFor(build: Build, { env, paths, say }: FeatureContext): Promise<Target | null> {
  if (build.format === 'user') {
    const { userTree } = await import('./user-tree.ts');
    return userTree({ layout: userLayout(env), prefix: build.prefix, env, say });
  }
  if (build.format !== 'appimage') return null;
  const [{ appImage }, { machine }] = await Promise.all([import('./appimage.ts'), import('node:os')]);
  return appImage({ file: env.APPIMAGE, version: build.version, machine: machine(), env, paths });
}

type Progress = UpdateCheck['progress'];

interface Publisher {
  progress(): Progress;
  /** Takes a step of the operation under way; a step soon after the last one of the same phase is not published. */
  advance(next: NonNullable<Progress>): void;
  /** Resolves when the end of the operation is published. */
  end(): Promise<void>;
  /** Resolves when the present state is published. */
  publish(): Promise<void>;
}

const PROGRESS_MS = 250;

/**
 * @param describe the state of updates with this progress; null before the first check
 * @param set publishes it
 * @param now milliseconds since 1970
 */
export function createPublisher(
  describe: (progress: Progress) => Promise<UpdateCheck | null>,
  set: (update: UpdateCheck) => void,
  now: () => number,
): Publisher {
  let queue = Promise.resolve();
  let progress: Progress = null;
  let publishedAt = 0;

  function publish(): Promise<void> {
    const current = progress;
    queue = queue.then(async () => {
      const update = await describe(current);
      if (update) set(update);
    });
    return queue;
  }

  return {
    progress: () => progress,
    advance(next) {
      const samePhase = progress?.phase === next.phase;
      progress = next;
      if (samePhase && now() - publishedAt < PROGRESS_MS) return;
      publishedAt = now();
      void publish();
    },
    end() {
      progress = null;
      return publish();
    },
    publish,
  };
}
