// Judges the commands in backticks that knowledge of WARP names, and that people copy.
import { plainVariable } from './rule-values.ts';

/** The words that may follow a program, as one text; `''` is the program alone. */
type Allowed = RegExp;

const PACKAGE = '[a-z0-9][a-z0-9.+-]*';
const UNIT = '\\w[\\w@.-]*';
/** Programs for root that texts may name. */
const AS_ROOT: Record<string, Allowed> = {
  // the reader chooses an organization, so no text names one
  'warp-cli': /^(?!.*\b(?:new|token) (?![A-Z]+$|<)).*$/,
  'warp-diag': /^(?:feedback)?$/,
  systemctl: new RegExp(
    `^(?:(?:start|stop|restart|try-restart|status|show|cat|enable|disable|is-active|is-enabled|reset-failed|daemon-reload|list-units)(?: (?:--now|--no-pager|--value|-p|${UNIT}))*)?$`,
  ),
  journalctl:
    /^(?:(?:-[bfexkrq]+|-[unpgo]|--(?:no-pager|(?:unit|since|until|boot|lines|grep|output)=[\w@.-]+)|[\w@.][\w@.-]*)(?: |$))*$/,
  resolvectl: /^(?:status|query|statistics|flush-caches)?(?: [a-z0-9][\w.-]*)?$/,
  nmcli: /^(?:(?:general|device|connection|networking)(?: (?:status|show|up|down|reapply))?(?: [A-Za-z0-9][\w.-]*)?)?$/,
  nft: /^(?:(?:-a )?list (?:ruleset|tables|table [\w -]+))?$/,
  ip: /^(?:-(?:4|6|j|br|d|s) )*(?:addr|address|link|route|rule|neigh)(?: [\w.:/][\w.:/-]*)*$/,
  ss: /^(?:-[lntuapw46]+)?$/,
  dpkg: new RegExp(`^(?:--configure -a|(?:-l|-s|-L|--list|--status|--listfiles) ${PACKAGE})$`),
  apt: new RegExp(
    `^(?:update|upgrade|(?:install|policy|show|list)(?: (?:--reinstall|--only-upgrade|-y|${PACKAGE}))+)$`,
  ),
  'apt-get': new RegExp(`^(?:update|upgrade|install(?: (?:--reinstall|--only-upgrade|-y|${PACKAGE}))+)$`),
  dnf: new RegExp(`^(?:upgrade|reinstall|install|info)(?: (?:-y|${PACKAGE}))*$`),
  rpm: new RegExp(`^-q(?:[ail])? ${PACKAGE}$`),
  pacman: new RegExp(`^-(?:S|Syu|Q|Qi|Ql)(?: ${PACKAGE})*$`),
};
/** Further programs. With these words they only read, apart from the commands of Culvert itself. */
const ALLOWED: Record<string, Allowed> = {
  ...AS_ROOT,
  culvert:
    /^(?:(?:status|doctor|explain|logs|version)(?: (?:--?[a-z-]+|[\w,-]+))*|protocol(?: [\w-]+)?|account(?: delete| register(?: --organization [A-Z]+)?)?)$/,
  'culvert-wrap': /^(?:status|explain|doctor|accounts list)(?: [\w-]+)*$/,
  gpg: /^--(?:show-keys|list-keys|fingerprint)(?: [\w./-]+)*$/,
  printf: /^[^-]/,
  sort: /^(?:-[bfghnruV]+ ?)*$/,
  timedatectl: /^(?:(?:status|show)(?: -p \w+)*)?$/,
  xmllint: /^--noout(?: \/[\w./-]+)?$/,
};
const READERS = /^(?:cat|dig|echo|getent|grep|head|id|ls|lsmod|pgrep|ping|tail|uname|wc)$/;
/** Groups of `warp-cli` commands, which texts name without the program: `tunnel stats`. */
const GROUPS =
  /^(?:certs|connector|debug|dns|environment|mdm|mode|override|proxy|registration|search|settings|target|trusted|tunnel|vnet)$/;
