import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalog } from '../../wrapper/catalog.ts';
import { classify } from '../../wrapper/classify.ts';
import { readInvocation } from '../../wrapper/invocation.ts';

interface Recording {
  label: string;
  argv: string[];
  env: Record<string, string>;
  exit: number;
  stdout: string;
  stderr: string;
  tty: boolean;
  version?: string;
}

const at = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const catalog = loadCatalog(at('wrapper/providers.toml'), '/nonexistent/providers.toml');

function recordings(name: string): Recording[] {
  const text = fs.readFileSync(at(`test/fixtures/upstreams/${name}-transcripts.jsonl`), 'utf8');
  return text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Recording);
}

function verdict(recording: Recording): string {
  const provider = catalog.providers[recording.argv[0]!]!;
  const { command } = readInvocation(recording.argv.slice(1), provider);
  // On a terminal both streams are recorded as one.
  const stderr = recording.tty ? recording.stdout : recording.stderr;
  const result = classify({ ...recording, stderr, signal: null, command }, provider.rules);
  return result.kind === 'success' ? 'success' : result.class;
}

/** What the fake answered with decides what must come out; the key names it. */
function expected(key: string): string {
  const status = /-(?:empty)?(\d{3})$/.exec(key)?.[1];
  return { '401': 'auth', '402': 'quota', '429': 'rate', '432': 'quota', '433': 'quota' }[status ?? ''] ?? 'other';
}

for (const [cli, variable] of [
  ['firecrawl', 'FIRECRAWL_API_KEY'],
  ['tvly', 'TAVILY_API_KEY'],
] as const) {
  test(`every failing ${cli} recording is classified by what the API answered`, () => {
    let checked = 0;
    for (const recording of recordings(cli)) {
      const option = recording.argv.findIndex(arg => arg === '-k' || arg === '--api-key');
      const key = option >= 0 ? recording.argv[option + 1]! : (recording.env[variable] ?? '');
      const where = `${recording.version ?? ''} ${recording.label}: ${recording.stderr || recording.stdout}`;
      const got = verdict(recording);
      if (recording.exit === 0) assert.equal(got, 'success', where);
      else if (/unknown|missing|excess|extra arg|bad (?:option|choice)|empty query/.test(recording.label))
        assert.equal(got, 'usage', where);
      else if (/oauth|no (?:api )?key|login|no args|mid-402|connection/.test(recording.label)) continue;
      else assert.equal(got, expected(key), where);
      checked++;
    }
    assert.ok(checked > 40, `only ${checked} recordings were checked`);
  });
}

test('limits under OAuth and missing credentials are recognised by exit 3 and 4', () => {
  const by = (label: string) => verdict(recordings('tvly').find(recording => recording.label === label)!);
  assert.equal(by('oauth mcp 429'), 'rate');
  assert.equal(by('oauth mcp 432'), 'quota');
  assert.equal(by('oauth mcp 433'), 'quota');
  assert.equal(by('oauth mcp 401'), 'auth');
  assert.equal(by('oauth http401'), 'auth');
  assert.equal(by('no key search'), 'auth');
});

test('a limit in the middle of a crawl is recognised behind the progress line', () => {
  const crawl = recordings('firecrawl').find(recording => recording.label === 'crawl wait progress mid-402')!;
  assert.equal(verdict(crawl), 'quota');
});

test('the time that a rate limit names is the time the account rests', () => {
  const limited = recordings('firecrawl').find(recording => recording.label === 'map fc-429')!;
  const { rules } = catalog.providers.firecrawl!;
  const result = classify({ ...limited, signal: null, command: 'map' }, rules);
  assert.deepEqual(result.kind === 'retry' && result.rest, { until: 'elapsed', ms: 23_000 });
});

test('page text on stdout that mentions limits is no failure of the account', () => {
  const { rules } = catalog.providers.firecrawl!;
  const page = 'Error: Request failed with status code 429\nInsufficient credits\nUnauthorized';
  assert.equal(classify({ exit: 0, signal: null, stdout: page, stderr: '', command: 'scrape' }, rules).kind, 'success');
  assert.equal(
    classify({ exit: 1, signal: null, stdout: page, stderr: 'Error: Bad gateway', command: 'scrape' }, rules).kind,
    'final',
  );
});
