// Reads the policy file of an organization, a property list with one or several configurations, and judges what WARP makes of it.
import { lstatSync, readlinkSync } from 'node:fs';
import { SaxesParser } from 'saxes';
import type { RegistrationCause } from '../../api/tunnel.ts';
import type { Message } from '../../api/values.ts';
import { errno, reason } from '../../core/errors.ts';
import { readText } from '../../core/files.ts';
import { message, quoted } from '../../view/message.ts';
import { compareVersions } from '../../view/versions.ts';

/** The file that WARP's service reads (Cloudflare, "Deploy WARP", parameters for Linux). */
export const POLICY_FILE = '/var/lib/cloudflare-warp/mdm.xml';

export interface Dictionary {
  /** Values by key. Secret values never leave the programs that read the file. */
  values: Map<string, string>;
  /** Keys that occur more than once. */
  repeated: string[];
  /** Keys with an element that is no value of a property list, and the name of the element. */
  strange: [key: string, element: string][];
  /** Keys without a value, or with a list instead of one; `values` has an empty text for each. */
  empty: string[];
  /** Key of the list that contains the dictionary; null for the outermost dictionary. */
  inside: string | null;
}

interface Plist {
  /** Why the file is not well-formed, in one line; null if it is. */
  error: string | null;
  /** All dictionaries, in order; empty if the file is not well-formed. */
  dictionaries: Dictionary[];
}

/** Elements that are values in Apple's document type for property lists, 1.0. */
const VALUES = ['string', 'true', 'false', 'integer', 'real', 'date', 'data', 'array', 'dict'];

/** Keys that only a machine of an organization has, with or without a value. */
const OF_ORGANIZATION = ['organization', 'auth_client_id', 'auth_client_secret'];

/** Returns the dictionaries of a property list, or the reason why it is not well-formed. */
function parsePlist(text: string): Plist {
  const all: Dictionary[] = [];
  const parser = new SaxesParser();
  const open: string[] = [];
  /** The open dictionaries, each with the last key. */
  const stack: { dictionary: Dictionary; key: string | null }[] = [];
  let content = '';
  try {
    parser.on('error', error => {
      throw error;
    });
    parser.on('opentag', ({ name }) => {
      if (name === 'dict') {
        const inside = stack.at(-1)?.key ?? null;
        const dictionary: Dictionary = { values: new Map(), repeated: [], strange: [], empty: [], inside };
        all.push(dictionary);
        stack.push({ dictionary, key: null });
      }
      open.push(name);
      content = '';
    });
    const add = (piece: string) => {
      content += piece;
    };
    parser.on('text', add);
    parser.on('cdata', add);
    parser.on('closetag', ({ name }) => {
      open.pop();
      if (name === 'dict') {
        const ended = stack.pop();
        if (ended?.key != null) takeNothing(ended.dictionary, ended.key);
      }
      const present = stack.at(-1);
      if (!present || open.at(-1) !== 'dict') return;
      if (name === 'key') {
        if (present.key !== null) takeNothing(present.dictionary, present.key);
        present.key = content.trim();
      } else {
        const isList = name === 'array' || name === 'dict';
        if (present.key !== null && !isList) take(present.dictionary, present.key, name, content.trim());
        else if (present.key !== null && OF_ORGANIZATION.includes(present.key))
          takeNothing(present.dictionary, present.key);
        present.key = null;
      }
    });
    parser.write(text).close();
  } catch (error) {
    return { error: reason(error).split('\n')[0]!, dictionaries: [] };
  }
  return { error: null, dictionaries: all };
}

function take({ values, repeated, strange }: Dictionary, key: string, element: string, content: string): void {
  if (values.has(key)) repeated.push(key);
  if (!VALUES.includes(element)) strange.push([key, element]);
  values.set(key, element === 'true' || element === 'false' ? element : content);
}

function takeNothing({ values, empty }: Dictionary, key: string): void {
  empty.push(key);
  if (!values.has(key)) values.set(key, '');
}

/** The policy file as it lies there. Of a file in a directory that this user may not search, only the path is known. */
export interface PolicyFile {
  path: string;
  /** Target of a symbolic link; null for any other file. */
  link: string | null;
  uid: number;
  gid: number;
  mode: number;
  /** False for a directory or a device. */
  isFile: boolean;
  /** null for a link, and for a file that this user may not read. */
  text: string | null;
  /** True if this user may not even see what kind of file it is. */
  isUnseen?: true;
}

