// Defines the proof of a check; the tables of cases are in cases-*.ts.
import type { CheckResult } from '../../../../daemon/api/doctor.ts';
import type { Check } from '../../../../daemon/doctor/check.ts';
import type { World } from '../../../../daemon/doctor/world/world.ts';
import type { Ends } from '../../../support/temporary.ts';

export interface Case {
  check: Check;
  /** Kind of world of the case, for the table of proofs. */
  how: 'files' | 'bus' | 'namespace' | 'socket' | 'programs' | 'snapshot' | 'process' | 'HTTP server';
  title: string;
  verdict: CheckResult['verdict'];
  /** Matches the lines of evidence and the explanation. */
  shows?: RegExp;
  /** Matches the fix as JSON; null if there has to be none. */
  fix?: RegExp | null;
  world(t: Ends): World | Promise<World>;
}
