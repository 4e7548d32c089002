// Defines the form of a catalog entry: everything the wrapper knows about an upstream CLI is data of this form.
import * as z from 'zod/mini';
import { DURATION } from '../system/duration.ts';

const duration = z.string().check(z.regex(DURATION, 'a duration such as 500ms, 60s, 15m, 1h or 30d'));
const pattern = z.string().check(z.refine(compiles, 'a regular expression that JavaScript compiles'));
const variable = z.string().check(z.regex(/^[^=\0\s]+$/, 'the name of an environment variable'));
/** Name of a command. */
export const CliName = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._+-]*$/, "a command's name"));
const oneOrMore = z.union([z.string(), z.array(z.string())]);

/** When an attempt counts as which kind of failure. Every condition that is given must hold. */
export const Rule = z.strictObject({
  /** `other`: an error after which no other account is tried, although a later rule would say so. */
  class: z.enum(['quota', 'rate', 'auth', 'usage', 'other']),
  /** The text says too little: `usage` or `check` is asked what the refusal means. */
  check: z.optional(z.boolean()),
  /**
   * With `auth`: no other account is tried, whatever the user has set, because the refusal may be about a permission or the address of
   * this machine.
   */
  stays: z.optional(z.boolean()),
  /** With `other`, and with `auth` that `stays`: what it means, for a person. `{vpn}` stands for a sentence about WARP or another VPN. */
  note: z.optional(z.string()),
  /** Ordinary exit statuses; without it, any but 0. */
  exit: z.optional(z.array(z.int())),
  /** Matched at the start of any line, with white space collapsed; group `rest` holds seconds, `reset` a date. */
  stderr: z.optional(pattern),
  stdout: z.optional(pattern),
  /** A value in the JSON document on stdout. */
  json: z.optional(z.strictObject({ path: z.string(), matches: pattern })),
  /** Subcommands the rule is for; without it, all. */
  commands: z.optional(z.array(z.string())),
  /** Length of the account's pause: `period` (until the quota starts again), `credential`, or a duration. */
  rest: z.optional(z.union([z.literal('period'), z.literal('credential'), duration])),
  /** Path of a number of seconds in the JSON document on stdout. */
  retry_after: z.optional(z.string()),
  /** Whose limit it is, when that differs from the provider's `scope`. */
  scope: z.optional(z.enum(['key', 'project', 'team', 'ip'])),
});
export type Rule = z.infer<typeof Rule>;

const Usage = z.strictObject({
  /** `{NAME:default}` stands for an environment variable. */
  url: z.string(),
  authorization: z.optional(z.string()),
  /** In place of an `Authorization` header. */
  headers: z.optional(z.record(z.string(), z.string())),
  /**
   * Paths into the answer; `a + b` adds two numbers. With several, `limit` and `used` belong together by index, and
   * the pair with the least left counts.
   */
  remaining: z.optional(oneOrMore),
  limit: z.optional(oneOrMore),
  used: z.optional(oneOrMore),
  resets: z.optional(z.string()),
  /** Path of a value that differs between quotas: accounts with the same value share one. */
  identity: z.optional(z.string()),
  /**
   * For answers that name no quota: another address, and paths into both answers, whose values are never the same for two
   * quotas at one moment. The first must be there, such as the time of the last success. All accounts are asked together.
   */
  moment: z.optional(z.strictObject({ url: z.string(), paths: z.array(z.string()).check(z.minLength(1)) })),
  /** An answer is reused for this long, to stay within the provider's own limit. */
  cache: z._default(duration, '60s'),
});

/** An address that says, without costing anything, whether a credential works. */
const Check = z.strictObject({
  /** `{NAME:default}` stands for an environment variable. */
  url: z.string(),
  /** In place of an `Authorization` header. */
  headers: z.optional(z.record(z.string(), z.string())),
  /** The HTTP status that a refused credential is answered with. */
  refused: z._default(z.array(z.int()), [401]),
});

const Probe = z.strictObject({
  args: z.array(z.string()),
  status: z.int(),
  body: z.optional(z.string()),
  headers: z.optional(z.record(z.string(), z.string())),
  expect: z.enum(['success', 'quota', 'rate', 'auth', 'usage', 'other']),
});

