// Rules for single values of a signed catalog's entry: what may stay, grow or become stricter, and which names it may use.
import { isDeepStrictEqual } from 'node:util';
import type { Provider } from './provider.ts';

/** The entry that is judged. `shipped` is missing for a tool that this version does not know. */
interface Judged {
  name: string;
  next: Provider;
  shipped: Provider | undefined;
  /** This version's entries of the other tools. */
  others: readonly Provider[];
}

/**
 * Returns what is wrong with a value, each as the end of a sentence that begins with the field's name.
 * @param shipped the value in this version's entry; undefined in a new entry or a new part of one
 */
export type FieldRule<T> = (next: T, shipped: T | undefined, entry: Judged) => string[];
export type Table<T> = { [Field in keyof T]-?: FieldRule<T[Field]> };

/** A value that starts, reads and sends nothing: patterns, texts, numbers, paths in answers, words of a command line. */
export const free = () => [];

/** A value that only a version of Culvert sets: as it is there, and nothing in a new entry. */
export const fixed: FieldRule<unknown> = (next, shipped) =>
  isDeepStrictEqual(next, shipped) || (shipped === undefined && isEmpty(next))
    ? []
    : ['is set by versions of Culvert only'];

/** A value that stays as it is, and in a new entry keeps to a rule. */
export const kept =
  <T>(rule: (next: T, entry: Judged) => string | undefined): FieldRule<T> =>
  (next, shipped, entry) => {
    if (shipped !== undefined) return isDeepStrictEqual(next, shipped) ? [] : ["can't change"];
    const problem = rule(next, entry);
    return problem === undefined ? [] : [problem];
  };

/** A list that protects: it may grow by what keeps to a rule, and loses nothing. */
export const growing =
  <T>(rule: (item: T, entry: Judged) => string | undefined): FieldRule<T[]> =>
  (next, shipped = [], entry) => {
    const has = (list: readonly T[], item: T) => list.some(other => isDeepStrictEqual(other, item));
    const lost = shipped.filter(item => !has(next, item)).map(item => `must keep ${shown(item)}`);
    const added = next.filter(item => !has(shipped, item)).flatMap(item => rule(item, entry) ?? []);
    return [...lost, ...added];
  };

/** A choice that may become stricter. @param order from lax to strict */
export const stricter =
  <T>(order: readonly T[]): FieldRule<T> =>
  (next, shipped) =>
    shipped !== undefined && order.indexOf(next) < order.indexOf(shipped)
      ? [`can't be laxer than ${shown(shipped)}`]
      : [];

/** A part with its own fields, which may be added and stays. */
export const part =
  <T extends object>(table: Table<T>): FieldRule<T | undefined> =>
  (next, shipped, entry) => {
    if (next === undefined) return shipped === undefined ? [] : ["can't be removed"];
    return fieldsOf(table, next, shipped, entry).map(({ field, problem }) => `.${joined(field, problem)}`);
  };

/** Joins the name of a field and its problem, which may begin with the name of a field in it. */
export function joined(field: string, problem: string): string {
  return problem.startsWith('.') ? `${field}${problem}` : `${field} ${problem}`;
}

export function fieldsOf<T extends object>(table: Table<T>, next: T, shipped: T | undefined, entry: Judged) {
  return (Object.keys(table) as (keyof T & string)[]).flatMap(field =>
    table[field](next[field], shipped?.[field], entry).map(problem => ({ field, problem })),
  );
}

/** Commands that run other commands, so that an entry of this name would reach further than its tool. */
export const PROGRAMS =
  /^(?:sh|bash|dash|zsh|fish|ksh|csh|env|sudo|su|doas|pkexec|run0|xargs|nohup|exec|eval|node|nodejs|npx|bun|bunx|deno|pnpm|yarn|pip3?|pipx|uvx?|python[\d.]*|perl|ruby|php|java|ssh|scp|sftp|rsync|git|curl|wget|nc|socat|docker|podman|kubectl|systemctl|systemd-run|make|cat|cp|mv|rm|ls|dd|chmod|chown|culvert.*|warp-.*)$/;
