// Settings as a file: exported, compared, applied as a whole or not at all, and undone.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openChanges } from '../../../daemon/changes/index.ts';
import { loadConfig } from '../../../daemon/config/layers.ts';
import type { FeatureContext } from '../../../daemon/controls.ts';
import { Problem } from '../../../daemon/problem.ts';
import { createRoutes } from '../../../daemon/routes/routes-service.ts';
import { writeSettings } from '../../../daemon/settings-file/document.ts';
import { createSettingsFile } from '../../../daemon/settings-file/settings-file.ts';
import { paths as pathsOf } from '../../../daemon/system/paths.ts';
import { memoryTunnel, type Values } from '../../support/daemon/memory-tunnel.ts';
import { noKillSwitch } from '../../support/daemon/no-killswitch.ts';
import { temporary } from '../../support/temporary.ts';

async function setUp(t: TestContext, values: Partial<Values> = {}) {
  const home = temporary(t, 'settings');
  const paths = pathsOf({ HOME: home });
  const memory = memoryTunnel(values);
  const settings = await loadConfig({ system: join(home, 'system.json'), user: join(home, 'user.json') }, {});
  const context = {
    paths,
    state: memory.state,
    tunnel: memory.tunnel,
    settings,
    say() {},
  } as unknown as FeatureContext;
  const changes = openChanges(context, { routes: async () => routes, killSwitch: noKillSwitch });
  const routes = createRoutes(context, changes);
  const file = createSettingsFile(context, changes, async () => routes);
  t.after(() => changes.stop());
  return { memory, settings, changes, file, pending: () => memory.state.snapshot().changes };
}

const OTHER = `
[tunnel]
mode = "doh"
protocol = "WireGuard"
[dns]
families = "full"
fallback = ["corp", "lan"]
[split_tunnel]
mode = "exclude"
entries = ["10.0.0.0/8", "new.example"]
[culvert.ui]
theme = "dark"
`;
const APPLIED = ['doh', 'WireGuard', 'full', ['corp', 'lan'], ['10.0.0.0/8', 'new.example'], 'dark'];
const BEFORE = ['warp', 'MASQUE', 'off', ['corp'], ['10.0.0.0/8', '198.18.7.0/24', 'example.com'], 'system'];

const all = ({ memory: { values }, settings }: Awaited<ReturnType<typeof setUp>>) => [
  values.mode,
  values.protocol,
  values.families,
  values.fallback,
  [...values.split.ips, ...values.split.hosts].map(({ value }) => value),
  settings.config.ui.theme,
];

test('an exported file changes nothing where it comes from, and everything on another machine', async t => {
  const one = await setUp(t);
  await one.settings.setUser({ ui: { theme: 'dark' } });
  const { toml } = await one.file.export();
  assert.deepEqual(await one.file.diff(toml), { ok: true, changes: [], skipped: [], invalid: [] });
  assert.match(toml, /^\[culvert\.ui\]\ntheme = "dark"$/m);
  assert.doesNotMatch(toml, /port|license|token/);
  const other = await setUp(t, { mode: 'doh', protocol: 'WireGuard', families: 'full', fallback: [] });
  await other.file.apply({ toml });
  assert.deepEqual(all(other), [...BEFORE.slice(0, 5), 'dark']);
});

test('sets the HTTP versions of MASQUE before a protocol that does not have them', async t => {
  const one = await setUp(t, { masque: 'h2-only' });
  const { toml } = await one.file.export();
  assert.match(toml, /^masque = "h2-only"$/m);
  const other = await setUp(t);
  await other.file.apply({ toml: '[tunnel]\nprotocol = "WireGuard"\nmasque = "h2-only"\n' });
  assert.deepEqual(
    other.memory.performed.map(({ action, value }) => [action, value]),
    [
      ['setMasqueOptions', 'h2-only'],
      ['setProtocol', 'WireGuard'],
    ],
  );
  await other.file.undo();
  assert.deepEqual([other.memory.values.masque, other.memory.values.protocol], ['h3-with-h2-fallback', 'MASQUE']);
});

test('lists the changes that a file would make, applies it, and undoes it', async t => {
  const machine = await setUp(t);
  const { changes, skipped, invalid } = await machine.file.diff(OTHER);
  assert.deepEqual(
    changes.map(({ key, from, to }) => `${key}: ${from} -> ${to}`),
    [
      'tunnel.mode: warp -> doh',
      'tunnel.protocol: MASQUE -> WireGuard',
      'dns.families: off -> full',
      'dns.fallback: corp -> corp, lan',
      'split_tunnel.entries: 198.18.7.0/24 -> null',
      'split_tunnel.entries: example.com -> null',
      'split_tunnel.entries: null -> new.example',
      'culvert.ui.theme: null -> dark',
    ],
  );
  assert.deepEqual([skipped, invalid, machine.memory.performed], [[], [], []]);
  await machine.file.apply({ toml: OTHER });
  assert.deepEqual([all(machine), machine.pending()], [APPLIED, []]);
  await machine.file.undo();
  assert.deepEqual(all(machine), BEFORE);
});

test('everything about the tunnel returns where it is not confirmed', async t => {
  const machine = await setUp(t);
  await machine.file.apply({ toml: OTHER, confirmWithin: 600 });
  assert.equal(machine.pending().length, 5);
  await machine.changes.revert({});
  assert.deepEqual([all(machine).slice(0, 5), machine.pending()], [BEFORE.slice(0, 5), []]);
});