/** An MCP server that uses an account of the provider. */
const McpServer = z.strictObject({
  /** The npm package, by which a command line is recognized. */
  package: z.string(),
  /** Versions whose errors are as the rules say; `below` is the first that was not tried. */
  versions: z.strictObject({ from: z.string(), below: z.string() }),
  /** It uses the gateway, because its address can be set, and is not started again for another account. */
  gateway: z._default(z.boolean(), false),
  /** Tools that may create a job, or be billed, before their call fails: such a call is never repeated. */
  once: z._default(z.array(z.string()), []),
  rules: z._default(
    z.array(
      z
        .strictObject({
          class: z.enum(['quota', 'rate', 'auth']),
          /** A value in the structured fields of an error, or in its text where that is a JSON document. These rules come first. */
          json: z.optional(z.strictObject({ path: oneOrMore, matches: pattern })),
          /** Matched at the start of the text of an error; group `rest` holds seconds, `reset` a date. */
          text: z.optional(pattern.check(z.startsWith('^'))),
          /** For a server that sends this error without `isError`. */
          unflagged: z.optional(z.boolean()),
          rest: z.optional(z.union([z.literal('period'), z.literal('credential'), duration])),
          scope: z.optional(z.enum(['key', 'project', 'team', 'ip'])),
        })
        .check(z.refine(({ json, text }) => json !== undefined || text !== undefined, 'json, text or both')),
    ),
    [],
  ),
});
export type McpServer = z.infer<typeof McpServer>;

const address = z.url().check(z.regex(/^https?:\/\/[^/]+$/, 'an address without a path'));

/**
 * An option by which the user chooses: `--api-url`; `-c base_url`, whose value begins with `base_url=` or `base_url:` in any case
 * (`-c providers.*`: with any key from there on); `--settings {env.BASE_URL}`, whose value is JSON or a file of JSON with a value at
 * this path.
 */
const Option = z.string().check(z.regex(/^-\S+(?: (?:\{[^\s{}]+\}|[^\s{}]+))?$/, 'an option, or an option and a key'));

/** A file that the CLI reads itself. */
const ownFile = {
  /**
   * `{NAME:default}` stands for a variable, `{-e|--env|NAME}` for a value of one of these options and variables, without which there is
   * no such file; `~/` is the home. Others are relative to the working directory.
   */
  file: z.string(),
  /** Directories above the working one that have such a file as well: those up to the repository, all of them, or none. */
  up: z._default(z.enum(['repository', 'root', 'none']), 'repository'),
  /** Options and variables whose values are files in place of this one. */
  moved_by: z._default(z.array(z.string()), []),
};

/** A file with one value: JSON, or TOML by its name, with the value at a path, or a text with a pattern whose group 1 is the value. */
const ValueFile = z
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
const VariableFile = z.strictObject({
  ...ownFile,
  /** Path of the object in JSON. */
  at: z.optional(z.string()),
  /** It counts before the environment, and not after it. */
  before_env: z._default(z.boolean(), false),
});

export type OwnFile = Pick<z.infer<typeof VariableFile>, keyof typeof ownFile>;
export type ValueFile = z.infer<typeof ValueFile>;
export type VariableFile = z.infer<typeof VariableFile>;

/**
 * Ways, besides `inject`, `credentials` and `own_credential`, to choose as whom a command runs: a profile, a directory with a login.
 */
const OwnChoice = z.strictObject({
  env: z._default(z.array(variable), []),
  options: z._default(z.array(Option), []),
  /** By variable, the value that chooses nothing, because it is the CLI's own default; `~/` is the home directory. */
  unless: z._default(z.record(variable, z.string()), {}),
  /** Files with a credential, which counts after the environment. Those of `stored` are no choice. */
  files: z._default(z.array(ValueFile), []),
});

