// Every check in both states, each in a world made for it; prints the table check × proof.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { po } from 'gettext-parser';
import type { CheckResult } from '../../../../daemon/api/doctor.ts';
import type { Message } from '../../../../daemon/api/values.ts';
import { CHECKS } from '../../../../daemon/doctor/checks/all.ts';
import { knownIssues } from '../../../../daemon/doctor/checks/issues.ts';
import { repairOf } from '../../../../daemon/doctor/repair/repairs.ts';
import { repairWords } from '../../../../daemon/view/fix.ts';
import { quoted, wordMessage } from '../../../../daemon/view/message.ts';
import { translated } from '../../../../daemon/view/states/findings.ts';
import { english, type Translator } from '../../../../daemon/view/translator.ts';
import { languages } from '../../../../data/build/catalogs.ts';
import { examine, KNOWLEDGE, world } from '../../../support/doctor/world.ts';
import { foreign, pseudo } from '../../../support/gnome/pseudo.ts';
import { type Case, worldOf } from './cases.ts';
import { CULVERT_CASES } from './cases-culvert.ts';
import { DNS_CASES } from './cases-dns.ts';
import { ORGANIZATION_CASES } from './cases-organization.ts';
import { REACH_CASES } from './cases-reach.ts';
import { ROUTES_CASES } from './cases-routes.ts';
import { SERVER_CASES } from './cases-server.ts';
import { SERVICE_CASES } from './cases-service.ts';
import { TRUST_CASES } from './cases-trust.ts';

const CASES: Case[] = [
  ...DNS_CASES,
  ...ROUTES_CASES,
  ...SERVER_CASES,
  ...REACH_CASES,
  ...SERVICE_CASES,
  ...ORGANIZATION_CASES,
  ...TRUST_CASES,
  ...CULVERT_CASES,
];
const TEXTS = new Set(Object.keys(po.parse(readFileSync('po/culvert.pot')).translations[''] ?? {}));
/** Translates what the catalogs have, and nothing else. */
const PSEUDO: Translator = {
  _: text => (TEXTS.has(text) ? pseudo(text) : text),
  ngettext: (one, many, n) => PSEUDO._(n === 1 ? one : many),
  locale: 'en-XA',
};
/** Modes have names; a command of Culvert may have their identifiers. */
const MODE_IDS = /warp\+do|tunnel_only|(?<!culvert )\bmode (?:is )?(?:warp|doh|dot|proxy)\b/;
const proved = new Map<string, Set<string>>();

describe('checks', { concurrency: 3 }, () => {
  for (const each of CASES) {
    const { check, how, title, verdict, shows, fix } = each;
    test(`${check.id}: ${title} is ${verdict}`, async t => {
      const result = await examine(check, await worldOf(each, t), { limitMs: 30_000 });
      assert.equal(result.verdict, verdict, JSON.stringify(result));
      if (shows) assert.match([...result.evidence, result.explanation].join('\n'), shows);
      if (fix === null) assert.equal(result.fix, null);
      else if (fix) assert.match(JSON.stringify(result.fix), fix);
      assert.doesNotMatch([...result.evidence, result.explanation].join('\n'), MODE_IDS);
      assertTranslatable(result);
      assertRepairable(result);
      const state = verdict === 'problem' || verdict === 'notice' ? 'red' : 'green';
      const key = `${check.id} ${state}`;
      proved.set(key, (proved.get(key) ?? new Set()).add(how));
    });
  }
});

/** Root's side knows the change that a fix names, under the same label where its undo is listed. */
function assertRepairable({ fix }: CheckResult): void {
  const [name, ...parameters] = (fix && repairWords(fix)) ?? [];
  if (name === undefined) return;
  const repair = repairOf(name, parameters);
  assert.ok(repair, [name, ...parameters].join(' '));
  if (name !== 'restart-warp') assert.equal(wordMessage(repair.label(parameters), english), fix?.label);
}

