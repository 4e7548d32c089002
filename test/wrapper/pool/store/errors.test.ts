// The errors of a server are understood as Redis before 7, Redis 7 and Valkey write them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverError } from '../../../../wrapper/pool/store/errors.ts';

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
