// Lists browsers, which have stores of their own: NSS databases of the user, and policies of an administrator.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../../system/files.ts';
import { findProgram, type List, type Look, type Tool } from './tool.ts';

export const CHROMIUM = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'brave-browser',
  'microsoft-edge',
];
export const FIREFOX = ['firefox', 'firefox-esr'];
const DATABASE = 'cert9.db';
/** More than that are of no person. */
const MOST = 50;

const exists = (directory: string) => existsSync(join(directory, DATABASE));

/** Chromium reads one: the new place (version 146 and newer) only while nothing is at the old one. */
function chromiumDatabase({ env, home }: Look): string {
  const old = join(home, '.pki', 'nssdb');
  const data = env.XDG_DATA_HOME?.startsWith('/') ? env.XDG_DATA_HOME : join(home, '.local', 'share');
  const current = join(data, 'pki', 'nssdb');
  // older versions know only the old one
  return !exists(old) && exists(current) ? current : old;
}

/** Profiles of Firefox, which has them in a new place since version 147, and of its snap. */
function firefoxProfiles({ home, config }: Look): string[] {
  const places = [
    join(home, '.mozilla', 'firefox'),
    join(config, 'mozilla', 'firefox'),
    join(home, 'snap', 'firefox', 'common', '.mozilla', 'firefox'),
  ];
  return places
    .flatMap(place => namesIn(place).map(name => join(place, name)))
    .filter(exists)
    .slice(0, MOST);
}

const NICKNAME = /^(.+?)\s+([a-zA-Z]*),[a-zA-Z]*,[a-zA-Z]*\s*$/;

/** The authorities of a database that may sign servers. */
async function authoritiesOf(directory: string, look: Look): Promise<string[]> {
  const listed = await look.ask('certutil', '-L', '-d', `sql:${directory}`);
  const names = (listed ?? '').split('\n').flatMap(line => {
    const [, name, flags = ''] = NICKNAME.exec(line) ?? [];
    return name && flags.includes('C') ? [name] : [];
  });
  const texts = names
    .slice(0, MOST)
    .map(name => look.ask('certutil', '-L', '-d', `sql:${directory}`, '-n', name, '-a'));
  return (await Promise.all(texts)).flatMap(text => text?.trim() || []);
}

async function listOf(directories: readonly string[], look: Look): Promise<List | null> {
  if (!findProgram(['certutil'], look.env)) return null;
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
  // for profiles to come
  administrator(file, _, { root }) {
    const policy = JSON.stringify({ policies: { Certificates: { Install: [file] } } });
    const path = `${POLICIES}/policies.json`;
    if (existsSync(root + path)) return [`# add to ${path}: ${policy}`];
    return [`mkdir -p ${POLICIES}`, `printf '%s\\n' '${policy}' > ${path}`];
  },
  offHint: null,
};

export const BROWSERS: readonly Tool[] = [chromium, firefox];
