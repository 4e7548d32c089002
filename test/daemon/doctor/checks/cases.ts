// Defines the proof of a check; the tables of cases are in cases-*.ts.
import type { CheckResult } from '../../../../daemon/api/doctor.ts';
import type { Check } from '../../../../daemon/doctor/check.ts';
import type { World } from '../../../../daemon/doctor/world/world.ts';
import {
  type Fixture,
  type Parts,
  type Services,
  snapshot,
  startBus,
  tree,
  world,
} from '../../../support/doctor/world.ts';
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
  /** Files of the world, services on its bus, and the parts of the tunnel's state that differ from the usual. */
  files?: Fixture;
  bus?: Services;
  tunnel?: Parts;
  /** With `--online`. */
  online?: true;
  /** Makes the world where it takes more than these. */
  world?(t: Ends): World | Promise<World>;
}

/** The world of a case. */
export async function worldOf({ files, bus, tunnel, online, ...given }: Case, t: Ends): Promise<World> {
  if (given.world) return given.world(t);
  return world(t, {
    ...(files && { root: tree(t, files) }),
    ...(bus && { bus: await startBus(t, bus) }),
    ...(tunnel && { tunnel: snapshot(tunnel) }),
    ...(online && { online }),
  });
}

/** Cases of one check in worlds of one kind. */
export const proofs = (check: Check, how: Case['how'], rows: Omit<Case, 'check' | 'how'>[]): Case[] =>
  rows.map(row => ({ check, how, ...row }));
