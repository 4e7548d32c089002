// The check that each promise of SECURITY.md names tests which exist.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporary } from './support/temporary.ts';

const SENTENCES = ['Nothing leaks.', 'A `GET` changes nothing.'] as const;
const DOCUMENT = `# Security

| Rows | of another table |
|---|---|
| are | not read. |

| What | It promises | It does not promise |
|---|---|---|
| **API** (\`api\`) | ${SENTENCES.join(' ')} | Speed. Nor this. |

The end. | Not a row | either. |
`;
const TESTS = `import { test } from 'node:test';
for (const [title, n] of [['drops a packet', 1]]) test(title, () => {});
test('reads alone', () => {});
test(\`answers \${'n'} times\`, () => {});
test.skip('never runs', () => {});
test.todo('is planned', () => {});
test('is left out', { skip: 'why' }, () => {});
// test('is in a comment', () => {});
`;
const PROOFS = {
  'API (api)': {
    [SENTENCES[0]]: { 'test/a.test.ts': ['drops a packet', `answers \${'n'} times`] },
    [SENTENCES[1]]: { 'test/a.test.ts': ['reads alone'] },
  },
};

type Proofs = Record<string, Record<string, Record<string, string[]>>>;
interface Change {
  document?: string;
  proofs?: Proofs;
}

/** `PROOFS` with other tests of the first sentence. */
const proven = (tests: Record<string, string[]>): Proofs => ({
  'API (api)': { ...PROOFS['API (api)'], [SENTENCES[0]]: tests },
});

for (const [what, change, fault] of [
  ['every promise has a test', {}, null],
  ['a promise has no test', { document: DOCUMENT.replace(' | Speed', ' Keys stay. | Speed') }, 'no test in'],
  ['a promise has an empty list of files', { proofs: proven({}) }, 'no test in'],
  ['a promise has an empty list of titles', { proofs: proven({ 'test/a.test.ts': [] }) }, 'name the tests in'],
  ['a promise was changed', { document: DOCUMENT.replace('changes nothing', 'reads nothing') }, 'does not promise'],
  ['a row is gone', { proofs: { ...PROOFS, MCP: { 'Keys stay.': {} } } }, 'does not promise "Keys stay." (MCP)'],
  ['a row has another name', { document: DOCUMENT.replace('**API**', '**Bus**') }, 'no test in'],
  [
    'the table has another heading',
    { document: DOCUMENT.replace('It promises', 'Holds') },
    'no table with the heading',
  ],
  [
    'a test file is gone',
    { proofs: proven({ 'test/b.test.ts': ['drops a packet'] }) },
    'no test file "test/b.test.ts"',
  ],
  ['a file is no test', { proofs: proven({ 'SECURITY.md': ['Security'] }) }, 'no test file "SECURITY.md"'],
  ...['drops a', 'never runs', 'is planned', 'is left out', 'is in a comment'].map(
    title =>
      [`no test has the title "${title}"`, { proofs: proven({ 'test/a.test.ts': [title] }) }, 'has no test'] as const,
  ),
] as const satisfies readonly (readonly [string, Change, string | null])[])
  test(`${fault === null ? 'passes' : 'fails'} if ${what}`, t => {
    const { document = DOCUMENT, proofs = PROOFS }: Change = change;
    const root = temporary(t, 'promises');
    mkdirSync(join(root, 'test'));
    writeFileSync(join(root, 'SECURITY.md'), document);
    writeFileSync(join(root, 'test/promises.json'), JSON.stringify(proofs));
    writeFileSync(join(root, 'test/a.test.ts'), TESTS);
    const { status, stderr } = spawnSync(process.execPath, ['data/build/promises.mjs', root], { encoding: 'utf8' });
    assert.equal(status, fault === null ? 0 : 1, stderr);
    if (fault === null) assert.equal(stderr, '');
    else assert.ok(stderr.includes(fault), stderr);
  });