test('a step that fails reverts the earlier steps, and itself where it may have been made', async t => {
  for (let failing = 1; failing <= 6; failing++)
    for (const code of ['tunnel-cli-failed', 'argument-rejected'] as const) {
      const machine = await setUp(t);
      const { tunnel, performed } = machine.memory;
      const apply = tunnel.runAction;
      tunnel.runAction = async request => {
        const isFailing = performed.length + 1 === failing;
        // routes that fail are read back: one that is in the list did not fail
        const isMade = code === 'tunnel-cli-failed' && !request.action.includes('Split');
        if (!isFailing || isMade) await apply(request);
        else performed.push(request);
        if (isFailing) throw new Problem(code, 'No.');
        return null;
      };
      await assert.rejects(machine.file.apply({ toml: OTHER }), { code });
      assert.deepEqual(
        [all(machine).map(each => (Array.isArray(each) ? each.toSorted() : each)), machine.pending()],
        [BEFORE, []],
        `${failing}, ${code}`,
      );
    }
});

const FAILING = {
  'crashes before it has an effect': ['setMode', false],
  'crashes after it has an effect': ['setMode', true],
  'is made before another step fails': ['setProtocol', false],
} as const;
const LIMITS = { 'for an hour': { forSeconds: 3600 }, 'until it is confirmed': { confirmWithin: 300 } };

for (const mode of ['warp', 'dot'])
  for (const [when, [failing, hasEffect]] of Object.entries(FAILING))
    for (const [limit, limits] of Object.entries(LIMITS))
      test(`the user's own mode ${limit} stays where that of a file, ${mode}, ${when}`, async t => {
        const machine = await setUp(t);
        await machine.changes.runWithLimit({ action: 'setMode', value: 'doh', ...limits });
        const pending = machine.pending();
        assert.equal(pending.length, 1);
        const { tunnel } = machine.memory;
        const { runAction } = tunnel;
        tunnel.runAction = async request => {
          const isFailing = request.action === failing;
          if (isFailing) tunnel.runAction = runAction;
          if (!isFailing || hasEffect) await runAction(request);
          if (isFailing) throw new Problem('tunnel-cli-failed', 'It crashed.');
          return null;
        };
        const toml = `[tunnel]\nmode = "${mode}"\nprotocol = "WireGuard"\n`;
        await assert.rejects(machine.file.apply({ toml }), { code: 'tunnel-cli-failed' });
        const { values } = machine.memory;
        assert.deepEqual([values.mode, values.protocol, machine.pending()], ['doh', 'MASQUE', pending]);
        await machine.changes.revert({ subject: 'mode' });
        assert.deepEqual([values.mode, machine.pending()], ['warp', []]);
      });

test("the user's own list, to be confirmed, stays where a file sets another and then fails", async t => {
  const machine = await setUp(t);
  const { action, value } = { action: 'addSplitRange', value: '10.9.0.0/16' } as const;
  await machine.changes.runWithLimit({ action, value, confirmWithin: 300 });
  const pending = machine.pending();
  const list = all(machine)[4];
  machine.settings.setUser = async () => {
    throw new Problem('config-not-writable', 'No.');
  };
  await assert.rejects(machine.file.apply({ toml: OTHER }), { code: 'config-not-writable' });
  assert.deepEqual([new Set(all(machine)[4]), machine.pending()], [new Set(list), pending]);
  await machine.changes.revert({ subject: 'routes' });
  assert.deepEqual([new Set(all(machine)[4]), machine.pending()], [new Set(BEFORE[4]), []]);
});

test('leaves out what this machine or version lacks, and lists it', async t => {
  const machine = await setUp(t);
  machine.memory.tunnel.supports = async action => action !== 'setProtocol';
  machine.memory.state.set('account', { registered: true, type: null, organization: 'acme', managed: true });
  const toml = `${OTHER}[culvert.warp]\ncli = "/tmp/x"\n[culvert.future]\nkey = 1\n[future]\nkey = 1\n`;
  const { skipped } = await machine.file.apply({ toml });
  assert.deepEqual(skipped.map(({ key }) => key).sort(), [
    'culvert.future',
    'culvert.warp.cli',
    'future.key',
    'split_tunnel.entries',
    'tunnel.protocol',
  ]);
  assert.deepEqual([machine.memory.values.mode, machine.memory.values.protocol], ['doh', 'MASQUE']);
  assert.equal(machine.settings.config.warp.cli, 'warp-cli');
});

test('refuses a file with mistakes, and changes nothing', async t => {
  const machine = await setUp(t);
  for (const [toml, message] of [
    ['[tunnel', /^line 1: /],
    ['[tunnel]\nmode = "fast"\nprotocol = "MASQUE"', /^tunnel\.mode: /],
    ['[dns]\nfallback = "corp"', /^dns\.fallback: /],
    ['[split_tunnel]\nentries = ["10.0.0"]', /^split_tunnel\.entries: /],
    [
      '[split_tunnel]\nmode = "include"\nentries = ["10.0.0.0/8"]',
      /^split_tunnel: the split tunnel is in exclude mode/,
    ],
    ['[split_tunnel]\nentries = ["10.0.0.0/8 # \\nmode include"]', /./],
    ['[culvert.ui]\ntheme = "pink"', /^culvert\.ui\.theme: /],
  ] as const)
    await assert.rejects(machine.file.apply({ toml }), { code: 'document-invalid', message });
  await assert.rejects(machine.file.undo(), { code: 'nothing-to-undo' });
  assert.deepEqual([all(machine), machine.memory.performed], [BEFORE, []]);
});

test('leaves out of an export what the environment or the command line of the daemon sets', async t => {
  const home = temporary(t, 'environment');
  const settings = await loadConfig(
    { system: join(home, 'system.json'), user: join(home, 'user.json') },
    {},
    {
      'server.port': 4999,
    },
  );
  assert.doesNotMatch(writeSettings({ ...memoryTunnel().state.snapshot(), stale: [] }, settings.response()), /4999/);
});
