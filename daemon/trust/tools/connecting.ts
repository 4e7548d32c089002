// Defines the tools that connect to servers, with each tool's list of authorities, a change of the list and a test command.
import { join } from 'node:path';
import { message } from '../../view/message.ts';
import {
  firstProgram,
  firstThere,
  type Look,
  named,
  nodeList,
  opensslList,
  setIn,
  setting,
  type Tool,
  variable,
} from './tool.ts';

/** A list that a variable of the environment names. */
const byVariable = (name: string, kind: 'bundle' | 'extra' = 'bundle'): Pick<Tool, 'instead' | 'wanted'> => ({
  instead: file => ({ env: { [name]: file } }),
  wanted: () => variable(name, kind),
});

const NODE = ['node', 'nodejs'];

const node: Tool = {
  id: 'node',
  title: 'Node.js',
  programs: NODE,
  list: nodeList,
  connect: ({ url }) => ({ args: ['-e', NODE_PROBE, url] }),
  ...byVariable('NODE_EXTRA_CA_CERTS', 'extra'),
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
  // curl also reads the home directory of the user's account
  noSettings: ['-q'],
  instead: file => ({ args: ['--cacert', file] }),
  wanted: look => setting(curlrc(look), { key: 'cacert' }, path => `cacert = "${path}"`),
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
  ...byVariable('SSL_CERT_FILE'),
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
  ...byVariable('REQUESTS_CA_BUNDLE'),
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
  ...byVariable('SSL_CERT_FILE'),
  offHint: message('Remove what turns verification off from your Python environment.'),
};

const npmrc = ({ env, home }: Look) => env.NPM_CONFIG_USERCONFIG || join(home, '.npmrc');
const npm: Tool = {
  id: 'npm',
  title: 'npm',
  programs: ['npm'],
  async list(program, look) {
    // ask npm, because an administrator's file may also set it
    const cafile = (await look.ask(program, 'config', 'get', 'cafile'))?.trim();
    return cafile?.startsWith('/') ? named([cafile], undefined) : nodeList(firstProgram(NODE, look.env), look);
  },
  connect: ({ url, directory }) => ({
    args: ['ping', '--registry', `${url}/`, '--fetch-retries=0', '--no-update-notifier', '--cache', directory],
  }),
  instead: (file, { ownList }) => ({ env: { [ownList ? 'NODE_EXTRA_CA_CERTS' : 'npm_config_cafile']: file } }),
  // NODE_EXTRA_CA_CERTS does not add to a list that replaces npm's own
  wanted: (look, { ownList }) =>
    ownList
      ? variable('NODE_EXTRA_CA_CERTS', 'extra')
      : setting(npmrc(look), { key: 'cafile' }, path => `cafile=${path}`),
  offHint: message('Remove %s from %s.', 'strict-ssl=false', '~/.npmrc'),
};

const pipConf = ({ env, home, config }: Look) =>
  env.PIP_CONFIG_FILE || firstThere([join(home, '.pip', 'pip.conf'), join(config, 'pip', 'pip.conf')]);
const PIP_CERT = { section: 'global', key: 'cert' };
/** Since this version, pip also reads the system's list with Python 3.10 or newer. */
const PIP_SYSTEM = 24.2;

const pip: Tool = {
  id: 'pip',
  title: 'pip',
  programs: ['pip3', 'pip'],
  async list(program, look) {
    const { env, system } = look;
    const set = (await look.ask(program, 'config', 'get', 'global.cert'))?.trim();
    // pip contains requests, which prefers its own variables to pip's setting
    const file = env.REQUESTS_CA_BUNDLE || env.CURL_CA_BUNDLE || env.PIP_CERT || set;
    if (file) return named([file], undefined);
    const [, version, place, minor] =
      /^pip (\d+\.\d+)\S* from (.*) \(python 3\.(\d+)\)/.exec((await look.ask(program, '--version')) ?? '') ?? [];
    if (version === undefined) return null;
    const isNew = Number(version) >= PIP_SYSTEM && Number(minor) >= 10;
    const isDebian = place?.startsWith('/usr/lib/python3/dist-packages') ?? false;
    return { files: (isNew || isDebian) && system ? [system.path] : [], ownList: !isDebian };
  },
  connect: ({ url, directory }) => ({
    args: [
      'download',
      // pip runs code of source packages to read their names, and here the host supplies the code
      '--only-binary=:all:',
      '--no-deps',
      '--no-cache-dir',
      '--disable-pip-version-check',
      '--retries=0',
      '--timeout=10',
      `--index-url=${url}/simple`,
      `--dest=${directory}`,
      'culvert-probe',
    ],
    // pip would also contact the user's other indexes, with their passwords
    env: { PIP_CONFIG_FILE: '/dev/null', PIP_EXTRA_INDEX_URL: '', PIP_FIND_LINKS: '' },
  }),
  instead: file => ({ env: { PIP_CERT: file, REQUESTS_CA_BUNDLE: file } }),
  wanted: look => setting(pipConf(look), PIP_CERT, path => `cert = ${path}`),
  offHint: message('Remove %s from %s.', 'trusted-host', 'pip.conf'),
};

const isSet = (value: string | null | undefined) => /^(1|true|yes)$/i.test(value ?? '');

