// Changes the emulated client with its commands, and reads the effects with its other commands.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Emulator, emulator } from '../../support/daemon/emulator.ts';

describe('the emulated client', () => {
  let it_: Emulator;
  before(async () => {
    it_ = await emulator();
  });
  after(() => it_.remove());
  beforeEach(() => it_.control('reset', 'clear'));

  const ok = async (...argv: string[]) => {
    const { stdout, stderr, exitCode } = await it_.run(...argv);
    assert.equal(exitCode, 0, `${argv.join(' ')}: ${stderr}`);
    return stdout;
  };
  const refused = async (...argv: string[]) => {
    const { stdout, stderr, exitCode } = await it_.run(...argv);
    assert.deepEqual([stdout, exitCode], ['', 1], `${argv.join(' ')} was accepted`);
    return stderr.trim();
  };
  const json = async (...argv: string[]) => JSON.parse(await ok('-j', ...argv));
  const setting = async (key: string) => {
    const line = (await ok('settings')).split('\n').find(each => each.includes(`\t${key}:`));
    return line?.replace('\t', ' ');
  };

  it('starts registered with a free account, disconnected, with the terms accepted', async () => {
    assert.deepEqual(await json('status'), { status: 'Disconnected', reason: 'Manual' });
    assert.equal((await json('registration', 'show')).account.type, 'free');
  });

  it('flips Always On with connect and disconnect, and reports the change in the next status', async () => {
    assert.equal(await ok('connect'), 'Success\n');
    assert.equal(await setting('Always On'), '(derived) Always On: true');
    await ok('disconnect');
    assert.equal(await setting('Always On'), '(derived) Always On: false');
    const { status, reason } = await json('status');
    assert.equal(status, 'Disconnected');
    assert.equal(reason.SettingsChanged.current.always_on, false);
    assert.equal(reason.SettingsChanged.previous.always_on, true);
  });

  it('leaves a connection alone when asked to connect again', async () => {
    await ok('connect');
    const before = JSON.parse(await it_.control('show')).connection;
    await ok('connect');
    assert.deepEqual(JSON.parse(await it_.control('show')).connection, before);
  });

  for (const [argument, text] of [
    ['doh', 'DnsOverHttps'],
    ['warp+doh', 'WarpWithDnsOverHttps'],
    ['dot', 'DnsOverTls'],
    ['warp+dot', 'WarpWithDnsOverTls'],
    ['proxy', 'WarpProxy on port 40000'],
    ['tunnel_only', 'TunnelOnly'],
    ['warp', 'Warp'],
  ] as const) {
    it(`names the mode ${argument} as "${text}" in settings`, async () => {
      await ok('mode', argument);
      assert.equal(await setting('Mode'), `(user set) Mode: ${text}`);
      assert.equal((await json('settings')).settings.operation_mode, argument);
    });
  }

  it('reconnects when the mode, protocol or endpoint changes', async () => {
    await ok('connect');
    const since = async () => JSON.parse(await it_.control('show')).connection.since as number;
    for (const change of [
      ['mode', 'warp+doh'],
      ['tunnel', 'protocol', 'set', 'WireGuard'],
      ['tunnel', 'endpoint', 'set', '162.159.192.1:500'],
    ]) {
      const before = await since();
      await ok(...change);
      assert.ok((await since()) > before, change.join(' '));
    }
    assert.equal((await json('tunnel', 'stats')).v4_endpoint, '162.159.192.1');
  });

  it('refuses proxy mode over WireGuard, and WireGuard in proxy mode, from 2025.8.779 on', async () => {
    await ok('tunnel', 'protocol', 'set', 'WireGuard');
    assert.match(await refused('mode', 'proxy'), /MASQUE/);
    await ok('tunnel', 'protocol', 'reset');
    await ok('mode', 'proxy');
    assert.match(await refused('tunnel', 'protocol', 'set', 'WireGuard'), /MASQUE/);
    const older = { CULVERT_EMULATOR_VERSION: '2025.7.176' };
    assert.equal((await it_.runWith(older, 'tunnel', 'protocol', 'set', 'WireGuard')).exitCode, 0);
  });

  it('marks entries that the command line added to the split tunnel, and removes them', async () => {
    await ok('tunnel', 'ip', 'add', '203.0.113.7');
    await ok('tunnel', 'ip', 'add', '2001:db8::7');
    await ok('tunnel', 'ip', 'add-range', '198.51.100.0/24');
    await ok('tunnel', 'host', 'add', 'www.example.com');
    const list = await ok('tunnel', 'ip', 'list');
    assert.match(list, /^Excluded routes:\n {2}10\.0\.0\.0\/8\n/);
    for (const value of ['203.0.113.7/32', '2001:db8::7/128', '198.51.100.0/24']) {
      assert.ok(list.includes(`  ${value} (CLI exclude)\n`), value);
      assert.ok((await ok('settings')).includes(`  ${value} (CLI exclude)\n`), value);
    }
    assert.match(await ok('tunnel', 'dump'), /^Excluded:\n[\s\S]*\n {2}www\.example\.com\n/);
    assert.match(await refused('tunnel', 'ip', 'add-range', '198.51.100.0/24'), /already exists/);
    await ok('tunnel', 'ip', 'remove', '203.0.113.7');
    assert.match(await refused('tunnel', 'ip', 'remove', '203.0.113.7'), /not found/);
    await ok('tunnel', 'ip', 'reset');
    assert.ok(!(await ok('tunnel', 'ip', 'list')).includes('CLI exclude'));
    await ok('tunnel', 'host', 'reset');
    assert.equal(await ok('tunnel', 'host', 'list'), 'Excluded hosts:\n');
  });

  it('reports a duplicate under -j with the code AlreadyExists', async () => {
    await ok('tunnel', 'host', 'add', 'a.example');
    assert.equal((await json('tunnel', 'host', 'add', 'a.example')).code, 'AlreadyExists');
  });

  it('marks added fallback domains and resolves by family', async () => {
    await ok('dns', 'fallback', 'add', 'corp.example');
    assert.ok((await ok('settings')).includes('  corp.example (CLI add)\n'));
    await ok('dns', 'fallback', 'remove', 'corp.example');
    await ok('dns', 'families', 'malware');
    assert.match((await setting('Resolve via')) ?? '', /security\.cloudflare-dns\.com @ \[1\.1\.1\.2\]/);
    await ok('dns', 'families', 'full');
    assert.match((await setting('Resolve via')) ?? '', /family\.cloudflare-dns\.com @ \[1\.1\.1\.3\]/);
    await ok('dns', 'gateway-id', 'set', 'abc123');
    assert.match((await setting('Resolve via')) ?? '', /abc123\.cloudflare-gateway\.com/);
  });

  it('changes the account type with a license, and refuses an invalid one', async () => {
    assert.match(await refused('registration', 'license', 'nonsense'), /license/i);
    await ok('registration', 'license', '11111111-22222222-33333333');
    const { account } = await json('registration', 'show');
    assert.deepEqual([account.type, account.license], ['unlimited', '11111111-22222222-33333333']);
  });

  it('needs a registration to connect, and gives each registration a new identity', async () => {
    const { id } = await json('registration', 'show');
    assert.match(await refused('registration', 'new'), /Old registration is still around/);
    await ok('connect');
    await ok('registration', 'delete');
    assert.equal((await json('status')).status, 'Unable');
    assert.match(await refused('connect'), /Missing registration\. Try running: "warp-cli registration new"/);
    assert.match(await refused('registration', 'delete'), /Missing registration/);
    await ok('registration', 'new');
    assert.notEqual((await json('registration', 'show')).id, id);
    assert.equal((await json('status')).status, 'Disconnected');
  });

  it('enrolls in an organization only after it gets a valid token from the browser', async () => {
    await ok('registration', 'delete');
    assert.match(await ok('registration', 'new', 'acme'), /https:\/\/acme\.cloudflareaccess\.com\/warp/);
    assert.match(await refused('registration', 'show'), /Missing registration/);
    const url = (team: string, token: string) =>
      `com.cloudflare.warp://${team}.cloudflareaccess.com/auth?token=${token}`;
    assert.equal(await refused('registration', 'token', url('acme', 'expired')), 'Error(401): Unauthorized');
    assert.equal(await refused('registration', 'token', url('other', 'aaaa.bbbb.cccc')), 'Error(401): Unauthorized');
    await ok('registration', 'token', url('acme', 'aaaa.bbbb.cccc'));
    const show = await json('registration', 'show');
    assert.deepEqual([show.managed, show.account.type, show.account.organization], [true, 'team', 'acme']);
    assert.equal(await setting('Organization'), '(user set) Organization: acme');
    assert.match(await refused('tunnel', 'ip', 'add', '203.0.113.7'), /Operation not authorized in this context/);
  });

  it('keeps the switch locked for an organization until an override code is entered', async () => {
    await it_.control('organization=acme', 'policy.switchLocked=true');
    await ok('connect');
    assert.match(await refused('disconnect'), /not authorized/);
    await ok('override', 'unlock', 'A1B2C3D4');
    await ok('disconnect');
  });

  it('allows local network access in an organization, but not with a consumer account', async () => {
    assert.match(await refused('override', 'local-network', 'allow'), /not authorized/);
    await it_.control('organization=acme');
    await ok('override', 'local-network', 'allow');
    assert.equal((await json('override', 'local-network', 'show')).allowed, true);
    await ok('override', 'local-network', 'stop');
    assert.deepEqual(await json('override', 'local-network', 'show'), { allowed: false, ends_in_secs: 0 });
  });

  it('switches only between virtual networks that exist', async () => {
    const network = (id: string) => ({ id, name: id, description: '', default: id === 'v-1' });
    await it_.control(`vnets=${JSON.stringify([network('v-1'), network('v-2')])}`);
    assert.equal((await json('vnet')).active_vnet_id, 'v-1');
    await ok('vnet', 'v-2');
    assert.equal((await json('vnet')).active_vnet_id, 'v-2');
    assert.match(await refused('vnet', 'v-3'), /does not exist/);
  });

  it('resets its settings, but not its connection', async () => {
    await ok('connect');
    await ok('mode', 'proxy');
    await ok('proxy', 'port', '41000');
    assert.equal(await setting('Mode'), '(user set) Mode: WarpProxy on port 41000');
    await ok('settings', 'reset');
    assert.equal(await setting('Mode'), '(default) Mode: Warp');
    assert.equal(await setting('Always On'), '(derived) Always On: true');
  });

  it('rotates the key, and keeps the rest of the registration', async () => {
    const before = await json('registration', 'show');
    await ok('tunnel', 'rotate-keys');
    const after_ = await json('registration', 'show');
    assert.notEqual(after_.public_key, before.public_key);
    assert.deepEqual({ ...after_, public_key: '' }, { ...before, public_key: '' });
  });

  it('has statistics only while connected, and they only grow', async () => {
    assert.equal((await json('tunnel', 'stats')).code, 'WarpNotConnected');
    await ok('connect');
    const first = await json('tunnel', 'stats');
    // The statistics depend only on the clock, so real time has to pass here.
    await delay(1100);
    const second = await json('tunnel', 'stats');
    assert.ok(second.bytes_received > first.bytes_received && second.bytes_sent > first.bytes_sent);
    assert.ok(second.secs_since_last_handshake > first.secs_since_last_handshake);
    assert.ok(second.estimated_latency_ms > 0 && second.estimated_loss < 0.01);
    assert.deepEqual(second.edge, first.edge);
  });
});

describe('an emulated connection over time', () => {
  it('moves through its phases as time passes, without a process', async () => {
    const it_ = await emulator({ connectMs: 60_000 });
    try {
      assert.equal((await it_.run('connect')).stdout, 'Success\n');
      const at = async (msAgo: number) => {
        await it_.control(`connection.since=${Date.now() - msAgo}`);
        return JSON.parse((await it_.run('-j', 'status')).stdout);
      };
      const endpoints = ['162.159.198.2:443', '[2606:4700:103::2]:443'];
      assert.deepEqual(await at(0), { status: 'Connecting', reason: { PerformingHappyEyeballs: endpoints } });
      assert.deepEqual(await at(30_000), { status: 'Connecting', reason: { EstablishingConnection: endpoints[0] } });
      assert.deepEqual(await at(50_000), { status: 'Connecting', reason: 'PerformingConnectivityChecks' });
      assert.deepEqual(await at(60_001), { status: 'Connected', reason: 'NetworkHealthy' });
    } finally {
      await it_.remove();
    }
  });
});
