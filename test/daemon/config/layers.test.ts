// Configuration layers: precedence, sources, broken files, and changes that keep the user's file as it was laid out.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ConfigResponse } from '../../../daemon/api/schema.ts';
import { variableOf } from '../../../daemon/config/keys.ts';
import { loadConfig } from '../../../daemon/config/layers.ts';
import type { Problem } from '../../../daemon/problem.ts';
import project from '../../../data/project.json' with { type: 'json' };
import { temporary } from '../../support/temporary.ts';

function files(t: TestContext, content: { system?: string; user?: string } = {}) {
  const directory = temporary(t, 'config');
  const paths = { system: join(directory, 'etc', 'config.json'), user: join(directory, 'home', 'config.json') };
  mkdirSync(join(directory, 'etc'));
  mkdirSync(join(directory, 'home'));
  if (content.system !== undefined) writeFileSync(paths.system, content.system);
  if (content.user !== undefined) writeFileSync(paths.user, content.user);
  return paths;
}
const code = (expected: string) => (error: unknown) => (error as Problem).code === expected;

test('without files the defaults of the specification hold, and every key has a source', async t => {
  const { config, sources, restartRequired, problems } = (await loadConfig(files(t), {})).response();
  assert.deepEqual(config, {
    server: { port: 4173, bind: '127.0.0.1' },
    webui: { enabled: false, allowRemote: false, address: '' },
    warp: {
      cli: 'warp-cli',
      killSwitch: false,
      allowLan: false,
      endpoints: '',
      recordBlocked: false,
      traceUrl: 'https://www.cloudflare.com/cdn-cgi/trace',
    },
    ui: { openBrowser: true, theme: 'system', locale: 'en', firstSteps: true },
    updates: { channel: 'stable', checkOnStartup: true, source: project.releases.source },
    tray: { autostart: false, startHidden: true, shortcuts: false },
    notifications: { level: 'everything' },
    reminders: { offMinutes: 120 },
    history: { enabled: true },
    metrics: { enabled: false, hashAccounts: false },
  });
  const keys = Object.entries(config).flatMap(([group, values]) => Object.keys(values).map(key => `${group}.${key}`));
  assert.deepEqual(sources, Object.fromEntries(keys.map(key => [key, 'default'])));
  assert.deepEqual([restartRequired, problems], [[], []]);
});

test('each layer overrides the lower ones key by key', async t => {
  const paths = files(t, {
    system: '{"server":{"port":1001},"ui":{"theme":"light","locale":"de"}}',
    user: '{"server":{"port":1002},"ui":{"theme":"dark"}}',
  });
  const settings = await loadConfig(paths, { CULVERT_SERVER_PORT: '1003' });
  settings.setSession({ updates: { channel: 'beta' } });
  const { config, sources } = settings.response();
  assert.deepEqual(
    [config.server.port, config.ui.theme, config.ui.locale, config.updates.channel],
    [1003, 'dark', 'de', 'beta'],
  );
  assert.deepEqual(
    ['server.port', 'ui.theme', 'ui.locale', 'updates.channel', 'server.bind'].map(key => sources[key]),
    ['environment', 'user', 'system', 'session', 'default'],
  );
});

test('every key can be set by its environment variable', async t => {
  assert.equal(variableOf('warp.killSwitch'), 'CULVERT_WARP_KILL_SWITCH');
  assert.equal(variableOf('webui.allowRemote'), 'CULVERT_WEBUI_ALLOW_REMOTE');
  const env = {
    CULVERT_WEBUI: '1',
    CULVERT_WARP_KILL_SWITCH: 'true',
    CULVERT_UI_OPEN_BROWSER: '0',
    CULVERT_UI_LOCALE: 'pt_BR',
    CULVERT_SERVER_BIND: '::1',
    CULVERT_WRAP_ACCOUNT: 'not ours',
  };
  const { config } = await loadConfig(files(t), env);
  assert.deepEqual(
    [config.webui.enabled, config.warp.killSwitch, config.ui.openBrowser, config.ui.locale, config.server.bind],
    [true, true, false, 'pt_BR', '::1'],
  );
});

