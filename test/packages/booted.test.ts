// The packages under the real systemd, polkit and bus of Debian releases: the root service of the kill switch, and what it does for
// programs and sign-ins. With --full only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { ASK, ASK_UDP, cannotBoot, createMachine, setUp } from '../support/booted/machine.ts';
import { finish } from '../support/killswitch/programs.ts';
import { build, version } from '../support/packages/packages.ts';
import { temporary } from '../support/temporary.ts';
import { FULL } from '../support/thoroughness.ts';
import { until } from '../support/until.ts';

const lacks = ['dh', 'dpkg-buildpackage', 'gjs', 'meson', 'rsvg-convert', 'nft'].find(
  program => spawnSync(program, ['--version']).error,
);
const skip = cannotBoot || (lacks ? `${lacks} is not installed` : !FULL && 'only with --full');

const kept = (...command: string[]) => ['culvert', 'run', '--tunnel-only', '--', ...command];
const outside = (...command: string[]) => ['culvert', 'run', '--outside', '--', ...command];

describe('the packages under a real systemd', { skip }, () => {
  const at = temporary({ after }, 'deb');
  const deb = join(at, 'culvert.deb');
  const debs = ['-archive-keyring.deb', '-daemon.deb'].map(end => deb.replace('.deb', end));

  before(async () => {
    const source = join(at, `culvert-${version}-source.tar.gz`);
    await build('data/release/source.sh', [source, join(at, 'source')]);
    await build('data/deb/build.sh', [source, deb, join(at, 'deb')], { DPKG_DEB_COMPRESSOR_LEVEL: '1' });
  });

  for (const release of ['bookworm', 'trixie']) describe(release, () => testRelease(release, debs));
});

