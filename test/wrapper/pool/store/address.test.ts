// Addresses of the pool's store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeAddress, parseAddress } from '../../../../wrapper/pool/store/address.ts';

const single = { kind: 'single', tls: false, database: 0 };

const good: Record<string, object> = {
  'valkey://cache': { ...single, hosts: [{ host: 'cache', port: 6379 }] },
  'redis://cache:1234/5': { ...single, hosts: [{ host: 'cache', port: 1234 }], database: 5 },
  'valkeys://ci@cache/0': { ...single, tls: true, hosts: [{ host: 'cache', port: 6379 }], user: 'ci' },
  'rediss://[::1]:6380/': { ...single, tls: true, hosts: [{ host: '::1', port: 6380 }] },
  'redis+unix:///run/my%20store/s': { ...single, hosts: [], socket: '/run/my store/s' },
  'valkey+unix://a%40b@/run/s': { ...single, hosts: [], socket: '/run/s', user: 'a@b' },
  'valkey+sentinel://a,b:5/main/2': {
    kind: 'sentinel',
    tls: false,
    database: 2,
    primary: 'main',
    hosts: [
      { host: 'a', port: 26_379 },
      { host: 'b', port: 5 },
    ],
  },
  'valkeys+cluster://a,b:7000': {
    kind: 'cluster',
    tls: true,
    database: 0,
    hosts: [
      { host: 'a', port: 6379 },
      { host: 'b', port: 7000 },
    ],
  },
};

const bad: Record<string, RegExp> = {
  '': /an unknown form/,
  'http://cache': /an unknown form/,
  cache: /an unknown form/,
  'redis://': /host or port/,
  'redis://cache:0': /host or port/,
  'redis://cache:65536': /host or port/,
  'redis://a b': /host or port/,
  'redis://a,b': /too many parts/,
  'redis://a/1/2': /too many parts/,
  'redis://a/x': /database is a number/,
  'redis://a?db=1': /an unknown form/,
  'valkey+cluster://a/1': /database 0 only/,
  'valkey+sentinel://a': /primary's name/,
  'valkey+sentinel://a/p/1/2': /primary's name/,
  'valkeys+unix:///run/s': /without TLS/,
  'valkey+unix://host/run/s': /without TLS/,
  'valkey+unix:///': /without TLS/,
};

test('reads every form of an address', () => {
  for (const [url, expected] of Object.entries(good)) assert.deepEqual(parseAddress(url), expected, url);
});

test('refuses what is not an address, with the forms there are', () => {
  for (const [url, message] of Object.entries(bad)) {
    assert.throws(() => parseAddress(url), { code: 'pool-address', message }, url);
  }
});

test('refuses an address with a password and does not repeat it', () => {
  for (const url of ['redis://ci:hunter2@cache', 'valkeys://:hunter2@cache/0', 'valkey+unix://u:hunter2@/run/s']) {
    assert.throws(
      () => parseAddress(url),
      (error: Error & { code?: string; hint?: string }) => {
        assert.equal(error.code, 'pool-address');
        assert.match(error.hint ?? '', /--password/);
        return !`${error.message}${error.hint}`.includes('hunter2');
      },
      url,
    );
  }
});

test('shows an address without its user', () => {
  assert.equal(describeAddress('valkeys://ci@cache/0'), 'valkeys://cache/0');
  assert.equal(describeAddress('valkey+unix:///run/s'), 'valkey+unix:///run/s');
});
