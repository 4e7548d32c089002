// Reads IP addresses without Node, for programs that run in a browser or on GJS as well.

/** Returns the 4 or 16 bytes of an address (RFC 4291, section 2.2, for IPv6) without a zone; null for other text. */
export function bytesOf(text: string): number[] | null {
  const last = text.slice(text.lastIndexOf(':') + 1);
  const v4 = last.split('.');
  const isV4 = v4.length === 4 && v4.every(part => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
  if (!text.includes(':')) return isV4 ? v4.map(Number) : null;
  const words = isV4 ? text.slice(0, -last.length) + wordsOf(v4.map(Number)) : text;
  const [before, after, ...more] = words.split('::').map(half => (half === '' ? [] : half.split(':')));
  const missing = 8 - before!.length - (after?.length ?? 0);
  if (more.length > 0 || (after ? missing < 1 : missing !== 0)) return null;
  const groups = [...before!, ...Array<string>(missing).fill('0'), ...(after ?? [])];
  if (!groups.every(group => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  return groups.map(group => Number.parseInt(group, 16)).flatMap(group => [group >> 8, group & 255]);
}

/** Returns four bytes as the last two groups of an IPv6 address. */
function wordsOf([a, b, c, d]: number[]): string {
  return [a! * 256 + b!, c! * 256 + d!].map(group => group.toString(16)).join(':');
}