/** Variables that change which program runs, which files it reads, or how it connects. */
const VARIABLES =
  /^(?:LD_|DYLD_|NODE_|NPM_CONFIG_|PYTHON|PERL5?|RUBY|JAVA_|JDK_|BASH|GIT_|SSH_|GPG_|DBUS_|XDG_|SSL_|CURL_|OPENSSL_|SUDO_|CULVERT_|SYSTEMD_|WAYLAND_|GCONV_|MALLOC_|GLIBC_)|_PROXY$|^(?:PATH|HOME|ENV|SHELL|IFS|PS4|CDPATH|PWD|TMPDIR|USER|LOGNAME|EDITOR|VISUAL|PAGER|BROWSER|DISPLAY|LANG|TERM|PROMPT_COMMAND|REQUESTS_CA_BUNDLE|NO_COLOR)$/;

/** A variable that an entry may name to protect: it is unset, or counts as the user's choice. */
export function plainVariable(name: string): string | undefined {
  return /^[A-Z][A-Z0-9_]{1,63}$/.test(name) && !VARIABLES.test(name) ? undefined : `can't name ${shown(name)}`;
}

/** Returns why an entry can't name a variable: the keys that people store under it are those of another tool. */
export function foreignVariable(name: string, { others }: Judged): string | undefined {
  const isForeign = others.some(({ inject, credentials }) => [...inject, ...credentials].includes(name));
  return isForeign ? `can't name ${shown(name)}, which is another tool's` : undefined;
}

/**
 * Likewise for a package that is named like another tool, such as `tavily-search`: people may have a key of that tool next to it.
 */
export function foreignServer(name: string, { others }: Judged): string | undefined {
  const text = name.toUpperCase();
  const words = text.split(/[@/._-]+/);
  // a short brand, such as EXA, is part of ordinary words
  const isForeign = [...brandsOf(others)].some(brand =>
    brand.length < 4 ? words.includes(brand) : text.includes(brand),
  );
  return isForeign ? `can't name the program ${shown(name)}, which is another tool's` : undefined;
}

/** Returns the first words of other tools' variables and of their names, such as `TAVILY` and `TVLY`. */
function brandsOf(others: Judged['others']): Set<string> {
  return new Set(
    others.flatMap(({ bin, inject, credentials }) => [
      bin.toUpperCase().split(/[^A-Z0-9]/)[0]!,
      ...[...inject, ...credentials].map(variable => variable.split('_')[0]!),
    ]),
  );
}

/** A variable that gets a value: named after its tool, so that it is no option of another program. */
export function ownVariable(name: string, entry: Judged, ends: RegExp): string | undefined {
  const { name: tool } = entry;
  const start = `${tool.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_`;
  const problem = plainVariable(name) ?? foreignVariable(name, entry);
  if (problem !== undefined) return problem;
  // a key that people keep under a further name of another tool, such as TAVILY_TOKEN, is that tool's as well
  if (brandsOf(entry.others).has(name.split('_')[0]!)) return `can't name ${shown(name)}, which is like another tool's`;
  return name.startsWith(start) && ends.test(name) ? undefined : `can't name ${name}: only ${start}… of the tool's own`;
}

export const KEY = /_(?:KEY|TOKEN|SECRET|PASSWORD|AUTH|ID)$/;
export const ADDRESS = /_(?:URL|URI|BASE|HOST|ENDPOINT|ORIGIN)$/;