/**
 * Texts that are no command: a line of output such as `Mode: Warp`, the place of a command (daemon/doctor/knowledge.ts), and that of a
 * secret in a workflow. A name with a value, `NAME=value`, may precede a command.
 */
const OUTPUT =
  /^(?:[A-Z][A-Za-z]+\b(?!=)(?:[^`|;&$<>\\\n]|\$(?=[A-Z]))*|\{[a-z][a-z -]*\}|\$\{\{ [\w.]+ \}\}|\(network policy\)|->)$/;
/** Programs whose name alone says what to start. */
const NEVER =
  /^(?:sh|bash|dash|ksh|zsh|fish|t?csh|su|sudo|pkexec|doas|run0|eval|exec|source|env|python[\d.]*|perl|ruby|node|npm|npx|pip3?|curl|wget|nc|ncat|socat|ssh|visudo|crontab|passwd)$/;
/** Directories of the system's commands. A file at any other path may belong to any user. */
export const SYSTEM = /^\/(?:usr\/)?s?bin\//;
const ASSIGNMENT = /^(\w+)\+?=/;

/**
 * Returns the command of a text that knowledge may not name, or why its commands can't be distinguished from its prose.
 * @param text a sentence with commands in backticks
 */
export function explainCommands(text: string): string | undefined {
  const parts = text.split('`');
  if (parts.length % 2 === 0) return `has a backtick without another: ${JSON.stringify(text.slice(0, 80))}`;
  for (const [at, part] of parts.entries()) {
    const isSpan = at % 2 === 1;
    // with a backtick more in front, a reader takes what is between two spans for a command
    const isBetween = !isSpan && at > 0 && at < parts.length - 1 && /^[\w~./$].*\S$/s.test(part);
    if (isSpan && part !== part.trim()) return `has a backtick next to a blank: ${JSON.stringify(text.slice(0, 80))}`;
    if ((isSpan || isBetween) && isForbiddenSpan(part))
      return `can't name the command ${JSON.stringify(part.slice(0, 80))}`;
  }
  return undefined;
}

function isForbiddenSpan(span: string): boolean {
  if (OUTPUT.test(span)) return false;
  return span.split(/\|\|?|&&?|;|\n|\$\(|[<>]\(|[()]/).some(command => isForbidden(command.trim().split(/\s+/)));
}

/** @param words words of one simple command */
function isForbidden(words: string[]): boolean {
  const variable = ASSIGNMENT.exec(words[0]!)?.[1];
  // a variable may choose what the program after it loads
  if (variable !== undefined) return words.length > 1 || plainVariable(variable.toUpperCase()) !== undefined;
  if (redirects(words)) return true;
  const [first = '', ...rest] = words;
  const name = first.replace(SYSTEM, '');
  if (name === 'sudo') {
    const [program = '', ...own] = rest;
    const root = program.replace(SYSTEM, '');
    return !Object.hasOwn(AS_ROOT, root) || !AS_ROOT[root]!.test(own.join(' '));
  }
  // one word is also the name of a setting, a file or a field
  if (rest.length === 0) return NEVER.test(name.slice(name.lastIndexOf('/') + 1).replace(/^\\/, ''));
  if (rest.length === 1 && /^--(?:version|help)$/.test(rest[0]!) && /^[a-z][\w-]*$/.test(name)) return NEVER.test(name);
  const all = GROUPS.test(name) ? ['warp-cli', ...words] : [name, ...rest];
  const allowed = Object.hasOwn(ALLOWED, all[0]!) ? ALLOWED[all[0]!] : undefined;
  return allowed ? !allowed.test(all.slice(1).join(' ')) : !READERS.test(name);
}

/** Reports whether a command writes to a file: only the last word may be the place of a word, `<KEY>`, and a quoted one may have tags. */
function redirects(words: readonly string[]): boolean {
  const tags = /^'(?:<\/?\w+>|\w+)+'$/;
  const others = words.filter((word, at) => !tags.test(word) && !(at === words.length - 1 && /^<[\w-]+>$/.test(word)));
  if (others.some(word => word.includes('>'))) return true;
  return words.some(word => tags.test(word)) && others.some(word => /['"\\]/.test(word));
}