/** In the pseudo-language nothing is left of a result but what it quotes, and in English it is what the API says. */
function assertTranslatable(result: CheckResult): void {
  const { title, evidence, explanation, wording, fix } = result;
  assert.ok(wording && (!fix || fix.wording), result.id);
  assert.deepEqual(translated(result, english), result, 'the English wording is the text');
  const foreignWords = translated(result, PSEUDO);
  const quotes = (message: Message) => (message.text === quoted('').text ? message.values.join() : '');
  assert.equal(foreign(foreignWords.title), '', title);
  for (const [at, message] of wording.evidence.entries())
    assert.equal(foreign(foreignWords.evidence[at] ?? ''), quotes(message), evidence[at]);
  assert.equal(
    foreign(foreignWords.explanation ?? '').trim(),
    wording.explanation.map(quotes).join(' ').trim(),
    `${explanation}`,
  );
  if (fix) assert.equal(foreign(foreignWords.fix?.label ?? ''), '', fix.label);
}

/** Folders whose texts describe a check. */
const SOURCES = ['checks', 'world'];

/** The sentences in the source; a sentence that is composed of parts stays unresolved. */
function sentences(): string[] {
  const files = readdirSync('daemon/doctor', { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && (SOURCES.includes(name.split('/')[0]!) || !name.includes('/')))
    .map(name => `daemon/doctor/${name}`);
  const pattern = /\b(?:message|N_)\(\s*(?:'([^']*)'|"([^"]*)"|(`.*))/g;
  const found = files.flatMap(file => [...readFileSync(file, 'utf8').matchAll(pattern)]);
  return found.map(([, one, other, composed]) => one ?? other ?? composed ?? '');
}

test('texts of known bugs are marked as English, certain bugs first', async t => {
  const bug = { severity: 'medium' as const, applies: [], symptom: '', advice: 'Update.' };
  const issues = [
    { ...bug, id: 'a', title: 'Possible', fixed: '2099.1' },
    { ...bug, id: 'b', title: 'Certain', since: '2000.1' },
  ];
  const { wording, evidence } = await examine(knownIssues, await world(t, { knowledge: { ...KNOWLEDGE, issues } }));
  assert.deepEqual(evidence, ['Certain. Update.', 'This version may be affected by:', 'Possible. Update.']);
  assert.deepEqual(
    wording?.evidence.map(({ language }) => language),
    ['en', undefined, 'en'],
  );
});

test('the catalogs have every sentence of the source, each of which is a literal', () => {
  const all = sentences();
  assert.ok(all.length > 200, String(all.length));
  assert.deepEqual(
    all.filter(text => !TEXTS.has(text)),
    [],
  );
});

test('no translation of a check repeats the English sentence', () => {
  const all = sentences().filter(text => /[a-z]{2,} [a-z]{2,} [a-z]{2,}/.test(text));
  for (const language of languages()) {
    const { translations } = po.parse(readFileSync(`po/${language}.po`));
    assert.deepEqual(
      all.filter(text => translations['']?.[text]?.msgstr[0] === text),
      [],
      language,
    );
  }
});

test('every check has a case in both states', () => {
  const has = (id: string, red: boolean) =>
    CASES.some(
      ({ check, verdict }) =>
        check.id === id && (verdict === 'problem' || verdict === 'notice') === red && verdict !== 'unknown',
    );
  assert.deepEqual(
    CHECKS.filter(({ id }) => !has(id, true) || !has(id, false)).map(({ id }) => id),
    [],
  );
});

after(() => {
  const rows = CHECKS.map(({ id }) => [
    id,
    ...['red', 'green'].map(state => [...(proved.get(`${id} ${state}`) ?? ['-'])].join(', ')),
  ]);
  const width = (column: number) => Math.max(...rows.map(row => row[column]?.length ?? 0));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => cell.padEnd(width(at)))
      .join('  ')
      .trimEnd();
  console.log([line(['check', 'red, by', 'green, by']), ...rows.map(line)].join('\n'));
});