/** The hosts that this version sends an entry's credentials to; those that a new entry names. */
function hostsOf({ next, shipped }: Judged): string[] {
  const { hosts, http, usage, check } = shipped ?? next;
  const addresses = shipped
    ? [
        http?.base,
        ...(http?.bases.map(({ base }) => base) ?? []),
        http?.mcp?.base,
        usage?.url,
        usage?.moment?.url,
        check?.url,
      ]
    : [];
  const named = hosts.names.filter(host => host.includes('.')).map(host => host.replace(/^https?:\/\//, ''));
  return [...named, ...addresses.flatMap(address => /https:\/\/([^/{}?#]+)/.exec(address ?? '')?.[1] ?? [])];
}

export const PUBLIC =
  /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!local$|localhost$|internal$|lan$|home$|arpa$|onion$)[a-z]{2,63}$/;

/** The name of a key among a request's values. Another field of the body would give the key to what the user asked for. */
export const keyPlace: FieldRule<string | undefined> = (next, shipped, entry) => {
  if (entry.shipped) return fixed(next, shipped, entry);
  return next === undefined || /^(?:api[_-]?key|key|token)$/i.test(next) ? [] : [`can't be ${shown(next)}`];
};

/** Checks `https://HOST/PATH`, of a host that may get the entry's credentials. */
function addressProblem(address: string, entry: Judged): string | undefined {
  const host = /^https:\/\/([^/?#]+)(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)*$/.exec(address)?.[1];
  if (host === undefined) return `can't name ${shown(address)}: only https://HOST/PATH`;
  const isKnown = hostsOf(entry).some(known =>
    known.startsWith('*.') ? host.endsWith(known.slice(1)) && PUBLIC.test(host) : known === host,
  );
  return isKnown ? undefined : `can't name the host ${shown(host)}`;
}

/** An address where a credential goes. */
export const address: FieldRule<string | undefined> = (next, shipped, entry) =>
  next === undefined || next === shipped ? [] : [addressProblem(next, entry) ?? []].flat();

/** An address with `{NAME:https://HOST}` in place of its host: the variable is one that the user sets for this purpose. */
export const template: FieldRule<string | undefined> = (next, shipped, entry) => {
  if (next === undefined || next === shipped) return [];
  const [, name, inVariable, plain, rest = ''] =
    /^(?:\{([^{}:]+):([^{}]+)\}|(https:\/\/[^/{}?#]+))(.*)$/s.exec(next) ?? [];
  const base = (inVariable ?? plain)?.replace(/^(https:\/\/[^/]+)\/.*$/s, '$1');
  if (base === undefined || !/^(?:[/?]|$)/.test(rest)) return [`can't name ${shown(next)}: only https://HOST`];
  const { hosts, http } = entry.shipped ?? entry.next;
  const isKnown =
    name === undefined ||
    ([...hosts.env, http?.base_variable].includes(name) &&
      foreignVariable(name, entry) === undefined &&
      (entry.shipped !== undefined || ownVariable(name, entry, ADDRESS) === undefined));
  return [
    ...(isKnown ? [] : [`can't read the variable ${shown(name)}`]),
    ...[addressProblem(base, entry) ?? []].flat(),
    ...variablesIn(rest, entry),
  ];
};

/** Placeholders for variables: an account's own, and no other secret of the environment. */
export function variablesIn(text: string, { next, shipped }: Judged): string[] {
  const own = (shipped ?? next).inject;
  const names = [...text.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name!.split(':')[0]!);
  return names.filter(name => !own.includes(name)).map(name => `can't read the variable ${shown(name)}`);
}

export const headers: FieldRule<Record<string, string> | undefined> = (next, shipped, entry) =>
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

export const header: FieldRule<string> = (next, shipped) =>
  next === shipped || isHeader(next) ? [] : [`can't be the header ${shown(next)}`];

export const option = (text: string) =>
  /^-[^\s=]{1,60}(?: [^\s]{1,60})?$/.test(text) ? undefined : `can't be ${shown(text)}`;
export const words = (text: string) => (text.length <= 100 ? undefined : `can't be ${shown(text)}`);

/** True for the package of a tool that this version does not know: `exa-mcp-server` or `@exa/cli` of `exa`. */
export function isPackageOf(tool: string, name: string): boolean {
  if (!/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/.test(name)) return false;
  return name.split(/[@/._-]/).includes(tool.toLowerCase().split('-')[0]!);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === false || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