function testRelease(release: string, debs: readonly string[]): void {
  const machine = createMachine({ after });
  let isUp = false;
  const onMachine = (title: string, act: (t: TestContext) => Promise<void>) =>
    test(title, async t => (isUp ? act(t) : t.skip(`no root of ${release} can be made here`)));
  before(async () => {
    isUp = await setUp(machine, release, debs);
    if (!isUp) return;
    for (const user of ['ann', 'ben'] as const)
      await succeeds(['systemctl', '--user', 'enable', '--now', 'culvert.service'], user);
  });

  const succeeds = async (words: string[], user: 'ann' | 'ben' = 'ann') => {
    const { code, out, err } = await machine.runAs(user, ...words);
    assert.equal(code, 0, `${words.join(' ')}: ${out}${err}`);
    return out;
  };
  const refused = async (words: string[], pattern: RegExp, user: 'ann' | 'ben' = 'ann') => {
    const { code, out, err } = await machine.runAs(user, ...words);
    assert.match(err, pattern, words.join(' '));
    assert.notEqual(code, 0);
    assert.equal(out, '');
  };
  const tables = () => machine.script('nft list tables');

  onMachine('a person turns the kill switch on and off, and others need an administrator', async () => {
    await refused(['culvert', 'killswitch', 'on'], /permission of an administrator/, 'ben');
    assert.doesNotMatch(await tables(), /culvert/);
    assert.match(await succeeds(['culvert', 'killswitch', 'on']), /on; it blocks/);
    assert.match(await tables(), /table inet culvert\n/);
    const before = await machine.seen();
    assert.equal(await succeeds(ASK), 'OSError\n');
    assert.deepEqual(await machine.seen(), before);
    await refused(['culvert', 'killswitch', 'off'], /permission of an administrator/, 'ben');
    assert.match(await succeeds(['culvert', 'killswitch', 'off']), /off/);
    assert.doesNotMatch(await tables(), /culvert/);
    assert.equal(await succeeds(ASK), 'reached\n');
  });

  onMachine('a user keeps a program in the tunnel, in a scope of the real systemd', async () => {
    await machine.tunnelUp();
    assert.match(
      await succeeds(kept('cat', '/proc/self/cgroup'), 'ben'),
      /^0::.*\/user-1001-culvert\.slice\/culvert-.*\.scope$/m,
    );
    assert.equal((await machine.runAs('ben', ...kept('sh', '-c', 'exit 7'))).code, 7);
    let before = await machine.seen();
    assert.equal(await succeeds(kept(...ASK), 'ben'), 'reached\n');
    const after = await machine.seen();
    assert.equal(after.uplink, before.uplink);
    assert.ok(after.tunnel > before.tunnel);
    await machine.tunnelDown();
    before = await machine.seen();
    assert.equal(await succeeds(kept(...ASK), 'ben'), 'ConnectionRefusedError\n');
    assert.equal(await succeeds(kept(...ASK_UDP), 'ben'), 'PermissionError\n');
    assert.deepEqual(await machine.seen(), before);
    // the control
    assert.equal(await succeeds(ASK, 'ben'), 'reached\n');
    assert.ok((await machine.seen()).uplink > before.uplink);
  });

  onMachine('without rules, the scope itself refuses the uplink, where systemd can do that', async () => {
    const waiting = ['sh', '-c', 'echo ready; read -r _; exec "$@"', 'sh', ...ASK_UDP];
    const child = machine.startAs('ben', ...kept(...waiting));
    await new Promise(done => child.stdout!.once('data', done));
    await machine.script('systemctl stop culvert-killswitch; nft flush ruleset');
    assert.equal(await tables(), '');
    const before = await machine.seen();
    const { out } = await finish(child, '\n');
    const { uplink } = await machine.seen();
    const [hasLock] = /\+BPF_FRAMEWORK/.exec(await machine.script('systemctl --version')) ?? [];
    assert.equal(release === 'bookworm', hasLock === undefined);
    if (hasLock) assert.deepEqual([out, uplink], ['PermissionError\n', before.uplink]);
    else assert.deepEqual([out, uplink], ['sent\n', before.uplink + 1]); // as for the kill switch, in culvert-killswitch(8)
  });

  onMachine('a person runs a program outside the tunnel, and with the kill switch on only a listed one', async () => {
    await machine.tunnelUp();
    let before = await machine.seen();
    assert.equal(await succeeds(outside(...ASK)), 'reached\n');
    let now = await machine.seen();
    assert.equal(now.tunnel, before.tunnel);
    assert.ok(now.uplink > before.uplink);
    await refused(outside('echo', 'started'), /permission of an administrator/, 'ben');
    await succeeds(['culvert', 'killswitch', 'on']);
    before = await machine.seen();
    await refused(outside('echo', 'started'), /kill switch is on/);
    await machine.script('mkdir -p /etc/culvert; readlink -f /usr/bin/python3 >/etc/culvert/outside-programs');
    await machine.script('cp "$(readlink -f /usr/bin/python3)" /usr/local/bin/another');
    await refused(outside('/usr/local/bin/another', ...ASK.slice(1)), /no administrator has allowed \/usr\/local/);
    assert.deepEqual(await machine.seen(), before);
    assert.equal(await succeeds(outside(...ASK)), 'reached\n');
    now = await machine.seen();
    assert.equal(now.tunnel, before.tunnel);
    assert.ok(now.uplink > before.uplink);
    await succeeds(['culvert', 'killswitch', 'off']);
    await machine.tunnelDown();
    assert.doesNotMatch(await machine.script('ip -o link; ip rule; nft list tables'), /culvert/);
  });

  onMachine('the helper of a sign-in finds the login page through the kill switch', async () => {
    await succeeds(['culvert', 'killswitch', 'on']);
    const check = ['culvert', 'portal', '--check'];
    await refused(check, /permission of an administrator/, 'ben');
    const mode = (name: string) => writeFileSync(machine.path('mode'), name);
    mode('redirect');
    const { code, out } = await machine.runAs('ann', ...check);
    assert.deepEqual([code, out], [1, 'This network asks for a login. http://login.example/\n']);
    const helpers = () => machine.script('nft list set inet culvert sign_in_helpers');
    // a busy service may take longer to close than the command waits for it
    const closed = () => until(async () => !/elements/.test(await helpers()));
    await closed();
    const child = machine.startAs('ann', 'culvert', 'portal', '--minutes', '2');
    const ended = finish(child);
    let said = '';
    child.stderr!.on('data', data => (said += data));
    await until(
      () => /Open this page in a browser with the SOCKS5 proxy/.test(said),
      () => said,
    );
    assert.match(await helpers(), /elements = \{[^}]*\d+ \. "up0"/);
    mode('open');
    assert.equal((await ended).code, 0, said);
    await closed();
    await until(async () => (await machine.run('systemctl', 'is-active', 'culvert-killswitch-sign-in')).code !== 0);
  });

  onMachine('the kill switch blocks again after a power failure', async () => {
    await checkQuiet();
    await machine.end();
    await machine.boot();
    assert.match(
      await machine.script('systemctl show --property=Result,ActiveState culvert-killswitch-guard'),
      /success\nActiveState=active/,
    );
    await until(async () => (await machine.runAs('ann', 'culvert', 'status')).code === 0);
    const before = await machine.seen();
    assert.equal(await succeeds(ASK, 'ben'), 'OSError\n');
    assert.deepEqual(await machine.seen(), before);
    assert.match(await succeeds(['culvert', 'killswitch', 'off']), /off/);
    assert.equal(await succeeds(ASK, 'ben'), 'reached\n');
    await checkQuiet();
  });

  onMachine('removing the packages ends kept programs and leaves nothing', async () => {
    const child = machine.startAs('ben', ...kept('sh', '-c', 'echo ready; exec sleep infinity'));
    await new Promise(done => child.stdout!.once('data', done));
    const ended = finish(child);
    await machine.script('dpkg --purge culvert-daemon culvert-archive-keyring');
    await ended;
    assert.equal(await tables(), '');
    assert.doesNotMatch(await machine.script("systemctl list-units --all --plain --no-legend 'culvert*'"), /culvert/);
  });

  /** No unit failed, and neither our units nor others about them complain. */
  async function checkQuiet(): Promise<void> {
    assert.equal(await machine.script('systemctl --failed --plain --no-legend'), '');
    for (const user of ['ann', 'ben'] as const)
      assert.equal(await succeeds(['systemctl', '--user', '--failed', '--plain', '--no-legend'], user), '');
    const journal = (await machine.script('journalctl --output=json'))
      .trim()
      .split('\n')
      .map(text => JSON.parse(text) as Entry);
    const said = journal.filter(
      ({ PRIORITY, _SYSTEMD_UNIT = '', MESSAGE }) =>
        /^culvert/.test(_SYSTEMD_UNIT) || (Number(PRIORITY) <= 4 && /culvert/i.test(String(MESSAGE))),
    );
    // a busy machine starves the monitor, which is then started again, and removes the link of an ended program late
    const usual =
      /^culvert-killswitch: (the ((test for a login page|sign-in of user 1000) (began|ended) |monitor of the packet filter went deaf)|link \d+ is blocked: process \d+ has ended$)/;
    assert.deepEqual(
      said.map(({ MESSAGE }) => String(MESSAGE)).filter(line => !usual.test(line)),
      [],
    );
  }
}

interface Entry {
  PRIORITY?: string;
  _SYSTEMD_UNIT?: string;
  MESSAGE?: unknown;
}
