// Defines the values that a catalog entry consists of: patterns, variables, options, and files of a CLI.
import * as z from 'zod/mini';
import { DURATION } from '../system/notation.ts';

export const duration = z.string().check(z.regex(DURATION, 'a duration such as 500ms, 60s, 15m, 1h or 30d'));
export const pattern = z.string().check(z.refine(compiles, 'a regular expression that JavaScript compiles'));
export const variable = z.string().check(z.regex(/^[^=\0\s]+$/, 'the name of an environment variable'));
/** Name of a command. */
export const CliName = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._+-]*$/, "a command's name"));
export const oneOrMore = z.union([z.string(), z.array(z.string())]);

/**
 * An option by which the user chooses: `--api-url`; `-c base_url`, whose value begins with `base_url=` or `base_url:` in any case
 * (`-c providers.*`: with any key from there on); `--settings {env.BASE_URL}`, whose value is JSON or a file of JSON with a value at
 * this path.
 */
export const Option = z
  .string()
  .check(z.regex(/^-\S+(?: (?:\{[^\s{}]+\}|[^\s{}]+))?$/, 'an option, or an option and a key'));

/** A file that the CLI reads itself. */
const ownFile = {
  /**
   * `{NAME:default}` stands for a variable, `{-e|--env|NAME}` for a value of one of these options and variables, without which there is
   * no such file; `~/` is the home. Others are relative to the working directory.
   */
  file: z.string(),
  /** Directories above the working one that may have the file as well: those up to the repository, all of them, or none. */
  up: z._default(z.enum(['repository', 'root', 'none']), 'repository'),
  /** Options and variables whose values are files in place of this one. */
  moved_by: z._default(z.array(z.string()), []),
};

/** A file with one value: JSON, or TOML by its name, with the value at a path, or a text with a pattern whose group 1 is the value. */
export const ValueFile = z
  .strictObject({
    ...ownFile,
    key: z.optional(z.string()),
    pattern: z.optional(pattern),
    /** Name of the value, for a person; that of `key` without it. */
    name: z.optional(z.string()),
    /** Variables that count before the file, with the same meaning. */
    below: z._default(z.array(variable), []),
  })
  .check(z.refine(({ key, pattern: text }) => (key === undefined) !== (text === undefined), 'either key or pattern'));

/** A file that sets variables: with lines `NAME=value`, or JSON with an object of them. */
export const VariableFile = z.strictObject({
  ...ownFile,
  /** Path of the object in JSON. */
  at: z.optional(z.string()),
  /** It counts before the environment, and not after it. */
  before_env: z._default(z.boolean(), false),
});

export type OwnFile = Pick<z.infer<typeof VariableFile>, keyof typeof ownFile>;
export type ValueFile = z.infer<typeof ValueFile>;
export type VariableFile = z.infer<typeof VariableFile>;

function compiles(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}
