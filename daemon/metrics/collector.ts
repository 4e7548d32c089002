// Counts what the daemon publishes and answers, and writes the counts as OpenMetrics text. The first request for metrics loads
// this file.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Histogram } from 'prom-client';
import { collectWrapSamples, UNREADABLE, type WrapSamples } from '../../wrapper/store/metrics/collect.ts';
import { exposition } from '../../wrapper/store/metrics/families.ts';
import { advance, metricsKey, tallyFromNow } from '../../wrapper/store/metrics/tally.ts';
import { pathsFor } from '../../wrapper/store/paths.ts';
import { endpoints } from '../api/contract.ts';
import type { DoctorProgress, Verdict } from '../api/doctor.ts';
import type { LogEntry } from '../api/schema.ts';
import type { FeatureContext } from '../controls.ts';
import { randomHex } from '../core/hash.ts';
import { COMMIT, installFormat, VERSION } from '../system/installation.ts';
import { CLI_DURATION, FAMILIES } from './families.ts';
import { createTunnelCounters, type DaemonSamples, samplesOf, value } from './samples.ts';

export interface Collector {
  /** Counts the request of a response when the response closes. */
  count(response: ServerResponse): void;
  text(): Promise<string>;
  stop(): void;
}

/** Time limit for reading figures: a tunnel CLI that hangs must not use up the scrape's time. The next scrape has the figures. */
const FIGURES_MS = 1_000;
const ROUTES = new Set(Object.keys(endpoints));

export function createCollector(context: FeatureContext, openStreams: () => number): Collector {
  const { state, tunnel, settings, env } = context;
  const requests = createPairCounter();
  const calls = createPairCounter();
  const verdicts = new Map<string, Verdict>();
  let checkedAt: number | null = null;
  let mended = 0;
  const durations = new Histogram({ ...CLI_DURATION, registers: [] });
  const now = () => performance.now();
  const first = state.snapshot();
  let mendedAt = first.killSwitch.repairedAt;
  const counters = createTunnelCounters({ state: first.status.state, tunnel: first.tunnel, now: now() });
  const accounts = createAccounts(env);
  const format = installFormat();
  const startedAt = Date.now() / 1000 - process.uptime();

  const unsubscribe = state.subscribe(({ event, data }) => {
    if (event === 'status') {
      const { state: present, reason } = state.snapshot().status;
      counters.state(present, reason?.code, now());
    } else if (event === 'tunnel') counters.figures(state.snapshot().tunnel);
    else if (event === 'killSwitch') {
      const { repairedAt } = state.snapshot().killSwitch;
      if (repairedAt === null || repairedAt === mendedAt) return;
      mendedAt = repairedAt;
      mended += 1;
    } else if (event === 'log') {
      const { argv, ok, exitCode, durationMs } = data as LogEntry;
      // the words after the subcommand may be a user's
      const command = argv.slice(1).find(word => !word.startsWith('-')) ?? '';
      calls.add(command, ok ? 'ok' : exitCode === null ? 'killed' : 'failed');
      durations.observe(durationMs / 1000);
    } else if (event === 'doctor') {
      const { result } = data as DoctorProgress;
      if (!result) return;
      verdicts.set(result.id, result.verdict);
      checkedAt = Date.now();
    }
  });

  /** Counts the request of any response; a shared function saves a closure for each response. */
  function onClose(this: ServerResponse): void {
    // a client that left before the answer has 200, Node's default; a refusal is written past Node and sets only the status
    if (this.headersSent || this.statusCode !== 200) requests.add(routeOf(this.req), String(this.statusCode));
  }

  function ownSamples(): DaemonSamples {
    return {
      culvert_warp_build_info: [{ labels: { version: VERSION, commit: COMMIT ?? '', format }, value: 1 }],
      process_start_time_seconds: value(startedAt),
      process_resident_memory_bytes: value(process.memoryUsage.rss()),
    };
  }

  return {
    count: response => void response.on('close', onClose),
    async text() {
      const limit = new AbortController();
      await Promise.race([tunnel.readFigures(), delay(FIGURES_MS, undefined, { signal: limit.signal })]);
      limit.abort();
      const counted = {
        tunnel: counters.counts(now()),
        requests: requests.entries(),
        calls: calls.entries(),
        verdicts,
        checkedAt,
        mended,
        openStreams: openStreams(),
      };
      const samples = {
        ...ownSamples(),
        ...samplesOf(state.snapshot(), counted),
        ...accounts(settings.config.metrics.hashAccounts),
      };
      return exposition(FAMILIES, samples, 'openmetrics', [durations]);
    },
    stop: unsubscribe,
  };
}

/** Returns the label of a request: its endpoint in the contract, `other` for the rest of the API, or `page`. */
function routeOf({ method = '', url = '' }: IncomingMessage): string {
  const asked = `${method} ${url}`;
  if (ROUTES.has(asked)) return asked;
  const path = url.replace(/\?.*/s, '');
  const line = `${method === 'HEAD' ? 'GET' : method} ${path}`;
  if (ROUTES.has(line)) return line;
  return /^\/api(?:\/|$)/.test(path) ? 'other' : 'page';
}

/** Collects the accounts of culvert-wrap, and counts its runs from now on. */
function createAccounts(env: NodeJS.ProcessEnv): (hashed: boolean) => WrapSamples {
  const paths = pathsFor(env);
  let tally = tallyFromNow(paths);
  let ownKey: string | undefined;

  /** Returns the key that hashes names, which is needed even if the store can't be written. */
  function key(): string {
    try {
      return metricsKey(paths);
    } catch {
      ownKey ??= randomHex(16);
      return ownKey;
    }
  }
  return hashed => {
    try {
      tally = advance(paths, tally);
      return collectWrapSamples(paths, { now: Date.now(), tally, key: hashed ? key() : undefined });
    } catch {
      return UNREADABLE; // "culvert-wrap doctor" reports the reason
    }
  };
}

/** Creates a counter with two labels. */
function createPairCounter() {
  const counts = new Map<string, [readonly [string, string], number]>();
  return {
    add(first: string, second: string): void {
      const key = `${first}\n${second}`;
      const row = counts.get(key);
      if (row) row[1] += 1;
      else counts.set(key, [[first, second], 1]);
    },
    entries: () => counts.values(),
  };
}
