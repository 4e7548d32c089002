// Defines the wrapper's metrics and formats samples as text for Prometheus. The daemon uses this module, too.
import { Counter, Gauge, type Histogram, Registry, type RegistryContentType } from 'prom-client';

/** Description of a metric, without its values. */
interface Family {
  type: 'gauge' | 'counter';
  help: string;
  labels: readonly string[];
}
/** Metrics by name. The name of a counter ends in `_total`. */
export type Families = { readonly [name: string]: Family };

export interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
}
/** Samples by metric name; the output omits metrics without samples. */
export type Samples<F extends Families = Families> = { [Name in keyof F & string]?: readonly Sample[] };

/** Maximum length of a label's value; names that users give are shorter. */
const LABEL_CHARACTERS = 128;

/**
 * Returns samples and histograms as text for Prometheus.
 * @param format `openmetrics` for the API; `prometheus` for the textfile collector of a node exporter
 * @param histograms metrics that already hold their values
 */
export async function exposition(
  families: Families,
  samples: Samples,
  format: 'openmetrics' | 'prometheus',
  histograms: readonly Histogram[] = [],
): Promise<string> {
  const registry = new Registry<RegistryContentType>();
  if (format === 'openmetrics') registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const [name, { type, help, labels }] of Object.entries(families)) {
    const values = samples[name];
    if (!values?.length) continue;
    const options = { name, help, labelNames: [...labels], registers: [registry] };
    if (type === 'gauge') {
      const gauge = new Gauge(options);
      for (const { labels, value } of values) gauge.set(cleaned(labels), value);
    } else {
      const counter = new Counter(options);
      for (const { labels, value } of values) counter.inc(cleaned(labels), value);
    }
  }
  for (const histogram of histograms) registry.registerMetric(histogram);
  return registry.metrics();
}

/** Cleans label values. prom-client escapes only backslash, quote and newline, not other control characters. */
function cleaned(labels: Sample['labels']): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, cleanLabel(value)]));
}

/** Returns a label's value as the text has it, before escaping. */
export function cleanLabel(value: string): string {
  return value.slice(0, LABEL_CHARACTERS).replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]|\p{Surrogate}/gu, '\ufffd');
}

const ACCOUNT = ['cli', 'account'] as const;

export const WRAP_FAMILIES = {
  culvert_wrap_store_readable: {
    type: 'gauge',
    help: "1 while the wrapper's files can be read; at 0 the other metrics of accounts are missing.",
    labels: [],
  },
  culvert_wrap_account_enabled: { type: 'gauge', help: '1 where the account may be used.', labels: ACCOUNT },
  culvert_wrap_account_usable: {
    type: 'gauge',
    help: '1 where a command would use the account: enabled, not paused, and not known to be used up, but for its reserve.',
    labels: ACCOUNT,
  },
  culvert_wrap_account_paused: {
    type: 'gauge',
    help: '1 while the account is not tried, because the provider refused it.',
    labels: ACCOUNT,
  },
  culvert_wrap_account_paused_until_timestamp_seconds: {
    type: 'gauge',
    help: 'When the account is tried again; missing where that is once its credential changes.',
    labels: ACCOUNT,
  },
  culvert_wrap_account_remaining: {
    type: 'gauge',
    help: "What the account has left, in the provider's unit, as it was known last.",
    labels: ACCOUNT,
  },
  culvert_wrap_account_limit: { type: 'gauge', help: "The account's limit, in the provider's unit.", labels: ACCOUNT },
  culvert_wrap_account_known_timestamp_seconds: {
    type: 'gauge',
    help: 'When it was known what the account has left.',
    labels: ACCOUNT,
  },
  culvert_wrap_switches_total: {
    type: 'counter',
    help: 'Runs in which an account was left for another one, by the class of the failure.',
    labels: ['cli', 'class'],
  },
  culvert_wrap_runs_total: {
    type: 'counter',
    help: 'Attempts to run a wrapped command, by what they came to.',
    labels: ['cli', 'outcome'],
  },
  culvert_wrap_gateway_requests_total: {
    type: 'counter',
    help: 'Requests of a program that went to the provider.',
    labels: ['cli', 'consumer'],
  },
  culvert_wrap_gateway_refused_total: {
    type: 'counter',
    help: 'Requests of a program that were not forwarded: for its budget, for a reserve, or without an account.',
    labels: ['cli', 'consumer'],
  },
  culvert_wrap_gateway_turned_away_total: {
    type: 'counter',
    help: 'Requests from web pages, from other users, and without a valid placeholder.',
    labels: ['cli'],
  },
  culvert_wrap_gateway_used_total: {
    type: 'counter',
    help: "Expected cost of a program's requests, in the provider's unit.",
    labels: ['cli', 'consumer'],
  },
  culvert_wrap_pool_degraded: {
    type: 'gauge',
    help: "1 while commands can't reach the pool's store; missing where this machine is in no pool.",
    labels: [],
  },
  culvert_wrap_pool_degraded_runs_total: {
    type: 'counter',
    help: "Runs without the pool's store, within this machine's own share.",
    labels: [],
  },
  culvert_wrap_pool_waits_total: { type: 'counter', help: 'Runs that waited for an account of the pool.', labels: [] },
  culvert_wrap_pool_unsent_reports: {
    type: 'gauge',
    help: "Reports that the pool's store does not have yet.",
    labels: [],
  },
} as const satisfies Families;
