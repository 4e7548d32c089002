// Reads a text that holds one key, a list of keys, or a reference to a key elsewhere. Pure.

/** Programs that fill in a reference before a tool sees it, and what gives the key itself. */
const STORES: Record<string, string> = {
  op: 'op read',
  vault: 'vault kv get',
  bws: 'bws secret get',
  doppler: 'doppler secrets get --plain',
  infisical: 'infisical secrets get',
};
/** `op://vault/item/field` and its like. Addresses of the web are values of variables such as a base address. */
const IN_STORE = /^([a-z][a-z0-9+.-]*):\/\/(?!$)/i;
const STORE_SCHEME =
  /^(?:op|vault|bws|bitwarden|doppler|infisical|secrets?|keychain|keyring|pass|lpass|(?:aws-?)?(?:ssm|sm)|gsm|gcp-sm|akv|azurekv|ref\+\w+)$/i;
/** `$NAME`, `${NAME}`, `${input:NAME}`, `${{ secrets.NAME }}`, `{{NAME}}`, `%NAME%`. */
const UNFILLED = /^\$[A-Za-z_]\w*$|\$\{.*\}|^\{\{.*\}\}$|^%[A-Za-z_]\w*%$/s;
/** A command of a shell, in `$(…)` or in backticks. */
const COMMAND = /^\$\(.*\)$|^`.*`$/s;
/** An account of this program: its MCP servers find this text instead of a key. */
const OF_ACCOUNT = /^culvert-wrap:([^:]+):([^:]+)$/;

