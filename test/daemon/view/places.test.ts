// Data centers are shown by the names of their cities.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeDetail, placeName } from '../../../daemon/view/places.ts';

test('a data center has the name of its city, and its code in the details', () => {
  assert.equal(placeName('FRA'), 'Frankfurt');
  assert.equal(placeName('fra'), 'Frankfurt');
  assert.equal(placeDetail('GRU'), 'São Paulo (GRU)');
});

test('a data center that the list lacks is shown by its code', () => {
  for (const code of ['QQQ', '', 'constructor', '__proto__']) {
    assert.equal(placeName(code), code);
    assert.equal(placeDetail(code), code);
  }
});
