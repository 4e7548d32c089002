// Remembers that the user agreed to the vendor's terms; only then does the tunnel CLI get the agreement.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Problem } from '../../problem.ts';
import { makeDirectory } from '../../system/files.ts';

export interface Terms {
  accepted(): boolean;
  /** @throws Problem `config-not-writable` when it could not be stored */
  accept(): void;
}

/** @param file holds the word `accepted` and the time; anything else is not consent */
export function createTerms(file: string): Terms {
  let accepted = read(file);
  return {
    accepted: () => accepted,
    accept() {
      try {
        makeDirectory(dirname(file));
        writeFileSync(file, `accepted ${new Date().toISOString()}\n`, { mode: 0o600 });
      } catch (cause) {
        const why = (cause as Error).message;
        throw new Problem('config-not-writable', `Your agreement could not be stored: ${why}`, {}, cause);
      }
      accepted = true;
    },
  };
}

function read(file: string): boolean {
  try {
    return /^accepted\b/.test(readFileSync(file, 'utf8'));
  } catch {
    return false; // no file, no consent
  }
}
