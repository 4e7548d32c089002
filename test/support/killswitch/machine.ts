// A machine in memory for the switch: kernel and files outlive the process, which can fail or die at each step.
import type { Edges, FileName } from '../../../daemon/killswitch/keeper.ts';
import type { Report } from '../../../daemon/killswitch/report.ts';
import { shippedEndpoints } from '../../../daemon/killswitch/rules/endpoints.ts';
import { CHAINS, type RuleOptions, render } from '../../../daemon/killswitch/rules/rules.ts';
import { parseRules, type Wanted } from '../../../daemon/killswitch/rules/wanted.ts';
import { createSwitch, type Switch } from '../../../daemon/killswitch/switch.ts';
import { type Listing, parseListing } from '../../../daemon/killswitch/table.ts';

export const NARROW: Wanted = { allowLan: false, endpoints: shippedEndpoints() };
export const WIDE: Wanted = { ...NARROW, allowLan: true };
export const FALLBACK: RuleOptions = { allowLan: false, endpoints: [] };

/** A machine of memory: kernel and files outlive the switch, and any step can be made to fail, or be the last one. */
export function createMachine() {
  const machine = {
    files: new Map<FileName, string>(),
    /** The text that the table was rendered from; null: there is no table. */
    table: null as string | null,
    uptime: 1000,
    bootId: 'boot-1',
    /** By how much the clock of the wall is ahead of `uptime`, in ms. */
    wallMs: 0,
    armed: null as number | null,
    reports: [] as Report[],
    ring: null as (() => void) | null,
    /** When it rings, in seconds of `uptime`. */
    rings: null as number | null,
    steps: [] as string[],
    /** Called before each step; may throw. */
    before: (_: string): void => {},
    boot(): Switch {
      const dead = { value: false };
      machine.before = () => {};
      const step = <T>(name: string, act: () => T): T => {
        if (dead.value) throw new Error('the process is dead');
        machine.steps.push(name);
        try {
          machine.before(name);
        } catch (error) {
          dead.value = error instanceof Death;
          throw error;
        }
        return act();
      };
      const list = () => (machine.table === null ? null : listingOf(machine.table));
      const edges: Edges = {
        kernel: {
          backend: 'a table of text',
          replace: async rules =>
            step('replace', () => {
              machine.table = render(rules);
              return list();
            }),
          remove: async () =>
            step('remove', () => {
              machine.table = null;
            }),
          list: async () => step('list', list),
          protection: listing => (listing ? 'watchdog' : 'none'),
          watch: () => {},
        },
        files: {
          read: name => step(`read ${name}`, () => machine.files.get(name) ?? null),
          write: (name, text) => step(`write ${name}`, () => void machine.files.set(name, text)),
          remove: name => step(`unlink ${name}`, () => void machine.files.delete(name)),
        },
        clock: {
          bootId: machine.bootId,
          uptime: () => machine.uptime,
          now: () => machine.uptime * 1000 + machine.wallMs,
        },
        alarm(seconds, ring) {
          machine.ring = seconds === null ? null : ring;
          machine.rings = seconds === null ? null : machine.uptime + seconds;
        },
        arm: async seconds =>
          step('arm', () => {
            machine.armed = seconds;
          }),
        disarm: async () =>
          step('disarm', () => {
            machine.armed = null;
          }),
        bootGuard: () => true,
        isSigningIn: () => false,
        publish: report => void machine.reports.push(report),
        fallback: FALLBACK,
      };
      return createSwitch(edges);
    },
    /** The boot guard loads the stored rules. */
    reboot(): Switch {
      const stored = parseRules(machine.files.get('rules.nft') ?? '');
      machine.table = stored.kind === 'wanted' ? render(stored.wanted) : null;
      Object.assign(machine, { bootId: `${machine.bootId}+`, uptime: 5, armed: null });
      return machine.boot();
    },
  };
  return machine;
}
/** Kills the process at a step. */
export class Death extends Error {}

function listingOf(text: string): Listing {
  const chains = Object.entries(CHAINS).map(([name, policy]) => ({
    chain: { family: 'inet', table: 'culvert', name, type: 'filter', hook: name, policy },
  }));
  const rules = [...text.matchAll(/^ {2}chain (\w+) \{\n(.*?)\n {2}\}/gms)].flatMap(([, chain, body = '']) =>
    body
      .split('\n')
      .filter(line => line.trim() && !/^\s*(#|type filter)/.test(line))
      .map(rule => ({ rule: { chain, rule } })),
  );
  return parseListing(
    JSON.stringify({ nftables: [{ table: { family: 'inet', name: 'culvert' } }, ...chains, ...rules] }),
  )!;
}

/** Has the next process die after this many steps. @returns the steps that begin */
export function dieAfter(machine: ReturnType<typeof createMachine>, steps: number): string[] {
  const seen: string[] = [];
  machine.before = step => {
    seen.push(step);
    if (seen.length > steps) throw new Death(step);
  };
  return seen;
}
