// Defines the form of a catalog entry: all that the wrapper knows about an upstream CLI is data of this form.
import * as z from 'zod/mini';
import { CliName, duration, Option, oneOrMore, pattern, ValueFile, VariableFile, variable } from './fields.ts';
import { HttpProvider, McpServer } from './programs.ts';

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
   * quotas at one moment. The first must exist, for example the time of the last success. All accounts are asked together.
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

/** Hosts to which the accounts' credentials may be sent, and how the user names another host. An account may set a variable of `env`. */
const Hosts = z.strictObject({
  /**
   * `api.example.com`, `*.example.com`, and with `http://` before it also without TLS. A word by which the CLI calls these hosts
   * is one of them. Without any, no host counts as another one.
   */
  names: z._default(z.array(z.string()), []),
  env: z._default(z.array(variable), []),
  /** An option that takes no value (see `value_options`) always leads to another host. */
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
  /** Files (`~/` is the home directory) in which the CLI keeps this id, group 1, for commands without one. */
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
  /** A prompt that runs each line with failover replaces the CLI's own. */
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
