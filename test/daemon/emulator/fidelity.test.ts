// Holds the emulator to what real tunnel CLIs printed: every recording is staged, asked again, and compared.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { type Emulator, emulator, type Result } from '../../support/daemon/emulator.ts';
import { EXCUSED, type Relation, SCENES, type Scene } from '../../support/daemon/emulator-scenes.ts';
import { type Recording, recordings } from '../../support/daemon/recordings.ts';

/** The relation that a recording's origin allows. */
const BY_FIDELITY: Record<string, Relation> = {
  'verbatim-terminal': 'same',
  'verbatim-fixture': 'same',
  'verbatim-warp-diag': 'same',
  'verbatim-docs': 'same',
  'verbatim-fragment': 'lines',
  'inferred-line': 'lines',
  'verbatim-reflowed': 'words',
  'schema-only': 'labels',
  'synthetic-test': 'same',
  // redacted
  recorded: 'labels',
};

describe('the emulator against the recordings', { concurrency: 2 }, () => {
  it('replays or excuses every recording, and none by a fidelity that it does not know', () => {
    for (const index of Object.keys(EXCUSED).map(Number)) {
      assert.ok(recordings[index], `recording ${index} is excused but does not exist`);
      assert.ok(!(index in SCENES), `recording ${index} is both excused and staged`);
    }
    for (const index of Object.keys(SCENES)) assert.ok(recordings[Number(index)], `scene ${index} has no recording`);
    for (const { fidelity } of recordings) assert.ok(fidelity in BY_FIDELITY, `unknown fidelity ${fidelity}`);
  });

  for (const [index, recording] of recordings.entries()) {
    if (index in EXCUSED) continue;
    const scene = SCENES[index] ?? {};
    const relation = scene.relation?.[0] ?? BY_FIDELITY[recording.fidelity] ?? 'same';
    it(`${index}: ${recording.version}: ${recording.argv.join(' ') || 'no command'} is ${relation}`, async () => {
      const answer = await replay(recording, scene);
      compare(recording, answer, relation);
      if (recording.exit_code !== null) assert.equal(answer.exitCode, recording.exit_code);
    });
  }
});

async function replay(recording: Recording, scene: Scene): Promise<Result> {
  const it = await emulator({ version: scene.version ?? recording.version });
  try {
    if (scene.state) await it.control(...scene.state);
    for (const argv of scene.first ?? []) {
      const { exitCode, stderr } = await it.run(...argv);
      assert.equal(exitCode, 0, `${argv.join(' ')}: ${stderr}`);
    }
    if (scene.faults) await it.control(`fault=${scene.faults}`);
    const argv = scene.argv ?? recording.argv;
    if (scene.typed !== undefined) return await onTerminal(it, argv, scene.typed);
    if (scene.listening) return await listening(it, argv, scene.listening, recording.stdout);
    return await it.run(...argv);
  } finally {
    await it.remove();
  }
}

/** script(1) gives it a terminal; what it prints and the echo of what is typed arrive together, lines ended by CR LF. */
function onTerminal(it: Emulator, argv: string[], typed: string): Promise<Result> {
  return new Promise(resolve => {
    const command = [it.bin, ...argv].join(' ');
    const child = execFile('script', ['-qec', command, '/dev/null'], { env: it.env }, (_, stdout, stderr) =>
      resolve({ stdout: stdout.replaceAll('\r\n', '\n'), stderr, exitCode: child.exitCode, signal: child.signalCode }),
    );
    let seen = '';
    child.stdout?.on('data', (text: string) => {
      const before = seen.includes('[y/N]');
      seen += text;
      if (!before && seen.includes('[y/N]')) child.stdin?.write(typed);
    });
  });
}

/** The wanted line among those that a listener prints while a command runs; the last one when it never comes. */
async function listening(it: Emulator, argv: string[], then: string[], wanted: string): Promise<Result> {
  const child = it.start(...argv);
  const ended = once(child, 'close');
  const deadline = setTimeout(() => child.kill(), 10_000);
  let stdout = '';
  for await (const line of createInterface({ input: child.stdout })) {
    if (stdout === '') void it.run(...then);
    stdout = line;
    if (line === wanted) break;
  }
  clearTimeout(deadline);
  child.kill();
  await ended;
  return { stdout, stderr: '', exitCode: null, signal: null };
}

function compare(recorded: Recording, answer: Result, relation: Relation): void {
  for (const stream of ['stdout', 'stderr'] as const) {
    const [expected, actual] = [recorded[stream], answer[stream]];
    // A fragment says nothing of the stream that it does not quote.
    if (expected === '' && relation !== 'same') continue;
    const value = parsed(expected);
    if (value === undefined) compareText(expected, actual, relation, recorded.fidelity === 'verbatim-warp-diag');
    else {
      const other = parsed(actual);
      assert.notEqual(other, undefined, `not JSON: ${actual}`);
      compareJson(value, other, relation);
      const [pretty, compact] = [JSON.stringify(other, null, 2), JSON.stringify(other)];
      const onePerLine = recorded.argv.includes('--listen') || !recorded.argv.some(arg => /^(-j|--json)$/.test(arg));
      assert.equal(actual.trimEnd(), onePerLine ? compact : pretty);
    }
  }
}

function compareText(expected: string, actual: string, relation: Relation, diag: boolean): void {
  switch (relation) {
    case 'same':
      // warp-diag's files end without a newline.
      assert.equal(diag ? actual.trimEnd() : actual, diag ? expected.trimEnd() : expected);
      break;
    case 'head':
      assert.equal(actual.slice(0, expected.length), expected);
      break;
    case 'lines':
      inOrder(lines(expected), lines(actual));
      break;
    case 'subset':
      inOrder(lines(expected).map(collapsed), lines(actual).map(collapsed));
      break;
    case 'words':
      assert.deepEqual(words(actual), words(expected));
      break;
    case 'labels':
      assert.deepEqual(labels(actual), labels(expected));
  }
}

function compareJson(expected: unknown, actual: unknown, relation: Relation): void {
  if (relation === 'labels') assert.deepEqual(shape(actual), shape(expected));
  else if (relation === 'subset') assert.equal(JSON.stringify(reduced(actual, expected)), JSON.stringify(expected));
  // As text, so that the order of the keys counts.
  else assert.equal(JSON.stringify(actual), JSON.stringify(expected));
}

/** A value reduced to the keys that another one has, deep. */
function reduced(value: unknown, like: unknown): unknown {
  if (!isRecord(value) || !isRecord(like)) return value;
  const kept = Object.entries(value).filter(([key]) => Object.hasOwn(like, key));
  return Object.fromEntries(kept.map(([key, each]) => [key, reduced(each, like[key])]));
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object or a list, or undefined for any other text. */
function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Every expected line is part of a line, one after the other. */
function inOrder(expected: string[], actual: string[]): void {
  let at = 0;
  for (const line of expected) {
    const found = actual.findIndex((each, index) => index >= at && each.includes(line));
    assert.ok(found >= 0, `missing, or out of order: ${JSON.stringify(line)} in\n${actual.join('\n')}`);
    at = found + 1;
  }
}

const lines = (text: string) => text.split('\n').filter(line => line.trim() !== '');
const collapsed = (line: string) => line.replace(/\s+/g, ' ').trim();
const labels = (text: string) => lines(text).map(line => line.split(':')[0]?.trim());

/** Words without the mark of an omission. */
const words = (text: string) => text.split(/\s+/).filter(word => word !== '' && word !== '...');

/** The keys and types of a value, deep. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shape);
  if (!isRecord(value)) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shape(each)]));
}
