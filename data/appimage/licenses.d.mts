/** The licenses that a Debian copyright file names, in CycloneDX's form. */
export function licensesIn(text: string): { id?: string; name?: string }[];
