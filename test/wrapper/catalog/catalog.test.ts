// The shipped catalog and a user's own: form, classification rules, and entries with mistakes.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadCatalog, providerOf } from '../../../wrapper/catalog/catalog.ts';
import { catalogFiles } from '../../../wrapper/catalog/files.ts';
import { splitWords } from '../../../wrapper/manage/repl.ts';
import { readUsage } from '../../../wrapper/manage/usage.ts';
import { isTested } from '../../../wrapper/mcp/entry.ts';
import { orderCandidates } from '../../../wrapper/run/candidates.ts';
import { readInvocation } from '../../../wrapper/run/invocation.ts';
import { classify } from '../../../wrapper/run/rules/classify.ts';
import { parseState } from '../../../wrapper/store/state.ts';
import { formatDuration, parseDuration } from '../../../wrapper/system/notation.ts';
import { missing } from '../../support/temporary.ts';
import { buildWrapper, sandbox } from '../../support/wrapper/sandbox.ts';

/** A user without a catalog. */
const NO_CATALOG = missing({ after });
const shipped = fileURLToPath(new URL('../../../wrapper/catalog/providers', import.meta.url));

function withUser(t: Parameters<typeof sandbox>[0], text: string) {
  const file = path.join(sandbox(t).home, 'providers.toml');
  fs.writeFileSync(file, text);
  return loadCatalog(shipped, file);
}

test('every shipped entry fits the form, carries terms, and is driven by probes or recordings or moves on after nothing', () => {
  const catalog = loadCatalog(shipped, NO_CATALOG);
  assert.deepEqual(catalog.problems, {});
  for (const [name, provider] of Object.entries(catalog.providers)) {
    assert.ok(provider.terms_note, name);
    if (provider.tested.length > 0) assert.ok(provider.probes.length > 0 || name === 'tvly', name);
    else {
      const moves = provider.accounts === 'one-per-person' ? [] : provider.rules;
      assert.deepEqual([moves, provider.probes], [[], []], `${name} is untested and must not move on`);
    }
  }
  for (const name of ['netlify', 'wrangler', 'sentry-cli', 'npm', 'vercel']) {
    const moving = catalog.providers[name]!.rules.filter(rule => rule.class !== 'other');
    assert.deepEqual([...new Set(moving.map(rule => rule.class))], ['auth'], name);
  }
});

test('each tool has a file of its name, and says with which version it was checked, and when', () => {
  for (const file of catalogFiles(shipped)) {
    const name = path.basename(file, '.toml');
    const { providers, problems } = loadCatalog(file, NO_CATALOG);
    assert.deepEqual([Object.keys(providers), problems], [[name], {}], file);
    const { tested, checked, mcp } = providers[name]!;
    // the newest version that was run
    assert.equal(checked?.version, tested.at(-1), name);
    for (const server of mcp) if (server.checked) assert.ok(isTested(server, server.checked.version), server.package);
  }
});

test('the build joins them into the file that a run reads', t => {
  const built = path.join(path.dirname(buildWrapper()), 'providers.toml');
  assert.deepEqual(loadCatalog(built, NO_CATALOG), loadCatalog(shipped, NO_CATALOG));
  assert.deepEqual(catalogFiles(built), [built]);
  assert.throws(() => loadCatalog(missing(t), NO_CATALOG), { code: 'catalog-missing' });
});

test("a date of a check is a date, in a user's entry too", t => {
  const dated = (on: string) =>
    withUser(t, `[providers.mine]\nbin = "mine"\nchecked = { version = "1", on = ${on} }\n`);
  for (const on of ['2026-11-28', '"2026-11-28"'])
    assert.deepEqual(dated(on).providers.mine!.checked, { version: '1', on: '2026-11-28' });
  for (const on of ['"soon"', '20261128']) assert.match(dated(on).problems.mine!, /checked\.on/);
});

test('the sources run as a program, for `catalog test`, and install no shim, which could not start them', async t => {
  const box = sandbox(t);
  const main = fileURLToPath(new URL('../../../wrapper/main.ts', import.meta.url));
  const run = (...args: string[]) => box.run(process.execPath, ['--import', import.meta.resolve('tsx'), main, ...args]);
  const listed = await run('catalog', 'show', 'firecrawl', '--json');
  assert.equal(listed.exit, 0, listed.stderr);
  box.script('firecrawl', '#!/bin/sh\n');
  const { exit, stdout } = await run('install', 'firecrawl', '--json');
  assert.deepEqual([exit, JSON.parse(stdout).error.code], [78, 'not-built']);
});

