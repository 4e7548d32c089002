// The key of an account is hidden in a stream, however it is cut into chunks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mask } from '../../../wrapper/gateway/mask.ts';

async function masked(chunks: readonly string[]): Promise<string> {
  const mask = new Mask('fc-real', 'fc-1');
  const parts: Buffer[] = [];
  mask.on('data', (part: Buffer) => parts.push(part));
  for (const chunk of chunks) mask.write(chunk);
  mask.end();
  await new Promise(resolve => mask.once('end', resolve));
  return Buffer.concat(parts).toString();
}

test('a key is hidden wherever a chunk ends, and nothing else changes', async () => {
  const text = 'a fc-real, fcfc-realfc-real fc-rea';
  const expected = 'a fc-1***, fcfc-1***fc-1*** fc-rea';
  for (let cut = 0; cut <= text.length; cut++)
    assert.equal(await masked([text.slice(0, cut), text.slice(cut)]), expected);
  assert.equal(await masked([...text]), expected);
});

test('a key is hidden although the provider pauses in the middle of it', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const mask = new Mask('fc-real', 'fc-1');
  let text = '';
  mask.on('readable', () => {});
  const read = () => {
    text += (mask.read() as Buffer | null)?.toString() ?? '';
    return text;
  };
  mask.write('x fc-re');
  t.mock.timers.tick(4_000);
  assert.equal(read(), 'x ');
  mask.write('al y');
  assert.equal(read(), 'x fc-1*** y');
  mask.write(' fc-re');
  t.mock.timers.tick(60_000);
  assert.equal(read(), 'x fc-1*** y fc-re', 'it waits no longer than that');
});

test('a text that could be the start of a key is not kept for long', async () => {
  const mask = new Mask('fc-real', 'fc-1');
  mask.write('event fc-');
  const parts: string[] = [];
  mask.on('data', (part: Buffer) => parts.push(part.toString()));
  while (parts.join('') !== 'event fc-') await new Promise(resolve => mask.once('data', resolve));
  mask.destroy();
});
