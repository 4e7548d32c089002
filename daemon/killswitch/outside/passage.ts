// Lets the packets of links through to the uplink: keeps forwarding, packet filter and routing rules in step.
import type { Kernel } from '../edges.ts';
import { addressesOf, NETWORK, NETWORK_6 } from './addresses.ts';
import type { ExceptionEdges } from './exceptions.ts';
import { planRules, type Rule } from './routing.ts';
import type { OutsideRules, Uplink } from './rules.ts';

type Family = 4 | 6;

/** Default routes past the tunnel, by address family; null without one. */
export type Uplinks = Record<Family, { device: string; mtu: number; resolver: string | null } | null>;

export interface PassageEdges extends Pick<ExceptionEdges, 'links'> {
  kernel: Kernel<OutsideRules>;
  rules(family: Family): Promise<Rule[]>;
  addRule(family: Family, words: readonly string[], priority: number): Promise<void>;
  removeRule(family: Family, words: readonly string[]): Promise<void>;
  /** Device of the default route, past the tunnel, its MTU and its resolver; null without one. */
  uplink(family: Family): Promise<Uplinks[Family]>;
  /** Turns on forwarding from devices. @returns whether the first of them was forwarded from by this service only; null: impossible */
  forward(family: Family, devices: readonly string[]): boolean | null;
  /** Turns off what `forward` turned on, but for some devices of each family. */
  stopForwarding(but: Record<Family, readonly string[]>): void;
  /** Remembers, also for a later service, that there may be something to remove. */
  remember(on: boolean): void;
  /** Begins or ends to call `check` when links, routes or rules change. */
  watch(on: boolean): void;
}

/** Calls of the returned functions must not overlap. */
export function createPassage(edges: PassageEdges) {
  const { kernel } = edges;
  /** The table and what it was rendered from. */
  let inForce: { fingerprint: string; from: string } | null = null;
  let outer: string[] = [];

  async function open(found: Uplinks): Promise<OutsideRules['uplinks']> {
    edges.remember(true);
    edges.watch(true);
    const links = [...edges.links().keys()].sort((a, b) => a - b);
    const devices = links.map(number => addressesOf(number).device);
    const uplinkOf = (family: Family): Uplink | null => {
      const uplink = found[family];
      const guarded = uplink && edges.forward(family, [uplink.device, ...devices]);
      return guarded === null ? null : { ...uplink!, guarded };
    };
    const uplinks = { 4: uplinkOf(4), 6: uplinkOf(6) };
    const devicesOf = (family: Family) => uplinks[family]?.device ?? [];
    outer = [devicesOf(4), devicesOf(6)].flat();
    await filter({ links, uplinks });
    await route(4, [...devices.map(device => ['iif', device]), ['to', NETWORK]]);
    await route(6, [...devices.map(device => ['iif', device]), ['to', NETWORK_6]]);
    edges.stopForwarding({ 4: devices.concat(devicesOf(4)), 6: devices.concat(devicesOf(6)) });
    return uplinks;
  }

  async function filter(rules: OutsideRules): Promise<void> {
    const from = JSON.stringify(rules);
    const listing = await kernel.list();
    if (inForce && listing?.fingerprint === inForce.fingerprint && from === inForce.from) return;
    kernel.watch(true);
    const loaded = await kernel.replace(rules);
    if (!loaded || loaded.dormant) throw new Error('nft accepted the rules, but the kernel does not have them');
    inForce = { fingerprint: loaded.fingerprint, from };
  }

  async function route(family: Family, wanted: readonly string[][]): Promise<void> {
    const { add, remove, priority } = planRules(await edges.rules(family), wanted);
    for (const words of add) await edges.addRule(family, words, priority);
    for (const words of remove) await edges.removeRule(family, words);
  }

  async function close(): Promise<void> {
    inForce = null;
    edges.watch(false);
    kernel.watch(false);
    edges.stopForwarding({ 4: [], 6: [] });
    for (const family of [4, 6] as const) await route(family, []);
    if (await kernel.list()) await kernel.remove();
    edges.remember(false);
  }

  return {
    uplinks: async (): Promise<Uplinks> => ({ 4: await edges.uplink(4), 6: await edges.uplink(6) }),
    /** Opens it for every link that there is. @returns the uplinks that packets are forwarded to. @throws Error */
    open,
    /** @throws Error */
    close,
    isOpen: () => inForce !== null,
    /** Devices that lead outside the tunnel. */
    devices: (): readonly string[] => outer,
  };
}
