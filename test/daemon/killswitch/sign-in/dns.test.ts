// Questions and answers of DNS, as they are on the wire.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatQuestion, isName, parseAnswer } from '../../../../daemon/killswitch/sign-in/dns.ts';

const QUESTION = formatQuestion(0x1234, 'Login.example');
const A = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4];

/** @param records after the question */
function answer(count: number, records: number[], flags = 0x8180, id = 0x1234): Uint8Array {
  const bytes = [...QUESTION, ...records];
  [bytes[0], bytes[1], bytes[2], bytes[3]] = [id >> 8, id & 255, flags >> 8, flags & 255];
  bytes[7] = count;
  return Uint8Array.from(bytes);
}

test('asks for the IPv4 addresses of a name', () => {
  const text = Buffer.from(QUESTION).toString('latin1');
  assert.equal(text, '\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x05Login\x07example\0\0\x01\0\x01');
  assert.equal(Buffer.from(formatQuestion(0x1234, 'Login.example.')).toString('latin1'), text);
});

test('reads the addresses, also behind an alias', () => {
  assert.deepEqual(parseAnswer(answer(1, [...A, 192, 0, 2, 7]), QUESTION), ['192.0.2.7']);
  const alias = [0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 4, 1, 0x61, 0xc0, 18];
  const address = [1, 0x61, 0xc0, 18, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 8];
  assert.deepEqual(parseAnswer(answer(2, [...alias, ...address]), QUESTION), ['192.0.2.8']);
});

test('a name that does not exist has no address, and an answer that was cut off only those before', () => {
  assert.deepEqual(parseAnswer(answer(0, [], 0x8183), QUESTION), []);
  assert.deepEqual(parseAnswer(answer(2, [...A, 192, 0, 2, 7, ...A, 192]), QUESTION), ['192.0.2.7']);
});

test('anything but the answer to the question is refused', () => {
  const address = [...A, 192, 0, 2, 7];
  assert.equal(parseAnswer(answer(1, address, 0x8180, 0x1235), QUESTION), null, 'another number');
  assert.equal(parseAnswer(answer(1, address, 0x0100), QUESTION), null, 'a question');
  assert.equal(parseAnswer(answer(1, address), formatQuestion(0x1234, 'other.example')), null, 'another name');
  assert.equal(parseAnswer(Uint8Array.of(1, 2, 3), QUESTION), null);
  for (let length = 0; length < 40; length++) parseAnswer(answer(3, address).subarray(0, length), QUESTION);
});

test('only names of letters, digits, hyphens and underscores are asked for', () => {
  for (const name of ['a', 'login.example', '_http.x-y.example.']) assert.ok(isName(name), name);
  for (const name of ['', '.', 'a..b', 'a b', 'ä.example', `${'a'.repeat(64)}.example`, 'a.'.repeat(130)])
    assert.ok(!isName(name), name);
});
