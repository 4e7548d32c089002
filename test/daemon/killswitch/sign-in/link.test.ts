// The link to the internet, read from the kernel's tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  defaultRoute,
  formatQuestion,
  hardwareOf,
  hasChanged,
  hasIpv6Route,
  isName,
  type Link,
  parseAnswer,
  serversIn,
} from '../../../../daemon/killswitch/sign-in/link.ts';

const ROUTES = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
wlan0\t00000000\t0102A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0
docker0\t00000000\t0100110A\t0003\t0\t0\t50\t00000000\t0\t0\t0
eth0\t00000000\t01000A0A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t00000A0A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
`;
const isPhysical = (device: string) => device !== 'docker0';

test('takes the default route with the lowest metric of a physical device', () => {
  assert.deepEqual(defaultRoute(ROUTES, isPhysical), { device: 'eth0', gateway: '10.10.0.1' });
  assert.deepEqual(
    defaultRoute(ROUTES, device => device === 'wlan0'),
    { device: 'wlan0', gateway: '192.168.2.1' },
  );
  assert.equal(
    defaultRoute(ROUTES, () => false),
    null,
  );
  assert.equal(defaultRoute('', isPhysical), null);
});

test('finds a default route of IPv6 over a router, on a physical device', () => {
  const zero = '0'.repeat(32);
  const row = (to: string, flags: string, device: string) =>
    `${to} 00 ${zero} 00 20010db8000000000000000000000002 00000400 00000001 00000000 ${flags}      ${device}\n`;
  const rows = row(zero, '00200200', 'lo') + row(`fe80${'0'.repeat(28)}`, '00000003', 'eth0');
  assert.equal(hasIpv6Route(rows, isPhysical), false);
  assert.equal(hasIpv6Route(rows + row(zero, '00000003', 'docker0'), isPhysical), false);
  assert.equal(hasIpv6Route(rows + row(zero, '00000003', 'eth0'), isPhysical), true);
  assert.equal(hasIpv6Route('', isPhysical), false);
});

test('reads the hardware address of the gateway on that device', () => {
  const table = `IP address       HW type     Flags       HW address            Mask     Device
10.10.0.1        0x1         0x2         aa:bb:cc:dd:ee:01     *        wlan0
10.10.0.1        0x1         0x2         aa:bb:cc:dd:ee:02     *        eth0
10.10.0.9        0x1         0x0         00:00:00:00:00:00     *        eth0
`;
  assert.equal(hardwareOf(table, { device: 'eth0', gateway: '10.10.0.1' }), 'aa:bb:cc:dd:ee:02');
  assert.equal(hardwareOf(table, { device: 'eth0', gateway: '10.10.0.9' }), null);
  assert.equal(hardwareOf(table, { device: 'eth0', gateway: '10.10.0.2' }), null);
});

test('another device, gateway or hardware address is another network', () => {
  const link: Link = { device: 'eth0', index: '2', gateway: '10.10.0.1', hardware: 'aa:bb:cc:dd:ee:02' };
  assert.equal(hasChanged(link, link), false);
  assert.equal(hasChanged(link, { ...link, hardware: null }), false, 'the kernel forgets it after a while');
  for (const other of [{ device: 'eth1' }, { index: '3' }, { gateway: '10.10.0.2' }, { hardware: 'aa:bb:cc:dd:ee:03' }])
    assert.equal(hasChanged(link, { ...link, ...other }), true, JSON.stringify(other));
  assert.equal(hasChanged(link, null), true);
});

test('name servers are IPv4 addresses outside this machine, three at most', () => {
  const words = ['127.0.0.53', '::1', '10.0.0.1', '10.0.0.1', '192.168.1.1; drop', '0.0.0.0', '224.0.0.251', '1.1.1.1'];
  assert.deepEqual(serversIn(words), ['10.0.0.1', '1.1.1.1']);
  assert.deepEqual(serversIn(['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']), ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
});

const QUESTION = formatQuestion(0x1234, 'Login.example');
const A = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4];

/** @param records after the question */
function answer(count: number, records: number[], flags = 0x8180, id = 0x1234): Uint8Array {
  const bytes = [...QUESTION, ...records];
  [bytes[0], bytes[1], bytes[2], bytes[3]] = [id >> 8, id & 255, flags >> 8, flags & 255];
  bytes[7] = count;
  return Uint8Array.from(bytes);
}

test('asks for the IPv4 addresses of a name', () => {
  const text = Buffer.from(QUESTION).toString('latin1');
  assert.equal(text, '\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x05Login\x07example\0\0\x01\0\x01');
  assert.equal(Buffer.from(formatQuestion(0x1234, 'Login.example.')).toString('latin1'), text);
});

test('reads the addresses, also behind an alias', () => {
  assert.deepEqual(parseAnswer(answer(1, [...A, 192, 0, 2, 7]), QUESTION), ['192.0.2.7']);
  const alias = [0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 4, 1, 0x61, 0xc0, 18];
  const address = [1, 0x61, 0xc0, 18, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 8];
  assert.deepEqual(parseAnswer(answer(2, [...alias, ...address]), QUESTION), ['192.0.2.8']);
});

test('a name that does not exist has no address, and an answer that was cut off only those before', () => {
  assert.deepEqual(parseAnswer(answer(0, [], 0x8183), QUESTION), []);
  assert.deepEqual(parseAnswer(answer(2, [...A, 192, 0, 2, 7, ...A, 192]), QUESTION), ['192.0.2.7']);
});

test('anything but the answer to the question is refused', () => {
  const address = [...A, 192, 0, 2, 7];
  assert.equal(parseAnswer(answer(1, address, 0x8180, 0x1235), QUESTION), null, 'another number');
  assert.equal(parseAnswer(answer(1, address, 0x0100), QUESTION), null, 'a question');
  assert.equal(parseAnswer(answer(1, address), formatQuestion(0x1234, 'other.example')), null, 'another name');
  assert.equal(parseAnswer(Uint8Array.of(1, 2, 3), QUESTION), null);
  for (let length = 0; length < 40; length++) parseAnswer(answer(3, address).subarray(0, length), QUESTION);
});

test('only names of letters, digits, hyphens and underscores are asked for', () => {
  for (const name of ['a', 'login.example', '_http.x-y.example.']) assert.ok(isName(name), name);
  for (const name of ['', '.', 'a..b', 'a b', 'ä.example', `${'a'.repeat(64)}.example`, 'a.'.repeat(130)])
    assert.ok(!isName(name), name);
});
