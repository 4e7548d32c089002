// The limit of a change for which an SSH session's address was excluded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../../daemon/api/client.ts';
import type { Context } from '../../../../daemon/cli/context.ts';
import { requestKept } from '../../../../daemon/cli/keep.ts';
import { besideExclusion } from '../../../../daemon/cli/session.ts';

/** A client whose daemon does not know the previous value, and the limits that it was asked for. */
function setUp() {
  const limits: unknown[] = [];
  const call = async (_: string, { body }: { body: { confirmWithin?: number } }) => {
    limits.push(body.confirmWithin);
    if (body.confirmWithin === undefined) return { result: null };
    const detail = 'Not known.';
    throw new ApiError({ type: 'about:blank', status: 409, title: detail, detail, code: 'previous-unknown' });
  };
  const said: string[] = [];
  return { limits, said, context: { client: { call }, say: (text: string) => said.push(text) } as unknown as Context };
}

test('a change with an excluded address is never made without its limit, and any other one is', async () => {
  const keeping = { confirmWithin: 30, asks: true };
  const { limits, said, context } = setUp();
  await assert.rejects(requestKept(context, { action: 'connect' }, besideExclusion(keeping, true)), ApiError);
  assert.deepEqual(limits, [30]);
  await requestKept(context, { action: 'connect' }, besideExclusion(keeping, false));
  assert.deepEqual(limits, [30, 30, undefined]);
  assert.deepEqual(said, ['The previous value is not known, so this change will not revert automatically.']);
  // the address stays longer than the change, for at most ten minutes
  assert.equal(besideExclusion({ confirmWithin: 600, asks: true }, true).confirmWithin, 570);
});
