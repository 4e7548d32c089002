/** The licences that a Debian copyright file names, in CycloneDX's form. */
export function licencesIn(text: string): { id?: string; name?: string }[];
