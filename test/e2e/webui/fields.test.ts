// Hostile text in everything that the tunnel CLI, desktop entries and accounts of tools can put into a string, on every page.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tool, type ToolAccounts } from '../../../daemon/api/accounts.ts';
import { App, LogEntry, Snapshot, TrustReport } from '../../../daemon/api/schema.ts';
import { PAGE_NAMES, type PageName } from '../../../daemon/view/page-list.ts';
import { OUTPUT, startListeners } from '../../support/daemon/listeners.ts';
import { launchBrowser, openTab } from '../../support/e2e/browser.ts';
import { prefix } from '../../support/e2e/culvert.ts';
import { app, initialSnapshot, noUpdate, richTool, TRUST } from '../../support/gnome/initial.ts';
import { until } from '../../support/until.ts';

const ATTACK = '<img src=x onerror="globalThis.pwned=1"><script>globalThis.pwned=1</script>\u202e{{7*7}}';

/** Puts the attack, marked with its place, into each string that the schema leaves free. */
function spoil<T>(schema: { safeParse(value: unknown): { success: boolean } }, value: T, name: string): [T, string[]] {
  const spoiled: T = structuredClone(value);
  const places: string[] = [];
  const walk = (node: unknown, path: string) => {
    if (typeof node !== 'object' || node === null) return;
    const each = node as Record<string, unknown>;
    for (const [key, given] of Object.entries(each)) {
      const place = `${path}.${key}`;
      if (typeof given !== 'string') {
        walk(given, place);
        continue;
      }
      each[key] = `${place} ${ATTACK}`;
      if (schema.safeParse(spoiled).success) places.push(place);
      else each[key] = given;
    }
  };
  walk(spoiled, name);
  return [spoiled, places];
}

const at = '2026-11-22T12:00:00.000Z';
const route = (value: string) => ({ value, description: 'A note' });
/** A state with something in every string. */
const STATE: Snapshot = {
  ...initialSnapshot(1),
  status: {
    state: 'unable',
    network: null,
    blocked: null,
    since: at,
    raw: 'Status update: Unable',
    reason: { code: 'SomeReason', text: 'Some reason' },
  },
  settings: { Mode: 'warp', 'WARP tunnel protocol': 'MASQUE', Surprise: 'surprise' },
  options: {
    switchLocked: true,
    modeLocked: false,
    organization: 'o',
    families: 'off',
    gatewayId: 'g',
    masque: 'm',
    fallbackDomains: [{ domain: 'corp.example', note: 'n' }],
    wifiTrusted: false,
    ethernetTrusted: false,
    trustedSsids: ['Café'],
    endpoint: '192.0.2.1:1',
    virtualNetworks: { active: 'id', networks: [{ id: 'id', name: 'Office', default: true }] },
    environment: 'normal',
    localNetwork: 'off',
    localNetworkAccess: { allowed: true, endsAt: null },
  },
  tunnel: {
    protocol: 'MASQUE',
    proxyPort: 40000,
    endpoints: ['192.0.2.1:443'],
    handshakeAgeSeconds: 1,
    bytesSent: 1,
    bytesReceived: 1,
    latencyMs: 1,
    loss: 0,
    colo: 'FRA',
    at,
  },
  splitTunnel: { mode: 'exclude', ips: [route('192.0.2.0/24')], hosts: [route('host.example')] },
  account: { registered: true, type: 'Team', organization: 'o', managed: true },
  killSwitch: { ...initialSnapshot(1).killSwitch, installed: true, backend: 'nftables', detail: 'd', command: 'c' },
  update: {
    ...noUpdate(),
    latest: '9.0.0',
    updateAvailable: true,
    command: 'sudo x',
    previous: '0.1.0',
    manifest: { generatedAt: at, tag: 'v9', signed: true, signer: 's' },
    problem: { code: 'c', detail: 'd' },
    source: { state: 'refused', lastAnswerAt: null },
  },
  remoteAccess: { address: 'https://a.example' },
  changes: [
    {
      subject: 'mode',
      value: 'doh',
      previous: 'warp',
      setAt: at,
      confirmBy: '2999-01-01T00:00:00.000Z',
      endsAt: null,
      endingSoon: false,
      problem: 'p',
      problemCode: 'c',
    },
  ],
};
const ENTRY: LogEntry = { ...OUTPUT, id: 1, source: 'action', stdout: 'out', stderr: 'err' };

