// Defines the schemas of the values in a catalog entry, such as patterns, variables, options and files.
import * as z from 'zod/mini';
import { isPattern } from '../../daemon/core/shape.ts';
import { DURATION } from '../system/notation.ts';

export const duration = z.string().check(z.regex(DURATION, 'a duration such as 500ms, 60s, 15m, 1h or 30d'));
export const pattern = z.string().check(z.refine(isPattern, 'a regular expression that JavaScript compiles'));
export const variable = z.string().check(z.regex(/^[^=\0\s]+$/, 'the name of an environment variable'));
export const CliName = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._+-]*$/, "a command's name"));
export const oneOrMore = z.union([z.string(), z.array(z.string())]);

/** The newest version that the rules of an entry were checked with, and the date (`2026-11-28`). Missing if unknown. */
export const Checked = z.strictObject({
  version: z.string(),
  on: z.pipe(
    z.transform((value: unknown) => (value instanceof Date ? value.toISOString().slice(0, 10) : value)),
    z.string().check(z.regex(/^\d{4}-\d{2}-\d{2}$/, 'a date such as 2026-11-28')),
  ),
});
export type Checked = z.infer<typeof Checked>;

/** Describes what an entry was checked with. */
export function checkedText(checked: Checked | undefined): string {
  return checked ? `${checked.version} (${checked.on})` : 'unknown';
}

/**
 * An option that expresses the user's choice, in one of three forms. `--api-url` is a plain option. `-c base_url` has a value
 * that begins with `base_url=` or `base_url:` in any case (`-c providers.*` also matches any longer key).
 * `--settings {env.BASE_URL}` has a value that is JSON, or a file of JSON, with a value at this path.
 */
export const Option = z
  .string()
  .check(z.regex(/^-\S+(?: (?:\{[^\s{}]+\}|[^\s{}]+))?$/, 'an option, or an option and a key'));

/** Fields of a file that the CLI reads. */
const ownFile = {
  /**
   * Path of the file. `{NAME:default}` stands for a variable, and `{-e|--env|NAME}` for the value of one of these options and
   * variables; without a value, there is no file. `~/` is the home directory. Other paths are relative to the working directory.
   */
  file: z.string(),
  /** Parent directories that may contain the file too: those up to the repository's root, all of them, or none. */
  up: z._default(z.enum(['repository', 'root', 'none']), 'repository'),
  /** Options and variables that name another file instead. */
  moved_by: z._default(z.array(z.string()), []),
};

/** A file with one value: at a path in JSON (or TOML, by the file's name), or in group 1 of a pattern in text. */
export const ValueFile = z
  .strictObject({
    ...ownFile,
    key: z.optional(z.string()),
    pattern: z.optional(pattern),
    /** Name of the value in messages. The default is the name of `key`. */
    name: z.optional(z.string()),
    /** Variables with the same meaning that take precedence over the file. */
    below: z._default(z.array(variable), []),
  })
  .check(z.refine(({ key, pattern: text }) => (key === undefined) !== (text === undefined), 'either key or pattern'));

/** A file that sets variables, in lines `NAME=value` or in an object in JSON. */
export const VariableFile = z.strictObject({
  ...ownFile,
  /** Path of the object in JSON. */
  at: z.optional(z.string()),
  /** True if the file takes precedence over the environment. */
  before_env: z._default(z.boolean(), false),
});

export type OwnFile = Pick<z.infer<typeof VariableFile>, keyof typeof ownFile>;
export type ValueFile = z.infer<typeof ValueFile>;
export type VariableFile = z.infer<typeof VariableFile>;
