// Parses the policy file of an organization, a property list with one or several configurations.
import { lstatSync } from 'node:fs';
import { SaxesParser } from 'saxes';
import { reason } from '../../core/errors.ts';
import { readText } from '../../core/files.ts';

/** The file that WARP's service reads (Cloudflare, "Deploy WARP", parameters for Linux). */
export const POLICY_FILE = '/var/lib/cloudflare-warp/mdm.xml';

export interface Dictionary {
  /** Values by key. Secret values never leave the programs that read the file. */
  values: Map<string, string>;
  /** Keys that occur more than once. */
  repeated: string[];
  /** Keys with an element that is no value of a property list, and the name of the element. */
  strange: [key: string, element: string][];
  /** Key of the list that contains the dictionary; null for the outermost dictionary. */
  inside: string | null;
}

interface Plist {
  /** Why the file is not well-formed, in one line; null if it is. */
  error: string | null;
  /** The dictionaries with values, in order; empty if the file is not well-formed. */
  dictionaries: Dictionary[];
}

/** Elements that are values in Apple's document type for property lists, 1.0. */
const VALUES = ['string', 'true', 'false', 'integer', 'real', 'date', 'data', 'array', 'dict'];

/** Returns the dictionaries of a property list, or the reason why it is not well-formed. */
export function parsePlist(text: string): Plist {
  const all: Dictionary[] = [];
  const parser = new SaxesParser();
  const open: string[] = [];
  /** The open dictionaries, each with the last key. */
  const stack: { dictionary: Dictionary; key: string | null }[] = [];
  let content = '';
  try {
    parser.on('error', error => {
      throw error;
    });
    parser.on('opentag', ({ name }) => {
      if (name === 'dict') {
        const inside = stack.at(-1)?.key ?? null;
        const dictionary: Dictionary = { values: new Map(), repeated: [], strange: [], inside };
        all.push(dictionary);
        stack.push({ dictionary, key: null });
      }
      open.push(name);
      content = '';
    });
    parser.on('text', piece => {
      content += piece;
    });
    parser.on('closetag', ({ name }) => {
      open.pop();
      if (name === 'dict') stack.pop();
      const present = stack.at(-1);
      if (!present || open.at(-1) !== 'dict') return;
      if (name === 'key') present.key = content.trim();
      else {
        const isList = name === 'array' || name === 'dict';
        if (present.key !== null && !isList) take(present.dictionary, present.key, name, content.trim());
        present.key = null;
      }
    });
    parser.write(text).close();
  } catch (error) {
    return { error: reason(error).split('\n')[0]!, dictionaries: [] };
  }
  return { error: null, dictionaries: all.filter(({ values }) => values.size > 0) };
}

function take({ values, repeated, strange }: Dictionary, key: string, element: string, content: string): void {
  if (values.has(key)) repeated.push(key);
  if (!VALUES.includes(element)) strange.push([key, element]);
  values.set(key, element === 'true' || element === 'false' ? element : content);
}

/** True for dictionaries in `configs`, a list that WARP ignores in XML (cloudflare-docs pull request 13658). */
export function isIgnored({ inside }: Dictionary): boolean {
  return inside === 'configs';
}

/**
 * True if a policy file has both halves of a service token, which registers the device. WARP ignores a link, and a file
 * that is not well-formed.
 */
export function hasServiceToken(file: string): boolean {
  return parsePlist(textOf(file)).dictionaries.some(
    dictionary =>
      !isIgnored(dictionary) && ['auth_client_id', 'auth_client_secret'].every(key => dictionary.values.get(key)),
  );
}

/** Returns the text of a file; empty for an unreadable file and for a link. */
function textOf(file: string): string {
  try {
    return lstatSync(file).isSymbolicLink() ? '' : (readText(file) ?? '');
  } catch {
    return '';
  }
}
