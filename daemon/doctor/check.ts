// Defines a check and the finding that its probe returns.
import type { CheckGroup, Fix, Verdict } from '../api/doctor.ts';
import type { Message } from '../api/values.ts';
import type { World } from './world/world.ts';

export { inEnglish, message, quoted } from '../view/message.ts';
export { NoVerdict } from './errors.ts';
export { labeled } from './file-fix.ts';

/** Versions of the tunnel CLI, from `since` to the last version before `before`. */
export interface VersionRange {
  since?: string;
  before?: string;
}

export interface Check {
  /** Stable name for `--only` and for scripts: `dns-port-53`. */
  id: string;
  title: string;
  group: CheckGroup;
  /** The page with the fact behind the check; null if the check is about Culvert itself. */
  source: string | null;
  /** Versions and systems of the check. The engine answers for other versions, the probe for other systems. */
  appliesTo?: { versions?: VersionRange; systems?: string };
  /** True for a fast check with few processes: the daemon runs it when the tunnel fails. */
  cheap?: true;
  /** Time limit of the probe, in milliseconds. Default: 2,500; 10,000 with `--online`. */
  limitMs?: number;
  /**
   * Inspects the machine without changing it or needing root.
   * @param signal aborted at the time limit
   * @throws NoVerdict when it can't reach a verdict, or the check makes no sense
   */
  probe(world: World, signal: AbortSignal): Promise<Finding>;
}

export interface Finding {
  verdict: Verdict;
  /** Observations, one per line. */
  evidence: Message[];
  /** Meaning of the evidence, one sentence per item. */
  explanation?: Message[];
  fix?: Fix | null;
}

export function ok(...evidence: Message[]): Finding {
  return { verdict: 'ok', evidence };
}

export function notApplicable(why: Message): Finding {
  return { verdict: 'not-applicable', evidence: [why] };
}

export function problem(evidence: Message[], explanation: Message | Message[], fix: Fix | null = null): Finding {
  return { verdict: 'problem', evidence, explanation: [explanation].flat(), fix };
}

export function notice(evidence: Message[], explanation: Message | Message[], fix: Fix | null = null): Finding {
  return { verdict: 'notice', evidence, explanation: [explanation].flat(), fix };
}
