// Defines the schema of a catalog entry, which describes an upstream CLI to the wrapper.
import * as z from 'zod/mini';
import { Checked, CliName, duration, Option, oneOrMore, pattern, ValueFile, VariableFile, variable } from './fields.ts';
import { HttpProvider, McpServer } from './programs.ts';

/** A rule that assigns a class of failure to an attempt. All conditions of a rule must hold. */
export const Rule = z.strictObject({
  /** After `other`, no other account is tried, even if a later rule matches. */
  class: z.enum(['quota', 'rate', 'auth', 'usage', 'other']),
  /** True if the text is ambiguous. A request to `usage` or `check` then finds out what the refusal means. */
  check: z.optional(z.boolean()),
  /**
   * True if no other account is tried after `auth`, whatever the user has set, because the refusal may concern a permission or
   * the address of this machine.
   */
  stays: z.optional(z.boolean()),
  /** Message for the user about `other`, or about `auth` with `stays`. `{vpn}` stands for a sentence about WARP or another VPN. */
  note: z.optional(z.string()),
  /** Exit statuses that match. The default is any status but 0. */
  exit: z.optional(z.array(z.int())),
  /** Pattern for the start of any line, with white space collapsed. Group `rest` contains seconds, and `reset` a date. */
  stderr: z.optional(pattern),
  stdout: z.optional(pattern),
  /** A value in the JSON document on stdout. */
  json: z.optional(z.strictObject({ path: z.string(), matches: pattern })),
  /** Subcommands to which the rule applies. The default is all. */
  commands: z.optional(z.array(z.string())),
  /** Length of the account's pause: `period` (until the quota starts again), `credential`, or a duration. */
  rest: z.optional(z.union([z.literal('period'), z.literal('credential'), duration])),
  /** Path of a number of seconds in the JSON document on stdout. */
  retry_after: z.optional(z.string()),
  /** Scope of the limit, if it differs from the provider's `scope`. */
  scope: z.optional(z.enum(['key', 'project', 'team', 'ip'])),
});
export type Rule = z.infer<typeof Rule>;

const Usage = z.strictObject({
  /** `{NAME:default}` stands for an environment variable. */
  url: z.string(),
  authorization: z.optional(z.string()),
  /** Headers instead of `Authorization`. */
  headers: z.optional(z.record(z.string(), z.string())),
  /**
   * Paths in the answer; `a + b` adds two numbers. With several paths, `limit` and `used` with the same index are a pair, and
   * the pair with the least left counts.
   */
  remaining: z.optional(oneOrMore),
  limit: z.optional(oneOrMore),
  used: z.optional(oneOrMore),
  resets: z.optional(z.string()),
  /** Path of a value that identifies a quota. Accounts with the same value share the quota. */
  identity: z.optional(z.string()),
  /**
   * Another address for answers that identify no quota, and paths in both answers. Together, the values differ between quotas
   * at any one moment. The first value must exist, for example the time of the last success. All accounts are queried together.
   */
  moment: z.optional(z.strictObject({ url: z.string(), paths: z.array(z.string()).check(z.minLength(1)) })),
  /** Time for which an answer is reused, to stay within the provider's own limit. */
  cache: z._default(duration, '60s'),
});