const uv: Tool = {
  id: 'uv',
  title: 'uv',
  programs: ['uv'],
  async list(_, look) {
    const { env, config, system } = look;
    if (env.SSL_CERT_FILE) return named([env.SSL_CERT_FILE], undefined);
    const inFile = ['system-certs', 'native-tls'].map(key =>
      setIn(join(config, 'uv', 'uv.toml'), { section: null, key }),
    );
    const usesSystem = [env.UV_SYSTEM_CERTS, env.UV_NATIVE_TLS, ...inFile].some(isSet);
    return usesSystem ? named([], system?.path) : { files: [], ownList: true };
  },
  connect: ({ url, directory }) => ({
    args: [
      'pip',
      'install',
      '--dry-run',
      // for the same reason as in pip
      '--only-binary=:all:',
      '--no-cache',
      '--target',
      directory,
      '--default-index',
      `${url}/simple`,
      'culvert-probe',
    ],
    // prevents requests to the user's other indexes
    env: { UV_NO_CONFIG: '1', UV_EXTRA_INDEX_URL: undefined, UV_INDEX: undefined, UV_FIND_LINKS: undefined },
  }),
  ...byVariable('SSL_CERT_FILE'),
  offHint: message('Remove %s from your environment.', 'UV_INSECURE_HOST'),
};

const gitconfig = ({ env, home, config }: Look) => {
  const own = join(home, '.gitconfig');
  return env.GIT_CONFIG_GLOBAL || firstThere([own, join(config, 'git', 'config'), own]);
};

const git: Tool = {
  id: 'git',
  title: 'Git',
  programs: ['git'],
  async list(program, look) {
    const set = (await look.ask(program, '-C', '/', 'config', '--path', '--get', 'http.sslCAInfo'))?.trim();
    return named([look.env.GIT_SSL_CAINFO, set], look.system?.path);
  },
  connect: ({ url }) => ({
    args: ['-C', '/', 'ls-remote', `${url}/probe.git`],
    env: { GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: 'true' },
  }),
  instead: file => ({ env: { GIT_SSL_CAINFO: file } }),
  wanted: look => setting(gitconfig(look), { section: 'http', key: 'sslCAInfo' }, path => `\tsslCAInfo = "${path}"`),
  offHint: message('Turn %s on again, and remove %s from your environment.', 'http.sslVerify', 'GIT_SSL_NO_VERIFY'),
};

const wgetrc = ({ env, home }: Look) => env.WGETRC || join(home, '.wgetrc');

const wget: Tool = {
  id: 'wget',
  title: 'Wget',
  programs: ['wget'],
  async list(_, look) {
    const file = setIn(wgetrc(look), { section: null, key: 'ca_certificate' });
    return { files: [file, look.system?.path].flatMap(path => path || []), ownList: false };
  },
  connect: ({ url }) => ({ args: ['-nv', '-O', '/dev/null', '--tries=1', '--timeout=10', url] }),
  instead: file => ({ args: [`--ca-certificate=${file}`] }),
  wanted: look => setting(wgetrc(look), { key: 'ca_certificate' }, path => `ca_certificate = ${path}`),
  offHint: message('Remove %s from %s.', 'check_certificate', '~/.wgetrc'),
};

const openssl: Tool = {
  id: 'openssl',
  title: 'OpenSSL',
  programs: ['openssl'],
  list: async (_, look) => opensslList(look),
  connect: ({ host, port, path }) => ({
    args: ['s_client', '-quiet', '-verify_return_error', '-servername', host, '-connect', `${host}:${port}`],
    input: `GET ${path} HTTP/1.0\r\n\r\n`,
  }),
  ...byVariable('SSL_CERT_FILE'),
  offHint: null,
};

const cargoConfig = ({ env, home }: Look) => join(env.CARGO_HOME || join(home, '.cargo'), 'config.toml');
const CAINFO = { section: 'http', key: 'cainfo' };

const cargo: Tool = {
  id: 'cargo',
  title: 'Cargo',
  programs: ['cargo'],
  list: async (_, look) =>
    named([look.env.CARGO_HTTP_CAINFO, setIn(cargoConfig(look), CAINFO), look.env.SSL_CERT_FILE], look.system?.path),
  connect: ({ url }) => ({ args: ['search', '--index', `sparse+${url}/`, 'culvert-probe'] }),
  instead: file => ({ env: { CARGO_HTTP_CAINFO: file } }),
  wanted: look => setting(cargoConfig(look), CAINFO, path => `cainfo = ${JSON.stringify(path)}`),
  offHint: null,
};

/** The Go toolchain, which shares Go's client with programs written in Go. */
const go: Tool = {
  id: 'go',
  title: 'Go',
  programs: ['go'],
  list: async (_, look) => opensslList(look),
  connect: ({ url, directory }) => ({
    args: ['list', '-m', '-versions', 'culvert.example/probe'],
    env: {
      GOPROXY: url,
      GOFLAGS: '',
      GONOPROXY: 'none',
      GOSUMDB: 'off',
      GO111MODULE: 'on',
      GOPATH: directory,
      GOWORK: 'off',
    },
  }),
  ...byVariable('SSL_CERT_FILE'),
  offHint: null,
};

export const CONNECTING: readonly Tool[] = [
  node,
  npm,
  pythonSsl,
  pythonRequests,
  pythonHttpx,
  pip,
  uv,
  git,
  curl,
  wget,
  openssl,
  cargo,
  go,
];