test('a variable that does not parse is an error naming variable, value and expected type', async t => {
  for (const [variable, value, expected] of [
    ['CULVERT_SERVER_PORT', '70000', /CULVERT_SERVER_PORT=70000: expected a whole number from 1 to 65535/],
    ['CULVERT_SERVER_PORT', '', /CULVERT_SERVER_PORT=: expected a whole number/],
    ['CULVERT_SERVER_BIND', 'localhost', /expected an IP address/],
    ['CULVERT_WEBUI', 'maybe', /CULVERT_WEBUI=maybe: expected true or false/],
    ['CULVERT_UI_THEME', 'pink', /expected one of system, light, dark/],
  ] as const)
    await assert.rejects(loadConfig(files(t), { [variable]: value }), expected);
});

test('a file that is not JSON is reported with line and reason and left as it is, and the other layers apply', async t => {
  for (const [user, line] of [
    ['{\n  "ui": {\n    "theme": "dark",\n  }\n}\n', 4],
    ['{"ui": {"theme": "dark"}', 1],
    ['{\n// a comment\n}', 2],
    ['\n\n[]', 1],
  ] as const) {
    const paths = files(t, { system: '{"ui":{"locale":"fr"}}', user });
    const { config, problems } = (await loadConfig(paths, {})).response();
    assert.equal(config.ui.theme, 'system');
    assert.equal(config.ui.locale, 'fr');
    assert.equal(problems.length, 1, JSON.stringify(user));
    assert.equal(problems[0]!.file, paths.user);
    assert.equal(problems[0]!.line, line, JSON.stringify(user));
    assert.ok(problems[0]!.message.length > 5);
    assert.equal(readFileSync(paths.user, 'utf8'), user);
  }
});

test('a wrong or unknown key is ignored, and the others apply', async t => {
  const paths = files(t, {
    user: '{\n  "server": {\n    "port": "4173",\n    "bind": "::1"\n  },\n  "colors": 1,\n  "ui": 5\n}\n',
  });
  const { config, problems } = (await loadConfig(paths, {})).response();
  assert.deepEqual([config.server.port, config.server.bind], [4173, '::1']);
  assert.deepEqual(
    problems.map(p => [p.line, p.key, p.message]),
    [
      [3, 'server.port', 'expected a whole number from 1 to 65535'],
      [6, 'colors', 'unknown key'],
      [7, 'ui', 'expected an object'],
    ],
  );
});

test('a session override lasts until it is set to null', async t => {
  const settings = await loadConfig(files(t, { user: '{"ui":{"theme":"light"}}' }), {});
  settings.setSession({ ui: { theme: 'dark' } });
  assert.equal(settings.config.ui.theme, 'dark');
  settings.setSession({ ui: { theme: null } });
  assert.equal(settings.config.ui.theme, 'light');
  assert.equal(settings.response().sources['ui.theme'], 'user');
});

test('keys that a running daemon cannot change, or that must not come over HTTP, are not settable', async t => {
  const settings = await loadConfig(files(t), {});
  for (const patch of [
    { server: { port: 5000 } },
    { server: { bind: '0.0.0.0' } },
    { warp: { cli: '/tmp/evil' } },
    { webui: { allowRemote: true } },
    { ui: { theme: 'dark' as const }, warp: { cli: null } },
  ]) {
    assert.throws(() => settings.setSession(patch), code('key-not-settable'));
    await assert.rejects(settings.setUser(patch), code('key-not-settable'));
  }
  assert.equal(settings.config.ui.theme, 'system', 'nothing of a refused patch is taken');
});

