// Holds what a signed catalog may change in the catalog of this program. The tables are closed: each field of an entry has its rule, and
// none may make the wrapper start another program, read another file, or send a credential elsewhere than this version does.
import { isDeepStrictEqual } from 'node:util';
import type { Checked } from './fields.ts';
import { explainPattern } from './bounds.ts';
import type { HttpProvider, McpServer } from './programs.ts';
import type { Hosts, Provider } from './provider.ts';

/** The entry that is judged. `shipped` is missing for a tool that this version does not know. */
interface Judged {
  name: string;
  next: Provider;
  shipped: Provider | undefined;
}

/**
 * Returns what is wrong with a value, each as the end of a sentence that begins with the field's name.
 * @param shipped the value in this version's entry; undefined in a new entry or a new part of one
 */
type FieldRule<T> = (next: T, shipped: T | undefined, entry: Judged) => string[];
type Table<T> = { [Field in keyof T]-?: FieldRule<T[Field]> };

/** A value that starts, reads and sends nothing: patterns, texts, numbers, paths in answers, words of a command line. */
const free = () => [];

/** A value that only a version of Culvert sets: as it is there, and nothing in a new entry. */
const fixed: FieldRule<unknown> = (next, shipped) =>
  isDeepStrictEqual(next, shipped) || (shipped === undefined && isEmpty(next))
    ? []
    : ['is set by versions of Culvert only'];

/** A value that stays as it is, and in a new entry keeps to a rule. */
const kept =
  <T>(rule: (next: T, entry: Judged) => string | undefined): FieldRule<T> =>
  (next, shipped, entry) => {
    if (shipped !== undefined) return isDeepStrictEqual(next, shipped) ? [] : ["can't change"];
    const problem = rule(next, entry);
    return problem === undefined ? [] : [problem];
  };

/** A list that protects: it may grow by what keeps to a rule, and loses nothing. */
const growing =
  <T>(rule: (item: T) => string | undefined): FieldRule<T[]> =>
  (next, shipped = []) => {
    const has = (list: readonly T[], item: T) => list.some(other => isDeepStrictEqual(other, item));
    const lost = shipped.filter(item => !has(next, item)).map(item => `must keep ${shown(item)}`);
    const added = next.filter(item => !has(shipped, item)).flatMap(item => rule(item) ?? []);
    return [...lost, ...added];
  };

/** A choice that may become stricter. @param order from lax to strict */
const stricter =
  <T>(order: readonly T[]): FieldRule<T> =>
  (next, shipped) =>
    shipped !== undefined && order.indexOf(next) < order.indexOf(shipped) ? [`can't be laxer than ${shown(shipped)}`] : [];

/** A part with fields of its own, which may be added and stays. */
const part =
  <T extends object>(table: Table<T>): FieldRule<T | undefined> =>
  (next, shipped, entry) => {
    if (next === undefined) return shipped === undefined ? [] : ["can't be removed"];
    return fieldsOf(table, next, shipped, entry).map(({ field, problem }) => `.${field} ${problem}`);
  };

function fieldsOf<T extends object>(table: Table<T>, next: T, shipped: T | undefined, entry: Judged) {
  return (Object.keys(table) as (keyof T & string)[]).flatMap(field =>
    table[field](next[field], shipped?.[field], entry).map(problem => ({ field, problem })),
  );
}

/** Commands that run other commands, so that an entry of this name would reach further than its tool. */
const PROGRAMS =
  /^(?:sh|bash|dash|zsh|fish|ksh|csh|env|sudo|su|doas|pkexec|run0|xargs|nohup|exec|eval|node|nodejs|npx|bun|bunx|deno|pnpm|yarn|pip3?|pipx|uvx?|python[\d.]*|perl|ruby|php|java|ssh|scp|sftp|rsync|git|curl|wget|nc|socat|docker|podman|kubectl|systemctl|systemd-run|make|cat|cp|mv|rm|ls|dd|chmod|chown|culvert.*|warp-.*)$/;
/** Variables that change which program runs, which files it reads, or how it connects. */
const VARIABLES =
  /^(?:LD_|DYLD_|NODE_|NPM_CONFIG_|PYTHON|PERL5?|RUBY|JAVA_|JDK_|BASH|GIT_|SSH_|GPG_|DBUS_|XDG_|SSL_|CURL_|OPENSSL_|SUDO_|CULVERT_|SYSTEMD_|WAYLAND_|GCONV_|MALLOC_|GLIBC_)|_PROXY$|^(?:PATH|HOME|ENV|SHELL|IFS|PS4|CDPATH|PWD|TMPDIR|USER|LOGNAME|EDITOR|VISUAL|PAGER|BROWSER|DISPLAY|LANG|TERM|PROMPT_COMMAND|REQUESTS_CA_BUNDLE|NO_COLOR)$/;

