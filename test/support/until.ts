// The one way in which tests wait for a change without an event.
import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { versionAt } from '../../daemon/core/file-version.ts';

/** Far above what anything needs: a busy machine is slow, and a test that passes never waits this long. */
const LIMIT_MS = 60_000;
const POLL_MS = 10;
/** Longest pause after a condition that takes long itself, such as one that starts a process. */
const PAUSE_MS = 200;

/**
 * Waits until a condition holds, and returns what it returned.
 * @param condition holds when it returns something truthy; an error that it throws ends the wait
 * @param what names what is waited for; the condition's source by default
 * @param limits only for a wait whose length is itself the matter of the test
 * @throws Error after `limitMs`, a minute by default
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  what: string | (() => string) = String(condition),
  { limitMs = LIMIT_MS, pollMs = POLL_MS }: { limitMs?: number; pollMs?: number } = {},
): Promise<NonNullable<T>> {
  const end = performance.now() + limitMs;
  for (;;) {
    const asked = performance.now();
    const result = await condition();
    if (result) return result;
    const now = performance.now();
    if (now > end)
      throw new Error(`Waited ${limitMs / 1000} s in vain for: ${typeof what === 'string' ? what : what()}`);
    // four fifths of the time are left to what is waited for
    await delay(Math.max(pollMs, Math.min(4 * (now - asked), PAUSE_MS)));
  }
}

/** Waits until a further change of a file or directory would show in its times: caches then take it for the same. */
export function settled(path: string): Promise<unknown> {
  return until(() => {
    const version = versionAt(path);
    return version === versionAt(path);
  });
}

/** Waits for the first output of a program. Rejects with its errors if it ends before. */
export function firstOutput(child: ChildProcess): Promise<void> {
  return new Promise((done, fail) => {
    let errors = '';
    child.stderr?.on('data', data => (errors += data));
    child.stdout?.once('data', () => done());
    child.once('exit', code => fail(new Error(`${child.spawnargs.join(' ')} ended with ${code}: ${errors}`)));
  });
}
