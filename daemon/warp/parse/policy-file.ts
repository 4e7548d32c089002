// Parses the policy file of an organization, a property list with one configuration, or a list of them.
import { lstatSync } from 'node:fs';
import { SaxesParser } from 'saxes';
import { reason } from '../../core/errors.ts';
import { readText } from '../../core/files.ts';

/** WARP's service reads it: Cloudflare, "Deploy WARP", parameters for Linux. */
export const POLICY_FILE = '/var/lib/cloudflare-warp/mdm.xml';

export interface Dictionary {
  /** Names and values. Values of secrets never leave the programs that read the file. */
  values: Map<string, string>;
  /** Keys that it has twice. */
  repeated: string[];
  /** Keys with an element that is no value of a property list, each with its name. */
  strange: [key: string, element: string][];
  /** The key whose list holds the dictionary; null for the dictionary of the file itself. */
  inside: string | null;
}

interface Plist {
  /** Why it is not well-formed, in one line; null where it is. */
  error: string | null;
  /** Those with values, in their order; none where it is not well-formed. */
  dictionaries: Dictionary[];
}

/** The document type of Apple's property lists, 1.0. */
const VALUES = ['string', 'true', 'false', 'integer', 'real', 'date', 'data', 'array', 'dict'];

/** The dictionaries of a property list, or why it can't be read. */
export function parsePlist(text: string): Plist {
  const all: Dictionary[] = [];
  const parser = new SaxesParser();
  const open: string[] = [];
  /** The dictionaries that are open, each with the key that was read last. */
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

/** The client ignores this list in XML: Cloudflare, cloudflare-docs pull request 13658. */
export function isIgnored({ inside }: Dictionary): boolean {
  return inside === 'configs';
}

/**
 * A policy file has a service token, with which WARP registers the device: both halves, in a file that WARP reads. WARP
 * ignores a link, and a file that is not well-formed.
 */
export function hasServiceToken(file: string): boolean {
  return parsePlist(textOf(file)).dictionaries.some(
    dictionary =>
      !isIgnored(dictionary) && ['auth_client_id', 'auth_client_secret'].every(key => dictionary.values.get(key)),
  );
}

/** Empty for a file that can't be read, and for a link. */
function textOf(file: string): string {
  try {
    return lstatSync(file).isSymbolicLink() ? '' : (readText(file) ?? '');
  } catch {
    return '';
  }
}
