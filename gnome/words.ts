// Translation as an argument, so that what is shown can be tested without GJS.

export interface Words {
  _(text: string): string;
  ngettext(one: string, many: string, n: number): string;
}

/** Fills `%s` in order: a translation may not reorder them. */
export function fill(text: string, ...values: (string | number)[]): string {
  return text.replace(/%[sd]/g, place => String(values.shift() ?? place));
}
