// The text search of the clients.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsWords, searchable } from '../../../daemon/view/text-search.ts';

test('every word of a query has to be there, in any order and case', () => {
  const cases: [query: string, holds: boolean][] = [
    ['', true],
    ['  ', true],
    ['home', true],
    ['HOME', true],
    [' home ', true],
    ['network home', true],
    ['home\tnetwork', true],
    ['home office', false],
    ['homes', false],
  ];
  for (const [query, holds] of cases) assert.equal(holdsWords('home network 10.0.0.0/8', query), holds, query);
});

test('the text of a thing is made once, in lower case', () => {
  let made = 0;
  const textOf = searchable<{ name: string }>(({ name }) => {
    made++;
    return name;
  });
  const thing = { name: 'Zürich' };
  assert.deepEqual([textOf(thing), textOf(thing), made], ['zürich', 'zürich', 1]);
  assert.equal(textOf({ name: 'Bern' }), 'bern');
});
