// The byte stream of the bus, cut into messages: by bytes as dbus-daemon sends them, in every way that they may arrive.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFrames, type Header, METHOD_CALL, SIGNAL } from '../../../daemon/killswitch/bus-frames.ts';

type Field = readonly [code: number, type: 's' | 'o' | 'g' | 'u', value: string | number];
const FIELDS: readonly Field[] = [
  [1, 'o', '/org/culvert/KillSwitch1'],
  [2, 's', 'org.culvert.KillSwitch1'],
  [3, 's', 'Enable'],
  [8, 'g', 'ba(ssaq)'],
  [9, 'u', 7],
  [7, 's', ':1.42'],
];

/** A message by the D-Bus specification. */
function message(options: {
  body?: number;
  big?: boolean;
  type?: number;
  flags?: number;
  serial?: number;
  fields?: readonly Field[];
}): Buffer {
  const { body = 0, big = false, type = METHOD_CALL, flags = 0, serial = 5, fields = FIELDS } = options;
  const uint32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    if (big) bytes.writeUInt32BE(value);
    else bytes.writeUInt32LE(value);
    return bytes;
  };
  let array = Buffer.alloc(0);
  for (const [code, kind, value] of fields) {
    const text = Buffer.from(String(value));
    array = Buffer.concat([
      array,
      Buffer.alloc(-array.length & 7),
      Buffer.from([code, 1, kind.charCodeAt(0), 0]),
      ...(kind === 'u'
        ? [uint32(Number(value))]
        : [kind === 'g' ? Buffer.from([text.length]) : uint32(text.length), text, Buffer.alloc(1)]),
    ]);
  }
  const fixed = [Buffer.from([big ? 0x42 : 0x6c, type, flags, 1]), uint32(body), uint32(serial), uint32(array.length)];
  return Buffer.concat([...fixed, array, Buffer.alloc(-array.length & 7), Buffer.alloc(body, 0xaa)]);
}

/** Frames cut from a stream that arrives in pieces of a size. */
function cut(stream: Buffer, size: number, limit = 1000) {
  const seen: (string | Buffer)[] = [];
  const headers: (Header | null)[] = [];
  const frames = createFrames(limit, {
    message(bytes, header) {
      seen.push(Buffer.from(bytes));
      headers.push(header);
    },
    oversized(header) {
      seen.push('oversized');
      headers.push(header);
    },
  });
  for (let at = 0; at < stream.length; ) {
    const piece = stream.subarray(at, at + size);
    at += piece.length;
    at += frames(piece);
  }
  return { seen, headers };
}

const HEADER = {
  type: METHOD_CALL,
  replyExpected: true,
  serial: 5,
  interface: 'org.culvert.KillSwitch1',
  sender: ':1.42',
};

test('every message within the limit arrives unchanged, wherever the stream is cut', () => {
  const messages = [
    message({}),
    message({ body: 1 }),
    message({ body: 700, big: true }),
    message({ body: 9, serial: 6 }),
  ];
  const stream = Buffer.concat(messages);
  for (let size = 1; size <= stream.length; size++) assert.deepEqual(cut(stream, size).seen, messages, String(size));
  assert.deepEqual(cut(stream, 100).headers, [HEADER, HEADER, HEADER, { ...HEADER, serial: 6 }]);
});

test('a message is refused from the first byte beyond the limit, and its body skipped', () => {
  const size = message({}).length;
  for (const [body, refused] of [
    [1000 - size, false],
    [1001 - size, true],
    [1_000_000, true],
  ] as const)
    for (const piece of [1, 7, 64, 4096, 10_000_000]) {
      const first = message({ body });
      const { seen, headers } = cut(Buffer.concat([first, message({ serial: 9 })]), piece);
      assert.deepEqual(seen, [refused ? 'oversized' : first, message({ serial: 9 })], `${body} in pieces of ${piece}`);
      assert.deepEqual(headers, [HEADER, { ...HEADER, serial: 9 }]);
    }
});

test('a header too long to read is refused without being kept', () => {
  const long = message({ body: 5000, fields: [[1, 'o', `/${'x'.repeat(4000)}`], ...FIELDS] });
  for (const piece of [1, 100, 5000]) {
    const { seen, headers } = cut(Buffer.concat([long, message({})]), piece);
    assert.deepEqual(
      [seen, headers],
      [
        ['oversized', message({})],
        [null, HEADER],
      ],
    );
  }
});

test('the header says whether a reply is expected, and names the sender', () => {
  for (const [options, expected] of [
    [{ flags: 1 }, { replyExpected: false }],
    [{ flags: 2 }, { replyExpected: true }],
    [{ flags: 4 }, { replyExpected: true }],
    [{ type: SIGNAL }, { type: SIGNAL, replyExpected: false }],
    [{ type: 2 }, { type: 2, replyExpected: false }],
    [{ serial: 0xfffffffe }, { serial: 0xfffffffe }],
    [{ serial: 0xfffffffe, big: true }, { serial: 0xfffffffe }],
    [{ fields: [] }, { interface: '', sender: '' }],
    [{ fields: [[7, 's', ':1.1']] }, { interface: '', sender: ':1.1' }],
  ] as const)
    assert.deepEqual(cut(message(options), 10_000).headers, [{ ...HEADER, ...expected }], JSON.stringify(options));
});

test('fields that lie about their length, or have an unknown type, end the reading of the header', () => {
  const lying = message({ fields: [[7, 's', ':1.1']] });
  lying.writeUInt32LE(4_000_000_000, 20);
  assert.deepEqual(cut(lying, 10_000).headers, [{ ...HEADER, interface: '', sender: '' }]);
  const strange = message({ fields: [[1, 'u', 1], ...FIELDS] });
  strange[18] = 'v'.charCodeAt(0);
  assert.deepEqual(cut(strange, 10_000).headers, [{ ...HEADER, interface: '', sender: '' }]);
});

test('bytes that are not D-Bus are an error', () => {
  for (const at of [0, 3]) {
    const wrong = message({});
    wrong[at] = 0x7a;
    assert.throws(() => cut(wrong, 100), /does not speak D-Bus/);
  }
});
