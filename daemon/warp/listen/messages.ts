// Splits the output of a listening tunnel CLI into messages: JSON documents, or blocks of text lines.

/** Longer than any message, in characters; what exceeds it is dropped up to the next line that starts again. */
const LONGEST = 1024 * 1024;
/** Documents up to this length are tried at the end of each chunk, longer ones when they have doubled. */
const ALWAYS_TRIED = 4096;

export interface Splitter {
  /** Takes a piece of the stream, of any size, and returns the messages that it completes. */
  push(chunk: string): string[];
  /** The stream ended: returns what was left. */
  end(): string[];
}

/**
 * Recognizes, mixed in any order: one JSON document per line (what releases print), a pretty-printed document over
 * several lines, and blocks of text that start with `Status update:`. A document cut in the middle is returned as it
 * is once the next one starts, so that it can't swallow what follows. Takes time linear in the length of the output.
 */
export function createSplitter(): Splitter {
  let partial = '';
  /** Lines of an unfinished document. */
  let document = '';
  /** Lines of the text block that is being read; it is returned again whenever it grows. */
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

  /** A pretty-printed document ends with an unindented bracket; parsed nowhere else, it is parsed once. */
  function continueDocument(line: string, out: string[]) {
    document = document.length < LONGEST ? `${document}\n${line}` : '';
    if (!/^[}\]]/.test(line) || !document) return;
    out.push(document); // complete or not, the lines that follow don't belong to it
    document = '';
  }

  function takeText(line: string, out: string[]) {
    const belongs = block.length > 0 && block.length < 10 && /^(Reason|Network):/i.test(line);
    const previous = block.join('\n');
    block = belongs ? [...block, line] : /^Status update:/i.test(line) ? [line] : [];
    // several lines of one piece make one message, so that no state shows without its reason
    if (belongs && out.at(-1) === previous) out.pop();
    out.push(block.length > 0 ? block.join('\n') : line);
  }

  /** A document that is complete without its line end need not wait for one. */
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
      if (partial.length > LONGEST) partial = '';
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
