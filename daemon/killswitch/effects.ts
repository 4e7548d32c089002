// Carries out what a transition of the kill switch calls for, and reads what earlier ones stored.
import type { Edges, Files } from './edges.ts';
import { MAX_CONFIRM_SECONDS, MAX_PAUSE_SECONDS } from './request.ts';
import {
  formatPause,
  formatRules,
  formatTrial,
  type Pause,
  parsePause,
  parseRules,
  parseTrial,
  type Stored,
  type Trial,
  unreadable,
} from './rules/persisted-rules.ts';
import { type RuleOptions, render } from './rules/rules.ts';
import { isBlocking, missingRules } from './rules/ruleset-diff.ts';
import type { Effect } from './transition.ts';
import { message, WordedError } from './wording.ts';

/** Carries out effects, and remembers what they found. */
export function createEffects({ kernel, files, clock, fallback, ...edges }: Edges, ring: () => void) {
  let fingerprint: string | null = null;
  let pauseEnds = 0;

  /** @throws Error unless the kernel then holds just these rules */
  async function block(rules: RuleOptions): Promise<void> {
    const listing = await kernel.replace(rules);
    const missing = missingRules(listing, render(rules));
    if (missing) throw new WordedError(message('nft took the rules, but the kernel holds others: %s', missing));
    fingerprint = listing!.fingerprint;
  }

  function alarm(pause: Pause | null): void {
    const left = pause && Math.max(0, pause.until - clock.uptime());
    if (left !== null) pauseEnds = clock.now() + left * 1000;
    edges.alarm(left, ring);
  }

  async function run(effect: Effect): Promise<void> {
    switch (effect.do) {
      case 'store-rules':
        return files.write('rules.nft', formatRules(effect.wanted));
      case 'refresh-rules':
        if (files.read('rules.nft') !== formatRules(effect.wanted))
          files.write('rules.nft', formatRules(effect.wanted));
        return;
      case 'restore-rules':
        return files.write('rules.nft', effect.text);
      case 'restore-trial':
        return files.write('trial.json', effect.text);
      case 'forget-rules':
        return files.remove('rules.nft');
      case 'store-pause':
        return files.write('pause.json', formatPause(effect.pause));
      case 'store-trial':
        return files.write('trial.json', formatTrial(effect.trial));
      case 'forget-pause':
        return files.remove('pause.json');
      case 'forget-trial':
        return files.remove('trial.json');
      case 'watch':
        return kernel.watch(effect.on);
      case 'block':
        if (effect.wanted) await block(effect.wanted);
        else if (!isBlocking(await kernel.list().catch(() => null))) await block(fallback);
        return;
      case 'open':
        return kernel.remove();
      case 'alarm':
        return alarm(effect.pause);
      case 'arm':
        return edges.arm(effect.seconds);
      case 'disarm':
        return edges.disarm();
    }
  }

  return {
    /** @throws Error unless the effect may fail */
    async run(effect: Effect): Promise<void> {
      try {
        await run(effect);
      } catch (error) {
        if (!('tolerant' in effect)) throw error;
      }
    },
    fingerprint: () => fingerprint,
    pauseEnds: () => pauseEnds,
  };
}

/** The stored rules; what can't be read is broken, not absent. */
export function readStored(files: Files): Stored {
  try {
    const text = files.read('rules.nft');
    return text === null ? { kind: 'absent' } : parseRules(text);
  } catch (error) {
    return { kind: 'broken', why: unreadable(messageOf(error)) };
  }
}

/** The pause that is under way since before this process. */
export function readPause({ files, clock }: Edges): Pause | null {
  const text = tolerant(() => files.read('pause.json'));
  return parsePause(text ?? '', clock.bootId, clock.uptime(), MAX_PAUSE_SECONDS);
}

/** The change that was not confirmed when the process before this one ended. */
export function readTrial({ files, clock }: Edges): { trial: Trial; due: boolean } | null {
  const text = tolerant(() => files.read('trial.json'));
  const now = { bootId: clock.bootId, uptime: clock.uptime(), longest: MAX_CONFIRM_SECONDS };
  return text === null ? null : parseTrial(text, now);
}

/** null where reading fails. */
export function tolerant<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
