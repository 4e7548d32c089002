// The shipped knowledge, and a user's files over it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECKS } from '../../../daemon/doctor/checks/all.ts';
import { knownIssues } from '../../../daemon/doctor/checks/issues.ts';
import { affects, explain, type Issue, loadKnowledge, sourceLink } from '../../../daemon/doctor/knowledge.ts';
import { meaningOf, seenIn } from '../../../daemon/doctor/world/journal.ts';
import { examine, KNOWLEDGE, snapshot, tree, world } from '../../support/doctor/world.ts';
import { missing } from '../../support/temporary.ts';

const SHIPPED = `${import.meta.dirname}/../../../data/knowledge`;
const issue = (text: Partial<Issue>): Issue => ({
  id: 'x',
  title: '',
  severity: 'high',
  symptom: '',
  advice: '',
  applies: [],
  ...text,
});

test('the shipped files are read without a problem', () => {
  const { issues, changes, codes, limits, patterns, problems } = KNOWLEDGE;
  assert.deepEqual(problems, []);
  for (const entries of [issues, changes, codes, limits, patterns]) assert.notEqual(entries.length, 0);
  for (const { checked_by } of issues)
    if (checked_by)
      assert.ok(
        CHECKS.some(({ id }) => id === checked_by),
        checked_by,
      );
});

for (const [what, bounds, version, expected] of [
  ['before the first affected version', { since: '2026.4.1350.0', fixed: '2026.6.822.0' }, '2026.3.846.0', 'no'],
  ['the first affected version', { since: '2026.4.1350.0', fixed: '2026.6.822.0' }, '2026.4.1350.0', 'yes'],
  ['the version that fixes it', { since: '2026.4.1350.0', fixed: '2026.6.822.0' }, '2026.6.822.0', 'no'],
  ['a start that is not known', { fixed: '2026.6.822.0' }, '2024.6.497.0', 'maybe'],
  ['the last version that lists it', { since: '2026.4.1350.0', last_listed: '2026.6.822.0' }, '2026.6.822.0', 'yes'],
  [
    'after the last version that lists it',
    { since: '2026.4.1350.0', last_listed: '2026.6.822.0' },
    '2026.6.880.0',
    'no',
  ],
  ['numbers, not letters', { fixed: '2026.10.1.0' }, '2026.9.9.0', 'maybe'],
] as const)
  test(`${what} is ${expected === 'no' ? 'not ' : ''}affected`, () => {
    assert.equal(affects(issue(bounds), version), expected);
  });

test("a user's file adds an entry, and replaces the one with the same id", async t => {
  const own = tree(t, {
    '/known-issues.toml': `
[[issue]]
id = "mine"
title = "Own entry"
severity = "high"
symptom = "s"
advice = "a"
when = { mode = ["warp"] }

[[issue]]
id = "proxy-mode-connection-stall-2026-4"
title = "Replaced"
fixed = "2099.1.1.1"
severity = "high"
symptom = "s"
advice = "a"
`,
  });
  const knowledge = loadKnowledge([SHIPPED, own]);
  assert.equal(knowledge.issues.length, KNOWLEDGE.issues.length + 1);
  const result = await examine(knownIssues, world(t, { knowledge, tunnel: snapshot({ settings: { Mode: 'warp' } }) }));
  assert.equal(result.verdict, 'problem');
  assert.match(result.evidence.join('\n'), /Own entry/);
  assert.match(result.evidence.join('\n'), /Replaced/);
});

test('a user adds a line of the journal and replaces one, and a wrong expression or cause is named', t => {
  const entry = (id: string, pattern: string, more = '') =>
    `[[pattern]]\nid = "${id}"\npattern = '${pattern}'\nmeaning = "M"\nspan = "boot"\nsource = "mine"\ndate = "2026-11-30"\n${more}`;
  const own = tree(t, {
    '/journal.toml': [
      entry('mine', 'my own words'),
      entry('firewall-nft-failed', 'other words'),
      entry('broken', '('),
      entry('unheard', 'x', 'cause = "nothing"\n'),
    ].join('\n'),
  });
  const { patterns, problems } = loadKnowledge([SHIPPED, own]);
  assert.equal(patterns.length, KNOWLEDGE.patterns.length + 1);
  assert.match(
    problems.join('\n'),
    /entry 3 of patterns is not used: pattern: .*\n.*entry 4 of patterns is not used: cause: /,
  );
  const seen = (text: string) => seenIn([{ at: null, text }], patterns, { now: 0 });
  assert.equal(seen('my own words')?.pattern.id, 'mine');
  assert.deepEqual(seen('other words')?.meaning, { text: '%s', values: ['M'], language: 'en' });
  assert.equal(seen('nft command failed with return code: 256'), null);
});

