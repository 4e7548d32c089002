// Sets up each scenario and judges its outcome: a control must leak, a proof must not.
import { shippedEndpoints } from '../../daemon/killswitch/rules/endpoints.ts';
import { type RuleOptions, render, renderRemoval } from '../../daemon/killswitch/rules/rules.ts';
import { until } from '../support/until.ts';
import type { Ground, Machine } from './machine.ts';
import { type Measured, measure, type Options, type Watch } from './measure.ts';
import type { Rig } from './rig.ts';

export interface Stage {
  ground: Ground;
  rig: Rig;
  quick: boolean;
}

export interface Outcome extends Partial<Measured> {
  /** Number of transitions of the client. */
  transitions: number;
  /** Failures forced on a program. */
  injections?: number;
  /** Packets that left between a foreign flush and its repair. */
  leakedUntilRepair?: number;
  /** Figures of this scenario only. */
  notes?: Record<string, string | number>;
  /** Why it counts as failed; empty: it passed. */
  faults: string[];
}

export interface Scenario {
  name: string;
  /** A sentence about behavior, which the test bears as its title. */
  title: string;
  /** Has to leak. Otherwise nothing may. */
  control?: boolean;
  /** Runs in the short form too. */
  quick?: boolean;
  /** Reason why this machine can't run it. */
  missing?(): string | false;
  run(stage: Stage): Promise<Outcome>;
}

/** Puts the product's rules in force, with the product's endpoints, or takes them away. */
export const enable = ({ rig }: Stage, options: Partial<RuleOptions> = {}) =>
  rig.client.nft(render({ allowLan: false, endpoints: shippedEndpoints(), ...options }));
export const remove = ({ rig }: Stage) => removeTable(rig.client);

/**
 * Removes the table. A table with flags takes no `add`, which an nft before 1.0.7 needs for a removal; a table with an owner
 * stays until the owner has died.
 */
export async function removeTable(client: Machine, nft = 'nft'): Promise<void> {
  const done = async (command: readonly string[], input?: string) => (await client.attempt(command, input)).code === 0;
  await until(
    async () => (await done([nft, 'destroy', 'table', 'inet', 'culvert'])) || done([nft, '-f', '-'], renderRemoval()),
    'the table to go',
  );
}

/** Finds faults: leaked packets, senders that sent nothing, and, with `tunnel`, packets that did not come through it. */
export async function prove(
  { ground, rig }: Stage,
  options: Options & { tunnel: boolean },
  body: (watch: Watch) => Promise<Pick<Outcome, 'transitions' | 'injections' | 'notes'> & { faults?: string[] }>,
): Promise<Outcome> {
  let told: Awaited<ReturnType<typeof body>> = { transitions: 0 };
  const measured = await measure(ground, rig, options, async watch => {
    told = await body(watch);
  });
  const faults = [
    ...Object.entries(measured.leaks).map(([name, count]) => `${name} leaked ${count} packets`),
    ...measured.untried.map(name => `${name} never tried`),
    ...(options.tunnel ? measured.untunnelled.map(name => `${name} did not come through the tunnel`) : []),
    ...lost(measured),
    ...(told.faults ?? []),
  ];
  return { ...measured, ...told, faults };
}

/**
 * The same without protection: what does not leak here proves nothing there.
 * @param wanted classes that must have been seen; all unless given
 */
export async function control(
  { ground, rig }: Stage,
  options: Options & { wanted?: (name: string) => boolean },
  body: (watch: Watch) => Promise<number>,
): Promise<Outcome> {
  let transitions = 0;
  const measured = await measure(ground, rig, options, async watch => {
    transitions = await body(watch);
  });
  const unseen = measured.unseen.filter(options.wanted ?? (() => true));
  const faults = [...unseen.map(name => `the method is broken: nothing was seen of ${name}`), ...lost(measured)];
  if (!measured.leaked) faults.push('the method is broken: nothing was seen at all');
  return { ...measured, transitions, faults };
}

function lost({ drops }: Measured): string[] {
  return drops ? [`the capture lost ${drops} frames`] : [];
}