/** Hosts to which the accounts' credentials may be sent, and how the user names another host. An account may bring such a variable itself. */
const Hosts = z.strictObject({
  /**
   * `api.example.com`, `*.example.com`, and with `http://` before it also without TLS. A word by which the CLI calls these hosts
   * is one of them. Without any, no host counts as another one.
   */
  names: z._default(z.array(z.string()), []),
  env: z._default(z.array(variable), []),
  /** One that takes no value (see `value_options`) always leads to another host. */
  options: z._default(z.array(Option), []),
  files: z._default(z.array(ValueFile), []),
  /** Files that set variables, among them those of `env`, `inject`, `credentials` and `choice.env`; a text is the path of one with lines. */
  env_files: z._default(
    z.array(
      z.pipe(
        z.transform((value: unknown) => (typeof value === 'string' ? { file: value } : value)),
        VariableFile,
      ),
    ),
    [],
  ),
  /** Ways to name a repository, with or without its host (`o/r`, `host/o/r`, `git@host:o/r`), or an address. */
  repositories: z._default(
    z.strictObject({
      env: z._default(z.array(variable), []),
      options: z._default(z.array(Option), []),
      /** Commands whose words are repositories or addresses. */
      commands: z._default(z.array(z.string()), []),
    }),
    { env: [], options: [], commands: [] },
  ),
});

export type Hosts = z.infer<typeof Hosts>;

/** Access of programs to the provider over HTTP, for the gateway. */
const HttpProvider = z.strictObject({
  /** The provider's address, without a path. */
  base: address,
  /** Addresses for keys with a certain end, where the provider has several. */
  bases: z._default(z.array(z.strictObject({ key_ends: z.string(), base: address })), []),
  /** Path at the end of the address that programs are given, such as `/v1`. */
  base_path: z._default(z.string().check(z.regex(/^(?:\/[^/]+)*$/, 'a path without a slash at its end')), ''),
  /** Variables from which the provider's programs take address and key. */
  base_variable: z.optional(variable),
  key_variable: variable,
  /** Code that reads the address from that variable, for libraries that do not read it themselves: a line for each. */
  in_code: z._default(z.array(z.string()), []),
  /** A key is sent in this header; in `authorization` behind the scheme. */
  key_header: z._default(z.string().check(z.lowercase()), 'authorization'),
  key_scheme: z._default(z.string(), 'Bearer'),
  /** Field at the top of a body in JSON in which some programs send the key as well. */
  key_field: z.optional(z.string()),
  /** Start of every key: programs refuse a placeholder of another form. */
  key_prefix: z._default(z.string(), ''),
  /** Further headers that belong to an account; they are not passed on. */
  account_headers: z._default(z.array(z.string().check(z.lowercase())), []),
  /** A larger body is sent once, to one account, after what the accounts have left was asked. */
  replay_bytes: z._default(z.int().check(z.nonnegative()), 1_048_576),
  /** Time for the start of an answer, from the last byte of the request on. */
  answer_within: z._default(duration, '15m'),
  /** Answers after which another account takes over, besides 401, 402 and 429. Every condition that is given must hold. */
  retry: z._default(
    z.array(
      z.strictObject({
        class: z.enum(['quota', 'rate', 'auth', 'other']),
        /** As for the rules of a tool. */
        note: z.optional(z.string()),
        status: z.int(),
        /** Matched in the first 64 KiB of the body; group `rest` holds seconds, `reset` a date. */
        body: z.optional(pattern),
        rest: z.optional(z.union([z.literal('period'), z.literal('credential'), duration])),
      }),
    ),
    [],
  ),
  /** Path of a value in an error's body that says that the request was billed: it is not made again. */
  billed: z.optional(z.string()),
  /**
   * Requests that create a job (`POST /v2/crawl`; `*` is any part of a path), and where the answer has its id. Requests whose path
   * names it go to the same account. A `brief` job matters for minutes and comes with most requests: it is kept for 20 minutes, and
   * pushes no other job out. `wants` is for providers that do less than a job wants when an account has too little left, and answer
   * as if nothing were wrong.
   */
  creators: z._default(
    z.array(
      z.strictObject({
        request: z.string(),
        id: z.string(),
        brief: z._default(z.boolean(), false),
        /** A number or a list in the request: how much the job wants. */
        wants: z.optional(z.string()),
        /** Amount that the provider assumes for a request without one. */
        wants_default: z.optional(z.int().check(z.positive())),
      }),
    ),
    [],
  ),
  /** Requests that name a job not in their path but in a field of their body or query. */
  followers: z._default(z.array(z.strictObject({ request: z.string(), id: z.string() })), []),
  /**
   * The provider's MCP server over HTTP. Clients are given its address at the gateway, such as `/{key}/v2/mcp`, with a placeholder
   * where the key is.
   */
  mcp: z.optional(
    z.strictObject({
      base: address,
      address: z.string().check(z.regex(/^\/[^?]*\{key\}|^\/.*\?.*\{key\}/, 'a path with {key}')),
      /** Tools that create jobs, and the id of one in their answer, group 1. Calls with that id go to the same account. */
      jobs: z.optional(z.strictObject({ tools: z.array(z.string()), id: pattern })),
      /**
       * Cost of calls of tools: that of a command, or a number. `wants` is an argument, as for `creators`. With a budget or a reserve,
       * other tools are not called.
       */
      tools: z._default(
        z.array(
          z.strictObject({
            names: z.array(z.string()),
            command: z._default(z.string(), 'http'),
            cost: z.optional(z.number()),
            wants: z.optional(z.string()),
            wants_default: z.optional(z.int().check(z.positive())),
          }),
        ),
        [],
      ),
    }),
  ),
  /** Values at the top of JSON answers that are addresses of the provider; they are turned to the gateway. */
  rewrite: z._default(z.array(z.string()), []),
  /** Errors and their meaning, for `catalog test`; those of rules without `body` need none. */
  probes: z._default(
    z.array(
      z.strictObject({
        status: z.int(),
        body: z.optional(z.string()),
        expect: z.enum(['quota', 'rate', 'auth', 'other']),
      }),
    ),
    [],
  ),
});
export type HttpProvider = z.infer<typeof HttpProvider>;

