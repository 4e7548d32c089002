// Lists what has a store of authorities for which only an administrator's commands help, and what nothing here reaches.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TrustTool } from '../../api/trust.ts';
import type { Message } from '../../api/values.ts';
import { message, wordMessage } from '../../view/message.ts';
import { english, N_ } from '../../view/translator.ts';
import { CHROMIUM, FIREFOX } from './browsers.ts';
import { findProgram, type Look, type Tool } from './tool.ts';

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

const hasEntries = (path: string) => {
  try {
    return readdirSync(path).length > 0;
  } catch {
    return false;
  }
};

const BROWSER = message(
  'It has a store of its own. Install %s to change it, or import the certificate in the settings of the browser.',
  'certutil (libnss3-tools, nss-tools)',
);
const lacksCertutil =
  (programs: readonly string[]) =>
  ({ env }: Look) =>
    findProgram(programs, env) !== null && findProgram(['certutil'], env) === null;

const UNREACHED: readonly Unreached[] = [
  {
    id: 'containers',
    title: N_('Containers'),
    isHere: ({ env }) => findProgram(['docker', 'podman'], env) !== null,
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

/** Names what is here and can't be reached. */
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
