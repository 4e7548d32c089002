// Carries out what a transition of the kill switch calls for, and reads what earlier ones stored.
import type { Edges, Files } from './edges.ts';
import {
  formatRules,
  formatTrial,
  parseFormerPause,
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

/** Carries out effects, and remembers the fingerprint of the table that they put in force. */
export function createEffects({ kernel, files, fallback, ...edges }: Edges) {
  let fingerprint: string | null = null;

  /** @throws Error unless the kernel then holds just these rules */
  async function block(rules: RuleOptions): Promise<void> {
    const listing = await kernel.replace(rules);
    const missing = missingRules(listing, render(rules));
    if (missing)
      throw new WordedError(message('nft accepted the rules, but the kernel has different ones: %s', missing));
    fingerprint = listing!.fingerprint;
  }

  async function execute(effect: Effect): Promise<void> {
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
      case 'store-trial':
        return files.write('trial.json', formatTrial(effect.trial));
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
      case 'arm':
        return edges.arm(effect.seconds);
      case 'disarm':
        return edges.disarm();
    }
  }

  return {
    /** @throws Error unless the effect may fail */
    async apply(effect: Effect): Promise<void> {
      try {
        await execute(effect);
      } catch (error) {
        if (!('tolerant' in effect)) throw error;
      }
    },
    fingerprint: () => fingerprint,
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

/** The pause or unconfirmed change that was under way when the process before this one ended. */
export function readTrial(edges: Edges): { trial: Trial; due: boolean } | null {
  const { files, clock } = edges;
  tolerant(() => moveFormerPause(edges));
  const text = tolerant(() => files.read('trial.json'));
  return text === null ? null : parseTrial(text, { bootId: clock.bootId, uptime: clock.uptime() });
}

/** A pause that a service up to 0.2.7 began is a trial from now on. @throws Error where a file can't be changed */
function moveFormerPause({ files, clock }: Edges): void {
  const text = files.read('pause.json');
  if (text === null) return;
  const pause = parseFormerPause(text, clock.now());
  try {
    if (pause && files.read('trial.json') === null) files.write('trial.json', formatTrial(pause));
  } finally {
    // a pause that could not be moved has ended, and must not begin again with a later start
    files.remove('pause.json');
  }
}

/** null if reading fails. */
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
