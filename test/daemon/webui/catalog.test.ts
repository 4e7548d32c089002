// The catalogs of translations as the page gets them: texts, plural forms without an expression, nothing untranslated.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PAGE_NAMES, pageTitle } from '../../../daemon/view/page-list.ts';
import { chooseLanguage } from '../../../daemon/view/translator.ts';
import { translatorOf } from '../../../daemon/webui/catalog.ts';
import { readCatalog } from '../../../data/build/webui.mjs';

const languages = readFileSync('po/LINGUAS', 'utf8').split(/\s+/).filter(Boolean);

test("each language's plural categories name the form that its catalog's expression does", () => {
  for (const language of languages) {
    const text = readFileSync(`po/${language}.po`, 'utf8');
    const { plurals } = readCatalog(text, language);
    const rule = /plural=(.*);/.exec(text)![1]!.replace(/\\n.*/, '');
    const formOf = new Function('n', `return Number(${rule})`) as (n: number) => number;
    const categories = new Intl.PluralRules(language.replace('_', '-'));
    for (let n = 0; n < 500; n++) assert.equal(plurals[categories.select(n)], formOf(n), `${language} ${n}`);
  }
});

test('a catalog holds what is translated and of the page, and leaves out what is empty or fuzzy', () => {
  const { texts } = readCatalog(
    [
      'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: nplurals=2; plural=(n != 1);\\n"',
      '#: daemon/view/log.ts\nmsgid "Done"\nmsgstr "Fertig"',
      '#: daemon/view/log.ts\nmsgid "Empty"\nmsgstr ""',
      '#: daemon/view/log.ts\n#, fuzzy\nmsgid "Guess"\nmsgstr "Geraten"',
      '#: gnome/session/menu.ts\nmsgid "Quit"\nmsgstr "Beenden"',
      '#: gnome/session/menu.ts daemon/webui/shell.tsx\nmsgid "%d day"\nmsgid_plural "%d days"\nmsgstr[0] "%d Tag"\nmsgstr[1] "%d Tage"',
    ].join('\n\n'),
    'de',
  );
  assert.deepEqual(texts, { Done: 'Fertig', '%d day': ['%d Tag', '%d Tage'] });
});

test('a language without plural forms uses its one text for every count', () => {
  const { _, ngettext } = translatorOf('ja', { plurals: { other: 0 }, texts: { '%d day': '%d 日', Done: '完了' } });
  assert.deepEqual(
    [1, 2].map(n => ngettext('%d day', '%d days', n)),
    ['%d 日', '%d 日'],
  );
  assert.deepEqual([_('Done'), _('Gone')], ['完了', 'Gone']);
});

test('a count beyond those that the build tried takes the last form', () => {
  const { ngettext } = translatorOf('fr', {
    plurals: { one: 0, other: 1 },
    texts: { '%d day': ['%d jour', '%d jours'] },
  });
  assert.deepEqual(
    [0, 2, 1_000_000].map(n => ngettext('%d day', '%d days', n)),
    ['%d jour', '%d jours', '%d jours'],
  );
});

test('the page takes the first language that the reader reads', () => {
  const available = ['ar', 'de', 'es', 'fr', 'ja', 'pt-BR', 'ru', 'zh-CN'];
  const cases: [wanted: string[], chosen: string][] = [
    [['de-AT', 'en'], 'de'],
    [['pt_BR'], 'pt-BR'],
    [['pt-PT'], 'pt-BR'],
    [['zh'], 'zh-CN'],
    [['zh-Hans-SG'], 'zh-CN'],
    [['zh-TW', 'ja'], 'ja'],
    [['ar-EG'], 'ar'],
    [['sv', 'en-GB', 'fr'], 'en'],
    [['sv', 'fr-CA'], 'fr'],
    [['en-001', 'fr'], 'en'],
    [['en-Shaw', 'fr'], 'fr'],
    [['de-1', 'not a tag'], 'en'],
    [[], 'en'],
  ];
  for (const [wanted, chosen] of cases) assert.equal(chooseLanguage(wanted, available), chosen, wanted.join());
});

test('every page has its own title in every language', () => {
  for (const language of languages) {
    const tr = translatorOf(language, readCatalog(readFileSync(`po/${language}.po`, 'utf8'), language));
    const titles = PAGE_NAMES.map(page => pageTitle(page, tr));
    assert.deepEqual(
      titles.filter((title, i) => titles.indexOf(title) < i),
      [],
      language,
    );
  }
});
