// Takes the stream of a listening tunnel CLI apart into messages: JSON documents, or blocks of text lines.

/** Longer than any message; what exceeds it is dropped up to the next line that starts anew. */
const LONGEST = 1024 * 1024;

export interface Splitter {
  /** Takes a piece of the stream, of any size, and returns the messages that it completes. */
  push(chunk: string): string[];
  /** The stream ended: returns what was left. */
  end(): string[];
}

/**
 * Recognises, mixed in any order: one JSON document per line (what releases print), a pretty-printed document over
 * several lines, and blocks of text that start with `Status update:`. A document cut in the middle is returned as it
 * is once the next one starts, so it can't swallow what follows.
 */
export function createSplitter(): Splitter {
  let partial = '';
  /** Lines of an unfinished document. */
  let document = '';
  /** Lines of the text block that is being read; it is returned again whenever it grew. */
  let block: string[] = [];

  const takeLine = (line: string, out: string[]) => {
    const startsDocument = /^[{[]/.test(line);
    if (document && !startsDocument) {
      document = document.length < LONGEST ? `${document}\n${line}` : '';
      if (/[}\]]\s*$/.test(line) && isJson(document)) {
        out.push(document);
        document = '';
      }
      return;
    }
    if (startsDocument) {
      if (document) out.push(document);
      block = [];
      document = isJson(line) ? '' : line;
      if (!document) out.push(line);
      return;
    }
    if (!line.trim()) return;
    const belongs = block.length > 0 && /^(Reason|Network):/i.test(line);
    const previous = block.join('\n');
    block = belongs ? [...block, line] : /^Status update:/i.test(line) ? [line] : [];
    // Several lines of one piece make one message, so that no state shows without its reason.
    if (belongs && out.at(-1) === previous) out.pop();
    out.push(block.length > 0 ? block.join('\n') : line);
  };

  return {
    push(chunk) {
      const out: string[] = [];
      const lines = (partial + chunk).split(/\r?\n/);
      partial = lines.pop() ?? '';
      for (const line of lines) takeLine(line, out);
      // A document that is complete without its line end need not wait for one.
      if (/[}\]]\s*$/.test(partial) && isJson(document ? `${document}\n${partial}` : partial)) {
        takeLine(partial, out);
        partial = '';
      }
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
