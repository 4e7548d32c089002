// Finding the user of a connection in the kernel's tables, as recorded and as they are on this machine.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createPeerLookup, type Ends, listenerOf, ownersIn, readTable } from '../../../daemon/core/peer.ts';
import { listen } from '../../support/listen.ts';

const ownerOf = (table: string, ends: Ends) => ownersIn(table)(ends);
const row = (local: string, remote: string, uid: number, inode: number) =>
  `   1: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;
const V4: Ends = { localAddress: '127.0.0.1', localPort: 4173, remoteAddress: '127.0.0.1', remotePort: 40000 };
const peerRow = (uid: number, inode: number) => row('0100007F:9C40', '0100007F:104D', uid, inode);
const ourRow = row('0100007F:104D', '0100007F:9C40', 1000, 7);

test("the owner of the peer's socket decides", () => {
  assert.equal(ownerOf(ourRow + peerRow(1000, 8), V4), 1000);
  assert.equal(ownerOf(ourRow + peerRow(1001, 8), V4), 1001);
  assert.equal(ownerOf(peerRow(0, 8), V4), 0);
});

test('a row without inode has no owner: its uid 0 is not root', () => {
  assert.equal(ownerOf(peerRow(0, 0), V4), null);
  assert.equal(ownerOf(peerRow(1000, 0), V4), null);
});

test('a peer that is in no table is unknown', () => {
  assert.equal(ownerOf('', V4), undefined);
  assert.equal(ownerOf(ourRow, V4), undefined);
  assert.equal(ownerOf('   1: 0100007F:9C40 0100007F:104D 01', V4), null);
});

test('half a row never names another user', () => {
  const other = row('0100007F:9C41', '0100007F:104D', 1000, 7);
  const rows: [text: string, owner: number | null][] = [
    [peerRow(1001, 8), 1001],
    [peerRow(0, 0), null],
  ];
  for (const [text, owner] of rows)
    for (let cut = 0; cut < text.length; cut++) {
      const named = ownerOf(`${text.slice(0, cut)}\n${other.slice(cut)}`, V4);
      assert.ok([owner, null, undefined].includes(named), `cut at ${cut}: ${named}`);
    }
});

test('IPv6 and mapped IPv4 addresses are found', () => {
  const one = '00000000000000000000000001000000';
  const v6: Ends = { localAddress: '::1', localPort: 4173, remoteAddress: '::1', remotePort: 40000 };
  assert.equal(ownerOf(row(`${one}:9C40`, `${one}:104D`, 5, 9), v6), 5);
  const mapped = '0000000000000000FFFF00000100007F';
  assert.equal(ownerOf(row(`${mapped}:9C40`, `${mapped}:104D`, 5, 9), V4), 5);
  const real: Ends = { ...v6, localAddress: '2001:db8::1', remoteAddress: 'fe80::1%eth0' };
  assert.equal(
    ownerOf(row('000080FE000000000000000001000000:9C40', 'B80D0120000000000000000001000000:104D', 5, 9), real),
    5,
  );
});

test('a real connection of this process is its own, over IPv4 and IPv6', async t => {
  const lookUp = createPeerLookup();
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer();
    const client = connect(await listen(t, server, host), host);
    const [socket] = (await once(server, 'connection')) as [Socket];
    const ends = {
      localAddress: socket.localAddress!,
      localPort: socket.localPort!,
      remoteAddress: socket.remoteAddress!,
      remotePort: socket.remotePort!,
    };
    assert.equal(await lookUp(ends), process.getuid!(), host);
    client.destroy();
    socket.destroy();
  }
});

test('each of many connections is found in a table of many pages', async t => {
  const server = createServer(socket => void t.after(() => socket.destroy()));
  const port = await listen(t, server);
  const clients = Array.from({ length: 300 }, () => connect(port, '127.0.0.1'));
  await Promise.all(clients.map(client => once(client, 'connect')));
  const table = await readTable('tcp');
  for (const { localPort } of clients)
    assert.equal(ownerOf(table, { ...V4, localPort: port, remotePort: localPort! }), process.getuid!());
  for (const client of clients) client.destroy();
});

test('many connections cost as much each as few', async () => {
  const cost = async (count: number) => {
    const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
    const ports = Array.from({ length: count }, (_, i) => 20_000 + i);
    const rows = ports.map(port => row(`0100007F:${hex(port)}`, '0100007F:104D', 65_534, 8)).join('');
    const lookUp = createPeerLookup(async () => rows);
    await lookUp(V4); // those that follow wait for one read
    const before = process.cpuUsage();
    const owners = await Promise.all(ports.map(remotePort => lookUp({ ...V4, remotePort })));
    const { user, system } = process.cpuUsage(before);
    assert.ok(owners.every(owner => owner === 65_534));
    return user + system;
  };
  await cost(1_000);
  const [few, many] = [await cost(4_000), await cost(32_000)];
  assert.ok(many < 24 * few, `eight times the connections cost ${(many / few).toFixed(0)} times as much`);
});

test('the table of IPv6 is read only for IPv6 peers', async () => {
  const read: string[] = [];
  const mapped = '0000000000000000FFFF00000100007F';
  const lookUp = (tcp: string, tcp6: string) =>
    createPeerLookup(async table => {
      read.push(table);
      return table === 'tcp' ? tcp : tcp6;
    });
  assert.equal(await lookUp(peerRow(5, 8), '')(V4), 5);
  assert.equal(
    await lookUp(peerRow(0, 0), row(`${mapped}:9C40`, `${mapped}:104D`, 5, 9))(V4),
    null,
    'nobody stays nobody',
  );
  assert.deepEqual(read, ['tcp', 'tcp']);
  assert.equal(await lookUp('', row(`${mapped}:9C40`, `${mapped}:104D`, 5, 9))(V4), 5);
  assert.deepEqual(read.splice(0), ['tcp', 'tcp', 'tcp', 'tcp6']);
  await lookUp('', '')({ ...V4, remoteAddress: '::1', localAddress: '::1' });
  assert.deepEqual(read, ['tcp6']);
});

test('connections that come while the tables are read share the next read, which began after they came', async () => {
  let reads = 0;
  const pending: ((text: string) => void)[] = [];
  const lookUp = createPeerLookup(table => {
    if (table === 'tcp6') return Promise.resolve('');
    reads++;
    return new Promise(resolve => pending.push(resolve));
  });
  const first = lookUp(V4);
  await new Promise(setImmediate);
  const later = Array.from({ length: 100 }, () => lookUp(V4));
  await new Promise(setImmediate);
  assert.equal(reads, 1);
  pending.shift()!('');
  assert.equal(await first, undefined, 'the first read did not show it yet');
  await new Promise(setImmediate);
  assert.equal(reads, 2);
  pending.shift()!(peerRow(1000, 8));
  assert.deepEqual(await Promise.all(later), Array(100).fill(1000));
  assert.equal(reads, 2);
});

test('finds the listener on a port of 127.0.0.1, and ignores connections on that port', async t => {
  const listening = (address: string, uid: number) =>
    row(`${address}:104D`, '00000000:0000', uid, 7).replace(' 01 ', ' 0A ');
  assert.equal(listenerOf(ourRow + listening('0100007F', 1001), 4173), 1001);
  assert.equal(listenerOf(listening('00000000', 1002) + listening('0100007F', 1001), 4173), 1001);
  assert.equal(listenerOf(listening('00000000', 1002), 4173), 1002);
  assert.equal(listenerOf(ourRow + listening('0100007F', 1001), 4174), undefined);
  assert.equal(listenerOf(listening('0200007F', 1001), 4173), undefined);
  const port = await listen(t, createServer());
  assert.equal(listenerOf(await readTable('tcp'), port), process.getuid!());
});

test('a table that the kernel does not give is an error, not an empty table', async () => {
  const lookUp = createPeerLookup(() => Promise.reject(Object.assign(new Error('EMFILE'), { code: 'EMFILE' })));
  await assert.rejects(lookUp(V4), /EMFILE/);
});
