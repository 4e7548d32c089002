// Pure: the question and the answer of DNS for the IPv4 addresses of a name (RFC 1035).

const HEADER_BYTES = 12;
const [TYPE_A, CLASS_IN] = [1, 1];
/** QR, and RCODE in the lowest bits. */
const [IS_ANSWER, CODE] = [0x8000, 0x000f];
const RECURSION_WANTED = 0x0100;

/** True for a name that can be asked for. */
export function isName(name: string): boolean {
  return name.length <= 253 && /^(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?$/.test(name);
}

/** @param id identifies the answer */
export function formatQuestion(id: number, name: string): Uint8Array {
  const labels = name.replace(/\.$/, '').split('.');
  const bytes = [id >> 8, id & 255, RECURSION_WANTED >> 8, 0, 0, 1, 0, 0, 0, 0, 0, 0];
  for (const label of labels) bytes.push(label.length, ...[...label].map(letter => letter.charCodeAt(0)));
  bytes.push(0, 0, TYPE_A, 0, CLASS_IN);
  return Uint8Array.from(bytes);
}

/** @returns the addresses, none for a name that does not exist; null for anything but the answer to this question */
export function parseAnswer(bytes: Uint8Array, question: Uint8Array): string[] | null {
  if (bytes.length < question.length) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const flags = view.getUint16(2);
  if (view.getUint16(0) !== ((question[0]! << 8) | question[1]!) || !(flags & IS_ANSWER)) return null;
  if (view.getUint16(4) !== 1 || !isSame(bytes, question)) return null;
  if ((flags & CODE) !== 0) return [];
  const addresses: string[] = [];
  let at = question.length;
  try {
    for (let left = view.getUint16(6); left > 0; left--) {
      at = endOfName(view, at);
      const length = view.getUint16(at + 8);
      if (view.getUint16(at) === TYPE_A && view.getUint16(at + 2) === CLASS_IN && length === 4)
        addresses.push([0, 1, 2, 3].map(i => view.getUint8(at + 10 + i)).join('.'));
      at += 10 + length;
    }
  } catch {
    // it was cut off
  }
  return addresses;
}

/** The question is repeated in the answer; a server may change the case of letters. */
function isSame(bytes: Uint8Array, question: Uint8Array): boolean {
  const lower = (byte: number) => (byte >= 65 && byte <= 90 ? byte + 32 : byte);
  return question.every((byte, i) => i < HEADER_BYTES || lower(byte) === lower(bytes[i]!));
}

/** @throws RangeError where the bytes end before */
function endOfName(view: DataView, start: number): number {
  for (let at = start; ; ) {
    const length = view.getUint8(at);
    if (length === 0) return at + 1;
    if (length >= 0xc0) return at + 2; // the rest stands elsewhere
    at += length + 1;
  }
}
