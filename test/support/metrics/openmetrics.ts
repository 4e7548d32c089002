// Reads OpenMetrics 1.0 text by its grammar (https://prometheus.io/docs/specs/om/open_metrics_spec/), and refuses the rest.
// With `prometheus`, the older text format 0.0.4, which has no end mark and names counters with `_total`.

export interface Read {
  /** Name as it is queried: a counter's with `_total`. */
  name: string;
  labels: Record<string, string>;
  value: number;
}
interface Head {
  name: string;
  type: string;
  help: string;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const NUMBER = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]Inf|NaN)$/;

/** @throws Error that names the line */
export function readMetrics(text: string, format: 'openmetrics' | 'prometheus' = 'openmetrics'): Read[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const lines = text.slice(0, -1).split('\n');
  if (format === 'openmetrics' && lines.pop() !== '# EOF') throw new Error('there is no # EOF');
  const seen = new Set<string>();
  const heads = new Set<string>();
  const samples: Read[] = [];
  let head: Partial<Head> = {};
  for (const line of lines) {
    const refuse = (why: string): never => {
      throw new Error(`${why}: ${line}`);
    };
    if (line === '' && format === 'prometheus') continue;
    const meta = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (meta) {
      const [, kind, name, rest] = meta as unknown as [string, 'HELP' | 'TYPE', string, string];
      if (!NAME.test(name)) refuse('not a name');
      if (head.name !== name) {
        if (heads.has(name)) refuse('a family that is not in one piece');
        heads.add(name);
        head = { name };
      }
      const key = kind === 'HELP' ? 'help' : 'type';
      if (head[key] !== undefined) refuse('said twice');
      if (kind === 'TYPE' && !/^(gauge|counter|histogram)$/.test(rest)) refuse('not a type');
      if (kind === 'TYPE' && format === 'openmetrics' && rest === 'counter' && name.endsWith('_total'))
        refuse('the family of a counter is named without _total');
      if (kind === 'HELP' && unescaped(rest) === null) refuse('not escaped');
      head[key] = rest;
      continue;
    }
    if (line.startsWith('#') || line === '') refuse('a line that has no place here');
    const sample = readSample(line) ?? refuse('not a sample');
    if (head.type === undefined || head.help === undefined) refuse('a sample without a type and a help text');
    const suffixes = { gauge: [''], counter: [format === 'openmetrics' ? '_total' : ''] }[head.type!];
    const allowed = suffixes ?? ['_bucket', '_sum', '_count'];
    if (!allowed.some(suffix => sample.name === `${head.name}${suffix}`)) refuse('a sample of another family');
    if (head.type === 'counter' && !(sample.value >= 0)) refuse('a counter below 0');
    if (head.type === 'counter' && !sample.name.endsWith('_total')) refuse('a counter whose name does not say so');
    const series = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`;
    if (seen.has(series)) refuse('a series twice');
    seen.add(series);
    samples.push(sample);
  }
  return samples;
}

function readSample(line: string): Read | null {
  const [, name, inBraces, number] = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/s.exec(line) ?? [];
  if (name === undefined || !NAME.test(name) || !NUMBER.test(number!)) return null;
  const labels = inBraces === undefined ? {} : readLabels(inBraces);
  if (!labels) return null;
  return { name, labels, value: number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number) };
}

function readLabels(text: string): Record<string, string> | null {
  const labels: Record<string, string> = {};
  let rest = text;
  for (;;) {
    const [whole, name, quoted] = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\.)*)"/.exec(rest) ?? [];
    const value = quoted === undefined ? null : unescaped(quoted);
    if (whole === undefined || value === null || Object.hasOwn(labels, name!)) return null;
    labels[name!] = value;
    rest = rest.slice(whole.length);
    if (rest === '') return labels;
    if (!rest.startsWith(',')) return null;
    rest = rest.slice(1);
  }
}

/** Only backslash, quote and line feed are escaped. */
function unescaped(text: string): string | null {
  if (/\\(?![\\"n])/.test(text.replaceAll('\\\\', ''))) return null;
  return text.replace(/\\(.)/g, (_, letter) => (letter === 'n' ? '\n' : letter));
}

/** The value of a metric with these labels, or undefined. */
export function valueIn(
  samples: readonly Read[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const found = samples.filter(
    sample => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  if (found.length > 1) throw new Error(`${found.length} series of ${name}`);
  return found[0]?.value;
}
