// Errors of connections in the words that people read.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { networkFailure, wordMessage } from '../../../daemon/view/message.ts';
import { english } from '../../../daemon/view/translator.ts';

const PLACE = 'www.cloudflare.com';
const words = (error: unknown) => {
  const failure = networkFailure(error, PLACE);
  return failure && wordMessage(failure, english);
};
const failed = (code: string, message = `getaddrinfo ${code} ${PLACE}`) => Object.assign(new Error(message), { code });

const CODES = [
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
  'EPROTO',
  'HPE_INVALID_CONSTANT',
  'CERT_HAS_EXPIRED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_WRONG_VERSION_NUMBER',
];

test('each code of a connection has a sentence with the name of the place, and without words of Node', () => {
  for (const code of CODES) {
    const text = words(failed(code))!;
    assert.ok(text.includes(PLACE), code);
    assert.doesNotMatch(text, /getaddrinfo|connect |[A-Z]{5,}/, code);
  }
  assert.equal(words(failed('ENOTFOUND')), `the name ${PLACE} isn’t found`);
});

test('the addresses of one name that fail together are one failure', () => {
  assert.equal(
    words(new AggregateError([failed('ENETUNREACH'), failed('ECONNREFUSED')])),
    `this network has no way to ${PLACE}`,
  );
});

test('an error of ours is left as it is', () => {
  assert.equal(words(new Error('HTTP status 500')), null);
  assert.equal(words('text'), null);
});

test('a real connection that is refused is worded', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  const { connect } = await import('node:net');
  const error = await new Promise(resolve => connect(port, '127.0.0.1').once('error', resolve));
  assert.equal(words(error), `${PLACE} refuses connections`);
});
