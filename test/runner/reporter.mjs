// A reporter for `node --test-reporter`: sends each test event to the runner as a line of JSON on descriptor 3, so that
// what a test prints itself stays out of it.
import { writeSync } from 'node:fs';
import { inspect } from 'node:util';

const RUNNER = 3;

export default async function* reporter(source) {
  for await (const { type, data } of source) {
    const event = EVENTS[type]?.(data);
    if (event) writeSync(RUNNER, `${JSON.stringify(event)}\n`);
  }
  yield '';
}

const EVENTS = {
  'test:dequeue': ({ name, nesting }) => ({ type: 'running', name, nesting }),
  'test:start': ({ name, nesting }) => ({ type: 'start', name, nesting }),
  'test:pass': data => ended(data, null),
  'test:fail': data => ended(data, describe(data.details.error)),
};

function ended({ name, nesting, skip, todo, details }, error) {
  const suite = details.type === 'suite';
  const skipped = skip === undefined || skip === false ? null : String(skip);
  return { type: 'end', name, nesting, suite, skipped, todo: Boolean(todo), ms: details.duration_ms, error };
}

/** The failure as text; `subtestsFailed` means that the failures were reported below it. */
function describe(error) {
  if (error?.failureType === 'subtestsFailed') return { nested: true, text: '' };
  const cause = error?.cause ?? error;
  return { nested: false, text: typeof cause === 'string' ? cause : inspect(cause, { depth: 8 }) };
}
