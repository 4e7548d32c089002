// Parses JSON strictly: rejects duplicate keys and byte order marks, so that all parsers agree on a document.

/**
 * Parses UTF-8 JSON.
 * @throws Error on bytes that are not UTF-8, a byte order mark, anything beyond RFC 8259, and a key that occurs twice
 *   in one object (`JSON.parse` takes the last value, other parsers the first)
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const value: unknown = JSON.parse(text);
  rejectDuplicateKeys(text);
  return value;
}

/** Matches the strings of valid JSON, and the punctuation that separates keys from values. */
const TOKEN = /"(?:[^"\\]+|\\.)*"|[{}[\]:]/g;

/** Keeps its own stack, because a recursion would fail at some depth, and the document decides how deep it is. */
function rejectDuplicateKeys(text: string): void {
  const open: (Set<string> | undefined)[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') recordKey(open.at(-1)!, JSON.parse(last));
    else last = token;
  }
}

function recordKey(keys: Set<string>, key: string): void {
  if (keys.has(key)) throw new Error(`the key ${JSON.stringify(key.slice(0, 40))} occurs twice in one object`);
  keys.add(key);
}
