// Searches long lists for words.

/**
 * Returns `textOf` in lower case, with a cache, because each key press searches thousands of things again.
 * @param textOf returns the text of a thing to search
 */
export function searchable<T extends object>(textOf: (thing: T) => string): (thing: T) => string {
  const texts = new WeakMap<T, string>();
  return thing => {
    const cached = texts.get(thing);
    if (cached !== undefined) return cached;
    const text = textOf(thing).toLowerCase();
    texts.set(thing, text);
    return text;
  };
}

/** True if `text`, in lower case, contains every word of `query`. */
export function holdsWords(text: string, query: string): boolean {
  const wanted = query.trim().toLowerCase();
  // a query nearly always has one word, which needs no list of words for each of thousands of things
  return /\s/.test(wanted) ? wanted.split(/\s+/).every(word => text.includes(word)) : text.includes(wanted);
}

/** Prepares a text for comparison: lower case, without diacritics, and with a space for hyphens and other signs. */
export function foldText(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase();
  return plain.replace(/[^\p{L}\p{N}\p{Mc}+.]+/gu, ' ').trim();
}
