// Edits of the configuration files are noticed, whichever of their directories existed when the daemon started.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loadConfig } from '../../../daemon/config/layers.ts';
import { linkChain } from '../../../daemon/config/watch-file.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

/** A running configuration over a user's file in a home that is empty. */
async function watched(t: TestContext, prepare: (home: string, user: string) => void = () => {}) {
  const home = mkdtempSync(join(tmpdir(), 'culvert-watch-'));
  const user = join(home, '.config', 'culvert', 'config.json');
  prepare(home, user);
  const settings = await loadConfig({ system: join(home, 'etc', 'culvert', 'config.json'), user }, {});
  const watching = settings.watch(() => {});
  t.after(() => {
    watching.close();
    rmSync(home, { recursive: true, force: true });
  });
  const write = (file: string, theme: string) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `{"ui":{"theme":"${theme}"}}`);
  };
  const shows = (theme: string) => until(() => settings.config.ui.theme === theme);
  return { home, user, settings, write, shows };
}

test('an edit is noticed when no directory of the file existed at the start', async t => {
  const { home, user, write, shows } = await watched(t);
  write(user, 'dark');
  await shows('dark');
  write(user, 'light');
  await shows('light');
  write(join(home, 'etc', 'culvert', 'config.json'), 'dark');
  rmSync(user);
  await shows('dark');
});

test('an edit by hand is noticed after the API made the file', async t => {
  const { user, settings, write, shows } = await watched(t);
  await settings.setUser({ ui: { theme: 'light' } });
  await shows('light');
  write(user, 'dark');
  await shows('dark');
});

test('an edit is noticed after the directory was removed, made again, and replaced', async t => {
  const { home, user, write, shows } = await watched(t, (_, file) => mkdirSync(dirname(file), { recursive: true }));
  write(user, 'dark');
  await shows('dark');
  rmSync(join(home, '.config'), { recursive: true });
  await shows('system');
  write(user, 'light');
  await shows('light');
  const other = join(home, 'other');
  write(join(other, 'config.json'), 'dark');
  renameSync(dirname(user), join(home, 'away'));
  renameSync(other, dirname(user));
  await shows('dark');
  write(user, 'light');
  await shows('light');
});

test('an edit of the file that a link leads to is noticed, also when it did not exist', async t => {
  const { home, write, shows } = await watched(t, (home, user) => {
    mkdirSync(dirname(user), { recursive: true });
    symlinkSync('../../dotfiles/culvert.json', user);
    mkdirSync(join(home, 'unrelated'));
  });
  write(join(home, 'dotfiles', 'culvert.json'), 'dark');
  await shows('dark');
  write(join(home, 'dotfiles', 'culvert.json'), 'light');
  await shows('light');
});

test('a chain of links ends at the first name that is not a link, or after 40', t => {
  const home = temporary(t, 'links');
  const [a, b, loop] = ['a', 'b', 'loop'].map(name => join(home, name)) as [string, string, string];
  symlinkSync('b', a);
  symlinkSync(join(home, 'c'), b);
  symlinkSync('loop', loop);
  assert.deepEqual(linkChain(a), [a, b, join(home, 'c')]);
  assert.deepEqual(linkChain(b), [b, join(home, 'c')]);
  assert.equal(linkChain(loop).length, 41);
});