/** A variable that an entry may name to protect: it is unset, or counts as the user's choice. */
function plainVariable(name: string): string | undefined {
  return /^[A-Z][A-Z0-9_]{1,63}$/.test(name) && !VARIABLES.test(name) ? undefined : `can't name ${shown(name)}`;
}

/** A variable that gets a value: named after its tool, so that it is no option of another program. */
function ownVariable(name: string, { name: tool }: Judged, ends: RegExp): string | undefined {
  const start = `${tool.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_`;
  if (plainVariable(name) !== undefined) return plainVariable(name);
  return name.startsWith(start) && ends.test(name) ? undefined : `can't name ${name}: only ${start}… of the tool's own`;
}

const KEY = /_(?:KEY|TOKEN|SECRET|PASSWORD|AUTH|ID)$/;
const ADDRESS = /_(?:URL|URI|BASE|HOST|ENDPOINT|ORIGIN)$/;

/** The hosts that this version sends an entry's credentials to; those that a new entry names. */
function hostsOf({ next, shipped }: Judged): string[] {
  const { hosts, http, usage, check } = shipped ?? next;
  const addresses = shipped
    ? [http?.base, ...(http?.bases.map(({ base }) => base) ?? []), http?.mcp?.base, usage?.url, usage?.moment?.url, check?.url]
    : [];
  const named = hosts.names.filter(host => host.includes('.')).map(host => host.replace(/^https?:\/\//, ''));
  return [...named, ...addresses.flatMap(address => /https:\/\/([^/{}?#]+)/.exec(address ?? '')?.[1] ?? [])];
}

const PUBLIC = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!local$|localhost$|internal$|lan$|home$|arpa$|onion$)[a-z]{2,63}$/;

/** Checks `https://HOST`, of a host that may get the entry's credentials. */
function addressProblem(address: string, entry: Judged): string | undefined {
  const host = /^https:\/\/([^/]+)$/.exec(address)?.[1];
  if (host === undefined) return `can't name ${shown(address)}: only https://HOST`;
  const isKnown = hostsOf(entry).some(known =>
    known.startsWith('*.') ? host.endsWith(known.slice(1)) && PUBLIC.test(host) : known === host,
  );
  return isKnown ? undefined : `can't name the host ${shown(host)}`;
}

/** An address where a credential goes. */
const address: FieldRule<string | undefined> = (next, shipped, entry) =>
  next === undefined || next === shipped ? [] : [addressProblem(next, entry) ?? []].flat();

/** An address with `{NAME:https://HOST}` in place of its host: the variable is one that the user sets for this purpose. */
const template: FieldRule<string | undefined> = (next, shipped, entry) => {
  if (next === undefined || next === shipped) return [];
  const [, name, inVariable, plain, rest = ''] =
    /^(?:\{([^{}:]+):([^{}]+)\}|(https:\/\/[^/{}?#]+))(.*)$/s.exec(next) ?? [];
  const base = (inVariable ?? plain)?.replace(/^(https:\/\/[^/]+)\/.*$/s, '$1');
  if (base === undefined || !/^(?:[/?]|$)/.test(rest)) return [`can't name ${shown(next)}: only https://HOST`];
  const { hosts, http } = entry.shipped ?? entry.next;
  const isKnown = name === undefined || [...hosts.env, http?.base_variable].includes(name);
  return [
    ...(isKnown ? [] : [`can't read the variable ${shown(name)}`]),
    ...[addressProblem(base, entry) ?? []].flat(),
    ...variablesIn(rest, entry),
  ];
};

/** Placeholders for variables: an account's own, and no other secret of the environment. */
function variablesIn(text: string, { next, shipped }: Judged): string[] {
  const own = (shipped ?? next).inject;
  const names = [...text.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name!.split(':')[0]!);
  return names.filter(name => !own.includes(name)).map(name => `can't read the variable ${shown(name)}`);
}

const headers: FieldRule<Record<string, string> | undefined> = (next, shipped, entry) =>
  next === undefined || isDeepStrictEqual(next, shipped)
    ? []
    : Object.entries(next).flatMap(([name, value]) => [
        ...(isHeader(name) ? [] : [`can't set the header ${shown(name)}`]),
        ...variablesIn(value, entry),
      ]);

/** True for a header that is about the request's account or form, and not about its way. */
function isHeader(name: string): boolean {
  return /^(?:authorization|accept|content-type|x-[a-z0-9-]+|[a-z0-9-]*(?:key|token|version)[a-z0-9-]*)$/i.test(name);
}

const header: FieldRule<string> = (next, shipped) =>
  next === shipped || isHeader(next) ? [] : [`can't be the header ${shown(next)}`];

const option = (text: string) => (/^-[^\s=]{1,60}(?: [^\s]{1,60})?$/.test(text) ? undefined : `can't be ${shown(text)}`);
const words = (text: string) => (text.length <= 100 ? undefined : `can't be ${shown(text)}`);

const hosts: Table<Hosts> = {
  names: (next, shipped, { shipped: known }) => {
    const others = next.filter(host => !shipped?.includes(host));
    if (known) {
      if (next.length === 0 && (shipped?.length ?? 0) > 0) return ['must keep a host'];
      return others.map(host => `can't name the host ${shown(host)}`);
    }
    if (next.length === 0) return ['must name a host'];
    return others.filter(host => !PUBLIC.test(host)).map(host => `can't name the host ${shown(host)}`);
  },
  env: growing(plainVariable),
  options: growing(option),
  files: fixed,
  env_files: fixed,
  repositories: part<Hosts['repositories']>({
    env: growing(plainVariable),
    options: growing(option),
    commands: growing(words),
  }),
};

/** True for the package of a tool that this version does not know: `exa-mcp-server` or `@exa/cli` of `exa`. */
function isPackageOf(tool: string, name: string): boolean {
  if (!/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/.test(name)) return false;
  return name.split(/[@/._-]/).includes(tool.toLowerCase().split('-')[0]!);
}

const server: Table<McpServer> = {
  package: free, // `servers` has it
  versions: free,
  checked: free,
  gateway: free,
  once: growing(words),
  rules: free,
};

const servers: FieldRule<McpServer[]> = (next, shipped = [], entry) =>
  next.flatMap(each => {
    const known = shipped.find(other => other.package === each.package);
    if (!known && (entry.shipped || !isPackageOf(entry.name, each.package)))
      return [`can't name the program ${shown(each.package)}`];
    return fieldsOf(server, each, known, entry).map(({ field, problem }) => `.${each.package}.${field} ${problem}`);
  });

const http: Table<HttpProvider> = {
  base: address,
  bases: (next, shipped, entry) => next.flatMap(({ base }) => (isIn(base, shipped) ? [] : address(base, undefined, entry))),
  base_path: free,
  base_variable: kept((next, entry) => (next === undefined ? undefined : ownVariable(next, entry, ADDRESS))),
  key_variable: kept((next, { next: { inject }, shipped }) =>
    (shipped?.inject ?? inject).includes(next) ? undefined : `can't name ${shown(next)}`,
  ),
  in_code: fixed,
  key_header: header,
  key_scheme: (next, shipped) => (next === shipped || /^[\w-]{0,40}$/.test(next) ? [] : [`can't be ${shown(next)}`]),
  key_field: free,
  key_prefix: free,
  account_headers: growing(name => (/^[a-z0-9-]{1,60}$/.test(name) ? undefined : `can't be ${shown(name)}`)),
  replay_bytes: (next, shipped = 1_048_576) => (next <= Math.max(shipped, 8_388_608) ? [] : ['is too large']),
  answer_within: free,
  retry: free,
  billed: free,
  creators: free,
  followers: free,
  mcp: part<NonNullable<HttpProvider['mcp']>>({ base: address, address: free, jobs: free, tools: free }),
  rewrite: free,
  probes: free,
};

function isIn(base: string, shipped: HttpProvider['bases'] | undefined): boolean {
  return shipped?.some(known => known.base === base) === true;
}

type Usage = NonNullable<Provider['usage']>;
const usage: Table<Usage> = {
  url: template,
  authorization: (next, shipped, entry) => (next === undefined || next === shipped ? [] : variablesIn(next, entry)),
  headers,
  remaining: free,
  limit: free,
  used: free,
  resets: free,
  identity: free,
  moment: part<NonNullable<Usage['moment']>>({ url: template, paths: free }),
  cache: free,
};

/** Every field of an entry. A new field does not compile until it has its rule here. */
const entries: Table<Provider> = {
  bin: kept((next, { name, next: { programs_only: only } }) => {
    if (PROGRAMS.test(next) || PROGRAMS.test(name)) return `can't name the program ${shown(next)}`;
    return next === name || (only && next === `${name}-api`) ? undefined : `can't name the program ${shown(next)}`;
  }),
  auth_command: kept(next =>
    ['accounts', 'auth', 'login'].includes(next) ? undefined : `can't be ${shown(next)} in a new entry`,
  ),
  terms_note: free,
  accounts: stricter(['allowed', 'per-team', 'one-per-person']),
  account_is: stricter(['quota', 'place']),
  choice: part<Provider['choice']>({
    env: growing(plainVariable),
    options: growing(option),
    unless: fixed,
    files: fixed,
  }),
  hosts: part(hosts),
  directory_options: growing(option),
  login_commands: free,
  terms_url: (next, shipped) =>
    next === undefined || next === shipped || /^https:\/\/[\w.-]+\/[\w./?=&#-]*$/.test(next) ? [] : [`can't be ${shown(next)}`],
  terms_read: free,
  scope: free,
  tested: free,
  checked: free,
  package: kept((next, { name }) =>
    next === undefined || isPackageOf(name, next) ? undefined : `can't name the program ${shown(next)}`,
  ),
  inject: kept((next, entry) => {
    if (next.length === 0) return 'must name a variable';
    return next.map(name => ownVariable(name, entry, KEY)).find(problem => problem !== undefined);
  }),
  credentials: growing(plainVariable),
  stored: fixed,
  home: fixed,
  arguments: fixed,
  passthrough: free,
  once: growing(words),
  job_id: free,
  silent_jobs: free,
  session_id: free,
  session_files: fixed,
  own_credential: growing(option),
  value_options: free,
  stdin_args: free,
  stdin_commands: free,
  machine_args: free,
  rules: free,
  commit: free,
  usage: part(usage),
  check: part<NonNullable<Provider['check']>>({ url: template, headers, refused: free }),
  status_command: fixed,
  prepare_command: fixed,
  // both without effect where there is no command
  prepare_on: free,
  prepare_timeout: free,
  line_repl: fixed,
  costs: free,
  mcp: servers,
  http: part(http),
  programs_only: kept(() => undefined),
  // `catalog test` runs the tool with these words
  probes: (next, shipped = []) =>
    next.filter(({ args }) => !shipped.some(known => isDeepStrictEqual(known.args, args))).map(({ args }) => `can't run ${shown(args)}`),
  probe_env: fixed,
  probe_files: fixed,
};

/**
 * Returns what an entry of a signed catalog may not do; nothing if it keeps to the rules.
 * @param name of the tool
 * @param next its entry in the signed catalog
 * @param shipped its entry in this version's catalog, if there is one
 */
export function checkEntry(name: string, next: Provider, shipped: Provider | undefined): string[] {
  const entry = { name, next, shipped };
  return [
    ...fieldsOf(entries, next, shipped, entry).map(({ field, problem }) => `${name}: ${field}${join(problem)}`),
    ...patternsOf(next).flatMap(({ place, pattern }) => {
      const problem = explainPattern(pattern);
      return problem === undefined ? [] : [`${name}: ${place} ${problem}`];
    }),
  ];
}

function join(problem: string): string {
  return problem.startsWith('.') ? problem : ` ${problem}`;
}

/** Every pattern of an entry. */
export function patternsOf(provider: Provider): { place: string; pattern: string }[] {
  const { rules, mcp, http: own } = provider;
  const places: [place: string, pattern: string | undefined][] = [
    ...rules.flatMap(({ stderr, stdout, json }): [string, string | undefined][] => [
      ['rules.stderr', stderr],
      ['rules.stdout', stdout],
      ['rules.json.matches', json?.matches],
    ]),
    ...mcp.flatMap(each =>
      each.rules.flatMap(({ text, json }): [string, string | undefined][] => [
        ['mcp.rules.text', text],
        ['mcp.rules.json.matches', json?.matches],
      ]),
    ),
    ...(own?.retry ?? []).map(({ body }): [string, string | undefined] => ['http.retry.body', body]),
    ['http.mcp.jobs.id', own?.mcp?.jobs?.id],
    ['job_id', provider.job_id],
    ['session_id', provider.session_id],
    ...provider.stored.map(({ pattern }): [string, string] => ['stored.pattern', pattern]),
    ...provider.session_files.map(({ pattern }): [string, string] => ['session_files.pattern', pattern]),
    ...[...provider.choice.files, ...provider.hosts.files].map(({ pattern }): [string, string | undefined] => ['files.pattern', pattern]),
  ];
  return places.flatMap(([place, pattern]) => (pattern === undefined ? [] : [{ place, pattern }]));
}

/** Describes what an entry was checked with. */
export function checkedText(checked: Checked | undefined): string {
  return checked ? `${checked.version} (${checked.on})` : 'unknown';
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === false || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
