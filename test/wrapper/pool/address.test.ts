// Addresses of the pool's store, and its errors as Redis before 7, Redis 7 and Valkey write them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeAddress, parseAddress, serverError } from '../../../wrapper/pool/address.ts';

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

const IN_SCRIPT = ' script: 98df947ef0a8, on @user_script:394.';
/** An error of a command in a script, as Redis before 7 writes it. */
const older = (text: string) =>
  `ERR Error running script (call to f_98df947ef0a8): @user_script:23: @user_script: 23: -${text} `;

const meaning = (text: string) => {
  const error = serverError(text, 'valkey://h');
  return error.name === 'StoreUnreachable' ? 'unreachable' : error.message;
};

test('an error that may pass counts as an unreachable store', () => {
  for (const text of [
    "OOM command not allowed when used memory > 'maxmemory'.",
    "READONLY You can't write against a read only replica.",
    'NOREPLICAS Not enough good replicas to write.',
    'MISCONF Errors writing to the AOF file: No space left on device',
  ]) {
    for (const form of [text, text + IN_SCRIPT, older(text)]) assert.equal(meaning(form), 'unreachable', form);
  }
  for (const text of [
    'LOADING Valkey is loading the dataset in memory',
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    'CLUSTERDOWN The cluster is down',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
    'ERR max number of clients reached',
  ])
    assert.equal(meaning(text), 'unreachable', text);
});

test('an error that only a change of settings helps is refused, with the setting', () => {
  const cases: [string, RegExp][] = [
    ['CULVERTSCHEMA 2', /has the schema 2/],
    [older('CULVERTSCHEMA 2'), /has the schema 2/],
    ['NOAUTH Authentication required.', /refuses the login/],
    ['WRONGPASS invalid username-password pair or user is disabled.', /refuses the login/],
    ['ERR invalid password', /refuses the login/],
    ['ERR AUTH <password> called without any password configured for the default user.', /refuses the login/],
    ["NOPERM User c has no permissions to run the 'evalsha' command", /does not permit this user/],
    [`ERR The user executing the script can't run this command or subcommand${IN_SCRIPT}`, /does not permit this user/],
    [`ERR ACL failure in script: User c has no permissions to run the 'time' command${IN_SCRIPT}`, /does not permit/],
    [older("NOPERM this user has no permissions to run the 'time' command"), /does not permit this user/],
    ['MOVED 1579 10.0.0.1:6379', /is a cluster/],
    ["CROSSSLOT Keys in request don't hash to the same slot", /is a cluster/],
    ['ERR DB index is out of range', /answers: ERR DB index/],
    ['ERR something else', /answers: ERR something else/],
  ];
  for (const [text, expected] of cases) {
    const error = serverError(text, 'valkey://h');
    assert.match(error.message, expected, text);
    assert.ok('code' in error && 'hint' in error && error.code === 'pool-refused' && error.hint, text);
  }
});

test("a server's message is shown without the place in the script, and cut at a word", () => {
  const oom = "OOM command not allowed when used memory > 'maxmemory'.";
  for (const text of [oom, oom + IN_SCRIPT, older(oom)])
    assert.equal(serverError(text, 'h').message, `it answers ${oom}`, text);
  const lua = 'attempt to index a nil value';
  for (const text of [
    `ERR user_script:12: ${lua}${IN_SCRIPT}`,
    `ERR Error running script (call to f_98df947ef0a8): @user_script:23: user_script:23: ${lua} `,
  ])
    assert.equal(serverError(text, 'h').message, `the pool at h answers: ERR ${lua}`, text);
  for (const code of ['OOM', 'ERR', 'ERR DB index', 'READONLY']) {
    const { message } = serverError(`${code} ${'several words '.repeat(500)}`, 'h');
    assert.match(message, /(?:several|words) …$/);
    assert.ok(message.length < 160, message);
  }
  assert.ok(serverError(`OOM ${'x'.repeat(5_000)}`, 'h').message.length < 160);
});
