// Publishes the state of updates in the order of the changes, and progress a few times per second at most.
import type { UpdateCheck } from '../api/schema.ts';

type Progress = UpdateCheck['progress'];

export interface Publisher {
  progress(): Progress;
  /** Takes a step of the operation under way; a step soon after the last one of the same phase is not published. */
  advance(next: NonNullable<Progress>): void;
  /** Resolves when it is published that no operation is under way anymore. */
  end(): Promise<void>;
  /** Resolves when the state of this moment is published. */
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
