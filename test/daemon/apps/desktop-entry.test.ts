// Desktop entries: what the specification says a value is, and what is not an entry at all.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  escapeValue,
  flag,
  list,
  localeKeys,
  localised,
  messageLocales,
  parseEntry,
  text,
  unescapeValue,
} from '../../../daemon/apps/desktop-entry.ts';

const entry = (...lines: string[]) => {
  const found = parseEntry(['[Desktop Entry]', ...lines].join('\n'));
  assert.ok(found);
  return found;
};

test('keys are read from the first group only, around comments, blank lines, spaces and carriage returns', () => {
  const found = parseEntry(
    '# a comment\n\n[Desktop Entry]\r\nName = A name \r\n  \n#Name=no\nX-Long-Key1=x=y\n[Desktop Action new]\nName=other\nExec=evil\n',
  );
  assert.deepEqual(
    [...found!],
    [
      ['Name', 'A name '],
      ['X-Long-Key1', 'x=y'],
    ],
  );
});

test('a text that is not a desktop entry is rejected, wherever the damage is', () => {
  for (const broken of [
    '',
    '\n\n',
    'Name=before any group\n[Desktop Entry]\n',
    '[Other]\nName=x\n[Desktop Entry]\nName=y\n',
    '[Desktop Entry]\nno equals sign\n',
    '[Desktop Entry]\n=value\n',
    '[Desktop Entry]\nBad Key=x\n',
    '[Desktop Entry]\nName[de=x\n',
    '[Desktop Entry\nName=x\n',
    '[Desktop Entry]\nName=x\n[Desktop Action x]\nbroken\n',
    '\0\0\0\0',
    '[desktop entry]\nName=x\n',
  ])
    assert.equal(parseEntry(broken), null, JSON.stringify(broken));
});

test('escapes are resolved once, and what is escaped comes back the same', () => {
  assert.equal(unescapeValue('a\\sb\\tc\\nd\\re\\\\n'), 'a b\tc\nd\re\\n');
  assert.equal(unescapeValue('\\x stays'), '\\x stays');
  for (const value of ['plain', '  leading', 'a\\nb', 'line\nbreak', '\\', 'C:\\new\\table', 'tab\there'])
    assert.equal(text(entry(`Key=${escapeValue(value)}`), 'Key'), value);
});

test('lists end at semicolons that are not escaped', () => {
  const found = entry('Categories=Network;Web\\;Browser;;Last', 'Empty=', 'One=x;');
  assert.deepEqual(list(found, 'Categories'), ['Network', 'Web;Browser', 'Last']);
  assert.deepEqual([list(found, 'Empty'), list(found, 'One'), list(found, 'Missing')], [[], ['x'], []]);
});

test('only the word true is true', () => {
  const found = entry('A=true', 'B=1', 'C=True', 'D=false');
  assert.deepEqual(
    ['A', 'B', 'C', 'D', 'E'].map(key => flag(found, key)),
    [true, false, false, false, false],
  );
});

test('translations match in the order of the specification', () => {
  assert.deepEqual(localeKeys(['sr_YU.UTF-8@Latn']), ['sr_YU@Latn', 'sr_YU', 'sr@Latn', 'sr']);
  assert.deepEqual(localeKeys(['pt_BR', 'de']), ['pt_BR', 'pt', 'de']);
  assert.deepEqual(localeKeys(['de.UTF-8', 'ca@valencia', 'C.UTF-8', 'POSIX', '']), ['de', 'ca@valencia', 'ca']);
  const found = entry('Name=n', 'Name[sr]=sr', 'Name[sr@Latn]=latn', 'Name[sr_YU]=yu', 'Name[de]=de\\sde');
  assert.equal(localised(found, 'Name', localeKeys(['sr_YU@Latn'])), 'yu');
  assert.equal(localised(found, 'Name', localeKeys(['sr@Latn'])), 'latn');
  assert.equal(localised(found, 'Name', localeKeys(['fr_FR', 'de_AT'])), 'de de');
  assert.equal(localised(found, 'Name', []), 'n');
});

test('translations into other languages are not kept, and the others are', () => {
  const text = '[Desktop Entry]\nName=n\nName[de]=d\nName[fr]=f\nName[de_AT]=a\n';
  assert.deepEqual([...parseEntry(text, ['de_AT', 'de'])!.keys()], ['Name', 'Name[de]', 'Name[de_AT]']);
});

test('the session’s languages follow gettext, and a chosen one replaces them', () => {
  assert.deepEqual(messageLocales({ LANG: 'de_DE.UTF-8', LANGUAGE: 'fr:en' }, null), ['fr', 'en', 'de_DE.UTF-8']);
  assert.deepEqual(messageLocales({ LANG: 'de_DE', LC_MESSAGES: 'it_IT', LC_ALL: 'es_ES' }, null), ['es_ES']);
  assert.deepEqual(messageLocales({ LANG: 'C.UTF-8', LANGUAGE: 'fr' }, null), []);
  assert.deepEqual(messageLocales({}, null), []);
  assert.deepEqual(messageLocales({ LANG: 'de_DE' }, 'pt_BR'), ['pt_BR']);
});
