// Command lines of desktop entries: split, expanded and written so that no value becomes more than one argument.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ExecError, expandFields, joinExec, locateProgram, splitExec } from '../../../../daemon/apps/exec-key.ts';

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
    assert.throws(() => splitExec(line), ExecError, JSON.stringify(line));
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
    assert.throws(() => expand('p', arg), ExecError, JSON.stringify(arg));
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
