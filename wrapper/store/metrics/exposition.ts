// Writes samples as text that Prometheus reads. The daemon uses it as well.
import { Counter, Gauge, type Histogram, Registry, type RegistryContentType } from 'prom-client';

/** Description of a metric, apart from its values. */
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
/** Samples by the name of their metric; a metric without samples is left out. */
export type Samples<F extends Families = Families> = { [Name in keyof F & string]?: readonly Sample[] };

/** A longer value is cut: it is not a name that people gave. */
const LABEL_CHARACTERS = 128;

/**
 * @param format `openmetrics` for the API; `prometheus` is what the textfile collector of a node exporter reads
 * @param histograms metrics that hold their values themselves
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

/** prom-client escapes backslash, quote and newline; other control characters would reach terminals and web pages. */
function cleaned(labels: Sample['labels']): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, cleanLabel(value)]));
}

/** The value as it appears in the text, before escaping. */
export function cleanLabel(value: string): string {
  return value.slice(0, LABEL_CHARACTERS).replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]|\p{Surrogate}/gu, '\ufffd');
}
