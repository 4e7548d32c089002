// Lines out of chunks, byte for byte.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lines } from '../../../wrapper/mcp/server.ts';

test('lines keep their bytes however the stream is cut', () => {
  const whole = Buffer.from([...Buffer.from('a\r\n\n'), 0xff, 0xc3, 10, ...Buffer.from('end')]);
  for (let size = 1; size <= whole.length; size++) {
    const lines = new Lines();
    const seen: Buffer[] = [];
    for (let at = 0; at < whole.length; at += size) seen.push(...lines.add(whole.subarray(at, at + size))!);
    assert.equal(seen.length, 3);
    assert.deepEqual(Buffer.concat([...seen, lines.rest()]), whole);
  }
});

test('a line above the limit is refused, also when it comes in parts', () => {
  assert.equal(new Lines(4).add(Buffer.from('12345')), undefined);
  const lines = new Lines(4);
  assert.deepEqual(lines.add(Buffer.from('123\n12')), [Buffer.from('123\n')]);
  assert.equal(lines.add(Buffer.from('3\n')) === undefined, false);
  assert.deepEqual(lines.add(Buffer.from('12')), []);
  assert.equal(lines.add(Buffer.from('345')), undefined);
});