/** A file that can't be inspected: it is assumed to exist and to be readable by root only. */
const unseenFile = (path: string): PolicyFile => ({
  path,
  link: null,
  uid: 0,
  gid: 0,
  mode: 0o640,
  isFile: true,
  text: null,
  isUnseen: true,
});

/** Reads the policy file; null if the file does not exist. A user who may not search its directory can't know whether it exists. */
export function readPolicyFile(path: string): PolicyFile | null {
  try {
    const info = lstatSync(path);
    const { uid, gid, mode } = info;
    const link = info.isSymbolicLink() ? readlinkSync(path) : null;
    const isFile = info.isFile();
    return { path, link, uid, gid, mode, isFile, text: isFile ? readText(path) : null };
  } catch (error) {
    return isMissing(error) ? null : unseenFile(path);
  }
}

/** True for the error of a path that does not exist. */
const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errno(error) ?? '');

/** Causes that lie in the policy file. */
type PolicyCause = Extract<RegistrationCause['code'], `policy-${string}`>;

export interface Fault {
  /** null for a mistake that has nothing to do with the registration. */
  code: PolicyCause | null;
  /** Description of the fault, without any value of the file. */
  seen: Message;
}

export interface Policy {
  /**
   * True if an organization manages this machine: the file names one, or it is unknown because the file is empty or can't be
   * read. Then only the file or a sign-in may register the device.
   */
  managed: boolean;
  /** Faults of the file as a whole; WARP then uses nothing of it. */
  faults: Fault[];
  /** One for each organization to choose, in the order of the file. */
  configurations: Dictionary[];
  /** See `PolicyFile`. */
  isUnseen?: true;
}

/** Policy of a machine without a policy file. */
export const NO_POLICY: Policy = { managed: false, faults: [], configurations: [] };

const unusable = (code: PolicyCause, seen: Message, managed = true): Policy => ({
  managed,
  faults: [{ code, seen }],
  configurations: [],
});

/**
 * Judges a policy file.
 * @param root the user id of root; another one in a test
 * @param version version of WARP; null if unknown
 */
export function judgePolicy(file: PolicyFile | null, root = 0, version: string | null = null): Policy {
  if (!file) return NO_POLICY;
  const { path, link, text } = file;
  // WARP opens the file without following a link (ELOOP, os error 40; Bad3r/nixos pull request 504, 2026-09)
  if (link !== null) return unusable('policy-link', message('%s is a symbolic link to %s', path, link));
  if (!file.isFile) return unusable('policy-form', message('%s is not a regular file.', path));
  if (isClosedToService(file, root) && !readsAllFiles(version)) {
    const mode = (file.mode & 0o777).toString(8);
    const seen = message('%s belongs to user %s, with mode %s', path, String(file.uid), mode);
    return unusable('policy-owner', seen, text === null || judgeText(path, text).managed);
  }
  if (text === null)
    return {
      ...unusable('policy-hidden', message('You may not read %s.', path)),
      ...(file.isUnseen ? { isUnseen: true } : {}),
    };
  return judgeText(path, text);
}

function judgeText(path: string, text: string): Policy {
  // versions before 2026.3.846.0 take an empty file for a configuration (Cloudflare's release notes)
  if (text === '') return unusable('policy-form', message('%s is empty', path));
  // text in UTF-8 has no zero bytes
  if (text.includes('\0')) return unusable('policy-form', message('%s is in UTF-16', path));
  const { error, dictionaries } = parsePlist(text);
  if (error !== null) return unusable('policy-form', quoted(`${path}: ${error}`));
  // a dictionary inside another key, such as organization_configs, is no configuration
  const filled = dictionaries.filter(({ values }) => values.size > 0);
  const configurations = filled.filter(({ inside }) => inside === null || inside === LIST);
  // only an empty dictionary is known to name no organization
  if (configurations.length === 0)
    return unusable(
      'policy-form',
      message('%s has no <dict> with settings', path),
      dictionaries.length === 0 || filled.length > 0,
    );
  return { managed: filled.some(namesOrganization), faults: [], configurations };
}

/** Describes what an editor of Windows left in a file, which is no fault of XML. */
export function tracesOfWindows({ text }: PolicyFile): Message[] {
  return [
    ...(text?.startsWith('\ufeff') ? [message('It begins with a byte order mark.')] : []),
    ...(text?.includes('\r\n') ? [message('It has the line ends of Windows.')] : []),
  ];
}

