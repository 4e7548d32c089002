// Connections whose owner is looked up while the listener closes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createConnections, type Peer } from '../../../daemon/http/connections.ts';
import { LIMITS } from '../../../daemon/http/guard.ts';

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