/** An address that shows, without any cost, whether a credential works. */
const Check = z.strictObject({
  /** `{NAME:default}` stands for an environment variable. */
  url: z.string(),
  /** Headers instead of `Authorization`. */
  headers: z.optional(z.record(z.string(), z.string())),
  /** HTTP statuses of answers to a refused credential. */
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
 * Ways to choose a command's login besides `inject`, `credentials` and `own_credential`, such as a profile or a directory.
 */
const OwnChoice = z.strictObject({
  env: z._default(z.array(variable), []),
  options: z._default(z.array(Option), []),
  /** Values by variable that choose nothing, because they are the CLI's defaults. `~/` is the home directory. */
  unless: z._default(z.record(variable, z.string()), {}),
  /** Files with a credential. The environment takes precedence over them. Files of `stored` choose nothing. */
  files: z._default(z.array(ValueFile), []),
});

/** Windows of a login's limit, such as five hours and a week, as the CLI itself reports them. */
const Windows = z.strictObject({
  /** Arguments of the command that reports them in JSON. */
  args: z.array(z.string()),
  /**
   * Lines for its standard input, for a CLI that answers requests. The answer is the first line with `id` 1. Without them, the
   * answer is the whole output.
   */
  ask: z._default(z.array(z.string()), []),
  list: z.array(
    z.strictObject({
      /** Path of the window in the answer. The other paths are relative to it. */
      at: z.string(),
      /** Name in `status`. The default is the window's length, from `minutes`. */
      name: z.optional(z.string()),
      minutes: z.optional(z.string()),
      /** Path of the used share in percent; instead of it, `remaining` and `limit` are paths of numbers. */
      percent: z.optional(z.string()),
      remaining: z.optional(z.string()),
      limit: z.optional(z.string()),
      /** Path of the time at which the window ends. */
      resets: z.optional(z.string()),
    }),
  ),
});

/** Logins that the CLI keeps side by side: each in a directory, or as a profile of the CLI. `home` has the variables for both. */
const Login = z.strictObject({
  kind: z._default(z.enum(['directory', 'profile']), 'directory'),
  /** The directory or profile that the CLI uses without the variables. `{NAME:default}` stands for a variable. */
  usual: z.string(),
  /** Arguments before all others that select the profile, and the commands that do not take them. */
  arguments: z._default(z.array(z.string()), []),
  bare: z._default(z.array(z.string()), []),
  /** Arguments of the CLI's own login. `{login}` stands for the directory or the profile. Without them, the CLI asks at its start. */
  command: z._default(z.array(z.string()), []),
  /** Variables for that command, and for others of `passthrough` in a directory other than the usual one. */
  env: z._default(z.record(variable, z.string()), {}),
  /** Pattern for names of profiles. */
  names: z.optional(pattern),
  /**
   * File in the directory with the stored login, and a pattern for its text. With `needed`, a directory without it is no account,
   * except for the usual one, because the CLI would use a login from elsewhere.
   */
  stored: z.optional(
    z.strictObject({ file: z.string(), pattern: z._default(pattern, ''), needed: z._default(z.boolean(), false) }),
  ),
  /** Arguments of the command that removes a profile, for a hint. */
  remove: z._default(z.array(z.string()), []),
  windows: z.optional(Windows),
});
export type Login = z.infer<typeof Login>;

/** Hosts that may receive the accounts' credentials, and the ways to name another host. An account may set a variable of `env`. */
const Hosts = z.strictObject({
  /**
   * `api.example.com`, `*.example.com`, or either after `http://`, which also allows it without TLS. A word that the CLI uses
   * for these hosts is a name too. If the list is empty, no host counts as another host.
   */
  names: z._default(z.array(z.string()), []),
  env: z._default(z.array(variable), []),
  /** Options that name a host. An option without a value (see `value_options`) always selects another host. */
  options: z._default(z.array(Option), []),
  files: z._default(z.array(ValueFile), []),
  /** Files that set variables, such as those of `env`, `inject`, `credentials` and `choice.env`. A string is a path. */
  env_files: z._default(
    z.array(
      z.pipe(
        z.transform((value: unknown) => (typeof value === 'string' ? { file: value } : value)),
        VariableFile,
      ),
    ),
    [],
  ),
  /** Ways to name an address or a repository, with or without its host (`o/r`, `host/o/r`, `git@host:o/r`). */
  repositories: z._default(
    z.strictObject({
      env: z._default(z.array(variable), []),
      options: z._default(z.array(Option), []),
      /** Commands with repositories or addresses as arguments. */
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
  /** The provider's terms on several accounts. With `one-per-person`, only the user switches to another account. */
  accounts: z._default(z.enum(['allowed', 'per-team', 'one-per-person']), 'allowed'),
  /**
   * Kind of an account: a quota for the same work, or a place with its own contents (projects, packages). For a place, the user's
   * own choice takes precedence over the accounts, and after a refused credential no other account is tried.
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
  /** Options that set the CLI's working directory. */
  directory_options: z._default(z.array(z.string()), []),
  /** Commands that change the CLI's own login, which has no effect when the CLI runs with an account. */
  login_commands: z._default(z.array(z.string()), []),
  /** Address of the terms, and the date when a maintainer read them (`2026-11-21`). */
  terms_url: z.optional(z.string()),
  terms_read: z.optional(z.string()),
  /** Scope of a quota. Failover skips accounts that share a quota, and a limit per IP address causes no failover. */
  scope: z._default(z.enum(['key', 'project', 'team', 'ip']), 'key'),
  /**
   * Versions that were run for real against a loopback fake (`culvert-wrap catalog test CLI`). A shipped entry without them comes
   * from documentation: it selects an account, and has no rules except for the words of a refusal.
   */
  tested: z._default(z.array(z.string()), []),
  checked: z.optional(Checked),
  /** The npm package, for the hint when the command is not installed. */
  package: z.optional(z.string()),
  /** Variables that every account must provide. */
  inject: z._default(z.array(variable), []),
  /**
   * Further variables that carry a credential or select another credential. They are unset unless the account sets them.
   */
  credentials: z._default(z.array(variable), []),
  /**
   * Files where the CLI stores a credential for which an account can be made. In `file`, `{NAME:default}` stands for an
   * environment variable and `~/` for the home directory. Group 1 of `pattern` is the credential.
   */
  stored: z._default(z.array(z.strictObject({ file: z.string(), pattern })), []),
  /**
   * Variables that point the CLI to the account's directory. With `login`, only accounts that are logins have one, and the variables
   * of `choice.env` contain these, so that the user's own value takes precedence. Without `login`, each account has one.
   */
  home: z._default(z.array(variable), []),
  login: z.optional(Login),
  /** Arguments that precede all others, for a CLI with a switch between accounts. `{account}` stands for the account's name. */
  arguments: z._default(z.array(z.string()), []),
  /** Commands and options that need no account and run unchanged. `""` stands for no arguments, if these only print help. */
  passthrough: z._default(z.array(z.string()), ['--help', '--version']),
  once: z._default(z.array(z.string()), []),
  job_id: z.optional(pattern),
  /**
   * Cases in which a `once` command may create a job without printing its id, and so runs with one account only. `given` lists
   * options, one of which must be present; `unless` lists options that must be absent; `classes` limits the failures.
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
  /** Pattern for the stderr of any command. Group 1 is a session's id; later commands with it need the same account. */
  session_id: z.optional(pattern),
  /** Files (`~/` is the home directory) that store the session's id, in group 1, for commands without an id. */
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
  /** Options that give a credential. They take precedence over the environment, and so over any account. */
  own_credential: z._default(z.array(Option), []),
  /** Options before the subcommand that take a value. */
  value_options: z._default(z.array(z.string()), []),
  /** Arguments that make the CLI read stdin. */
  stdin_args: z._default(z.array(z.string()), []),
  /** Commands that read stdin. Other commands leave it unread, because it may belong to a loop around the command. */
  stdin_commands: z._default(z.array(z.string()), []),
  /** Arguments that make the output machine-readable. */
  machine_args: z._default(z.array(z.string()), ['--json']),
  rules: z._default(z.array(Rule), []),
  commit: z._default(
    z.strictObject({
      bytes: z._default(z.int().check(z.positive()), 65_536),
      after: z._default(duration, '500ms'),
      /** Time for which stderr is held before it is shown as it arrives; at most 2 s at a terminal. */
      stderr_after: z._default(duration, '10s'),
    }),
    { bytes: 65_536, after: '500ms', stderr_after: '10s' },
  ),
  usage: z.optional(Usage),
  /** Check for `doctor --probe` when there is no `usage`. */
  check: z.optional(Check),
  /** A command that prints JSON with `remaining`, `limit` and `used`. It runs in sh with the account's environment. */
  status_command: z.optional(z.string()),
  /** A login command that runs in sh with the account's environment. `{NAME}` stands for the account's variable. */
  prepare_command: z.optional(z.string()),
  prepare_on: z._default(z.enum(['once', 'switch', 'always']), 'switch'),
  prepare_timeout: z._default(duration, '30s'),
  /** Settings of a prompt that replaces the CLI's own prompt and runs each line with failover. */
  line_repl: z.optional(z.strictObject({ args: z._default(z.array(z.string()), []), exit: z.array(z.string()) })),
  /** Expected costs of subcommands, in the unit of the provider's usage. Over HTTP, the last word of a path is the subcommand. */
  costs: z._default(z.record(z.string(), z.number()), {}),
  mcp: z._default(z.array(McpServer), []),
  http: z.optional(HttpProvider),
  /** True if there is no CLI and programs use the accounts through the gateway. */
  programs_only: z._default(z.boolean(), false),
  probes: z._default(z.array(Probe), []),
  probe_env: z._default(z.record(z.string(), z.string()), {}),
  /** Files in a probe's home directory, for a CLI with its address in a setting. `{fake}` is as in `probe_env`. */
  probe_files: z._default(z.record(z.string(), z.string()), {}),
});
export type Provider = z.infer<typeof Provider>;
