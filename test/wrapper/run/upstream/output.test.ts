// The part of an output that is kept for its classification.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OutputText } from '../../../../wrapper/run/upstream/output.ts';

const KB = 1024;

/** Pushes a text in pieces through one buffer, as a pipe's reader does. */
function pushAll(output: OutputText, bytes: Buffer, size: number): void {
  const buffer = Buffer.alloc(size);
  for (let at = 0; at < bytes.length; at += size) {
    const length = bytes.copy(buffer, 0, at, at + size);
    output.push(buffer.subarray(0, length));
  }
}

test('a text of up to 192 KiB is kept whole, also where a character is split between two pieces', () => {
  for (const size of [7, 1_000, 65_536, 65_537]) {
    const text = 'äöü€ a line\n'.repeat(12_000);
    const output = new OutputText(() => []);
    pushAll(output, Buffer.from(text).subarray(0, 190 * KB), size);
    assert.equal(
      output.toString(),
      Buffer.from(text)
        .subarray(0, 190 * KB)
        .toString(),
      `pieces of ${size}`,
    );
  }
});

test('the beginning, the end and matching passages of a flood stay', () => {
  const searched: number[] = [];
  const output = new OutputText(text => {
    searched.push(text.length);
    return text.split('\n').filter(line => line.startsWith('Error'));
  });
  pushAll(output, Buffer.from('first line\n'), 64);
  for (let i = 0; i < 300; i++) {
    pushAll(output, Buffer.from(`${i === 40 ? 'Error: quota\n' : ''}${'progress\n'.repeat(900)}`), 5_000);
  }
  pushAll(output, Buffer.from('last line\n'), 64);
  const text = output.toString();
  assert.ok(text.startsWith('first line\n'));
  assert.ok(text.endsWith('progress\nlast line\n'));
  assert.match(text, /^Error: quota$/m);
  assert.ok(text.length < 400 * KB, `${text.length}`);
  assert.ok(searched.length > 0 && Math.max(...searched) < 256 * KB);
});

test('the latest piece comes with the end of the text before it, wherever it is', () => {
  for (const before of [0, 3, 1_500, 65_530, 65_536, 100_000, 131_072, 400_000]) {
    const output = new OutputText(() => []);
    pushAll(output, Buffer.alloc(before, 'x\n'), 65_536);
    output.push(Buffer.from('\njob-'));
    output.push(Buffer.from('4711\n'));
    assert.ok(output.recent().endsWith('\njob-4711\n'), `after ${before}`);
    const large = Buffer.alloc(65_536, 'y');
    output.push(large);
    assert.ok(output.recent().endsWith(`job-4711\n${large}`), `a large piece after ${before}`);
  }
});
