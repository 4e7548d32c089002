// Defines the machine that probes see, with measurements of earlier runs. Tests can replace any part, such as `/`, the bus, the
// network namespace or the daemon.
import * as z from 'zod/mini';
import type { NetworkLink } from '../../api/networks.ts';
import type { ServiceManager, Snapshot } from '../../api/schema.ts';
import { readText, replaceFile } from '../../core/files.ts';
import { parseJson } from '../../core/shape.ts';
import { askBus, IWD } from '../../networks/bus.ts';
import { readLinks } from '../../networks/links.ts';
import { redact } from '../../state/redact.ts';
import { serviceManager } from '../../system/service-manager.ts';
import type { Knowledge } from '../knowledge.ts';
import { type Bus, createBus } from './bus.ts';
import { createFiles, type Files } from './files.ts';
import { createNetwork, type Network } from './network.ts';
import { createTools, type Tools } from './tools.ts';

/** Facts about Culvert itself. */
export interface CulvertFacts {
  /** The installed version; the running daemon's may differ. */
  version: string;
  runtime: string;
  state: string;
  userConfig: string;
  /** Path of a changes file that could not be read. */
  brokenChanges: string;
  /** The daemon that answers; null without one. */
  daemon: { version: string; pid: number; port: number | null } | null;
  configuration: { problems: string[]; restartRequired: string[] } | { error: string } | null;
  port: number;
  cli: string;
}

/** Addresses that checks contact with `--online`. */
interface Targets {
  /** An ingress of the tunnel. */
  tunnel: string;
  /** URL that answers 204, or with a network's login page. */
  portal: string;
  /** URL that shows if a request came through the tunnel. */
  trace: string;
}

export interface World {
  /** Aborted to end the whole run. */
  signal: AbortSignal;
  /** True if probes may contact other machines. */
  online: boolean;
  /** The service manager; null for systemd. */
  serviceManager: ServiceManager | null;
  env: NodeJS.ProcessEnv;
  /** Snapshot from the daemon, or from a read without it; null without either. */
  tunnel: Snapshot | null;
  culvert: CulvertFacts;
  files: Files;
  tools: Tools;
  bus: Bus;
  network: Network;
  /** Links as NetworkManager and systemd-networkd report them. @throws Error if a running service does not answer */
  networkLinks(): Promise<readonly NetworkLink[]>;
  targets: Targets;
  knowledge: Knowledge;
  /** Replaces secrets, and what identifies a person or a machine, in a text that will be shown. */
  redact(text: string): Promise<string>;
  /** The user id of the owner of system files. */
  owner: number;
  /** Measurements of `warp-svc` from earlier runs, oldest first. */
  samples: readonly Sample[];
  /** Adds a measurement for later runs. */
  remember(sample: Sample): void;
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs `load` once for all checks that share the key. */
  once<T>(key: string, load: () => Promise<T>): Promise<T>;
}

export interface WorldOptions
  extends Pick<World, 'env' | 'tunnel' | 'culvert' | 'knowledge'>,
    Partial<
      Pick<
        World,
        'signal' | 'online' | 'serviceManager' | 'targets' | 'samples' | 'remember' | 'now' | 'owner' | 'redact'
      >
    > {
  /** A directory that stands for `/`. */
  root?: string;
  /** Words before every command. */
  prefix?: readonly string[];
  /** Default time limit of a program, in ms. */
  toolMs?: number;
  /** Address of a bus other than the system's. */
  bus?: string;
}

/** Targets from the documentation. */
const TARGETS: Targets = {
  tunnel: '162.159.197.3',
  portal: 'http://connectivitycheck.gstatic.com/generate_204',
  trace: 'https://www.cloudflare.com/cdn-cgi/trace',
};

export function createWorld(options: WorldOptions): World {
  const { env, tunnel, culvert, knowledge } = options;
  const signal = options.signal ?? new AbortController().signal;
  const tools = createTools({
    env,
    signal,
    ...(options.prefix && { prefix: options.prefix }),
    ...(options.toolMs && { usualMs: options.toolMs }),
  });
  const ask = askBus(options.bus === undefined ? env : { ...env, DBUS_SYSTEM_BUS_ADDRESS: options.bus });
  const shared = new Map<string, Promise<unknown>>();
  return {
    signal,
    online: options.online ?? false,
    serviceManager: options.serviceManager === undefined ? serviceManager() : options.serviceManager,
    env,
    tunnel,
    culvert,
    files: createFiles(options.root),
    tools,
    bus: createBus(tools, options.bus ?? null),
    network: createNetwork(env),
    // iwd adds names of networks only
    networkLinks: async () => (await readLinks(async call => (call[0] === IWD ? null : ask(call)))).links,
    targets: options.targets ?? TARGETS,
    knowledge,
    redact: options.redact ?? (async text => redact(text)),
    owner: options.owner ?? 0,
    samples: options.samples ?? [],
    remember: options.remember ?? (() => {}),
    now: options.now ?? Date.now,
    once<T>(key: string, load: () => Promise<T>) {
      const value = shared.get(key) ?? load();
      shared.set(key, value);
      return value as Promise<T>;
    },
  };
}

export const Sample = z.object({
  /** Milliseconds since 1970. */
  at: z.number(),
  /** Kernel start time of the process: only samples of one process show growth. */
  started: z.string(),
  memoryBytes: z.nullable(z.number()),
  descriptors: z.nullable(z.number()),
  logBytes: z.nullable(z.number()),
});
export type Sample = z.infer<typeof Sample>;

const KEPT = 200;
/** Minimum time between samples: closer samples add nothing. */
const APART_MS = 5 * 60_000;

/** Returns the samples in a file; empty if it is damaged. */
export function loadSamples(path: string): Sample[] {
  return z.safeParse(z.array(Sample), parseJson(readText(path))).data ?? [];
}

/** Adds a measurement, unless the process has one from the last five minutes. Ignores a full disk. */
export function saveSample(path: string, samples: readonly Sample[], sample: Sample): void {
  const last = samples.at(-1);
  if (last && last.started === sample.started && Math.abs(sample.at - last.at) < APART_MS) return;
  try {
    replaceFile(path, JSON.stringify([...samples, sample].slice(-KEPT)));
  } catch {
    // a full disk must not fail a run of the doctor
  }
}

/** Returns the hourly change between the first and last value of a process, or null if less than an hour passed. */
export function growthPerHour(
  samples: readonly Sample[],
  current: Sample,
  value: (sample: Sample) => number | null,
): number | null {
  const first = samples.find(({ started, at }) => started === current.started && at < current.at);
  const [from, to] = [first && value(first), value(current)];
  if (!first || from === null || from === undefined || to === null) return null;
  const hours = (current.at - first.at) / 3_600_000;
  return hours >= 1 ? (to - from) / hours : null;
}
