// JSON read strictly: one reading only, so that no two programs can understand one document differently.

/**
 * Parses UTF-8 JSON.
 * @throws Error on bytes that are no UTF-8, a byte order mark, anything beyond RFC 8259, and a key that stands twice
 *   in one object (where `JSON.parse` takes the last and others the first)
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const value: unknown = JSON.parse(text);
  refuseTwins(text);
  return value;
}

/** In text that is known to be JSON: strings, and the signs that tell a key from a value. */
const TOKEN = /"(?:[^"\\]+|\\.)*"|[{}[\]:]/g;

/** Keeps its own stack: depth is the document's choice, and a recursion would end at some depth. */
function refuseTwins(text: string): void {
  const open: (Set<string> | undefined)[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') addKey(open.at(-1)!, JSON.parse(last));
    else last = token;
  }
}

function addKey(keys: Set<string>, key: string): void {
  if (keys.has(key)) throw new Error(`the key ${JSON.stringify(key.slice(0, 40))} stands twice in one object`);
  keys.add(key);
}
