// Recorded failures of real CLIs, classified by the shipped rules.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readUsage } from '../../../wrapper/manage/usage.ts';
import { readInvocation } from '../../../wrapper/run/invocation.ts';
import { classify } from '../../../wrapper/run/rules/classify.ts';
import { sandbox } from '../../support/wrapper/sandbox.ts';
import { providers } from '../../support/wrapper/shipped.ts';

interface Recording {
  label: string;
  argv: string[];
  env: Record<string, string>;
  exit: number;
  stdout: string;
  stderr: string;
  tty: boolean;
  version?: string;
  /** Meaning of the loopback server's answer, in the recordings that say so. */
  expect?: string;
}

const at = (file: string) => fileURLToPath(new URL(`../../../${file}`, import.meta.url));

function recordings(name: string): Recording[] {
  const text = fs.readFileSync(at(`test/fixtures/upstreams/${name}-transcripts.jsonl`), 'utf8');
  return text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Recording);
}

function verdict(recording: Recording): string {
  const provider = providers[recording.argv[0]!]!;
  const { command } = readInvocation(recording.argv.slice(1), provider);
  // On a terminal both streams are recorded as one.
  const stderr = recording.tty ? recording.stdout : recording.stderr;
  const result = classify({ ...recording, stderr, signal: null, command }, provider.rules);
  return result.kind === 'success' ? 'success' : result.class;
}

/** The fake's answer decides the expected result; the key names it. */
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

test('limits under OAuth and missing credentials are recognized by exit 3 and 4', () => {
  const by = (label: string) => verdict(recordings('tvly').find(recording => recording.label === label)!);
  assert.equal(by('oauth mcp 429'), 'rate');
  assert.equal(by('oauth mcp 432'), 'quota');
  assert.equal(by('oauth mcp 433'), 'quota');
  assert.equal(by('oauth mcp 401'), 'auth');
  assert.equal(by('oauth http401'), 'auth');
  assert.equal(by('no key search'), 'auth');
});

test('a limit in the middle of a crawl is recognized behind the progress line', () => {
  const crawl = recordings('firecrawl').find(recording => recording.label === 'crawl wait progress mid-402')!;
  assert.equal(verdict(crawl), 'quota');
});

test('the time that a rate limit names is the time the account is paused', () => {
  const limited = recordings('firecrawl').find(recording => recording.label === 'map fc-429')!;
  const { rules } = providers.firecrawl!;
  const result = classify({ ...limited, signal: null, command: 'map' }, rules);
  assert.deepEqual(result.kind === 'retry' && result.rest, { until: 'elapsed', ms: 23_000 });
});

test('a limit per minute of gemini pauses for as long as the API asks', () => {
  const limited = recordings('gemini').find(recording => recording.label === 'text 429 per minute')!;
  const result = classify({ ...limited, signal: null, command: '' }, providers.gemini!.rules);
  assert.deepEqual(result.kind === 'retry' && [result.class, result.rest], ['rate', { until: 'elapsed', ms: 1_500 }]);
});

test('page text on stdout that mentions limits is not a failure of the account', () => {
  const { rules } = providers.firecrawl!;
  const page = 'Error: Request failed with status code 429\nInsufficient credits\nUnauthorized';
  assert.equal(classify({ exit: 0, signal: null, stdout: page, stderr: '', command: 'scrape' }, rules).kind, 'success');
  assert.equal(
    classify({ exit: 1, signal: null, stdout: page, stderr: 'Error: Bad gateway', command: 'scrape' }, rules).kind,
    'final',
  );
});

for (const [cli, least] of [
  ['gh', 30],
  ['supabase', 18],
  ['codex', 14],
  ['gemini', 8],
] as const) {
  test(`every ${cli} recording is classified by what the API answered`, () => {
    const own = recordings(cli);
    assert.ok(own.length >= least, `only ${own.length} recordings`);
    for (const recording of own) {
      assert.deepEqual(providers[cli]!.tested, [recording.version]);
      assert.equal(verdict(recording), recording.expect, `${recording.label}: ${recording.stderr || recording.stdout}`);
    }
  });
}

/** An executable that prints what a recording holds. */
function replay({ stdout, stderr, exit }: Recording): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  return `printf %s ${quote(stdout)}\nprintf %s ${quote(stderr)} >&2\nexit ${exit}\n`;
}

test('supabase moves on from a refused token only where the user says so, and gh never does', async t => {
  const box = sandbox(t);
  for (const [cli, variable, label] of [
    ['supabase', 'SUPABASE_ACCESS_TOKEN', 'projects list 401'],
    ['gh', 'GH_TOKEN', 'repo list 401'],
  ] as const) {
    const refused = recordings(cli).find(recording => recording.label === label)!;
    box.script(cli, `#!/bin/sh\n[ "$${variable}" = good ] && { echo fine; exit 0; }\n${replay(refused)}`);
    // the profile of the recording leads to a stand-in
    if (cli === 'supabase') box.provider(cli, 'hosts = { names = ["profile.yaml"] }');
    box.accounts(cli, { a: 'bad', b: 'good' }, variable);
    const result = await box.shim(cli, refused.argv.slice(1));
    if (cli === 'supabase') {
      assert.deepEqual([result.exit, result.stdout], [69, refused.stdout], result.stderr);
      assert.match(
        result.stderr,
        /supabase: account "a" was refused \(auth\); .*`supabase accounts use NAME` .* \(a, b\)\n$/,
      );
      box.configure('[tools.supabase]\nfailover = true\n');
      const moved = await box.shim(cli, refused.argv.slice(1));
      assert.deepEqual([moved.exit, moved.stdout], [0, 'fine\n'], moved.stderr);
      assert.match(moved.stderr, /^culvert-wrap: supabase: account "a" was refused .*; trying "b"\n$/);
    } else {
      assert.equal(result.exit, 69);
      assert.ok(result.stderr.startsWith(refused.stderr), result.stderr);
      assert.match(result.stderr, /gh: account "a" was refused \(auth\); .*`gh accounts use NAME` .* \(a, b\)\n$/);
      const pinned = await box.shim(cli, refused.argv.slice(1), { env: { CULVERT_WRAP_ACCOUNT: 'b' } });
      assert.equal(pinned.stdout, 'fine\n');
    }
  }
});

test('the remaining quota on GitHub is the lesser of its two quotas, with the time of the reset', () => {
  const quota = (remaining: number) => ({ limit: 5_000, used: 5_000 - remaining, remaining, reset: 1_924_992_000 });
  const answer = { resources: { core: quota(4_999), graphql: quota(12) } };
  assert.deepEqual(readUsage(answer, providers.gh!.usage!, 1), {
    remaining: 12,
    limit: 5_000,
    used: 4_988,
    resets: '2031-01-01T00:00:00.000Z',
    at: 1,
  });
});
