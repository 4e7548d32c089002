// Directories and profiles of logins: which one an account has, which is the tool's usual one, and which culvert-wrap made.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import {
  isOwnDirectory,
  loginArguments,
  loginProblem,
  ownDirectory,
  pointToLogin,
  shortened,
} from '../../../wrapper/store/logins.ts';
import { temporary } from '../../support/temporary.ts';
import { providers } from '../../support/wrapper/shipped.ts';

const { claude, gemini, gh, wrangler } = providers;

test('the variables lead to the login, and are unset for the usual directory', () => {
  const pointed = (provider: typeof claude, login: string, env: NodeJS.ProcessEnv = {}) => {
    const result: NodeJS.ProcessEnv = { HOME: '/home/u', ...env };
    pointToLogin(result, provider!, { login });
    return provider!.home.map(name => result[name]);
  };
  assert.deepEqual(pointed(claude, '~/work'), ['/home/u/work']);
  assert.deepEqual(pointed(claude, '/srv/x/../login/'), ['/srv/login']);
  assert.deepEqual(pointed(claude, '~/.claude', { CLAUDE_CONFIG_DIR: '/other' }), [undefined]);
  assert.deepEqual(pointed(gemini, '~/'), [undefined]);
  assert.deepEqual(pointed(gh, '/x/gh', { XDG_CONFIG_HOME: '/x' }), [undefined]);
  assert.deepEqual(pointed(gh, '~/.config/gh', { XDG_CONFIG_HOME: '/x' }), ['/home/u/.config/gh']);
  // a directory may be bound to another profile
  assert.deepEqual(pointed(wrangler, 'default'), ['default']);
  assert.deepEqual(loginArguments(wrangler!, { login: 'work' }, 'kv namespace'), ['--profile', 'work']);
  assert.deepEqual(loginArguments(wrangler!, { login: 'work' }, 'whoami'), []);
  assert.deepEqual(loginArguments(claude!, { login: '~/work' }, 'x'), []);
});

test('a login is unusable without its directory, or as a name where a directory is meant', t => {
  const HOME = temporary(t, 'logins');
  const problem = (login: string) => loginProblem(claude!, { cli: 'claude', login }, { HOME });
  assert.match(problem('~/none')!, /there is no directory/);
  assert.match(problem('work')!, /work is no directory/);
  fs.writeFileSync(path.join(HOME, 'file'), '');
  assert.match(problem('~/file')!, /there is no directory/);
  assert.match(problem('~/file/below')!, /there is no directory|can't be read/);
  assert.equal(problem('~/'), undefined);
  assert.match(loginProblem({ home: [] }, { cli: 'x', login: '/' }, {})!, /knows no logins of x/);
});

test('only a directory in the place of an account is one that culvert-wrap made', t => {
  const state = temporary(t, 'logins');
  const paths = { state };
  const account = { cli: 'claude' };
  const own = ownDirectory('claude', 'work', paths);
  assert.equal(isOwnDirectory(account, own, paths), false);
  fs.mkdirSync(own, { recursive: true });
  assert.equal(isOwnDirectory(account, own, paths), true);
  assert.equal(isOwnDirectory({ cli: 'codex' }, own, paths), false);
  for (const other of [path.dirname(own), state, path.join(own, '..'), path.join(own, 'below'), '/']) {
    assert.equal(isOwnDirectory(account, other, paths), false, other);
  }
  fs.symlinkSync(state, ownDirectory('claude', 'link', paths));
  assert.equal(isOwnDirectory(account, ownDirectory('claude', 'link', paths), paths), false);
});

test('a path below the home directory is shortened', () => {
  const HOME = '/home/u';
  assert.deepEqual(
    ['/home/u', '/home/u/x', '/home/user', '/'].map(each => shortened(each, { HOME })),
    ['~/', '~/x', '/home/user', '/'],
  );
});