/** Sources of an account as the configuration of this program has them: each names a key that is elsewhere. */
const SOURCE = /^(env|file|keyring|pass|command):(?!\/\/)\S/;
/** References of stores that are no addresses: of AWS, Azure, Google Cloud, sops, dotenvx, and of programs. */
const NAMED =
  /^(?:arn:aws[\w-]*:(?:secretsmanager|ssm):|@Microsoft\.KeyVault\(|projects\/[^/]+\/secrets\/|ENC\[|encrypted:|(?:gopass|lpass|lastpass|bw|rbw|bitwarden|1password|keepassxc?|azkv|vault|hashivault|keychain|secrets?|ssm|aws-?(?:sm|ssm)|gsm|akv|doppler|infisical|bws|sops):)/;
/** Texts that examples have in place of a key, after the start that keys of a provider may have. */
const PLACEHOLDER = new RegExp(
  `^(?:[a-z]{2,6}[-_])?(?:${[
    '<.*>',
    '\\[.*\\]',
    '\\{.*\\}',
    '(?:.*[-_ ])?your[-_ ].*',
    'your(?:api)?(?:key|token|secret).*',
    '.*[-_ ](?:key|token|secret)[-_ ](?:goes[-_ ])?here',
    '(?:change|replace)[-_ ]?(?:me|this|with.*)',
    '(?:insert|enter|paste|add|put)[-_ ].*',
    '(?:placeholder|dummy|example|sample)(?:[-_ ](?:api[-_ ]?)?(?:key|token|secret))?',
    '(?:api|secret|access)[-_ ]?(?:key|token)',
    'todo|tbd|none|null|nil|undefined|redacted|n/a|optional|required|true|false|yes|no|on|off',
    'my[-_ ]?(?:key|token|secret)|fill[-_ ].*',
    '.*(?:\\.{3}|…|\\*{3}).*',
    '[x*.•…_-]{3,}',
    '.*(?:x{4,}|[•*]{3,})',
  ].join('|')})$`,
  'i',
);

/** Variables that hold one key or several, unlike those of passwords, which may have a comma. */
const OF_KEYS = /(?:key|token|secret)s?$/i;
const SEPARATORS = /\s*[,;|\r\n]\s*/;
/** A word of a list with blanks between its keys, unlike `Bearer` or a part of a sentence. */
const WORD_OF_LIST = /^(?=.*\d)[\w.:+/=-]{2,}$/;
/** A setting on the line of a key: `OPENAI_ORG=x`, unlike padding at the end of a key and in one (`sntrys_eyJp…0=_KzJk…`). */
const SETTING = /^(?:[A-Z_][A-Z\d_]*|[a-z_]+)=[^=]/;
/** A list in brackets, each key in quotes. */
const IN_BRACKETS = /^\[\s*(["'].*["'])\s*,?\s*\]$/s;
/** The number of a token in its database, and the token, as some frameworks write them. */
const NUMBERED = /^\d+\|[^|]+$/;

/** Why a text is no key but stands for one, with what to do, and without the text; `undefined` for any other text. */
export function referenceIn(text: string): string | undefined {
  const value = text.trim();
  const scheme = IN_STORE.exec(value)?.[1]?.toLowerCase();
  if (scheme !== undefined && STORE_SCHEME.test(scheme)) {
    const command = STORES[scheme];
    const how = command
      ? `--env VARIABLE='command:${command} …'`
      : 'a command that prints the key, as --env VARIABLE=command:…';
    return `it is a reference (${scheme}://…), not a key; add the account with ${how}`;
  }
  if (UNFILLED.test(value))
    return 'it stands for another variable and was not filled in; write the key, or add the account with --env VARIABLE=env:NAME';
  if (COMMAND.test(value))
    return "it is a command that was not run; write the key, or add the account with --env VARIABLE='command:…'";
  const source = SOURCE.exec(value)?.[1];
  if (source !== undefined)
    return `it is a reference (${source}:…), not a key; add the account with --env VARIABLE=${source}:…`;
  if (NAMED.test(value))
    return 'it is a reference to a key elsewhere; add the account with a command that prints the key: --env VARIABLE=command:…';
  if (PLACEHOLDER.test(value)) return 'it is a placeholder of an example, not a key; write the key in its place';
  return OF_ACCOUNT.test(value) ? 'it stands for an account that is there already' : undefined;
}

/** Texts that keys of a file do not look like, with the reason. The first that matches counts. */
const ODDITIES: [RegExp, string][] = [
  [SETTING, 'it is a setting, not a key; write it on a line of its own'],
  [/\s/, 'it has a blank in it, which no key has; write the key alone'],
  [/\\/, 'it has a backslash in it, which no key has; write the key alone'],
  [/[^\x21-\x7e]/, 'it has a character in it that no key has; write the key again'],
  [/["'`()[\]{}<>]/, 'it has a quote or a bracket in it, which no key has; write the key alone'],
  [/\$[A-Z_]{2,}/, 'it holds another variable that was not filled in; write the key itself'],
  [/^https?:\/\//i, 'it is an address, not a key'],
  [/^(?:~|\.{1,2})\/|^\/(?:[a-z.][\w.-]*\/)+[\w.-]*$/, 'it is a path, not a key'],
  [/^\d{4}-\d\d-\d\d(?:T|$)|^\d{1,3}$/, 'it is a number or a date, not a key'],
];

/** Why a part of a file is no key of a variable for keys, as `referenceIn` says it; `undefined` for a key and for other variables. */
export function oddityIn(text: string, variable: string): string | undefined {
  return OF_KEYS.test(variable) ? ODDITIES.find(([pattern]) => pattern.test(text))?.[1] : undefined;
}

/**
 * The keys of a text: one, or those of a list with commas, semicolons, bars, line breaks or blanks between them, or of one in brackets.
 * `Bearer` before a key belongs to a request, and is left out.
 * @param variable that gets the text
 * @param prefix start of every key of the provider, where it has one
 */
export function keysIn(text: string, variable: string, prefix = ''): string[] {
  if (!OF_KEYS.test(variable)) return [text];
  const inner = IN_BRACKETS.exec(text.trim())?.[1];
  if (inner !== undefined)
    return [...new Set(inner.split(SEPARATORS).map(part => part.replace(/^(["'])(.*)\1$/, '$2')))].filter(Boolean);
  const value = text.trim().replace(/^Bearer\s+(?=\S+$)/i, '');
  if (value !== text.trim()) return [value];
  if (NUMBERED.test(value) || referenceIn(value) !== undefined) return [text];
  const listed = value.split(SEPARATORS).filter(part => part !== '');
  const words = listed.flatMap(part => part.split(/[ \t]+/));
  const isKey = (word: string) =>
    (prefix !== '' && word.startsWith(prefix)) || WORD_OF_LIST.test(word) || SETTING.test(word);
  const parts = words.length > listed.length && words.every(isKey) ? words : listed;
  if (parts.some(part => /\s/.test(part))) return [text];
  if (parts.length < 2) return value === parts[0] || parts.length === 0 ? [text] : parts;
  // an editor may have wrapped one long key
  const isWrapped = /[\r\n]/.test(value) && !parts.every(part => prefix !== '' && part.startsWith(prefix));
  return isWrapped ? [text] : [...new Set(parts)];
}

/** The name of the account for each key of a list: `main`, `main-2`, `main-3`. */
export function nameOf(base: string, index: number): string {
  return index === 0 ? base : `${base}-${index + 1}`;
}

interface Reference {
  cli: string;
  name: string;
}

export function referenceTo({ cli, name }: Reference): string {
  return `culvert-wrap:${cli}:${name}`;
}

/** The account that a text refers to. */
export function accountIn(text: string): Reference | undefined {
  const [, cli, name] = OF_ACCOUNT.exec(text) ?? [];
  return cli === undefined || name === undefined ? undefined : { cli, name };
}

/** Reports whether a text can be a key: neither a variable of the client (`${NAME}`) nor a reference, ours or such as `op://`. */
export function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text) && !text.includes('://') && referenceIn(text) === undefined;
}

/** An environment without the variables that hold a reference: a program would take one for a key. */
export function withoutReferences(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => accountIn(value ?? '') === undefined));
}
