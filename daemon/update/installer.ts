// Replaces this installation with the newest release or the previous version, in one operation at a time, and publishes progress.
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
  /** Returns the replaceable installation, or null if Culvert does not update it. */
  target(): Promise<Target | null>;
  /** @throws Problem `update-refused`, `update-not-applicable`, `update-failed`, `busy` */
  apply(): Promise<UpdateResponse>;
  /** @throws Problem in the same cases as `apply` */
  rollback(): Promise<UpdateResponse>;
  /** Resolves when no operation is running. */
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

  /** Runs one change at a time, and then restarts the daemon as the installed version. */
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
  // after the installation, because a failed installation must not change the state
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

/** @returns null if Culvert does not update this installation */
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
  /** Records a step of the running operation, and publishes it unless the phase's last step was published just before. */
  advance(next: NonNullable<Progress>): void;
  /** Publishes the end of the operation, and then resolves. */
  end(): Promise<void>;
  /** Publishes the present state, and then resolves. */
  publish(): Promise<void>;
}

const PROGRESS_MS = 250;

/**
 * @param describe returns the state of updates with this progress, or null before the first check
 * @param set publishes the state
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
