// Takes credentials out of a text that another program wrote, and what would move the cursor of a terminal.

/** Shorter ones would be found in ordinary words. */
const SHORTEST = 4;

/** The forms in which programs repeat a credential: as it is, as JSON (PHP escapes slashes), in an address, and in Base64. */
export function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const encoded = encodeURIComponent(secret);
  const base64 = inBase64(secret);
  const forms = [
    secret,
    json,
    json.replaceAll('/', '\\/'),
    encoded,
    encoded.replace(/%../g, code => code.toLowerCase()),
    ...base64,
    ...base64.map(text => text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')),
  ];
  return [...new Set(forms)].filter(form => form === secret || form.length >= SHORTEST);
}

/** Whole, and behind a name as in `Authorization: Basic`: without the ends, which mix with what is around. */
function inBase64(secret: string): string[] {
  const behind = (before: string) => Buffer.from(before + secret).toString('base64');
  return [
    behind(''),
    ...['', '.', '..'].map((before, at) =>
      behind(before)
        .slice(at && 4)
        .replace(/.=+$/, ''),
    ),
  ];
}

/** The text with `***` in place of these credentials. */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets
    .filter(secret => secret.length >= SHORTEST)
    .flatMap(formsOf)
    .reduce((rest, form) => rest.replaceAll(form, '***'), text);
}

/** A text that another machine or program wrote, on one line, looking as what it is. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?');
}
