// Opens configuration files in one of three formats, and changes values in their text.
import { isDeepStrictEqual } from 'node:util';
import { JSON_NOTATION, readJson } from './json.ts';
import { readToml, TOML_NOTATION } from './toml.ts';
import { frozenLayout, type Node, type Notation, nodeAt, plainValue, replaceNode } from './tree.ts';
import { readYaml, YAML_NOTATION } from './yaml.ts';

/** `json` may have comments and trailing commas. */
export type Format = 'json' | 'toml' | 'yaml';

const FORMATS: Record<Format, { read: (text: string) => Node; notation: Notation }> = {
  json: { read: readJson, notation: JSON_NOTATION },
  toml: { read: readToml, notation: TOML_NOTATION },
  yaml: { read: readYaml, notation: YAML_NOTATION },
};

/** A configuration file that has been read. */
export interface Configuration {
  text: string;
  value: unknown;
  /**
   * Returns the file with the value at a path replaced. Every byte that does not belong to a changed value stays.
   * @throws Failure if the change would need another layout
   */
  replace(path: readonly string[], next: unknown): Configuration;
  /** Returns lines of this format for the fields of an entry. */
  linesFor(fields: Record<string, unknown>): string[];
}

/** @throws Failure if the text does not have the format */
export function openConfiguration(text: string, format: Format): Configuration {
  const { read, notation } = FORMATS[format];
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const body = text.slice(mark.length);
  const root = read(body);
  const value = plainValue(root);
  return {
    text,
    value,
    replace(path, next) {
      const node = nodeAt(root, path);
      if (!node) throw frozenLayout('it is not in the file anymore');
      const changed = openChanged(mark + replaceNode(body, node, next, notation), format);
      // proof that nothing else has another value now, such as an alias of the changed value
      if (!isDeepStrictEqual(changed?.value, replacedAt(value, path, next)))
        throw frozenLayout('its text can be read in several ways');
      return changed!;
    },
    linesFor: fields => printed(fields, notation, format),
  };
}

function openChanged(text: string, format: Format): Configuration | undefined {
  try {
    return openConfiguration(text, format);
  } catch {
    return undefined;
  }
}

/** Returns a copy of a value with the value at a path replaced. */
function replacedAt(value: unknown, [key, ...rest]: readonly string[], next: unknown): unknown {
  if (key === undefined) return next;
  const entries = Object.entries(value ?? {}) as [string, unknown][];
  return Object.fromEntries(entries.map(([name, own]) => [name, name === key ? replacedAt(own, rest, next) : own]));
}

function printed(fields: Record<string, unknown>, notation: Notation, format: Format): string[] {
  const end = format === 'json' ? ',' : '';
  const print = (value: unknown): string => {
    if (typeof value === 'string') return notation.text(value, '"', true);
    if (Array.isArray(value)) return `[${value.map(print).join(', ')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const pairs = Object.entries(value).map(([key, own]) => `${notation.key(key)}${notation.assignment}${print(own)}`);
    return pairs.length === 0 ? '{}' : `${notation.braces[0]}${pairs.join(', ')}${notation.braces[1]}`;
  };
  return Object.entries(fields).map(
    ([key, value]) => `${notation.key(key)}${notation.assignment}${print(value)}${end}`,
  );
}