test('changes of the file at the same time are all kept', async t => {
  const settings = await loadConfig(files(t, { user: '{}' }), {});
  await Promise.all([
    settings.setUser({ ui: { theme: 'dark' } }),
    settings.setUser({ tray: { autostart: true } }),
    settings.setUser({ history: { enabled: false } }),
  ]);
  const { sources } = settings.response();
  assert.deepEqual(
    Object.keys(sources).filter(key => sources[key] === 'user'),
    ['ui.theme', 'tray.autostart', 'history.enabled'],
  );
});

test("the user's file keeps layout and unknown keys when changed, and is made private when new", async t => {
  const before = '{\n    "note": "mine",\n    "ui": { "locale": "de" }\n}\n';
  const paths = files(t, { user: before });
  const settings = await loadConfig(paths, {});
  await settings.setUser({ ui: { theme: 'dark' }, tray: { autostart: true } });
  const after = readFileSync(paths.user, 'utf8');
  assert.ok(after.startsWith('{\n    "note": "mine",'), after);
  assert.deepEqual(JSON.parse(after), { note: 'mine', ui: { locale: 'de', theme: 'dark' }, tray: { autostart: true } });
  assert.equal(settings.config.ui.theme, 'dark');
  let published = 0;
  const watching = settings.watch(() => published++);
  t.after(() => watching.close());
  await settings.setUser({ ui: { theme: 'dark' } });
  assert.equal(published, 1, 'what follows from a key is done again when it is set again');
  await settings.setUser({ ui: { theme: null } });
  assert.equal(settings.response().sources['ui.theme'], 'default');

  const fresh = { system: paths.system, user: join(paths.user, '..', 'new', 'config.json') };
  await (await loadConfig(fresh, {})).setUser({ ui: { theme: 'light' } });
  assert.deepEqual(JSON.parse(readFileSync(fresh.user, 'utf8')), { ui: { theme: 'light' } });
  assert.equal(statSync(fresh.user).mode & 0o777, 0o600);
});

for (const [what, text] of [
  ['empty', ''],
  ['blank', ' \n\t\n'],
] as const)
  test(`a file that is ${what} counts as no file, and can be written`, async t => {
    const paths = files(t, { user: text });
    const settings = await loadConfig(paths, {});
    assert.deepEqual(settings.response().problems, []);
    await settings.setUser({ ui: { theme: 'dark' } });
    assert.deepEqual(JSON.parse(readFileSync(paths.user, 'utf8')), { ui: { theme: 'dark' } });
  });

test('a link to a file that does not exist yet stays a link', async t => {
  const paths = files(t);
  const real = join(paths.user, '..', '..', 'dotfiles', 'culvert.json');
  symlinkSync('../dotfiles/culvert.json', paths.user);
  const settings = await loadConfig(paths, {});
  await settings.setUser({ ui: { theme: 'dark' } });
  assert.equal(lstatSync(paths.user).isSymbolicLink(), true);
  assert.deepEqual(JSON.parse(readFileSync(real, 'utf8')), { ui: { theme: 'dark' } });
});

test('a link to the file stays a link', async t => {
  const paths = files(t);
  const real = join(paths.system, '..', 'real.json');
  writeFileSync(real, '{}');
  symlinkSync(real, paths.user);
  await (await loadConfig(paths, {})).setUser({ ui: { theme: 'dark' } });
  assert.deepEqual(JSON.parse(readFileSync(real, 'utf8')), { ui: { theme: 'dark' } });
});

test('a broken or unwritable file is refused and stays as it is', async t => {
  const broken = '{ "ui": { "theme": }';
  const paths = files(t, { user: broken });
  await assert.rejects((await loadConfig(paths, {})).setUser({ ui: { theme: 'dark' } }), code('config-broken'));
  assert.equal(readFileSync(paths.user, 'utf8'), broken);

  const blocked = { system: paths.system, user: join(paths.user, 'below-a-file', 'config.json') };
  await assert.rejects((await loadConfig(blocked, {})).setUser({ ui: { theme: 'dark' } }), code('config-not-writable'));
  assert.deepEqual(readdirSync(join(paths.user, '..')), ['config.json'], 'no temporary file is left');
});

