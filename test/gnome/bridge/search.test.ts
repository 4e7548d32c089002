// The search provider of GNOME Shell over a real bus: what is found, what a result does, and that a search keeps no bridge.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Bus, makeHome, missing, startBus, VERSION } from '../../support/gnome/bridge.ts';
import { createDaemon, type FakeDaemon, problem } from '../../support/gnome/daemon.ts';
import type { Ask } from '../../support/gnome/desktop.ts';
import { change } from '../../support/gnome/initial.ts';
import { until } from '../../support/until.ts';

const strings = (values: readonly string[]) => `@as ${JSON.stringify(values)}`;

describe('org.gnome.Shell.SearchProvider2', { skip: missing(), concurrency: false }, () => {
  let bus: Bus;
  let daemon: FakeDaemon;
  let ask: Ask;
  let window: Ask;
  const ends: (() => unknown)[] = [];
  const file = { after: (end: () => unknown) => void ends.unshift(end) };
  const search = (method: string, args: string) => ask({ do: 'search', method, args }) as Promise<unknown[]>;
  const find = async (...terms: string[]) =>
    (await search('GetInitialResultSet', `(${strings(terms)},)`))[0] as string[];
  const metas = async (...ids: string[]) =>
    (await search('GetResultMetas', `(${strings(ids)},)`))[0] as Record<string, string>[];
  const activate = (id: string) => search('ActivateResult', `('${id}', ${strings(['warp'])}, uint32 7)`);
  const opened = () => window({ do: 'taken' }) as Promise<unknown[]>;
  const state = async (status: 'connected' | 'disconnected') => {
    // an event that changes nothing could arrive later, and be taken for the effect of an action
    if (daemon.snapshot.status.state !== status) daemon.set('status', { state: status });
    const toggle = status === 'connected' ? 'disconnect' : 'connect';
    await until(async () => (await find('warp')).includes(`action:${toggle}`), status);
  };

  before(async () => {
    const home = makeHome(file);
    bus = await startBus(file, home);
    daemon = createDaemon(home.socket);
    daemon.answers['GET /api/version'] = { version: VERSION };
    daemon.apps = [
      { ...daemon.apps[0]!, id: 'firefox.desktop', name: 'Firefox', icon: 'firefox' },
      { ...daemon.apps[0]!, id: 'files.desktop', name: 'Files', icon: null },
    ];
    await daemon.listen();
    file.after(() => daemon.stop());
    ({ ask } = bus.caller());
    ({ ask: window } = bus.caller());
    await window({ do: 'take', name: 'org.culvert.Culvert' });
  });
  after(async () => {
    for (const end of ends) await end();
  });
  beforeEach(async () => {
    daemon.actions = [];
    daemon.asked = [];
    daemon.onAction = ({ action }) => {
      if (action === 'connect') daemon.set('status', { state: 'connected' });
      if (action === 'disconnect') daemon.set('status', { state: 'disconnected' });
    };
    daemon.setChanges([]);
    daemon.set('settings', { Mode: 'warp' });
    await state('disconnected');
    await opened();
  });

  test('is found where the installed file says', () => {
    const text = readFileSync('data/org.culvert.Culvert.search-provider.ini', 'utf8');
    assert.match(text, /^BusName=org\.culvert\.Client1$/m);
    assert.match(text, /^ObjectPath=\/org\/culvert\/SearchProvider$/m);
    assert.match(text, /^DesktopId=org\.culvert\.Culvert\.desktop$/m);
  });

  test('finds the toggle, pauses, modes and pages by their names and by other words', async () => {
    assert.equal((await find('connect'))[0], 'action:connect');
    assert.ok((await find('VPN')).includes('action:connect'));
    assert.ok((await find('warp')).includes('page:connection'), 'the window, for all else');
    assert.deepEqual((await find('dns', 'only')).slice(0, 1), ['mode:doh']);
    assert.ok((await find('kill', 'sw')).includes('page:killswitch'));
    await state('connected');
    assert.ok((await find('pause')).includes('pause:15'));
    assert.equal((await find('disconnect'))[0], 'action:disconnect');
    const [first, second] = await metas('action:disconnect', 'no-such-result', 'pause:15');
    assert.deepEqual(first, {
      id: 'action:disconnect',
      name: 'Disconnect',
      description: 'Connected',
      gicon: 'org.culvert.Culvert-disconnected-symbolic',
    });
    assert.equal(second!.name, 'Pause for 15 minutes');
  });

  test('narrows a search down', async () => {
    const wide = await find('mo');
    const [narrow] = await search('GetSubsearchResultSet', `(${strings(wide)}, ${strings(['mode', 'dns'])})`);
    assert.ok((narrow as string[]).length < wide.length);
    assert.ok((narrow as string[]).includes('mode:doh'));
  });

  test('a result acts, and returns when its effect shows', async () => {
    await activate('action:connect');
    assert.deepEqual(daemon.actions, [{ action: 'connect' }]);
    await activate('pause:15');
    assert.deepEqual(daemon.actions[1], { action: 'disconnect', forSeconds: 900 });
    assert.deepEqual(await opened(), []);
  });

  test('a mode that may cut the user off shows the window that can keep it', async () => {
    await state('connected');
    daemon.onAction = () => {
      daemon.set('settings', { Mode: 'doh' });
      daemon.setChanges([change('mode', { value: 'doh', confirmBy: new Date(Date.now() + 60_000).toISOString() })]);
    };
    await activate('mode:doh');
    assert.deepEqual(daemon.actions, [{ action: 'setMode', value: 'doh', confirmWithin: 30 }]);
    const platform = { 'desktop-startup-id': '_TIME7' };
    assert.deepEqual(await opened(), [['ActivateAction', 'connection', [], platform]]);
  });

  test('opens pages, and the settings for a search in the window', async () => {
    const platform = { 'desktop-startup-id': '_TIME7' };
    await activate('page:updates');
    await search('LaunchSearch', `(${strings(['dns'])}, uint32 7)`);
    assert.deepEqual(await opened(), [
      ['ActivateAction', 'updates', [], platform],
      ['ActivateAction', 'settings', [], platform],
    ]);
  });

  test('an app is found by name and another word, and starts while only chosen apps are in the tunnel', async () => {
    assert.deepEqual(await find('firefox'), [], 'the desktop’s own search has it');
    assert.deepEqual(await find('vpn', 'fire'), ['app:firefox.desktop']);
    assert.equal((await metas('app:firefox.desktop'))[0]!.gicon, 'firefox');
    await activate('app:firefox.desktop');
    assert.deepEqual(
      (await opened()).map(call => (call as string[])[1]),
      ['apps'],
      'the window asks first',
    );
    daemon.set('settings', { Mode: 'proxy' });
    await until(async () => !(await find('only')).includes('mode:proxy'), 'the mode');
    await activate('app:firefox.desktop');
    const [start] = daemon.asked.filter(({ line }) => line === 'POST /api/apps/proxy-launcher');
    assert.deepEqual(start!.body, { appId: 'firefox.desktop' });
    assert.deepEqual(await find('firefox'), ['app:firefox.desktop'], 'it was used lately');
  });

  test('an app that was installed in between is found by the next search', async () => {
    assert.deepEqual(await find('vpn', 'paint'), []);
    const { apps } = daemon;
    daemon.apps = [...apps, { ...apps[0]!, id: 'paint.desktop', name: 'Paint' }];
    try {
      assert.deepEqual(await find('vpn', 'paint'), ['app:paint.desktop']);
    } finally {
      daemon.apps = apps;
    }
  });

  test('a failure, or a result that is gone, opens the window', async () => {
    daemon.onAction = () => {
      throw problem('tunnel-cli-failed', 502, 'warp-cli ended with 1.');
    };
    await activate('action:connect');
    await activate('pause:15');
    await activate('../../etc:x');
    assert.deepEqual(
      (await opened()).map(call => (call as string[])[0]),
      ['ActivateAction', 'Activate', 'Activate'],
    );
  });

  test('hostile terms find nothing and do no harm', async () => {
    const hostile = [
      [],
      [''],
      ['a'],
      ['\u0000'.slice(1), ' '],
      ['(((', '[a-', '\\'],
      ['x'.repeat(1_000_000)],
      Array.from({ length: 50_000 }, (_, i) => `t${i}`),
      ['<b>', '%s', '__proto__', 'constructor'],
      ['\u202e', '\ufffd'],
    ];
    for (const terms of hostile) assert.deepEqual(await find(...terms), [], JSON.stringify(terms).slice(0, 40));
    assert.deepEqual(await metas('', 'action:', 'page:__proto__', 'app:__proto__'), []);
    assert.equal((await find('connect'))[0], 'action:connect');
  });

  test('without a daemon, the pages are found', async () => {
    await daemon.crash();
    await until(async () => !(await find('warp')).includes('action:connect'), 'the loss');
    assert.deepEqual(await find('connection'), ['page:connection']);
    await daemon.listen();
    await state('disconnected');
  });

  test('a search keeps no bridge, though a Shell stays on the bus', async () => {
    const { ask: shell, program } = bus.caller();
    file.after(() => program.kill());
    const name = await ask({ do: 'owner' });
    assert.notEqual(name, null);
    await until(async () => (await shell({ do: 'owner' })) === null, 'its end', { limitMs: 30_000 });
    assert.equal((await find('connect'))[0], 'action:connect');
  });
});
