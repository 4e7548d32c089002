// Answers the request for metrics. While metrics are enabled, it counts from the first request on.
import type { ServerResponse } from 'node:http';
import type { FeatureContext } from '../controls.ts';
import { type Feature, lazy } from '../feature.ts';
import { Problem } from '../problem.ts';
import type { Collector } from './collector.ts';

/** Metrics for Prometheus, as the listeners use them. They count while `metrics.enabled` is set, from the first request on. */
export interface MetricsFeature extends Feature<'metrics'> {
  stop(): void;
  /** Counts the request of a response, while the metrics count. */
  count(response: ServerResponse): void;
}

/** @param openStreams returns the number of open event streams */
export function openMetrics(context: FeatureContext, openStreams: () => number): MetricsFeature {
  const { state, settings } = context;
  let collector: Collector | undefined;
  let load = lazy(open);
  let writing: Promise<string> | undefined;
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
    collector = undefined;
    load = lazy(open);
  }

  return {
    handlers: {
      async 'GET /api/metrics'() {
        if (!settings.config.metrics.enabled) throw METRICS_ARE_OFF;
        writing ??= load()
          .then(loaded => loaded.text())
          .finally(() => {
            writing = undefined;
          });
        return writing;
      },
    },
    count: response => collector?.count(response),
    stop: end,
  };
}

const METRICS_ARE_OFF = new Problem('not-found', 'The metrics are off.', {
  hint: 'Turn them on with: culvert config set metrics.enabled true',
});