test('every line of the journal has a source with its day, a meaning for the catalogs, and a code that exists', () => {
  for (const { id, meaning, code, source } of KNOWLEDGE.patterns) {
    assert.notEqual(
      meaningOf({ meaning }).text,
      '%s',
      `${id}: its meaning is missing in daemon/doctor/world/journal.ts`,
    );
    if (code)
      assert.ok(
        KNOWLEDGE.codes.some(each => each.code === code),
        code,
      );
    assert.match(source, /^https:|^public/);
  }
});

test('only pages have a link: of the vendor in its repository, others by their address', () => {
  const page = 'src/content/docs/warp-client/known-issues.mdx';
  assert.equal(sourceLink(page), `https://github.com/cloudflare/cloudflare-docs/blob/production/${page}`);
  assert.equal(sourceLink('https://example.com/a'), 'https://example.com/a');
  for (const source of [undefined, '', 'test/fixtures/transcripts.jsonl', 'recorded output'])
    assert.equal(sourceLink(source), null);
});

test('a file that is broken, or an entry that is, is named, and the rest counts', t => {
  const own = tree(t, {
    '/known-issues.toml': '[[issue]]\nid = "a"\nseverity = "urgent"\n',
    '/codes.toml': 'code = [\n',
  });
  const { issues, codes, problems } = loadKnowledge([SHIPPED, own]);
  assert.deepEqual([issues, codes, problems.length], [KNOWLEDGE.issues, KNOWLEDGE.codes, 2]);
  assert.match(problems.join('\n'), /known-issues\.toml: entry 1 of issues is not used: /);
  assert.match(problems.join('\n'), /codes\.toml is not used: line \d+: /);
});

test('every condition of a shipped entry can be evaluated for every version', async t => {
  for (const Mode of ['warp', 'doh', 'proxy', 'tunnel_only'])
    for (const version of ['2024.6.497.0', '2025.6.1335.0', '2026.4.1350.0', '2026.8.2100.0']) {
      const tunnel = snapshot({ tunnelCli: { version }, settings: { Mode }, splitTunnel: { mode: 'include' } });
      const { verdict } = await examine(knownIssues, world(t, { tunnel, env: { PATH: missing(t) } }));
      assert.notEqual(verdict, 'unknown');
    }
});

/** Words of public reports, as people type or copy them, and the entry that explains them. */
for (const [words, code] of [
  ['Oct 03 09:33:07 host warp-svc[544333]: warp::warp_service: Dropping WarpService', 'log: Dropping WarpService'],
  ['warp_connection::controller: Forcefully stopping WarpConnection state=Disconnected', 'log: Dropping WarpService'],
  [
    'Unable to read local policy file error=Too many levels of symbolic links (os error 40)',
    'log: Unable to read local policy file',
  ],
  ['Service token credentials not configured: missing organization', 'log: Service token credentials not configured'],
  ['JsonError(Error("no variant of enum ExcludeOrInclude found in flattened data"', 'log: JsonError ExcludeOrInclude'],
  ["System has not been booted with systemd as init system (PID 1). Can't operate.", 'No systemd'],
  ["thread 'main' panicked at 'failed printing to stdout: Broken pipe (os error 32)'", 'warp-cli: Broken pipe'],
  ['h2', 'UDP or HTTP/2'],
  ['HTTP/2', 'UDP or HTTP/2'],
  ['udp', 'UDP or HTTP/2'],
  ['Registration Missing due to: Does not exist in API', 'RegistrationMissing: not in API'],
] as const)
  test(`"${words}" is explained by ${code}`, () => {
    assert.equal(explain(KNOWLEDGE.codes, words)[0]?.code, code);
  });

test('no explanation of a registration that the server does not know begins with another registration', () => {
  const [found] = explain(KNOWLEDGE.codes, 'Does not exist in API');
  assert.match(found!.try[0]!, /mdm\.xml/);
  assert.match(found!.try.join(' '), /administrator/);
});
