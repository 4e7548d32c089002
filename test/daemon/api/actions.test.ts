// The table of actions: what its types allow, and what OpenAPI makes of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import { ACTION_NAMES, type ActionRequest, ARGUMENTS, actionRequest, argumentOf } from '../../../daemon/api/actions.ts';
import { openapi } from '../../../daemon/api/openapi.ts';

test('the type of a request demands a value exactly where the action takes one', () => {
  const good: ActionRequest[] = [
    { action: 'connect' },
    { action: 'setMode', value: 'proxy' },
    { action: 'setProxyPort', value: '40001' },
  ];
  // @ts-expect-error an action that takes a value needs one
  const missing: ActionRequest = { action: 'setMode' };
  // @ts-expect-error an action that takes none gets none
  const superfluous: ActionRequest = { action: 'connect', value: 'x' };
  // @ts-expect-error a value is one of those that the table lists
  const unknown: ActionRequest = { action: 'setMode', value: 'turbo' };
  assert.equal([...good, missing, superfluous, unknown].length, 6);
});

test('a request made at run time has a value only where one is given', () => {
  assert.deepEqual(actionRequest('connect'), { action: 'connect' });
  assert.deepEqual(actionRequest('setMode', 'warp'), { action: 'setMode', value: 'warp' });
});

test('OpenAPI describes each action with its own value', () => {
  const ajv = new Ajv({ strict: false }).addSchema(openapi('1.2.3'), 'api');
  const fits = ajv.compile({ $ref: 'api#/components/schemas/ActionRequest' });
  for (const action of ACTION_NAMES) {
    const argument = argumentOf(action);
    const value = argument?.values?.[0] ?? 'x';
    assert.equal(fits({ action }), argument === null, action);
    assert.equal(fits({ action, value }), argument !== null, action);
    assert.equal(fits({ action, value: 'no such value' }), argument !== null && !argument.values, action);
  }
  assert.equal(fits({ action: 'format' }), false);
});

test('secrets are marked, so that no client takes them from a command line', () => {
  const secret = Object.entries(ARGUMENTS).filter(([, argument]) => 'secret' in argument);
  assert.deepEqual(secret.map(([name]) => name).sort(), ['license', 'overrideCode', 'tokenUrl']);
});
