// Messages of MCP: what is read of a line, and what is not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFromServer } from '../../../../wrapper/run/rules/mcp-messages.ts';

const LONG = 'x'.repeat(1024 * 1024);
const NESTED = '['.repeat(LONG.length) + ']'.repeat(LONG.length);

/** Lines of a server that are not parsed, and the id that is read. */
const LINES: readonly [line: string, id: string | number | undefined][] = [
  [JSON.stringify({ jsonrpc: '2.0', id: 7, error: { message: LONG } }), 7],
  [JSON.stringify({ jsonrpc: '2.0', id: 'a-7', result: { LONG } }), 'a-7'],
  [`${JSON.stringify({ result: { LONG }, jsonrpc: '2.0', id: 8 })}\n`, 8],
  [JSON.stringify({ error: { message: LONG, jsonrpc: '2.0', id: 9 } }), undefined],
  [JSON.stringify([{ jsonrpc: '2.0', id: 1, result: LONG }]), undefined],
  [`{"jsonrpc":"2.0","result":${NESTED}}`, undefined],
  [NESTED, undefined],
];

test('a line of a server over 1 MiB has only its id read', () => {
  for (const [line, id] of LINES) {
    const messages = readFromServer(Buffer.from(line));
    const what = line.slice(0, 40);
    assert.deepEqual(
      messages.map(message => message.id),
      id === undefined ? [] : [id],
      what,
    );
    for (const { result, failure } of messages) assert.deepEqual([result, failure], [undefined, undefined], what);
  }
  assert.equal(readFromServer(Buffer.from('{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}'))[0]!.failure?.text, 'x');
});
