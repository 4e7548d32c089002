// Whose connection it is: rows of the kernel's tables, as recorded and as they are on this machine.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createPeerCheck, type Ends, ownedBy } from '../../daemon/peer.ts';

const row = (local: string, remote: string, uid: number, inode: number) =>
  `   1: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;
const V4: Ends = { localAddress: '127.0.0.1', localPort: 4173, remoteAddress: '127.0.0.1', remotePort: 40000 };
const peerRow = (uid: number, inode: number) => row('0100007F:9C40', '0100007F:104D', uid, inode);
const ourRow = row('0100007F:104D', '0100007F:9C40', 1000, 7);

test("the owner of the peer's socket decides", () => {
  assert.equal(ownedBy(ourRow + peerRow(1000, 8), V4, 1000), true);
  assert.equal(ownedBy(ourRow + peerRow(1001, 8), V4, 1000), false);
  assert.equal(ownedBy(peerRow(0, 8), V4, 1000), false);
});

test('a row without inode has no owner: its uid 0 is not root', () => {
  assert.equal(ownedBy(peerRow(0, 0), V4, 0), false);
  assert.equal(ownedBy(peerRow(1000, 0), V4, 1000), false);
});

test('a peer that is in no table is nobody', () => {
  assert.equal(ownedBy('', V4, 1000), false);
  assert.equal(ownedBy(ourRow, V4, 1000), false);
  assert.equal(ownedBy('   1: 0100007F:9C40 0100007F:104D 01', V4, 1000), false);
});

test('IPv6 and mapped IPv4 addresses are found', () => {
  const one = '00000000000000000000000001000000';
  const v6: Ends = { localAddress: '::1', localPort: 4173, remoteAddress: '::1', remotePort: 40000 };
  assert.equal(ownedBy(row(`${one}:9C40`, `${one}:104D`, 5, 9), v6, 5), true);
  const mapped = '0000000000000000FFFF00000100007F';
  assert.equal(ownedBy(row(`${mapped}:9C40`, `${mapped}:104D`, 5, 9), V4, 5), true);
  const real: Ends = { ...v6, localAddress: '2001:db8::1', remoteAddress: 'fe80::1%eth0' };
  assert.equal(
    ownedBy(row('000080FE000000000000000001000000:9C40', 'B80D0120000000000000000001000000:104D', 5, 9), real, 5),
    true,
  );
});

test('a real connection of this process is its own, over IPv4 and IPv6', async t => {
  const check = createPeerCheck(process.getuid!());
  const stranger = createPeerCheck(process.getuid!() + 1);
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer().listen(0, host);
    t.after(() => server.close());
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, host);
    const [socket] = (await once(server, 'connection')) as [Socket];
    const ends = {
      localAddress: socket.localAddress!,
      localPort: socket.localPort!,
      remoteAddress: socket.remoteAddress!,
      remotePort: socket.remotePort!,
    };
    assert.equal(await check(ends), true, host);
    assert.equal(await stranger(ends), false, host);
    client.destroy();
    socket.destroy();
  }
});

test('connections that come while the tables are read share the next read, which began after they came', async () => {
  let reads = 0;
  const pending: ((text: string) => void)[] = [];
  const check = createPeerCheck(1000, () => {
    reads++;
    return new Promise(resolve => pending.push(resolve));
  });
  const first = check(V4);
  await new Promise(setImmediate);
  const later = Array.from({ length: 100 }, () => check(V4));
  await new Promise(setImmediate);
  assert.equal(reads, 1);
  pending.shift()!('');
  assert.equal(await first, false, 'the first read did not show it yet');
  await new Promise(setImmediate);
  assert.equal(reads, 2);
  pending.shift()!(peerRow(1000, 8));
  assert.deepEqual(await Promise.all(later), Array(100).fill(true));
  assert.equal(reads, 2);
});