test('a directory that can’t be made is named once, in whole sentences', async t => {
  const blocked = { system: files(t).system, user: '/proc/below/config.json' };
  await assert.rejects((await loadConfig(blocked, {})).setUser({ ui: { theme: 'dark' } }), {
    message: /^\/proc\/below can't be written: [^.]+\. Nothing was changed\.$/,
  });
});

test('an edit by hand is noticed and announced, and what needs a restart is named', async t => {
  const paths = files(t, { user: '{}' });
  const settings = await loadConfig(paths, {});
  const announced = new Promise<ConfigResponse>(resolve => {
    const watching = settings.watch(response => {
      if (response.config.server.port === 5001) resolve(response);
    });
    t.after(watching.close);
  });
  const alive = setInterval(() => {}, 1_000); // the watchers alone keep no process alive
  t.after(() => clearInterval(alive));
  writeFileSync(paths.user, '{"server":{"port":5001},"ui":{"theme":"dark"}}');
  const { restartRequired, config } = await announced;
  assert.deepEqual(restartRequired, ['server.port']);
  assert.equal(config.ui.theme, 'dark');
});

test('a configuration that is not a regular file, or endless, is ignored without delay', async t => {
  const paths = files(t);
  for (const make of [
    () => mkdirSync(paths.user),
    () => execFileSync('mkfifo', [paths.user]),
    () => symlinkSync('/dev/zero', paths.user),
    () => symlinkSync(paths.user, paths.user),
    () => writeFileSync(paths.user, `{"ui":{"theme":"dark"}}${' '.repeat(1 << 20)}`),
  ]) {
    rmSync(paths.user, { recursive: true, force: true });
    make();
    const settings = await loadConfig(paths, {});
    const [problem, ...more] = settings.response().problems;
    assert.deepEqual([problem?.file, problem?.key, more], [paths.user, null, []]);
    await assert.rejects(settings.setUser({ ui: { theme: 'light' } }), code('config-not-writable'));
  }
});

test('a file nested without end is a broken file, not the end of the daemon', async t => {
  for (const user of ['['.repeat(200_000), `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`]) {
    const settings = await loadConfig(files(t, { user }), {});
    assert.match(settings.response().problems[0]!.message, /nested too deeply/);
  }
});

test('a byte order mark at the beginning is accepted', async t => {
  const paths = files(t, { user: '\uFEFF{"ui":{"theme":"dark"}}' });
  const settings = await loadConfig(paths, {});
  assert.deepEqual([settings.config.ui.theme, settings.response().problems], ['dark', []]);
  await settings.setUser({ ui: { theme: 'light' } });
  assert.equal(settings.config.ui.theme, 'light');
});

test('a change that would not hold is refused, and the file stays', async t => {
  for (const user of [
    '{"ui":{"theme":"dark"},"ui":{"theme":"light"}}',
    '{"ui":{"theme":"dark","theme":"light"}}',
    '{"ui":"dark"}',
  ]) {
    const paths = files(t, { user });
    const settings = await loadConfig(paths, {});
    await assert.rejects(settings.setUser({ ui: { theme: 'system' } }), code('config-broken'), user);
    assert.equal(readFileSync(paths.user, 'utf8'), user);
  }
});

test('a group that is not an object is reported', async t => {
  const [problem] = (await loadConfig(files(t, { user: '{"ui":"dark"}' }), {})).response().problems;
  assert.deepEqual([problem?.key, problem?.message], ['ui', 'expected an object']);
});

test('a port in the environment is a decimal number', async t => {
  for (const text of ['0x1051', '1e3', ' 4173', '4173.0'])
    await assert.rejects(
      loadConfig(files(t), { CULVERT_SERVER_PORT: text }),
      /CULVERT_SERVER_PORT=.*whole number/,
      text,
    );
});