/** Texts by which a test knows that a page is complete. */
const SHOWN: Partial<Record<PageName, string[]>> = {
  connection: ['snapshot.status.reason.text', 'snapshot.account.organization', 'snapshot.changes.0.problem'],
  killswitch: ['snapshot.killSwitch.detail', 'snapshot.killSwitch.command'],
  routes: ['snapshot.splitTunnel.ips.0.value', 'snapshot.splitTunnel.hosts.0.description'],
  dns: ['snapshot.options.fallbackDomains.0.domain', 'snapshot.options.gatewayId'],
  networks: ['snapshot.options.trustedSsids.0'],
  account: ['snapshot.account.type'],
  apps: ['app.name'],
  tools: ['tool.cli', 'tool.accounts.0.name'],
  certificate: ['trust.certificates.0.name', 'trust.tools.0.title'],
  mode: ['snapshot.options.virtualNetworks.networks.0.name'],
  advanced: ['snapshot.options.endpoint'],
  log: ['log.argv.1'],
  updates: ['snapshot.update.command', 'snapshot.update.previous'],
};

test('hostile text in any string of the API stays text on every page', async t => {
  const { daemon, listeners, port } = await startListeners(t);
  daemon.webui = join(prefix, 'share/culvert/webui');
  daemon.settings.setSession({ webui: { enabled: true } });
  const [state, places] = spoil(Snapshot, STATE, 'snapshot');
  const [entry] = spoil(App, app('evil', 'Evil', { note: 'n', icon: 'i', categories: ['WebBrowser'] }), 'app');
  const [tool] = spoil(Tool, richTool(Date.parse(at)), 'tool');
  const [report] = spoil(TrustReport, TRUST, 'trust');
  const [line] = spoil(LogEntry, ENTRY, 'log');
  assert.ok(places.length > 40, places.join(' '));
  const accounts: ToolAccounts = { ok: true, tools: [tool], refreshing: false, problem: null };
  Object.assign(daemon.features.handlers, {
    'GET /api/apps': () => ({ ok: true, apps: [entry] }),
    'GET /api/accounts': () => accounts,
    'POST /api/trust': () => report,
  });
  for (const [part, value] of Object.entries(state))
    if (!['ok', 'revision', 'generatedAt', 'commands', 'stale'].includes(part))
      daemon.state.set(part as 'status', value as never);
  daemon.log.append(line);

  const address = `http://127.0.0.1:${port}/`;
  const { page, complaints } = await openTab(await launchBrowser(t), address);
  await page.locator('main .state').waitFor();
  await until(() => listeners.streams.count() === 1, 'the stream of the page');
  for (const name of PAGE_NAMES) {
    await page.evaluate(`location.hash = '#/${name}'`);
    for (const place of SHOWN[name] ?? []) {
      const shown = async () => {
        const folds = page.locator('main .fold[aria-expanded=false]');
        while ((await folds.count()) > 0) await folds.first().click();
        return (await page.locator('#app').textContent())?.includes(`${place} ${ATTACK}`);
      };
      await until(shown, `${place} on the page ${name}`);
    }
    if (name === 'log') {
      await page.locator('.virtual-list li').getByText('log.argv.1').first().click();
      await page.getByText('log.stdout').first().waitFor();
    }
    assert.equal(await page.locator('#app').locator('img, script, iframe, [onerror]').count(), 0, name);
  }
  await page.getByText('The release at the update source was refused').first().waitFor();
  assert.equal(await page.evaluate('globalThis.pwned'), undefined);
  assert.deepEqual(complaints, []);
});
