// Answers of pages, as they come from a network that may say anything.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerOf, parseReply, TARGETS, verdictIn } from '../../../../daemon/killswitch/sign-in/verdict.ts';

const page = (fields: string, body = '', status = '200 OK') => `HTTP/1.1 ${status}\r\n${fields}\r\n\r\n${body}`;

test('reads status, body and location, also of an answer in chunks', () => {
  assert.deepEqual(parseReply(page('Date: x', 'success\n')), { status: 200, body: 'success\n', location: null });
  const chunks = '4;x=y\r\nsucc\r\n3\r\ness\r\n0\r\n\r\n';
  assert.equal(parseReply(page('a: b\r\nTransfer-Encoding: chunked', chunks))?.body, 'success');
  assert.equal(parseReply(page('Transfer-Encoding: chunked', 'ffffffff\r\nsucc'))?.body, 'succ');
  const redirect = page('LOCATION:  http://login.example/?a=b ', '', '302 Found');
  assert.deepEqual(parseReply(redirect), { status: 302, body: '', location: 'http://login.example/?a=b' });
  for (const text of ['', 'HTTP/1.1 200 OK\r\n', 'SSH-2.0-x\r\n\r\n', 'HTTP/2 200\r\n\r\n'])
    assert.equal(parseReply(text), null, JSON.stringify(text));
});

test('only the exact page is open, and only addresses of the web are opened', () => {
  const target = TARGETS[1]!;
  const answer = (text: string) => answerOf(target, parseReply(text)!);
  assert.equal(answer(page('a: b', 'success\n')).result, 'open');
  assert.equal(answer(page('a: b', 'success!')).result, 'login');
  assert.equal(answer(page('a: b', '', '503 Busy')).result, 'silent');
  for (const location of [
    'javascript:alert(1)',
    'file:///etc/passwd',
    '/login',
    'http://',
    'http://a b/',
    `http://${'a'.repeat(3000)}`,
  ])
    assert.deepEqual(answer(page(`Location: ${location}`, '', '302 Found')), { result: 'login', location: null });
});

test('a verdict of another process is checked', () => {
  const login = { network: 'login', loginPage: 'https://login.example/' };
  assert.deepEqual(verdictIn(login), login);
  assert.deepEqual(verdictIn({ network: 'login', loginPage: 'file:///x' }), { network: 'login', loginPage: null });
  assert.deepEqual(verdictIn({ network: 'open', loginPage: 'http://x/' }), { network: 'open', loginPage: null });
  for (const value of [null, 1, 'open', {}, { network: 'yes' }]) assert.equal(verdictIn(value), null);
});
