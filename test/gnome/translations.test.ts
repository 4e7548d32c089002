// Every string that people read reaches the translators, and no translation breaks a placeholder.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { preferencesForm, UNKNOWN_DESKTOP } from '../../daemon/view/forms/preferences.ts';
import { english } from '../../daemon/view/translator.ts';
import { checkCatalog, languages, listUntranslated } from '../../data/build/catalogs.ts';
import { clientState } from '../support/gnome/view/translator.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const template = readFileSync(join(ROOT, 'po/culvert.pot'), 'utf8');
const skip = spawnSync('sh', ['-c', 'command -v msgfmt xgettext']).status !== 0 && 'needs gettext';

test('every file with sentences for the catalogs is listed in POTFILES, and every listed file exists', () => {
  const listed = readFileSync(join(ROOT, 'po/POTFILES'), 'utf8').trim().split('\n');
  const sources = ['gnome', 'daemon']
    .flatMap(folder =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(path => `${folder}/${path}`),
    )
    .filter(path => /\.tsx?$/.test(path))
    .filter(path =>
      /(?<!\w)(N?_|ngettext|(?<!function )message)\(\s*['"]/.test(readFileSync(join(ROOT, path), 'utf8')),
    );
  assert.deepEqual(listed.filter(path => /\.tsx?$/.test(path)).sort(), sources.sort());
  for (const path of listed) assert.ok(readFileSync(join(ROOT, path)), path);
});

test('the template holds the strings of the present source', { skip }, () => {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'po/update.sh'), ['--check'], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});

test('texts without a translation are listed, and those of a new language are counted', () => {
  assert.deepEqual(listUntranslated(['One', 'Two']), ['"One" is not translated', '"Two" is not translated']);
  const many = Array.from({ length: 2000 }, (_, n) => `Text ${n}`);
  assert.deepEqual(listUntranslated(many), ['2000 texts are not translated']);
});

test('xgettext loses no text of a source, which it does behind code that it takes for a string or a tag', () => {
  const known = template.replaceAll('"\n"', '');
  const lost = readFileSync(join(ROOT, 'po/POTFILES'), 'utf8')
    .trim()
    .split('\n')
    .filter(path => /\.tsx?$/.test(path))
    .flatMap(path =>
      [
        ...readFileSync(join(ROOT, path), 'utf8').matchAll(
          /(?<![\w.])(?:N?_|tr\._|(?:tr\.)?ngettext|message)\(\s*(?:'((?:[^'\\\n]|\\.)+)'|"((?:[^"\\\n]|\\.)+)")/g,
        ),
      ].map(([, single, double]) => `${path}: ${(single ?? double!).replaceAll("\\'", "'").replaceAll('"', '\\"')}`),
    )
    .filter(found => !known.includes(`msgid "${found.slice(found.indexOf(': ') + 2)}"`));
  assert.deepEqual(lost, []);
});

for (const language of languages()) {
  test(`${language} keeps placeholders and names, and has the plural forms of its language`, {
    skip,
  }, () => {
    const file = join(ROOT, 'po', `${language}.po`);
    const { status, stderr } = spawnSync('msgfmt', ['--check', '-o', '/dev/null', file], { encoding: 'utf8' });
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    assert.deepEqual(checkCatalog(readFileSync(file, 'utf8'), template, language).errors, []);
  });
}

test('desktop entry, metainfo and polkit policy take every language as the build merges them', { skip }, () => {
  const cases: [file: string, how: string, mark: (language: string) => string][] = [
    ['org.culvert.Culvert.desktop.in', '--desktop', language => `\nComment[${language}]=`],
    ['org.culvert.Culvert.metainfo.xml.in', '--xml', language => `<summary xml:lang="${language}">`],
    ['killswitch/org.culvert.killswitch.policy', '--xml', language => `<message xml:lang="${language}">`],
  ];
  // gettext 0.23 writes the tags that XML asks for
  const written = (text: string) => text.replaceAll('"zh-Hans-CN"', '"zh_CN"').replaceAll('"pt-BR"', '"pt_BR"');
  for (const [file, how, mark] of cases) {
    const env = { ...process.env, GETTEXTDATADIRS: join(ROOT, 'po') };
    const args = [how, '--template', join(ROOT, 'data', file), '-d', join(ROOT, 'po'), '-o', '-'];
    const { status, stdout, stderr } = spawnSync('msgfmt', args, { encoding: 'utf8', env });
    assert.equal(status, 0, stderr);
    for (const language of languages()) assert.ok(written(stdout).includes(mark(language)), `${file} in ${language}`);
  }
});

