// Chooses a language that has a catalog.

/** English in Latin script, without `Intl.Locale`: a browser takes 5 ms to load the data behind it. */
const ENGLISH = /^en(-[a-z]{2}|-\d{3})?$/i;

/**
 * The first wanted language with a catalog: the same tag, or else one with the same readers, as zh-SG and zh-CN have,
 * and zh-TW has not.
 * @param wanted tags (BCP 47, or with `_`), the best first
 * @param available tags besides English
 */
export function chooseLanguage(wanted: readonly string[], available: readonly string[]): string {
  for (const each of wanted) {
    const tag = each.replaceAll('_', '-');
    if (available.includes(tag)) return tag;
    if (ENGLISH.test(tag)) return 'en';
    const readable = readers(tag);
    const match = available.find(other => readers(other) === readable);
    if (match) return match;
    if (readable === 'en-Latn') return 'en';
  }
  return 'en';
}

/** Language and script: `pt` -> `pt-Latn`; '' for what is not formed as BCP 47 requires. */
function readers(tag: string): string {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch {
    return '';
  }
}
