// Errors of the system reach people in words, not as Node prints them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { getSystemErrorMap } from 'node:util';
import { execa } from 'execa';
import { errno, FileError, reason, reasonWithPath } from '../../../daemon/core/errors.ts';
import { createHome, culvert } from '../../support/daemon/command.ts';
import { temporary } from '../../support/temporary.ts';

/** An error as Node makes it for a call on the network. */
function failedCall(call: string, code: string, place = ''): Error {
  return Object.assign(new Error([call, code, place].filter(Boolean).join(' ')), { code });
}

/** Node's words for a failed call. */
const RAW = /\bE[A-Z_]{3,}\b/;

test('no command shows an error of the system as Node prints it', async t => {
  const home = createHome(t);
  const directory = temporary(t, 'raw');
  const absent = join(directory, 'none/file');
  const loop = join(directory, 'loop');
  symlinkSync(loop, loop);
  for (const place of [absent, directory, loop, join(directory, 'n'.repeat(300)), '/dev/null/file'])
    for (const words of [
      ['routes', 'import', place],
      ['routes', 'diff', place],
      ['network', 'apply', place],
      ['settings', 'apply', place],
      ['diagnose', 'read', place],
    ]) {
      const { code, stdout, stderr } = await culvert(home, words);
      assert.notEqual(code, 0, words.join(' '));
      assert.doesNotMatch(stdout + stderr, RAW, words.join(' '));
    }
  for (const words of [['diagnose'], ['diagnose', 'record']])
    for (const place of [absent, '/dev/null/file']) {
      const { stderr } = await culvert(home, [...words, '--out', place]);
      assert.doesNotMatch(stderr, RAW, `${words} ${place}`);
    }
});

/** Codes that only a mistake of the program causes, or a call that no part of it makes. Their own words say as much. */
const OWN_WORDS =
  `EADDRINUSE EAI_BADFLAGS EAI_BADHINTS EAI_OVERFLOW EAI_PROTOCOL EAI_SERVICE EAI_SOCKTYPE EALREADY EBADF
  ECHARSET EDESTADDRREQ EFAULT EFTYPE EILSEQ EINVAL EISCONN ENODATA ENOPROTOOPT ENOTSOCK ENOTTY EOF
  EOVERFLOW EPROTONOSUPPORT EPROTOTYPE ERANGE ESHUTDOWN ESOCKTNOSUPPORT ESPIPE EUNATCH UNKNOWN`.split(/\s+/);

test('each code that the system gives a client or a file operation has words', () => {
  // releases of Node know further codes
  const codes = [...getSystemErrorMap().values()].map(([code]) => code);
  assert.ok(codes.includes('EAI_FAIL'));
  assert.deepEqual(
    codes.filter(code => reason(failedCall('connect', code, '192.0.2.1:443')).includes(code)).sort(),
    OWN_WORDS.filter(code => codes.includes(code)).sort(),
  );
  assert.equal(
    reason(failedCall('getaddrinfo', 'EAI_FAIL', 'a.example')),
    'The name server answered with an error: a.example',
  );
});

test('the words about a listener keep an address, and no path', () => {
  const listen = (place: string) =>
    reason(Object.assign(new Error(`listen EACCES: permission denied ${place}`), { code: 'EACCES' }));
  assert.equal(listen('127.0.0.1:80'), `${listen('/run/api')}: 127.0.0.1:80`);
  assert.equal(listen('/run/api.1'), listen('/run/api'));
});

test('errors of several attempts are worded together, each once', () => {
  const [refused, far] = ['192.0.2.1:443', '[2001:db8::1]:443'];
  const errors = [
    failedCall('connect', 'ECONNREFUSED', refused),
    failedCall('connect', 'ENETUNREACH', far),
    failedCall('connect', 'ECONNREFUSED', refused),
  ];
  const all = Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' });
  assert.equal(reason(all), `Connection refused: ${refused}; This network has no way there: ${far}`);
  assert.equal(reason(Object.assign(new AggregateError([]), { code: 'ETIMEDOUT' })), 'No answer in time');
  assert.equal(reason(new TypeError('')), 'TypeError');
  const tls =
    'write EPROTO 80316741:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../record.c:354:\n';
  assert.equal(reason(Object.assign(new Error(tls), { code: 'EPROTO' })), 'TLS failed: wrong version number');
});

test('each kind of failed call is worded without its code', async t => {
  const directory = temporary(t, 'raw');
  const file = join(directory, 'file');
  writeFileSync(file, '');
  const server = createServer().listen(0);
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const failed = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return error;
    }
    return assert.fail('it did not fail');
  };
  const emitted = (emitter: NodeJS.EventEmitter) => new Promise(resolve => void emitter.once('error', resolve));
  const cases: [error: unknown, words: string][] = [
    [failed(() => readFileSync(join(directory, 'none'))), 'No such file or directory'],
    [failed(() => readFileSync(directory)), 'Is a directory'],
    [failed(() => readFileSync(join(file, 'x'))), 'Not a directory'],
    [failed(() => mkdirSync(file)), 'A file is in its place'],
    [failed(() => statSync('n'.repeat(300))), 'File name too long'],
    [failed(() => readFileSync('/proc/self/mem')), 'Input or output failed'],
    [await emitted(connect({ host: '127.0.0.1', port: 1 })), 'Connection refused: 127.0.0.1:1'],
    [await emitted(connect({ path: join(directory, 'none') })), 'No such file or directory'],
    [failedCall('getaddrinfo', 'ENOTFOUND', 'example.invalid'), 'Name not found: example.invalid'],
    [failedCall('getaddrinfo', 'EAI_AGAIN', 'example.com'), 'No name server answered: example.com'],
    [
      failedCall('connect', 'ENETUNREACH', '2001:db8::1:443 - Local (:::0)'),
      'This network has no way there: 2001:db8::1:443',
    ],
    [failedCall('read', 'ECONNRESET'), 'Connection closed by the other side'],
    [await emitted(createServer().listen(port)), `Address already in use :::${port}`],
    [await emitted(execFile(join(directory, 'none'))), `${directory}/none: No such file or directory`],
    [
      (await execa(join(directory, 'none'), { reject: false })) as unknown,
      `${directory}/none: No such file or directory`,
    ],
  ];
  for (const [error, words] of cases) {
    assert.ok(errno(error), words);
    assert.equal(reason(error), words);
    assert.doesNotMatch(reason(error), RAW);
  }
  assert.equal(reasonWithPath(cases[0]![0]), `${directory}/none: No such file or directory`);
  assert.equal(reasonWithPath(new FileError(file, cases[1]![0])), `${file} can't be written: Is a directory.`);
  assert.equal(reason(new Error('ENOENT: not of the system')), 'ENOENT: not of the system');
  assert.equal(reason('text'), 'text');
});
