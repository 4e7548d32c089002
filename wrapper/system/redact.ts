// Takes credentials out of a text that another program wrote.

/** Shorter ones would be found in ordinary words. */
const SHORTEST = 4;

/** The forms in which programs repeat a credential: as it is, as JSON, in an address, and in Base64. */
export function formsOf(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), ...inBase64(secret)];
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
