// Runs a listening child of the tunnel CLI (`-l status`), limits the rate at which its output is processed, and splits the
// output into messages.
import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { afterExit, signalGroup } from '../../core/run-helper.ts';
import { startChild } from '../cli/run.ts';
import type { Printed } from '../parse/output.ts';

/** The end of a listening child. */
export interface Ended extends Printed {
  args: string[];
  /** Start of the child, in ISO 8601. */
  at: string;
  durationMs: number;
  /** True if the child was ended because it printed too much. */
  flooded: boolean;
}

export interface Listener {
  /** Resolves when the child has printed a message or ended. */
  spoken: Promise<void>;
  /** Ends the child without calling any handler. Resolves when it is gone, at most 400 ms later. */
  stop(): Promise<void>;
}

interface Handlers {
  /** Receives a JSON document or a block of text, synchronously on arrival. */
  onMessage(text: string): void;
  /** Called if the child prints nothing in its first second. */
  onIdle(): void;
  /** Called when the child ended, or was ended because it flooded. */
  onEnd(ended: Ended): void;
}

export interface Pace {
  /** Length of the time slices in which output is counted. */
  sliceMs: number;
  /** Maximum number of bytes in a slice; a long status has tens of KiB. */
  bytes: number;
  /** Maximum number of messages in a slice; a busy DNS log has some thousand messages per second. */
  messages: number;
  /** Number of full slices in a row that count as a flood. */
  fullSlices: number;
}

const IDLE_MS = 1000;
const TERM_MS = 200;
/** Number of characters to keep of each stream for the log. */
const KEPT_CHARACTERS = 4096;

/** Starts a command as a listener. */
export function startListener(
  command: { file: string; args: string[]; env: NodeJS.ProcessEnv; pace?: Pace | undefined },
  handlers: Handlers,
): Listener {
  const { file, args, env, pace } = command;
  const child = startChild(file, args, env);
  const started = performance.now();
  const at = new Date().toISOString();
  const splitter = createSplitter();
  const decoder = new StringDecoder('utf8');
  const { promise: spoken, resolve: speak } = resolvable();
  const idle = setTimeout(handlers.onIdle, IDLE_MS).unref();
  let [stdout, stderr] = ['', ''];
  let over = false;

  const onMessages = (messages: string[]) => {
    for (const message of messages) if (!over) handlers.onMessage(message);
    clearTimeout(idle);
    speak();
  };
  const split = (chunk: Buffer) => {
    const text = decoder.write(chunk);
    stdout = (stdout + text).slice(-KEPT_CHARACTERS);
    return splitter.push(text);
  };
  const onFlood = () => {
    void endGroup(child);
    end({ flooded: true, stderr: 'It printed more than can be processed, and was ended.' });
  };
  const endPacing = child.stdout && paceMessages(child.stdout, split, { onMessages, onFlood }, pace);
  const keep = (chunk: Buffer) => {
    stderr = (stderr + chunk).slice(-KEPT_CHARACTERS);
    return [];
  };
  const endDraining = child.stderr && paceMessages(child.stderr, keep, { onMessages: () => {}, onFlood }, pace);

  function close() {
    over = true;
    clearTimeout(idle);
    speak();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }

  function end({ flooded, stderr: cause }: { flooded: boolean; stderr?: string }) {
    if (over) return;
    endPacing?.();
    endDraining?.();
    const rest = flooded ? [] : splitter.end();
    if (rest.length > 0) onMessages(rest);
    close();
    const durationMs = Math.round(performance.now() - started);
    handlers.onEnd({ args, at, durationMs, stdout, stderr: cause ?? stderr, exitCode: child.exitCode, flooded });
  }

  child.once('error', error => end({ flooded: false, stderr: error.message }));
  child.once('close', () => end({ flooded: false }));
  child.once('exit', () => afterExit(TERM_MS, () => end({ flooded: false })).unref());

  return {
    spoken,
    stop() {
      close();
      return endGroup(child);
    },
  };
}

/** Terminates the child's process group, and kills it if it does not end in time. */
function endGroup(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return resolve();
    const kill = setTimeout(() => signalGroup(child, 'SIGKILL'), TERM_MS);
    const giveUp = setTimeout(resolve, TERM_MS * 2);
    child.once('exit', () => {
      clearTimeout(kill);
      clearTimeout(giveUp);
      signalGroup(child, 'SIGKILL'); // kills processes that the child left in its group
      resolve();
    });
    signalGroup(child, 'SIGTERM');
  });
}

function resolvable(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>(done => {
    resolve = done;
  });
  return { promise, resolve };
}

const PACE: Pace = { sliceMs: 100, bytes: 128 * 1024, messages: 500, fullSlices: 30 };

/**
 * Passes on the messages of a stream. Beyond the pace, stops reading, which makes the writer wait.
 * @param split returns the messages that a chunk completes
 * @param onMessages gets at most the messages of one slice at a time
 * @param onFlood called if the writer keeps exceeding the pace; no messages follow
 * @returns a function that ends this, and passes on remaining messages within the pace of one slice
 */