export const Provider = z.strictObject({
  bin: CliName,
  auth_command: z._default(CliName, 'accounts'),
  terms_note: z.optional(z.string()),
  /** The provider's terms on several accounts. With `one-per-person` another account is only ever selected. */
  accounts: z._default(z.enum(['allowed', 'per-team', 'one-per-person']), 'allowed'),
  /**
   * Kind of another account: another quota for the same work, or a place with other things in it (projects, packages). In a place the
   * user's own choice comes before the accounts, and a refused credential leads to no other account.
   */
  account_is: z._default(z.enum(['quota', 'place']), 'quota'),
  choice: z._default(OwnChoice, { env: [], options: [], unless: {}, files: [] }),
  hosts: z._default(Hosts, {
    names: [],
    env: [],
    options: [],
    files: [],
    env_files: [],
    repositories: { env: [], options: [], commands: [] },
  }),
  /** Options whose value is the directory in which the CLI then runs. */
  directory_options: z._default(z.array(z.string()), []),
  /** Commands that change the login of the CLI itself, which does not count where it runs with an account. */
  login_commands: z._default(z.array(z.string()), []),
  /** Address of the terms, and the date on which they were read (`2026-11-21`). */
  terms_url: z.optional(z.string()),
  terms_read: z.optional(z.string()),
  /** Whose quota it is. Failover skips accounts that share one; a limit per IP address never leads to another account. */
  scope: z._default(z.enum(['key', 'project', 'team', 'ip']), 'key'),
  tested: z._default(z.array(z.string()), []),
  /** The npm package, for the hint when the command is not installed. */
  package: z.optional(z.string()),
  /** Variables that every account must provide. */
  inject: z._default(z.array(variable), []),
  /**
   * Further variables that carry a credential, or make the CLI use another one; they are unset unless the account sets them.
   */
  credentials: z._default(z.array(variable), []),
  /**
   * Places in which the CLI itself keeps a credential that every account may provide: a file, in which `{NAME:default}` stands for an
   * environment variable and `~/` for the home directory, and a pattern whose group 1 is the credential.
   */
  stored: z._default(z.array(z.strictObject({ file: z.string(), pattern })), []),
  /** Variables that point the CLI at a directory of the account's own. */
  home: z._default(z.array(variable), []),
  /** Arguments put first, for a CLI that is switched by one; `{account}` stands for the name, no credential does. */
  arguments: z._default(z.array(z.string()), []),
  /** Commands and options that need no account and run as they are; `""` stands for no arguments. */
  passthrough: z._default(z.array(z.string()), ['--help', '--version']),
  once: z._default(z.array(z.string()), []),
  job_id: z.optional(pattern),
  /**
   * When a `once` command may create a job without printing its id: it is then run with one account only. `given`: one
   * of these options, if any are listed; `unless`: none of these; `classes`: only after these failures.
   */
  silent_jobs: z._default(
    z.array(
      z.strictObject({
        command: z.string(),
        given: z._default(z.array(z.string()), []),
        unless: z._default(z.array(z.string()), []),
        classes: z.optional(z.array(z.enum(['quota', 'rate', 'auth']))),
      }),
    ),
    [],
  ),
  /** On stderr of any command: group 1 names what later commands need the same account for. */
  session_id: z.optional(pattern),
  /** Files (`~/` is the home directory) in which the CLI keeps such an id, group 1, for commands that are given none. */
  session_files: z._default(
    z.array(
      z.strictObject({
        commands: z.array(z.string()),
        unless: z._default(z.array(z.string()), []),
        file: z.string(),
        pattern,
      }),
    ),
    [],
  ),
  /** Options that give a credential. No account can replace one, because it counts before the environment. */
  own_credential: z._default(z.array(Option), []),
  /** Options before the subcommand that take a value. */
  value_options: z._default(z.array(z.string()), []),
  /** Arguments that make the CLI read stdin. */
  stdin_args: z._default(z.array(z.string()), []),
  /** Commands that read stdin. Any other stdin is left alone: it may belong to a loop around the command. */
  stdin_commands: z._default(z.array(z.string()), []),
  /** Arguments that make the output one for programs. */
  machine_args: z._default(z.array(z.string()), ['--json']),
  /** Lines that the CLI prints before it has a result. They are held and do not start the commit window. */
  banner: z.optional(pattern),
  rules: z._default(z.array(Rule), []),
  commit: z._default(
    z.strictObject({
      bytes: z._default(z.int().check(z.positive()), 65_536),
      after: z._default(duration, '500ms'),
      /** Time for which stderr is held before it is shown as it comes; at a terminal at most 2 s. */
      stderr_after: z._default(duration, '10s'),
    }),
    { bytes: 65_536, after: '500ms', stderr_after: '10s' },
  ),
  /** An upstream that goes on retrying: ended `after` the pattern was first seen on its stderr. */
  storm: z.optional(z.strictObject({ class: z.enum(['quota', 'rate']), stderr: pattern, after: duration })),
  usage: z.optional(Usage),
  /** For `doctor --probe`, where `usage` can't be asked. */
  check: z.optional(Check),
  /** Prints JSON with `remaining`, `limit`, `used`; run by sh with the account's environment. */
  status_command: z.optional(z.string()),
  /** A login step, run by sh with the account's environment; `{NAME}` stands for the account's variable. */
  prepare_command: z.optional(z.string()),
  prepare_on: z._default(z.enum(['once', 'switch', 'always']), 'switch'),
  prepare_timeout: z._default(duration, '30s'),
  /** The CLI's own prompt is replaced by one that runs each line with failover. */
  line_repl: z.optional(z.strictObject({ args: z._default(z.array(z.string()), []), exit: z.array(z.string()) })),
  /** Expected cost of a subcommand, in the unit of the provider's usage. Over HTTP the last word of a path is the subcommand. */
  costs: z._default(z.record(z.string(), z.number()), {}),
  mcp: z._default(z.array(McpServer), []),
  http: z.optional(HttpProvider),
  /** There is no tool: programs use the accounts through the gateway. */
  programs_only: z._default(z.boolean(), false),
  probes: z._default(z.array(Probe), []),
  probe_env: z._default(z.record(z.string(), z.string()), {}),
  /** Files below the home directory of a probe, for a CLI whose address is a setting; `{fake}` as in `probe_env`. */
  probe_files: z._default(z.record(z.string(), z.string()), {}),
});
export type Provider = z.infer<typeof Provider>;

function compiles(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}
