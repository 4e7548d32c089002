// Lazy facade of the metrics: counts from the first request on while they are on, and keeps the text for a moment.
import type { FeatureContext, MetricsControl } from '../controls.ts';
import { Problem } from '../problem.ts';
import type { Collector } from './collector.ts';

/** Prometheus asks every few seconds at most; what asks more often gets what was written last. */
const FRESH_MS = 1_000;

/** @param openStreams event streams that are open now */
export function createMetrics(context: FeatureContext, openStreams: () => number): MetricsControl {
  const { state, settings } = context;
  let collector: Collector | undefined;
  let loading: Promise<Collector> | undefined;
  let writing: Promise<string> | undefined;
  let written: { bytes: Buffer; revision: number; at: number } | undefined;
  let unwatch = () => {};

  async function load(): Promise<Collector> {
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
    collector = loading = written = undefined;
  }
  async function write(): Promise<string> {
    loading ??= load();
    loading.catch(() => {
      loading = undefined;
    });
    const { text, revision } = await (await loading).text();
    // after `end`, no event would ever drop the text
    if (collector) written = { bytes: Buffer.from(text), revision, at: performance.now() };
    return text;
  }

  return {
    ready() {
      const isFresh = written?.revision === state.snapshot().revision && performance.now() - written.at < FRESH_MS;
      return isFresh ? written!.bytes : null;
    },
    async text() {
      if (!settings.config.metrics.enabled) throw METRICS_ARE_OFF;
      writing ??= write().finally(() => {
        writing = undefined;
      });
      return writing;
    },
    count: response => collector?.count(response),
    stop: end,
  };
}

const METRICS_ARE_OFF = new Problem('not-found', 'The metrics are off.', {
  hint: 'Turn them on with: culvert config set metrics.enabled true',
});
