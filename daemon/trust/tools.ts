// THE table of tools: where each looks for authorities, what adds to its list or replaces it, and how to see it connect.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { message } from '../view/message.ts';
import { valueIn } from './edit-text.ts';
import { textOf } from './files.ts';
import type { List, Look, Tool, Wanted } from './tool.ts';

/** OpenSSL, and what follows it. */
const opensslList = ({ env, system }: Look): List => ({
  files: [env.SSL_CERT_FILE || system?.path || ''].filter(Boolean),
  ownList: false,
});
const named = (files: (string | null | undefined)[], fallback: string | undefined): List => ({
  files: [files.find(Boolean) ?? fallback ?? ''].filter(Boolean),
  ownList: false,
});

const variable = (name: string, list: 'extra' | 'bundle'): Wanted => ({ kind: 'variable', name, list });

const setIn = (path: string, setting: { section: string | null; key: string }): string | null =>
  valueIn(textOf(path) ?? '', setting);

/** The first of the files that is there, or else the last. */
const firstThere = (paths: string[]) => paths.find(path => existsSync(path)) ?? paths.at(-1)!;

const nodeList = ({ env, system }: Look): List => {
  const usesSystem = env.NODE_USE_SYSTEM_CA === '1' || /--use-(system|openssl)-ca\b/.test(env.NODE_OPTIONS ?? '');
  return {
    files: [env.NODE_EXTRA_CA_CERTS, usesSystem ? env.SSL_CERT_FILE || system?.path : null].flatMap(path => path || []),
    ownList: true,
  };
};

const node: Tool = {
  id: 'node',
  title: 'Node.js',
  programs: ['node', 'nodejs'],
  list: async (_, look) => nodeList(look),
  connect: ({ url }) => ({ args: ['-e', NODE_PROBE, url] }),
  instead: file => ({ env: { NODE_EXTRA_CA_CERTS: file } }),
  wanted: () => variable('NODE_EXTRA_CA_CERTS', 'extra'),
  offHint: message('Remove %s from your environment.', 'NODE_TLS_REJECT_UNAUTHORIZED=0'),
};
const NODE_PROBE =
  "require('https').get(process.argv[1],r=>r.resume()).on('error',e=>{console.error(e.code,e.message);process.exitCode=1})";

const curlrc = ({ env, home, config }: Look) =>
  firstThere([
    ...(env.CURL_HOME ? [join(env.CURL_HOME, '.curlrc')] : []),
    join(config, '.curlrc'),
    join(config, 'curlrc'),
    join(home, '.curlrc'),
  ]);

const curl: Tool = {
  id: 'curl',
  title: 'curl',
  programs: ['curl'],
  list: async (_, look) =>
    named(
      [setIn(curlrc(look), { section: null, key: 'cacert' }), look.env.CURL_CA_BUNDLE, look.env.SSL_CERT_FILE],
      look.system?.path,
    ),
  connect: ({ url }) => ({ args: ['-sS', '-o', '/dev/null', '--max-time', '10', url] }),
  instead: file => ({ args: ['--cacert', file] }),
  wanted: look => ({
    kind: 'setting',
    path: curlrc(look),
    section: null,
    key: 'cacert',
    list: 'bundle',
    line: path => `cacert = "${path}"`,
  }),
  offHint: message('Remove %s from %s.', 'insecure', '~/.curlrc'),
};

const python = (args: string): Pick<Tool, 'programs' | 'connect'> => ({
  programs: ['python3', 'python'],
  connect: ({ url }) => ({ args: ['-c', args, url] }),
});
const printed = async (program: string, look: Look, code: string) =>
  (await look.ask(program, '-c', code))?.trim() || undefined;

const pythonSsl: Tool = {
  id: 'python',
  title: 'Python',
  ...python('import sys,urllib.request as u; u.urlopen(sys.argv[1],timeout=10)'),
  list: async (_, look) => opensslList(look),
  instead: file => ({ env: { SSL_CERT_FILE: file } }),
  wanted: () => variable('SSL_CERT_FILE', 'bundle'),
  offHint: message('Remove %s from your environment.', 'PYTHONHTTPSVERIFY=0'),
};

const pythonRequests: Tool = {
  id: 'python-requests',
  title: 'Python requests',
  ...python('import sys,requests; requests.get(sys.argv[1],timeout=10)'),
  async list(program, look) {
    const own = await printed(program, look, 'import requests.certs as c; print(c.where())');
    return own ? named([look.env.REQUESTS_CA_BUNDLE, look.env.CURL_CA_BUNDLE], own) : null;
  },
  instead: file => ({ env: { REQUESTS_CA_BUNDLE: file } }),
  wanted: () => variable('REQUESTS_CA_BUNDLE', 'bundle'),
  offHint: message('Remove what turns verification off from your Python environment.'),
};

const pythonHttpx: Tool = {
  id: 'python-httpx',
  title: 'Python httpx',
  ...python('import sys,httpx; httpx.get(sys.argv[1],timeout=10)'),
  async list(program, look) {
    const own = await printed(program, look, 'import httpx, certifi; print(certifi.where())');
    return own ? named([look.env.SSL_CERT_FILE], own) : null;
  },
  instead: file => ({ env: { SSL_CERT_FILE: file } }),
  wanted: () => variable('SSL_CERT_FILE', 'bundle'),
  offHint: message('Remove what turns verification off from your Python environment.'),
};

export const TOOLS: readonly Tool[] = [node, pythonSsl, pythonRequests, pythonHttpx, curl];
