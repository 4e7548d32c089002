// The memory that large answers take together: a request waits for it, and nothing is lost.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { Room } from '../../../wrapper/gateway/room.ts';
import { homeFor, json, openGateway, startProvider } from '../../support/wrapper/gateway.ts';

/** Answers of unknown length that a gateway reads together. */
const PLACES = 8;
const LARGE = 'x'.repeat(100_000);

function answerOf(destroyed = false): ServerResponse {
  return Object.assign(new EventEmitter(), { destroyed }) as unknown as ServerResponse;
}

test('a request that finds too little room waits in turn, until an answer has been taken or its program has left', async () => {
  const room = new Room(10);
  const entered: string[] = [];
  const take = (name: string, bytes: number, res = answerOf()) => {
    room.take(bytes, res).then(() => entered.push(name));
    return res;
  };
  const turn = () => new Promise(setImmediate);
  const a = take('a', 6);
  const b = take('b', 6);
  const c = take('c', 4);
  const gone = take('gone', 10);
  const last = take('last', 10);
  take('left before', 10, answerOf(true));
  await turn();
  assert.deepEqual(entered, ['a', 'left before']);
  a.emit('drain');
  a.emit('close');
  await turn();
  assert.deepEqual(entered.slice(2), ['b', 'c']);
  gone.emit('close');
  b.emit('close');
  await turn();
  assert.deepEqual(entered.slice(4), ['gone']);
  c.emit('close');
  await turn();
  assert.deepEqual(entered.slice(5), ['last']);
  last.emit('close');
});

test('many simultaneous large answers wait for room, arrive whole, and let small ones pass', async t => {
  const open: (() => void)[] = [];
  const { port } = await startProvider(t, (_key, req, res) => {
    const value = { next: `http://127.0.0.1:${port}/next`, text: req.url === '/small' ? '' : LARGE };
    if (req.url !== '/held') return json(res, 200, value);
    const text = JSON.stringify(value);
    res.writeHead(200, { 'content-type': 'application/json' }).write(text.slice(0, -1));
    open.push(() => res.end(text.slice(-1)));
    provided.emit('held');
  });
  const provided = new EventEmitter();
  const { gateway, ask } = await openGateway(t, homeFor(t, port, { a: 'real-a' }));
  const read = async (path: string) => (await ask(path)).json();
  const small = async () => {
    for (let count = 0; count < 5; count += 1) await read('/small');
  };
  const held: Promise<unknown>[] = [];
  while (held.length < PLACES) {
    const began = once(provided, 'held');
    held.push(read('/held'));
    await began;
  }
  await small();
  let settled = 0;
  const waiting = Array.from({ length: 3 * PLACES }, () => read('/large').finally(() => (settled += 1)));
  await small();
  assert.equal(settled, 0);
  for (const finish of open) finish();
  const expected = { next: `${gateway.url}/next`, text: LARGE };
  for (const answer of await Promise.all([...held, ...waiting])) assert.deepEqual(answer, expected);
});