/**
 * True if WARP's service has the right to read all files: its unit listed CAP_NET_ADMIN, CAP_NET_BIND_SERVICE and
 * CAP_SYS_PTRACE, and lists CAP_DAC_OVERRIDE from 2026.7 on.
 */
const readsAllFiles = (version: string | null) => version !== null && compareVersions(version, '2026.7') >= 0;

/** True if root may not read a file without the right to read all files. */
function isClosedToService({ uid, gid, mode }: PolicyFile, root: number): boolean {
  const bit = uid === root ? 0o400 : gid === 0 ? 0o040 : 0o004;
  return (mode & bit) === 0;
}

const namesOrganization = ({ values }: Dictionary) => OF_ORGANIZATION.some(key => values.has(key));

/** Key of a list of configurations. */
const LIST = 'configs';

/**
 * True for a configuration in the list `configs`. Cloudflare wrote on 2024-03-28 that WARP does not support this key in
 * XML (cloudflare-docs pull request 13658), and shows it in the examples of 2026.
 */
export const isListed = ({ inside }: Dictionary): boolean => inside === LIST;

/** Returns the name under which the user chooses a configuration. */
export const nameOf = ({ values }: Dictionary): string =>
  values.get('display_name') ?? values.get('organization') ?? '–';

/** True if a configuration has a whole service token, with which WARP registers the device. */
export const hasToken = ({ values }: Dictionary): boolean =>
  ['auth_client_id', 'auth_client_secret'].every(key => values.get(key));

/** True for the bare name of a team. */
export const isOrganization = (name: string): boolean => /^[A-Za-z0-9-]{1,63}$/.test(name);

/** Names of values that a program should have filled in: `$ORG`, `${ORG}`, `%ORG%`, `{{ org }}`. */
const PLACEHOLDER = /\$\{\w+\}|\$[A-Za-z_]\w*|%\w+%|\{\{.*\}\}/;
/** Values that may contain a `$`, as a secret and a name for people can. */
const FREE_TEXT = new Set(['auth_client_secret', 'display_name', 'support_url']);
const SERVICE_MODES = ['warp', '1dot1', 'proxy', 'postureonly', 'tunnelonly'];

/** Returns the faults of a configuration, such as half of a pair or an unknown value, those of the registration first. */
export function faultsOf({ values, repeated, strange, empty }: Dictionary): Fault[] {
  const has = (name: string) => values.has(name);
  const faults: Fault[] = [];
  const add = (code: Fault['code'], seen: Message) => faults.push({ code, seen });
  for (const [name, value] of values)
    if (isPlaceholder(name, value))
      add('policy-variables', message('%s has a placeholder that was not replaced', name));
  if (has('auth_client_id') !== has('auth_client_secret'))
    add(
      'policy-token',
      message(
        '%s is missing: a service token is a pair',
        has('auth_client_id') ? 'auth_client_secret' : 'auth_client_id',
      ),
    );
  for (const name of ['auth_client_id', 'auth_client_secret'])
    if (values.get(name) === '') add('policy-token', message('%s is empty', name));
  const id = values.get('auth_client_id');
  if (id && !id.endsWith('.access')) add('policy-token', message('%s does not end in %s', 'auth_client_id', '.access'));
  if (has('auth_client_id') && !has('organization'))
    add('policy-token', message('a service token needs %s as well', 'organization'));
  const organization = values.get('organization');
  if (organization !== undefined && !isOrganization(organization))
    add('policy-organization', message('%s is not the bare name of a team', 'organization'));
  for (const name of empty) add(null, message('%s has no value', name));
  for (const name of repeated) add(null, message('%s appears twice', name));
  for (const [name, element] of strange)
    add(null, message('%s has the value <%s/>, which does not exist', name, element));
  const mode = values.get('service_mode');
  if (mode !== undefined && !SERVICE_MODES.includes(mode))
    add(null, message('%s has a value that is not documented', 'service_mode'));
  if (mode === 'proxy' && !has('proxy_port'))
    add(null, message('%s is missing: %s needs it', 'proxy_port', 'service_mode proxy'));
  return faults;
}

/** True for a value that is nothing but a placeholder; names of teams and tokens contain none at all. */
function isPlaceholder(name: string, value: string): boolean {
  const found = PLACEHOLDER.exec(value)?.[0];
  return found !== undefined && (!FREE_TEXT.has(name) || found.length === value.length);
}
