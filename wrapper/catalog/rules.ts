// Holds what a signed catalog may change in the catalog of this program. The tables are closed: each field of an entry has its rule, and
// none may make the wrapper start another program, read another file, or send a credential elsewhere than this version does.
import { isDeepStrictEqual } from 'node:util';
import { explainPattern } from './bounds.ts';
import type { HttpProvider, McpServer } from './programs.ts';
import type { Hosts, Provider } from './provider.ts';
import {
  ADDRESS,
  address,
  type FieldRule,
  fieldsOf,
  fixed,
  foreignServer,
  foreignVariable,
  free,
  growing,
  header,
  headers,
  isPackageOf,
  joined,
  KEY,
  kept,
  keyPlace,
  option,
  ownVariable,
  PROGRAMS,
  PUBLIC,
  part,
  plainVariable,
  shown,
  stricter,
  type Table,
  template,
  variablesIn,
  words,
} from './rule-values.ts';

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

/** An amount in a provider's unit: a negative one would give a budget more than it has. */
const isAmount = (amount: number) => amount >= 0 && amount <= 1_000_000;

const server: Table<McpServer> = {
  package: free, // `servers` has it
  versions: free,
  checked: free,
  gateway: free,
  usual_errors: free,
  once: growing(words),
  rules: free,
};

const servers: FieldRule<McpServer[]> = (next, shipped = [], entry) => {
  const lost = shipped.filter(known => !next.some(each => each.package === known.package));
  const problems = next.flatMap(each => {
    const known = shipped.find(other => other.package === each.package);
    if (!known && (entry.shipped || !isPackageOf(entry.name, each.package)))
      return [`can't name the program ${shown(each.package)}`];
    const foreign = known ? undefined : foreignServer(each.package, entry);
    if (foreign !== undefined) return [foreign];
    return fieldsOf(server, each, known, entry).map(
      ({ field, problem }) => `.${each.package}.${joined(field, problem)}`,
    );
  });
  return [...lost.map(known => `must keep ${shown(known.package)}`), ...problems];
};

const http: Table<HttpProvider> = {
  base: address,
  bases: (next, shipped, entry) =>
    next.flatMap(({ base }) => (isIn(base, shipped) ? [] : address(base, undefined, entry))),
  base_path: free,
  base_variable: kept((next, entry) => (next === undefined ? undefined : ownVariable(next, entry, ADDRESS))),
  key_variable: kept((next, { next: { inject }, shipped }) =>
    (shipped?.inject ?? inject).includes(next) ? undefined : `can't name ${shown(next)}`,
  ),
  in_code: fixed,
  key_header: header,
  key_scheme: (next, shipped) => (next === shipped || /^[\w-]{0,40}$/.test(next) ? [] : [`can't be ${shown(next)}`]),
  key_field: keyPlace,
  key_parameter: keyPlace,
  key_prefix: free,
  account_headers: growing(name => (/^[a-z0-9-]{1,60}$/.test(name) ? undefined : `can't be ${shown(name)}`)),
  replay_bytes: (next, shipped = 1_048_576) => (next <= Math.max(shipped, 8_388_608) ? [] : ['is too large']),
  answer_within: free,
  retry: free,
  billed: free,
  creators: free,
  followers: free,
  mcp: part<NonNullable<HttpProvider['mcp']>>({
    base: address,
    address: free,
    jobs: free,
    tools: next => (next.every(({ cost = 0 }) => isAmount(cost)) ? [] : ["has an amount that can't be"]),
  }),
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
    next === undefined || next === shipped || /^https:\/\/[\w.-]+\/[\w./?=&#-]*$/.test(next)
      ? []
      : [`can't be ${shown(next)}`],
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
  credentials: growing((name, entry) => plainVariable(name) ?? foreignVariable(name, entry)),
  stored: fixed,
  home: fixed,
  login: fixed,
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
  costs: next => (Object.values(next).every(isAmount) ? [] : ["has an amount that can't be"]),
  mcp: servers,
  http: part(http),
  programs_only: kept(() => undefined),
  // `catalog test` runs the tool with these words
  probes: (next, shipped = []) =>
    next
      .filter(({ args }) => !shipped.some(known => isDeepStrictEqual(known.args, args)))
      .map(({ args }) => `can't run ${shown(args)}`),
  probe_env: fixed,
  probe_files: fixed,
};

/**
 * Returns what an entry of a signed catalog may not do; nothing if it keeps to the rules.
 * @param name name of the tool
 * @param next its entry in the signed catalog
 * @param catalog this version's entries, by their names
 */
export function checkEntry(name: string, next: Provider, catalog: Readonly<Record<string, Provider>>): string[] {
  const shipped = Object.hasOwn(catalog, name) ? catalog[name] : undefined;
  const entry = { name, next, shipped, others: Object.values(catalog).filter(other => other !== shipped) };
  return [
    ...fieldsOf(entries, next, shipped, entry).map(({ field, problem }) => `${name}: ${joined(field, problem)}`),
    ...patternsOf(next).flatMap(({ place, pattern }) => {
      const problem = explainPattern(pattern);
      return problem === undefined ? [] : [`${name}: ${place} ${problem}`];
    }),
  ];
}

/** Every pattern that a catalog may change; those of files are fixed. */
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
  ];
  return places.flatMap(([place, pattern]) => (pattern === undefined ? [] : [{ place, pattern }]));
}
