// Parses text that holds one key, a list of keys, or a reference to a key elsewhere. Pure.

/** The command that prints a key, by the scheme of a secret store's references. */
const STORES: Record<string, string> = {
  op: 'op read',
  vault: 'vault kv get',
  bws: 'bws secret get',
  doppler: 'doppler secrets get --plain',
  infisical: 'infisical secrets get',
};
/** Any URL, such as `op://vault/item/field`. `STORE_SCHEME` excludes web addresses, such as the value of a base URL. */
const IN_STORE = /^([a-z][a-z0-9+.-]*):\/\/(?!$)/i;
const STORE_SCHEME =
  /^(?:op|vault|bws|bitwarden|doppler|infisical|secrets?|keychain|keyring|pass|lpass|(?:aws-?)?(?:ssm|sm)|gsm|gcp-sm|akv|azurekv|ref\+\w+)$/i;
/** `$NAME`, `${NAME}`, `${input:NAME}`, `${{ secrets.NAME }}`, `{{NAME}}`, `%NAME%`. */
const UNFILLED = /^\$[A-Za-z_]\w*$|\$\{.*\}|^\{\{.*\}\}$|^%[A-Za-z_]\w*%$/s;
/** A shell command in `$(…)` or in backticks. */
const COMMAND = /^\$\(.*\)$|^`.*`$/s;
/** Reference to an account of this program; MCP servers get it instead of a key. */
const OF_ACCOUNT = /^culvert-wrap:([^:]+):([^:]+)$/;

/** A key's source, as this program's configuration writes it; the key itself is elsewhere. */
const SOURCE = /^(env|file|keyring|pass|command):(?!\/\/)\S/;
/** References without `://`, as AWS, Azure, Google Cloud, sops, dotenvx and password managers use them. */
const NAMED =
  /^(?:arn:aws[\w-]*:(?:secretsmanager|ssm):|@Microsoft\.KeyVault\(|projects\/[^/]+\/secrets\/|ENC\[|encrypted:|(?:gopass|lpass|lastpass|bw|rbw|bitwarden|1password|keepassxc?|azkv|vault|hashivault|keychain|secrets?|ssm|aws-?(?:sm|ssm)|gsm|akv|doppler|infisical|bws|sops):)/;
/** Placeholders for a key in examples, optionally after a key prefix such as `sk-`. */
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

/** Names of variables that hold one or more keys. Passwords are excluded: they may contain a comma. */
const OF_KEYS = /(?:key|token|secret)s?$/i;
const SEPARATORS = /\s*[,;|\r\n]\s*/;
/** A key in a list separated by blanks, unlike `Bearer` or a word of a sentence. */
const WORD_OF_LIST = /^(?=.*\d)[\w.:+/=-]{2,}$/;
/** A setting such as `OPENAI_ORG=x`, unlike `=` as padding at the end of a key or inside it (`sntrys_eyJp…0=_KzJk…`). */
const SETTING = /^(?:[A-Z_][A-Z\d_]*|[a-z_]+)=[^=]/;
/** A list in brackets, each key in quotes. */
const IN_BRACKETS = /^\[\s*(["'].*["'])\s*,?\s*\]$/s;
/** A token after its database ID, as some frameworks write it. */
const NUMBERED = /^\d+\|[^|]+$/;

/** Returns why a text only stands for a key, and what to do, without quoting the text; `undefined` for any other text. */
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

/** Patterns that no key in a file matches, with the reason. The first match counts. */
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

/** Returns why a text from a file is not a key; `undefined` for a key, or if the variable does not hold keys. */
export function oddityIn(text: string, variable: string): string | undefined {
  return OF_KEYS.test(variable) ? ODDITIES.find(([pattern]) => pattern.test(text))?.[1] : undefined;
}

/**
 * Returns the keys in a text: a single key, a list separated by commas, semicolons, bars, line breaks or blanks, or a list in
 * brackets. Omits `Bearer` before a key, which belongs to a request.
 * @param variable name of the variable that gets the text
 * @param prefix start of every key of the provider, if known
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

/** Returns the name of the account for a key in a list: `main`, `main-2`, `main-3`. */
export function nameOf(base: string, index: number): string {
  return index === 0 ? base : `${base}-${index + 1}`;
}

/** Returns the first free name among `main`, `main-2`, `main-3` and so on. */
export function freeName(base: string, isFree: (name: string) => boolean): string {
  for (let index = 0; ; index++) if (isFree(nameOf(base, index))) return nameOf(base, index);
}

interface Reference {
  cli: string;
  name: string;
}

export function referenceTo({ cli, name }: Reference): string {
  return `culvert-wrap:${cli}:${name}`;
}

/** Returns the account that a text refers to. */
export function accountIn(text: string): Reference | undefined {
  const [, cli, name] = OF_ACCOUNT.exec(text) ?? [];
  return cli === undefined || name === undefined ? undefined : { cli, name };
}

/** Reports whether a text can be a key, not a client's variable (`${NAME}`), our own reference, or one such as `op://`. */
export function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text) && !text.includes('://') && referenceIn(text) === undefined;
}

/** Returns the environment without references to accounts, which a program would mistake for keys. */
export function withoutReferences(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => accountIn(value ?? '') === undefined));
}