test("a user's entry overrides key by key, tables by theirs, and needs `bin` alone when it is new", t => {
  const catalog = withUser(
    t,
    '[providers.firecrawl]\nauth_command = "acct"\n[providers.firecrawl.usage]\ncache = "5m"\n[providers.mine]\nbin = "mine"\n',
  );
  const { firecrawl, mine } = catalog.providers;
  assert.equal(firecrawl!.auth_command, 'acct');
  assert.equal(firecrawl!.usage!.cache, '5m');
  assert.equal(firecrawl!.usage!.limit, 'data.planCredits');
  assert.ok(firecrawl!.rules.length > 3);
  assert.deepEqual(mine!.rules, []);
  assert.deepEqual(catalog.overridden, ['firecrawl', 'mine']);
});

test('one broken entry is named with its place and leaves the others usable', t => {
  const catalog = withUser(
    t,
    '[providers.firecrawl]\nrules = [{ class = "nope" }]\n[providers.bad]\nbin = "bad"\njob_id = "("\n',
  );
  assert.match(catalog.problems.firecrawl!, /rules\[0\]\.class/);
  assert.match(catalog.problems.bad!, /regular expression/);
  assert.throws(() => providerOf(catalog, 'bad'), /catalog entry of bad can't be used/);
  assert.equal(providerOf(catalog, 'tvly').bin, 'tvly');
});

test('rules match the exit status, the subcommand, JSON on stdout, and text anchored at the start of a line', () => {
  const rules = loadCatalogRules(
    '[{ class = "rate", exit = [4], commands = ["a b"], stderr = "^Limit: wait (?<rest>\\\\d+)s" }, { class = "quota", json = { path = "error.0.code", matches = "^q$" }, rest = "2h" }]',
  );
  const outcome = { exit: 4, signal: null, stdout: '', stderr: '', command: 'a b c' };
  const hit = classify({ ...outcome, stderr: 'warning\n\x1b[31m  Limit:\n wait\t9s\x1b[0m\n' }, rules);
  assert.deepEqual(hit, {
    kind: 'retry',
    class: 'rate',
    rest: { until: 'elapsed', ms: 9_000 },
    text: 'Limit: wait 9s',
    stated: true,
  });
  assert.equal(classify({ ...outcome, stderr: 'the page says Limit: wait 9s' }, rules).kind, 'final');
  assert.equal(classify({ ...outcome, stderr: 'Limit: wait 9s', command: 'a' }, rules).kind, 'final');
  assert.equal(classify({ ...outcome, stderr: 'Limit: wait 9s', exit: 5 }, rules).kind, 'final');
  const json = classify({ ...outcome, exit: 1, stdout: '{"error":[{"code":"q"}]}' }, rules);
  assert.deepEqual(json.kind === 'retry' && json.rest, { until: 'elapsed', ms: 7_200_000 });
});

function loadCatalogRules(toml: string) {
  const dir = fs.mkdtempSync('/tmp/culvert-wrap-rules-');
  try {
    fs.writeFileSync(path.join(dir, 'p.toml'), `[providers.x]\nbin = "x"\nrules = ${toml}\n`);
    return providerOf(loadCatalog(path.join(dir, 'p.toml'), NO_CATALOG), 'x').rules;
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}

test('a command line is read as the CLI reads it', () => {
  const rules = {
    passthrough: ['login', '--help', 'r2 bucket'],
    once: ['crawl'],
    value_options: ['--url'],
    stdin_args: ['-'],
    stdin_commands: ['put'],
    silent_jobs: [{ command: 'crawl', given: ['--wait'], unless: ['--progress'] }],
    machine_args: ['--json'],
  };
  const read = (...args: string[]) => {
    const { args: _, ...read } = readInvocation(args, rules);
    return read;
  };
  const plain = {
    passthrough: false,
    once: false,
    readsStdin: false,
    silentJob: [],
    machineReadable: false,
  };
  assert.deepEqual(read('--url', 'login', 'search', 'x'), { ...plain, command: 'search x' });
  assert.deepEqual(read('--json', 'crawl', 'u', '--wait'), {
    ...plain,
    command: 'crawl u',
    once: true,
    silentJob: ['quota', 'rate', 'auth'],
    machineReadable: true,
  });
  assert.deepEqual(read('crawl', '--wait', '--progress').silentJob, []);
  assert.equal(read('put', 'x').readsStdin, true);
  assert.deepEqual(read('search', '--', '--help', '-k'), { ...plain, command: 'search' });
  assert.deepEqual(read('r2', 'bucket', 'list'), { ...plain, command: 'r2 bucket list', passthrough: true });
  assert.deepEqual(read('search', '-'), { ...plain, command: 'search', readsStdin: true });
});

test('accounts are tried from the chosen one on, paused and spent ones last, the first to wake before the others', () => {
  const accounts = ['a', 'b', 'c', 'd', 'off'].map(name => ({ cli: 'x', name, enabled: name !== 'off', env: {} }));
  const state = parseState({
    default: 'b',
    paused: {
      b: { class: 'quota', until: 900, since: 0 },
      c: { class: 'rate', until: 500, since: 0 },
      a: { class: 'rate', until: 50, since: 0 },
    },
    remaining: { d: { remaining: 5, limit: 10, used: 5, resets: null, at: 0 } },
  });
  const order = (...rest: Parameters<typeof orderCandidates> extends [unknown, unknown, ...infer R] ? R : never) =>
    orderCandidates(accounts, state, ...rest).map(({ account }) => account.name);
  assert.deepEqual(order({ by: 'default' }, { now: 100 }), ['d', 'a', 'c', 'b']);
  assert.deepEqual(order({ by: 'default' }, { now: 100, cost: 6 }), ['a', 'd', 'c', 'b']);
  assert.deepEqual(order({ by: 'environment', name: 'c' }, { now: 100 }), ['c', 'd', 'a', 'b']);
  assert.deepEqual(order({ by: 'default' }, { now: 1_000 }), ['b', 'c', 'd', 'a']);
});

test("Tavily's answer counts by the key, or by the plan when the key is unlimited", () => {
  const { usage } = loadCatalog(shipped, NO_CATALOG).providers.tvly!;
  const answer = (limit: number | null) => ({
    key: { usage: 150, limit },
    account: { plan_usage: 500, plan_limit: 15_000 },
  });
  const numbers = (limit: number | null) => {
    const { remaining, used } = readUsage(answer(limit), usage!, 0);
    return [remaining, used, readUsage(answer(limit), usage!, 0).limit];
  };
  assert.deepEqual(numbers(1_000), [850, 150, 1_000]);
  assert.deepEqual(numbers(null), [14_500, 500, 15_000]);
  assert.deepEqual(numbers(2_147_483_647), [14_500, 500, 15_000]);
});

test('durations are parsed and printed, and words split, as people write them', () => {
  assert.deepEqual(
    ['500ms', '60s', '15m', '1.5h', '30d'].map(parseDuration),
    [500, 60_000, 900_000, 5_400_000, 2_592_000_000],
  );
  for (const bad of ['', '5', '-1s', '1 h', '1w']) assert.throws(() => parseDuration(bad), RangeError);
  assert.deepEqual([900, 23_000, 3_600_000, 5 * 3_600_000, 432_000_000].map(formatDuration), [
    '1 s',
    '23 s',
    '60 min',
    '5 h',
    '5 d',
  ]);
  assert.deepEqual(splitWords(`a "b c" 'd "e' f\\ g "" x"y"z`), ['a', 'b c', 'd "e', 'f g', '', 'xyz']);
  assert.equal(splitWords('"open'), undefined);
});

test('a command line that is wrong gets a suggestion and exit status 2', async t => {
  const box = sandbox(t);
  const result = await box.wrap(['stauts']);
  assert.equal(result.exit, 2);
  assert.match(result.stderr, /Did you mean status/);
  assert.equal((await box.wrap(['--version'])).stdout, 'culvert-wrap 0.0.0-test\n');
  assert.equal((await box.wrap(['--help'])).exit, 0);
});

test('explain prints the order, the reasons and the rules without running anything', async t => {
  const box = sandbox(t);
  box.script('fake', '#!/bin/sh\ntouch "$HOME/ran"\n');
  box.provider(
    'fake',
    'inject = ["K"]\nonce = ["pay"]\n[[providers.fake.rules]]\nclass = "auth"\nstderr = "^no"\ncommands = ["pay"]\n',
  );
  box.accounts('fake', { a: 'k', b: 'k2' }, 'K');
  const report = JSON.parse(
    (await box.wrap(['explain', 'fake', 'pay', '--now', '--json'], { env: { CULVERT_WRAP_ACCOUNT: 'b' } })).stdout,
  );
  assert.equal(report.how, 'with the first account only: the command must run once');
  assert.deepEqual(
    report.accounts.map((account: { name: string; why: string }) => [account.name, account.why]),
    [
      ['b', 'named by CULVERT_WRAP_ACCOUNT'],
      ['a', 'next in the list'],
    ],
  );
  assert.equal(report.rules.length, 1);
  assert.match((await box.wrap(['explain', 'fake', '--help'])).stdout, /passthrough|Usage/);
  assert.ok(!fs.existsSync(path.join(box.home, 'ran')));
});