function paceMessages(
  stream: Readable,
  split: (chunk: Buffer) => string[],
  handlers: { onMessages: (messages: string[]) => void; onFlood: () => void },
  pace: Pace = PACE,
): () => void {
  let waiting: string[] = [];
  let [bytes, messages, fullSlices] = [0, 0, 0];
  let slice: NodeJS.Timeout | undefined;
  let over = false;

  stream.on('data', (chunk: Buffer) => {
    if (over) return;
    bytes += chunk.length;
    messages += 1; // a chunk costs as much as a message, even if it completes none
    waiting = waiting.concat(split(chunk));
    slice ??= setTimeout(nextSlice, pace.sliceMs).unref();
    passOn();
  });

  function passOn() {
    const room = Math.max(0, pace.messages - messages);
    const now = waiting.length <= room ? waiting : waiting.slice(0, room);
    waiting = waiting.slice(now.length);
    messages += now.length;
    if (now.length > 0) handlers.onMessages(now);
    if (isFull()) stream.pause();
    else stream.resume();
  }

  function isFull() {
    return bytes >= pace.bytes || messages >= pace.messages || waiting.length > 0;
  }

  function nextSlice() {
    slice = undefined;
    if (over) return;
    fullSlices = isFull() ? fullSlices + 1 : 0;
    if (fullSlices >= pace.fullSlices) {
      end();
      handlers.onFlood();
      return;
    }
    [bytes, messages] = [0, 0];
    if (fullSlices > 0) slice = setTimeout(nextSlice, pace.sliceMs).unref();
    passOn();
  }

  function end() {
    over = true;
    clearTimeout(slice);
  }

  return () => {
    if (over) return;
    [bytes, messages] = [0, 0];
    end();
    const left = waiting.slice(0, pace.messages);
    if (left.length > 0) handlers.onMessages(left);
  };
}

/** Maximum length of a message, in characters; a longer message is dropped. */
const MAX_CHARACTERS = 1024 * 1024;
/** Documents up to this length are parsed at the end of each chunk, longer documents whenever their length has doubled. */
const ALWAYS_TRIED = 4096;

interface Splitter {
  /** Adds a piece of the stream, of any size, and returns the messages that it completes. */
  push(chunk: string): string[];
  /** Returns the rest, at the end of the stream. */
  end(): string[];
}

/**
 * Creates a splitter, which recognizes, in any order: a JSON document on one line (as releases print), a pretty-printed
 * document over several lines, and blocks of text that start with `Status update:`. An incomplete document is returned
 * unchanged when the next document starts. Takes time linear in the length of the output.
 */
export function createSplitter(): Splitter {
  let partial = '';
  /** Lines of an unfinished document. */
  let document = '';
  /** Lines of the present text block, which is returned again whenever it grows. */
  let block: string[] = [];
  let triedLength = 0;

  function takeLine(line: string, out: string[]) {
    const startsDocument = /^[{[]/.test(line);
    if (document && !startsDocument) return continueDocument(line, out);
    if (startsDocument) {
      if (document) out.push(document);
      block = [];
      document = isJson(line) ? '' : line;
      if (!document) out.push(line);
      return;
    }
    if (line.trim()) takeText(line, out);
  }

  /** Adds a line to a pretty-printed document, which ends with an unindented bracket. */
  function continueDocument(line: string, out: string[]) {
    document = document.length < MAX_CHARACTERS ? `${document}\n${line}` : '';
    if (!/^[}\]]/.test(line) || !document) return;
    out.push(document); // later lines don't belong to it, even if it is incomplete
    document = '';
  }

  function takeText(line: string, out: string[]) {
    const belongs = block.length > 0 && block.length < 10 && /^(Reason|Network):/i.test(line);
    const previous = block.join('\n');
    block = belongs ? [...block, line] : /^Status update:/i.test(line) ? [line] : [];
    // several lines of a block in one piece make a single message, so that no state appears without its reason
    if (belongs && out.at(-1) === previous) out.pop();
    out.push(block.length > 0 ? block.join('\n') : line);
  }

  /** Takes a complete document immediately, without its line end. */
  function takeWithoutLineEnd(chunk: string, out: string[]) {
    if (!/[}\]]$/.test(chunk.slice(-100).trimEnd())) return;
    const length = document.length + partial.length;
    if (length > ALWAYS_TRIED && length < triedLength * 2) return;
    triedLength = length;
    if (!isJson(document ? `${document}\n${partial}` : partial)) return;
    takeLine(partial, out);
    partial = '';
    triedLength = 0;
  }

  return {
    push(chunk) {
      const out: string[] = [];
      if (chunk.includes('\n')) {
        const lines = (partial + chunk).split('\n');
        partial = lines.pop() ?? '';
        for (const line of lines) takeLine(line.endsWith('\r') ? line.slice(0, -1) : line, out);
        triedLength = 0;
      } else partial += chunk;
      takeWithoutLineEnd(chunk, out);
      if (partial.length > MAX_CHARACTERS) partial = '';
      return out;
    },
    end() {
      const out: string[] = [];
      if (partial) takeLine(partial, out);
      if (document) out.push(document);
      partial = '';
      document = '';
      block = [];
      return out;
    },
  };
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
