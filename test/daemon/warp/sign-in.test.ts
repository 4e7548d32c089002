// The end of a sign-in that a browser hands over: accepted once, and only for what the user began.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ActionRequest } from '../../../daemon/api/actions.ts';
import { Problem } from '../../../daemon/problem.ts';
import { createSignIn } from '../../../daemon/warp/consent.ts';

const addressOf = (team: string) => `com.cloudflare.warp://${team}.cloudflareaccess.com/auth?token=head.body.sign`;

function setUp() {
  const performed: ActionRequest[] = [];
  const clock = { now: 0 };
  const perform = async (request: ActionRequest) => {
    performed.push(request);
    return null;
  };
  const signIn = createSignIn(perform, () => clock.now);
  return { signIn, performed, clock };
}

const isRefused = (error: unknown) =>
  error instanceof Problem && error.code === 'precondition-failed' && !error.message.includes('head.body.sign');

test('a sign-in that was begun is finished once, however the name is written', async () => {
  const { signIn, performed } = setUp();
  signIn.begin('Acme');
  await signIn.finish(addressOf('acme'));
  assert.deepEqual(performed, [{ action: 'setRegistrationToken', value: addressOf('acme') }]);
  await assert.rejects(signIn.finish(addressOf('acme')), isRefused);
});

test('refuses an address without a pending sign-in', async () => {
  const { signIn, performed, clock } = setUp();
  await assert.rejects(signIn.finish(addressOf('acme')), isRefused);
  signIn.begin('acme');
  for (const other of [
    addressOf('evil'),
    addressOf('acme.evil'),
    'com.cloudflare.warp://acme.cloudflareaccess.com.evil.example/auth?token=head.body.sign',
    'com.cloudflare.warp://user@acme.cloudflareaccess.com/auth?token=head.body.sign',
    'https://acme.cloudflareaccess.com/auth?token=head.body.sign',
    '',
  ])
    await assert.rejects(signIn.finish(other), isRefused, other);
  clock.now = 16 * 60_000;
  await assert.rejects(signIn.finish(addressOf('acme')), isRefused);
  assert.deepEqual(performed, []);
});