test('the preferences offer every language that has a catalog', () => {
  const { groups } = preferencesForm(clientState(), UNKNOWN_DESKTOP, english);
  const choice = groups.flatMap(({ rows }) => rows).find(({ id }) => id === 'ui.locale');
  assert.ok(choice?.kind === 'select');
  const tags = choice.options.map(({ value }) => value.replace('-', '_')).filter(tag => tag !== '' && tag !== 'en');
  assert.deepEqual(tags.sort(), languages().sort());
});

test('the check of catalogs finds what is wrong with one', () => {
  const header = (language: string, plural: string) =>
    `msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: ${language}\\n"\n"Plural-Forms: ${plural}\\n"`;
  const GERMAN = 'nplurals=2; plural=(n != 1);';
  const ARABIC = 'nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);';
  const one = (text: string, flags = '') => `${flags}msgid "Send %s to %d"\nmsgstr "${text}"`;
  const many = (...texts: string[]) =>
    `msgid "%d day"\nmsgid_plural "%d days"\n${texts.map((text, n) => `msgstr[${n}] "${text}"`).join('\n')}`;
  const cases: [entry: string, problem: RegExp | 'untranslated' | null, language?: string, plural?: string][] = [
    [one('%s an %d'), null],
    [one('An %2$d: %1$s'), null],
    [one('An %2$s: %1$s'), /other placeholders/],
    [one('%d an %s'), /other placeholders/],
    [one('%s an'), /other placeholders/],
    [one(''), 'untranslated'],
    [one('%s an %d', '#, fuzzy\n'), 'untranslated'],
    [one(' %s an %d'), /space/],
    ['msgid "Other"\nmsgstr "Anderes"', 'untranslated'],
    [many('%d Tag', '%d Tage'), null],
    [many('ein Tag', '%d Tage'), null],
    [many('%d Tag', 'Tage'), /other placeholders/],
    [many('%d Tag'), /1 forms/],
    [many('%d jour', '%d jours'), /CLDR/, 'fr', GERMAN],
    [many('un jour', '%d jours'), /other placeholders/, 'fr', 'nplurals=2; plural=(n > 1);'],
    [many('%d يوم', 'يوم واحد', 'يومان', '%d أيام', '%d يومًا', '%d يوم'), null, 'ar', ARABIC],
    [many('%d يوم', 'يوم واحد', 'يومان', 'أيام', '%d يومًا', '%d يوم'), /other placeholders/, 'ar', ARABIC],
    ['msgid "Stop?"\nmsgstr "Arrêter ?"', /line break/, 'fr', 'nplurals=2; plural=(n > 1);'],
    ['msgid "Use WARP"\nmsgstr "Warp benutzen"', /loses WARP/],
    [one('%s an %d'), /header names/, 'fr', undefined],
  ];
  for (const [entry, problem, language = 'de', plural = GERMAN] of cases) {
    const msgids = entry.slice(entry.indexOf('msgid'), entry.indexOf('\nmsgstr'));
    const wanted = msgids.includes('"Other"') ? 'msgid "Gone"\nmsgstr ""' : `${msgids}\nmsgstr ""`;
    const named = problem instanceof RegExp && problem.source === 'header names' ? 'de' : language;
    const template = `${header('', GERMAN)}\n\n${wanted}`;
    const { errors, untranslated } = checkCatalog(`${header(named, plural)}\n\n${entry}`, template, language);
    assert.equal(untranslated.length, problem === 'untranslated' ? 1 : 0, entry);
    if (problem instanceof RegExp) assert.match(errors.join('\n'), problem, entry);
    else assert.deepEqual(errors, [], entry);
  }
});
