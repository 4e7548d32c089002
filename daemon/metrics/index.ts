// Answers the request for metrics: counts from the first one on while they are on, and keeps the text for a moment.
import type { ServerResponse } from 'node:http';
import type { FeatureContext } from '../controls.ts';
import { type Feature, lazy } from '../feature.ts';
import { Problem } from '../problem.ts';
import type { Collector } from './collector.ts';

/** Prometheus asks every few seconds at most; what asks more often gets what was written last. */
const FRESH_MS = 1_000;

/** Metrics for Prometheus, as the listeners use them. They count while `metrics.enabled`, from the first request on. */
export interface MetricsFeature extends Feature<'metrics'> {
  stop(): void;
  /** The text if it is less than a second old and nothing in it was published since; otherwise null. */
  ready(): Buffer | null;
  /** Counts the request of a response, while they count. */
  count(response: ServerResponse): void;
}

/** @param openStreams event streams that are open now */
export function openMetrics(context: FeatureContext, openStreams: () => number): MetricsFeature {
  const { state, settings } = context;
  let collector: Collector | undefined;
  let load = lazy(open);
  let writing: Promise<string> | undefined;
  let written: { bytes: Buffer; revision: number; at: number } | undefined;
  let unwatch = () => {};

  async function open(): Promise<Collector> {
    const { createCollector } = await import('./collector.ts');
    if (!settings.config.metrics.enabled) throw METRICS_ARE_OFF; // turned off during the import
    unwatch = state.subscribe(({ event }) => {
      if (event === 'config' && !settings.config.metrics.enabled) end();
    });
    collector = createCollector(context, openStreams);
    return collector;
  }
  function end(): void {
    unwatch();
    collector?.stop();
    collector = written = undefined;
    load = lazy(open);
  }
  async function write(): Promise<string> {
    const { text, revision } = await (await load()).text();
    // after `end`, no event would ever drop the text
    if (collector) written = { bytes: Buffer.from(text), revision, at: performance.now() };
    return text;
  }

  return {
    handlers: {
      async 'GET /api/metrics'() {
        if (!settings.config.metrics.enabled) throw METRICS_ARE_OFF;
        writing ??= write().finally(() => {
          writing = undefined;
        });
        return writing;
      },
    },
    ready() {
      const isFresh = written?.revision === state.snapshot().revision && performance.now() - written.at < FRESH_MS;
      return isFresh ? written!.bytes : null;
    },
    count: response => collector?.count(response),
    stop: end,
  };
}

const METRICS_ARE_OFF = new Problem('not-found', 'The metrics are off.', {
  hint: 'Turn them on with: culvert config set metrics.enabled true',
});
