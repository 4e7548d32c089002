// A listening CLI's stream arrives in pieces of any size; each message must come out once, complete and without delay.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createSplitter } from '../../../../daemon/warp/listen/listener.ts';

/** All messages of a stream that arrives in pieces of `size` characters. */
function split(stream: string, size = stream.length): string[] {
  const splitter = createSplitter();
  const out: string[] = [];
  for (let at = 0; at < stream.length; at += size) out.push(...splitter.push(stream.slice(at, at + size)));
  return [...out, ...splitter.end()];
}

const CONNECTING = '{"status":"Connecting","reason":{"EstablishingConnection":"162.159.198.2:443"}}';
const CONNECTED = '{"status":"Connected","reason":"NetworkHealthy"}';
const UPDATE = '{"update":"SettingsUpdated"}';

test('documents of one line each, in pieces of any size', () => {
  const stream = `${CONNECTING}\n${UPDATE}\r\n${CONNECTED}\n`;
  for (let size = 1; size <= stream.length; size++) {
    assert.deepEqual(
      split(stream, size).map(text => text.trim()),
      [CONNECTING, UPDATE, CONNECTED],
      `size ${size}`,
    );
  }
});

test('documents over several lines, in pieces of any size', () => {
  const pretty = [CONNECTING, UPDATE, CONNECTED].map(text => JSON.stringify(JSON.parse(text), null, 2));
  const stream = `${pretty.join('\n')}\n`;
  for (let size = 1; size <= stream.length; size += 3) {
    assert.deepEqual(split(stream, size), pretty, `size ${size}`);
  }
});

test('a complete document is reported before its line ends', () => {
  const splitter = createSplitter();
  assert.deepEqual(splitter.push(CONNECTED), [CONNECTED]);
  assert.deepEqual(splitter.push('\n'), []);
  assert.deepEqual(splitter.push(`${UPDATE}\n`), [UPDATE]);
});

test('a document cut in the middle does not swallow the next one', () => {
  assert.deepEqual(split(`{"status":"Conn\n${CONNECTED}\n`), ['{"status":"Conn', CONNECTED]);
  assert.deepEqual(split(`{\n  "status": "Conn\n${CONNECTED}\n`), ['{\n  "status": "Conn', CONNECTED]);
  assert.deepEqual(split('{"status":"Conn'), ['{"status":"Conn']);
});

test('a huge line and a huge document are dropped, and what follows is read', () => {
  const huge = 'x'.repeat(3 * 1024 * 1024);
  const splitter = createSplitter();
  for (let at = 0; at < huge.length; at += 65_536) splitter.push(huge.slice(at, at + 65_536));
  assert.ok(splitter.push(`\n${CONNECTED}\n`).includes(CONNECTED));
  for (let at = 0; at < 40_000; at++) splitter.push(`${at === 0 ? '{' : ' '} "key": "${'y'.repeat(40)}",\n`);
  assert.equal(splitter.push(`${CONNECTED}\n`).at(-1), CONNECTED);
});

test('a block of text that arrives in one piece is one message, and is reported again when it grows', () => {
  const stream = 'Status update: Connecting\nReason: A\nStatus update: Connected\nNetwork: healthy\n';
  assert.deepEqual(split(stream), [
    'Status update: Connecting\nReason: A',
    'Status update: Connected\nNetwork: healthy',
  ]);
  const splitter = createSplitter();
  assert.deepEqual(splitter.push('Status update: Unable\n'), ['Status update: Unable']);
  assert.deepEqual(splitter.push('Reason: No Net'), []);
  assert.deepEqual(splitter.push('work\n'), ['Status update: Unable\nReason: No Network']);
});

test('other lines are separate messages and belong to no block', () => {
  const lines = ['Success', 'Status update: Connected', 'DNS: example.com A', 'Reason: x'];
  assert.deepEqual(split(`${lines.join('\n')}\n\n`), lines);
});

test('text before and after documents is kept apart from them', () => {
  assert.deepEqual(split(`Success\n${CONNECTED}\nPlease accept the terms\n`), [
    'Success',
    CONNECTED,
    'Please accept the terms',
  ]);
});
