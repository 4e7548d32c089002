// Desktop entries: what the specification says a value is, and what is not an entry at all.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  escapeValue,
  expandFields,
  flag,
  joinExec,
  list,
  localeKeys,
  localized,
  locateProgram,
  messageLocales,
  parseEntry,
  splitExec,
  text,
  unescapeValue,
} from '../../../daemon/apps/desktop-entry.ts';
import { WordedError } from '../../../daemon/view/message.ts';

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
  assert.equal(localized(found, 'Name', localeKeys(['sr_YU@Latn'])), 'yu');
  assert.equal(localized(found, 'Name', localeKeys(['sr@Latn'])), 'latn');
  assert.equal(localized(found, 'Name', localeKeys(['fr_FR', 'de_AT'])), 'de de');
  assert.equal(localized(found, 'Name', []), 'n');
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

const fields = { name: 'My "App" %f; rm', icon: 'an icon', file: '/x/y z.desktop' };

test('arguments are split by the specification, and by what existing files need beyond', () => {
  const table: [string, string[]][] = [
    ['program', ['program']],
    ['  program   a\tb\nc ', ['program', 'a', 'b', 'c']],
    ['program "a b" ""', ['program', 'a b', '']],
    ['program "\\"\\`\\$\\\\"', ['program', '"`$\\']],
    ['program "a\\b"', ['program', 'a\\b']],
    ['env X="a b" program', ['env', 'X=a b', 'program']],
    ['sh -c \'echo "$1"; x\' --', ['sh', '-c', 'echo "$1"; x', '--']],
    ['program a\\ b', ['program', 'a b']],
    ["program '' b", ['program', '', 'b']],
    ['program $HOME `id` ~ * ; # x', ['program', '$HOME', '`id`', '~', '*', ';', '#', 'x']],
  ];
  for (const [line, args] of table) assert.deepEqual(splitExec(line), args, line);
});

test('an invalid command line is refused with a sentence', () => {
  for (const line of ['', '   ', '"open', "'open", 'program "a', 'program a\\', '""'])
    assert.throws(() => splitExec(line), WordedError, JSON.stringify(line));
});

test('field codes of files vanish, the others are filled in, and each stays inside its argument', () => {
  const expand = (...args: string[]) => expandFields(args, fields);
  assert.deepEqual(expand('p', '%f', '%F', '%u', '%U', '%d', '%D', '%n', '%N', '%v', '%m'), ['p']);
  assert.deepEqual(expand('p', '%i', '%c', '%k'), ['p', '--icon', 'an icon', fields.name, fields.file]);
  assert.deepEqual(expand('p', '--title=%c', 'file:%f', '100%%', '%%f'), [
    'p',
    `--title=${fields.name}`,
    'file:',
    '100%',
    '%f',
  ]);
  assert.deepEqual(expandFields(['p', '%i'], { ...fields, icon: null }), ['p']);
  for (const arg of ['%x', '%', 'a%', '%%%', '% f', '%\n'])
    assert.throws(() => expand('p', arg), WordedError, JSON.stringify(arg));
});

test('joined arguments are split and expanded to the same ones, with any characters', () => {
  const nasty = [
    'a b',
    '"',
    "'",
    '\\',
    '$HOME',
    '`id`',
    '%f',
    '100%',
    ';',
    '&',
    '|',
    '<>',
    '*?',
    '~',
    '(#)',
    '',
    'ä\tö',
    'a\nb',
  ];
  assert.deepEqual(expandFields(splitExec(joinExec(['/opt/x y/culvert', ...nasty])), fields), [
    '/opt/x y/culvert',
    ...nasty,
  ]);
  let seed = 7;
  const random = () => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  for (let round = 0; round < 2000; round++) {
    const args = Array.from({ length: 4 }, () =>
      Array.from({ length: Math.floor(random() * 6) }, () => ' "\'\\$`%fab;\n'[Math.floor(random() * 11)]).join(''),
    );
    assert.deepEqual(expandFields(splitExec(joinExec(['p', ...args])), fields), ['p', ...args]);
  }
});

test('the program is found behind env, Flatpak and snap, and is not guessed behind a shell', () => {
  const table: [string, ReturnType<typeof locateProgram>][] = [
    ['/usr/bin/firefox %u', { at: 0, packaging: 'native', program: 'firefox' }],
    ['env A=1 B=2 chromium x', { at: 3, packaging: 'native', program: 'chromium' }],
    ['/usr/bin/env -u X -i A=1 chromium', { at: 5, packaging: 'native', program: 'chromium' }],
    ['env BAMF=x /snap/bin/firefox %u', { at: 2, packaging: 'snap', program: 'firefox' }],
    ['snap run chromium', { at: 2, packaging: 'snap', program: 'chromium' }],
    [
      '/usr/bin/flatpak run --branch=stable --command=firefox --file-forwarding org.mozilla.firefox @@u %u @@',
      { at: 5, packaging: 'flatpak', program: 'org.mozilla.firefox' },
    ],
    ['flatpak run com.google.Chrome/x86_64/stable', { at: 2, packaging: 'flatpak', program: 'com.google.Chrome' }],
    ['snap run --shell=no x chromium', { at: 3, packaging: 'snap', program: 'x' }],
    ['snap list', { at: 0, packaging: 'native', program: null }],
    ['other run x', { at: 0, packaging: 'native', program: 'other' }],
    ['other list', { at: 0, packaging: 'native', program: 'other' }],
    ['flatpak list', { at: 0, packaging: 'native', program: null }],
    ['env -C /x -S chromium', { at: 4, packaging: 'native', program: null }],
    ['sh -c "firefox"', { at: 0, packaging: 'native', program: null }],
    ['gapplication launch org.gnome.Maps', { at: 0, packaging: 'native', program: null }],
    ['env', { at: 0, packaging: 'native', program: null }],
    ['pkexec firefox', { at: 0, packaging: 'native', program: null }],
  ];
  for (const [line, located] of table) assert.deepEqual(locateProgram(splitExec(line)), located, line);
});
