// Takes PromQL apart far enough to say which metrics and labels it names.

export interface Named {
  metrics: string[];
  /** Labels that a selector of a metric matches. */
  matched: { metric: string; label: string }[];
  /** Labels of `by`, `without`, `on` and `ignoring`. */
  grouped: string[];
}

const WORDS = new Set(
  (
    'and or unless by without on ignoring group_left group_right bool offset sum max min avg count rate increase ' +
    'irate histogram_quantile time absent topk bottomk label_replace label_values changes avg_over_time max_over_time'
  ).split(' '),
);

/** @throws Error for a word that is neither a metric nor a function that is used so far */
export function namedIn(expression: string): Named {
  const named: Named = { metrics: [], matched: [], grouped: [] };
  const selectors = expression.replace(/([a-zA-Z_:][\w:]*)\s*\{([^}]*)\}/g, (_, metric: string, matchers: string) => {
    for (const [, label] of matchers.matchAll(/([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)/g))
      named.matched.push({ metric, label: label! });
    return metric;
  });
  const grouped = selectors.replace(/\b(by|without|on|ignoring)\s*\(([^)]*)\)/g, (_, __, labels: string) => {
    named.grouped.push(...labels.split(',').map(label => label.trim()));
    return ' ';
  });
  const bare = grouped.replace(/"(?:[^"\\]|\\.)*"/g, '').replace(/\[[^\]]*\]/g, '');
  for (const [word] of bare.matchAll(/\$?[a-zA-Z_:][\w:]*/g)) {
    if (word.startsWith('culvert_') || word.startsWith('process_') || word === 'up') named.metrics.push(word);
    else if (!WORDS.has(word)) throw new Error(`${word} is not a metric of Culvert: ${expression}`);
  }
  return named;
}
