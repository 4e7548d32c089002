// Every string that people read reaches the translators, and no translation breaks a placeholder.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const languages = readFileSync(join(ROOT, 'po/LINGUAS'), 'utf8').trim().split('\n');
const skip = spawnSync('sh', ['-c', 'command -v msgfmt xgettext']).status !== 0 && 'needs gettext';

test('every file with words is listed in POTFILES, and every listed file exists', () => {
  const listed = readFileSync(join(ROOT, 'po/POTFILES'), 'utf8').trim().split('\n');
  const sources = readdirSync(join(ROOT, 'gnome'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => `gnome/${path}`)
    .filter(path => /(?<![\w.])(_|ngettext)\('/.test(readFileSync(join(ROOT, path), 'utf8')));
  assert.deepEqual(listed.filter(path => path.endsWith('.ts')).sort(), sources.sort());
  for (const path of listed) assert.ok(readFileSync(join(ROOT, path)), path);
});

test('the template holds the strings of the present source', { skip }, () => {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'po/update.sh'), ['--check'], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});

for (const language of languages) {
  test(`${language} is complete and well-formed`, { skip }, () => {
    const file = join(ROOT, 'po', `${language}.po`);
    execFileSync('msgfmt', ['--check', '-o', '/dev/null', file]);
    const todo = (flag: string) => execFileSync('msgattrib', [flag, '--no-obsolete', file], { encoding: 'utf8' });
    assert.equal(todo('--only-fuzzy'), '');
    const open = todo('--untranslated').match(/^msgid "(.+)"$/gm) ?? [];
    assert.deepEqual(open, ['msgid "translator-credits"']);
  });

  test(`${language} keeps every placeholder, in its order`, () => {
    const entries = readFileSync(join(ROOT, 'po', `${language}.po`), 'utf8')
      .split('\n\n')
      .slice(1);
    const places = (text: string) => text.match(/%[sd%]/g)?.join() ?? '';
    for (const entry of entries) {
      const wanted = places(/^msgid_plural "(.*)"$/m.exec(entry)?.[1] ?? /^msgid "(.*)"$/m.exec(entry)?.[1] ?? '');
      for (const [, text] of entry.matchAll(/^msgstr(?:\[\d\])? "(.+)"$/gm)) assert.equal(places(text!), wanted, entry);
    }
  });
}
