// Defines the browsers and stores with their own certificates: the user's NSS databases, stores that only an administrator can
// change, and programs that Culvert can't reach.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TrustTool } from '../../api/trust.ts';
import type { Message } from '../../api/values.ts';
import { namesIn } from '../../core/files.ts';
import { message, wordMessage } from '../../view/message.ts';
import { english, N_ } from '../../view/translator.ts';
import { firstProgram, type List, type Look, type Tool } from './tool.ts';

const CHROMIUM = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'brave-browser',
  'microsoft-edge',
];
const FIREFOX = ['firefox', 'firefox-esr'];
const DATABASE = 'cert9.db';
/** Maximum number of databases, and of certificates in each. */
const LIMIT = 50;

const exists = (directory: string) => existsSync(join(directory, DATABASE));

/** Returns Chromium's database. Version 146 and newer use the new place, but only if the old place has no database. */
function chromiumDatabase({ env, home }: Look): string {
  const old = join(home, '.pki', 'nssdb');
  const data = env.XDG_DATA_HOME?.startsWith('/') ? env.XDG_DATA_HOME : join(home, '.local', 'share');
  const current = join(data, 'pki', 'nssdb');
  // older versions know only the old place
  return !exists(old) && exists(current) ? current : old;
}

/** Returns the profiles of Firefox and its snap. Since version 147, Firefox has a new place for them. */
function firefoxProfiles({ home, config }: Look): string[] {
  const places = [
    join(home, '.mozilla', 'firefox'),
    join(config, 'mozilla', 'firefox'),
    join(home, 'snap', 'firefox', 'common', '.mozilla', 'firefox'),
  ];
  return places
    .flatMap(place => namesIn(place).map(name => join(place, name)))
    .filter(exists)
    .slice(0, LIMIT);
}

const NICKNAME = /^(.+?)\s+([a-zA-Z]*),[a-zA-Z]*,[a-zA-Z]*\s*$/;

/** Returns a database's authorities that may sign server certificates. */
async function authoritiesOf(directory: string, look: Look): Promise<string[]> {
  const listed = await look.ask('certutil', '-L', '-d', `sql:${directory}`);
  const names = (listed ?? '').split('\n').flatMap(line => {
    const [, name, flags = ''] = NICKNAME.exec(line) ?? [];
    return name && flags.includes('C') ? [name] : [];
  });
  const texts = names
    .slice(0, LIMIT)
    .map(name => look.ask('certutil', '-L', '-d', `sql:${directory}`, '-n', name, '-a'));
  return (await Promise.all(texts)).flatMap(text => text?.trim() || []);
}

async function listOf(directories: readonly string[], look: Look): Promise<List | null> {
  if (!firstProgram(['certutil'], look.env)) return null;
  const stores = await Promise.all(
    directories.map(async (each): Promise<string[]> => (exists(each) ? await authoritiesOf(each, look) : [])),
  );
  const all = stores.flat();
  const shared = all.filter(text => stores.every(store => store.includes(text)));
  return { files: [], ownList: true, text: shared.join('\n'), someText: all.join('\n') };
}

const chromium: Tool = {
  id: 'chromium',
  title: 'Chromium',
  programs: CHROMIUM,
  list: async (_, look) => listOf([chromiumDatabase(look)], look),
  wanted: look => ({ kind: 'nss', directories: [chromiumDatabase(look)] }),
  offHint: null,
};

const POLICIES = '/etc/firefox/policies';

const firefox: Tool = {
  id: 'firefox',
  title: 'Firefox',
  programs: FIREFOX,
  list: async (_, look) => listOf(firefoxProfiles(look), look),
  wanted(look) {
    const directories = firefoxProfiles(look);
    return directories.length > 0 ? { kind: 'nss', directories } : null;
  },
  // for future profiles
  administrator(file, _, { root }) {
    const policy = JSON.stringify({ policies: { Certificates: { Install: [file] } } });
    const path = `${POLICIES}/policies.json`;
    if (existsSync(root + path)) return [`# add to ${path}: ${policy}`];
    return [`mkdir -p ${POLICIES}`, `printf '%s\\n' '${policy}' > ${path}`];
  },
  offHint: null,
};

export const BROWSERS: readonly Tool[] = [chromium, firefox];

const ANCHORS = '/etc/pki/ca-trust/source/anchors';

const system: Tool = {
  id: 'system',
  title: N_('List of the system'),
  programs: [],
  list: async (_, look) => (look.system ? { files: [look.system.path], ownList: false } : null),
  administrator: (file, name, { root }) =>
    existsSync(root + ANCHORS)
      ? [`install -m 644 '${file}' ${ANCHORS}/${name}.pem`, 'update-ca-trust']
      : [`install -m 644 '${file}' /usr/local/share/ca-certificates/${name}.crt`, 'update-ca-certificates'],
  offHint: null,
};

const java: Tool = {
  id: 'java',
  title: 'Java',
  programs: ['keytool'],
  async list(program, look) {
    const text = await look.ask(program, '-list', '-rfc', '-cacerts', '-storepass', 'changeit');
    return text === null ? null : { files: [], ownList: true, text };
  },
  administrator: (file, name) => [
    `keytool -importcert -noprompt -cacerts -storepass changeit -alias ${name} -file '${file}'`,
  ],
  offHint: null,
};

export const STORES: readonly Tool[] = [system, java];

interface Unreached {
  id: string;
  title: string;
  isHere(look: Look): boolean;
  reason: Message;
}

const hasEntries = (path: string) => namesIn(path).length > 0;

const BROWSER = message(
  'It has a store of its own. Install %s to change it, or import the certificate in the settings of the browser.',
  'certutil (libnss3-tools, nss-tools)',
);
const lacksCertutil =
  (programs: readonly string[]) =>
  ({ env }: Look) =>
    firstProgram(programs, env) !== null && firstProgram(['certutil'], env) === null;

const UNREACHED: readonly Unreached[] = [
  {
    id: 'containers',
    title: N_('Containers'),
    isHere: ({ env }) => firstProgram(['docker', 'podman'], env) !== null,
    reason: message('Each image has its own list: mount the certificate, or add it when the image is built.'),
  },
  {
    id: 'snaps',
    title: N_('Snaps'),
    isHere: ({ root }) => hasEntries(`${root}/snap/bin`),
    reason: message('Snaps have lists of their own, which nothing on this machine changes.'),
  },
  {
    id: 'flatpaks',
    title: N_('Flatpaks'),
    isHere: ({ root, home }) =>
      hasEntries(`${root}/var/lib/flatpak/app`) || hasEntries(join(home, '.local/share/flatpak/app')),
    reason: message('Flatpaks have lists of their own, which nothing on this machine changes.'),
  },
  {
    id: 'chromium',
    title: 'Chromium',
    isHere: lacksCertutil(CHROMIUM),
    reason: BROWSER,
  },
  {
    id: 'firefox',
    title: 'Firefox',
    isHere: lacksCertutil(FIREFOX),
    reason: BROWSER,
  },
];

/** Returns the installed tools with lists that Culvert can't reach. */
export function unreached(look: Look, ids: readonly string[] | undefined): TrustTool[] {
  const here = UNREACHED.filter(({ id, isHere }) => (ids?.includes(id) ?? true) && isHere(look));
  return here.map(({ id, title, reason }) => ({
    id,
    title,
    program: null,
    verdict: 'not-reached',
    reasons: [wordMessage(reason, english)],
    wording: [reason],
    applied: false,
    newSessions: false,
    changes: [],
    administrator: [],
  }));
}
