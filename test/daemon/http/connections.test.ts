// Connections whose owner is looked up while the listener closes, and a body whose parsing takes long: other events of the
// process run in between, and nothing of it is lost.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { createConnections, createPipeline, type Peer } from '../../../daemon/http/connections.ts';
import { LIMITS } from '../../../daemon/http/guard.ts';
import { until } from '../../support/until.ts';

test('a connection whose owner becomes known after the close is ended, and never served', async t => {
  const connections = createConnections({ own: 8, remote: 0 }, LIMITS);
  let answerLookup = (_: Peer) => {};
  const lookup = new Promise<Peer>(resolve => {
    answerLookup = resolve;
  });
  const served: Socket[] = [];
  const server = createServer(socket => {
    connections.add(socket, lookup, admitted => {
      served.push(admitted);
      return { take() {}, end() {}, refuse() {}, lineBytes: () => 0 };
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => client.destroy());
  await once(server, 'connection');

  const closed = once(server, 'close');
  server.close();
  connections.closeRefused();
  client.resume();
  answerLookup({ via: { kind: 'unix' } });
  await closed;
  assert.deepEqual(served, []);
});

const BYTES = 65_536;

test('a body that takes long to parse leaves turns to other events, also while its reader resumes the socket', async () => {
  const socket = Object.assign(new Duplex({ read() {}, write: (_, __, done) => done() }), { setTimeout() {} });
  let parsed = '';
  let turns = 0;
  // as Node's parser, with the callbacks for tiny pieces and a reader that takes each
  socket.on('data', (piece: Buffer) => {
    for (const end = performance.now() + 1; performance.now() < end; );
    parsed += piece.toString('latin1');
    process.nextTick(() => socket.resume());
  });
  const pipeline = createPipeline(socket as unknown as Socket, () => false);
  const request = { complete: false, readableFlowing: true, readableLength: 0 } as IncomingMessage;
  pipeline.take(request, { once() {} } as unknown as ServerResponse, () => {});
  const count = () => {
    turns += 1;
    if (parsed.length < BYTES) setImmediate(count);
  };
  setImmediate(count);
  const body = Array.from({ length: BYTES }, (_, at) => String.fromCharCode(97 + (at % 26))).join('');
  socket.push(Buffer.from(body));
  await until(() => parsed.length >= BYTES, 'the whole body');
  assert.equal(parsed, body);
  // 43 pieces of 1 ms each
  assert.ok(turns >= 6, `${turns} turns`);
});
