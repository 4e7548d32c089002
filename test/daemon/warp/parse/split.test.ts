// Holds the list parser to the recorded split-tunnel lists.
import assert from 'node:assert/strict';
import test from 'node:test';
import { parseRoutes, splitOf } from '../../../../daemon/warp/parse/split.ts';
import { recorded } from '../../../support/daemon/recordings.ts';

test('a recorded list of addresses has their ranges and notes', () => {
  const [excluded, included] = recorded('tunnel ip list');
  assert.deepEqual(parseRoutes(excluded?.stdout ?? ''), {
    mode: 'exclude',
    routes: [
      { value: '10.0.0.0/8', description: null },
      { value: '0.0.0.0/0', description: 'CLI exclude' },
      { value: '::/0', description: 'CLI exclude' },
    ],
  });
  assert.deepEqual(parseRoutes(included?.stdout ?? ''), {
    mode: 'include',
    routes: [{ value: '0.0.0.0/0', description: null }],
  });
});

test('a recorded list of hosts', () => {
  assert.deepEqual(parseRoutes(recorded('tunnel host list')[0]?.stdout ?? ''), {
    mode: 'exclude',
    routes: [{ value: 'www.baidu.com', description: 'CLI exclude' }],
  });
});

test('an empty list is a list, and other text is null', () => {
  assert.deepEqual(parseRoutes('Excluded hosts:\r\n'), { mode: 'exclude', routes: [] });
  for (const text of ['', 'Success\n', "error: unrecognized subcommand 'tunnel'", '{"code":"x","error":"y"}']) {
    assert.equal(parseRoutes(text), null, text);
  }
});

test('JSON lists of strings or objects', () => {
  const routes = [{ value: '10.0.0.0/8', description: null }];
  assert.deepEqual(parseRoutes('["10.0.0.0/8"]'), { mode: null, routes });
  assert.deepEqual(parseRoutes('{"mode":"Exclude","routes":[{"value":"10.0.0.0/8","description":""}]}'), {
    mode: 'exclude',
    routes,
  });
});

test('one of two lists makes a split tunnel', () => {
  const entry = { value: 'a.example', description: null };
  assert.deepEqual(splitOf('exclude', ['a.example'], undefined), { mode: 'exclude', ips: [entry], hosts: [] });
  assert.deepEqual(splitOf('include', undefined, ['a.example']), { mode: 'include', ips: [], hosts: [entry] });
  assert.equal(splitOf('include', undefined, undefined), null);
});
