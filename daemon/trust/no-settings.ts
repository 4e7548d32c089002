// Gives tools an environment without the user's settings, for hosts that must not get the credentials among them.
import { join } from 'node:path';
import type { Look } from './tools/tool.ts';

/** Variables that lead to programs, their libraries and a proxy; nothing of them is sent to a host. */
const KEPT = [
  'PATH',
  'LD_LIBRARY_PATH',
  'PYTHONPATH',
  'TMPDIR',
  'SSL_CERT_DIR',
  ...['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'].flatMap(name => [name, name.toUpperCase()]),
];

/** Files and stores that tools find without HOME: those of an administrator, and keyrings. */
const NONE = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GOAUTH: 'off',
  GOENV: 'off',
  NETRC: '/dev/null',
  NPM_CONFIG_GLOBALCONFIG: '/dev/null',
  PIP_CONFIG_FILE: '/dev/null',
  PIP_NO_INPUT: '1',
  SYSTEM_WGETRC: '/dev/null',
  UV_NO_CONFIG: '1',
};

/**
 * The environment of a tool that connects to a host that someone else named: `.curlrc`, `.netrc`, `.gitconfig` and the
 * like may hold credentials for every host, and so may variables.
 * @param home an empty directory in the place of the user's
 */
export function withoutSettings({ env, home: own }: Pick<Look, 'env' | 'home'>, home: string): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(KEPT.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])));
  return {
    ...kept,
    ...NONE,
    HOME: home,
    // a toolchain and packages of the user, which hold no credentials
    RUSTUP_HOME: env.RUSTUP_HOME || join(own, '.rustup'),
    PYTHONUSERBASE: env.PYTHONUSERBASE || join(own, '.local'),
  };
}
