// `culvert split`: one action for each entry, and lists that can be imported again and again.
import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readFileSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Problem } from '../../../../daemon/problem.ts';
import { createHome, culvert, type Perform, startDaemon } from '../../../support/daemon/command.ts';
import { missing } from '../../../support/temporary.ts';

/** Keeps the split tunnel as the tunnel CLI would. */
const keeping: Perform = (state, action, value = '') => {
  const split = state.snapshot().splitTunnel;
  const entry = { value, description: null };
  if (/^addSplit(Ip|Range)$/.test(action)) state.set('splitTunnel', { ...split, ips: [...split.ips, entry] });
  if (action === 'addSplitHost') state.set('splitTunnel', { ...split, hosts: [...split.hosts, entry] });
  if (/^removeSplit(Ip|Range)$/.test(action))
    state.set('splitTunnel', { ...split, ips: split.ips.filter(i => i.value !== value) });
  return undefined;
};
const some = {
  mode: 'exclude' as const,
  ips: [{ value: '10.0.0.0/8', description: 'CLI exclude' }],
  hosts: [{ value: 'example.com', description: null }],
};

test('split alone and split list show the entries with their kind and description', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('splitTunnel', { mode: 'exclude', ips: [], hosts: [] });
  assert.equal((await culvert(home, ['split'])).stdout, 'Nothing bypasses WARP.\n');
  daemon.state.set('splitTunnel', some);
  const { stdout } = await culvert(home, ['split']);
  assert.match(stdout, /^These bypass WARP:\n +10\.0\.0\.0\/8 +range +CLI exclude\n +example\.com +host\n$/);
  assert.deepEqual(JSON.parse((await culvert(home, ['split', '--json'])).stdout), { ok: true, ...some });
  daemon.state.set('splitTunnel', { ...some, mode: 'include' });
  assert.match((await culvert(home, ['split', 'list'])).stdout, /^Only these use WARP:/);
});

test('lists that were never read are not shown or exported as empty', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('splitTunnel', { mode: null, ips: [], hosts: [] });
  for (const words of [['list'], ['export'], ['remove', '10.0.0.0/8']]) {
    const { stdout, stderr, code } = await culvert(home, ['split', ...words]);
    assert.deepEqual([stdout, code], ['', 1], words[0]);
    assert.match(stderr, /split tunnel is not known/);
  }
  daemon.state.set('status', { ...daemon.state.snapshot().status, blocked: 'cli-missing' });
  for (const words of [['split'], ['mode'], ['protocol']]) {
    const { stderr, code } = await culvert(home, words);
    assert.deepEqual([code, /not known: Cloudflare WARP is not installed\./.test(stderr)], [6, true], words[0]);
  }
});

test('add distinguishes addresses, ranges and hosts, and skips existing entries', async t => {
  const home = createHome(t);
  const { daemon, performed } = await startDaemon(t, home, keeping);
  daemon.state.set('splitTunnel', some);
  const { code, stderr } = await culvert(home, [
    'split',
    'add',
    '10.9.9.9/8',
    '192.0.2.1',
    'fd00::/8',
    '*.Example.com',
  ]);
  assert.deepEqual(performed, [
    ['addSplitIp', '192.0.2.1'],
    ['addSplitRange', 'fd00::/8'],
    ['addSplitHost', '*.example.com'],
  ]);
  assert.equal(code, 0);
  assert.match(stderr, /^10\.0\.0\.0\/8 is there already\.$/m);
});

test('add changes nothing when one of its arguments is not an entry', async t => {
  const home = createHome(t);
  const { performed } = await startDaemon(t, home, keeping);
  const { code, stderr } = await culvert(home, ['split', 'add', '192.0.2.1', '10.0.0.0/40']);
  assert.deepEqual([code, performed], [2, []]);
  assert.match(stderr, /"10\.0\.0\.0\/40" has a prefix length outside 0 to 32\./);
});

test('remove removes what is there, and nothing when one of the entries is not', async t => {
  const home = createHome(t);
  const { daemon, performed } = await startDaemon(t, home, keeping);
  daemon.state.set('splitTunnel', some);
  const absent = await culvert(home, ['split', 'remove', '10.0.0.0/8', '192.0.2.1']);
  assert.deepEqual([absent.code, performed], [1, []]);
  assert.match(absent.stderr, /192\.0\.2\.1 is not in the split tunnel; nothing was removed\./);
  assert.equal((await culvert(home, ['split', 'remove', '10.0.0.0/8', 'example.com'])).code, 0);
  assert.deepEqual(performed, [
    ['removeSplitRange', '10.0.0.0/8'],
    ['removeSplitHost', 'example.com'],
  ]);
});

test('reset resets both lists, or the one that is named', async t => {
  const home = createHome(t);
  const { performed } = await startDaemon(t, home);
  for (const words of [
    ['split', 'reset'],
    ['split', 'reset', '--ips'],
    ['split', 'reset', '--hosts'],
  ]) {
    assert.equal((await culvert(home, words)).code, 0);
  }
  assert.deepEqual(
    performed.map(([action]) => action),
    ['resetSplitIps', 'resetSplitHosts', 'resetSplitIps', 'resetSplitHosts'],
  );
});

test('import adds what is missing, names each line that fails, and changes nothing the second time', async t => {
  const home = createHome(t);
  const { daemon, performed } = await startDaemon(t, home, (state, action, value) => {
    if (value === 'taken.example') throw new Problem('tunnel-cli-failed', 'It failed.', { stderr: 'Error: taken\n' });
    return keeping(state, action, value);
  });
  daemon.state.set('splitTunnel', some);
  const file = join(home.path, 'routes.txt');
  writeFileSync(file, '# routes\n10.0.0.0/8\n192.0.2.1 # mine\n192.0.2.1/32\nno host\ntaken.example\nnew.example\n');
  const { code, stderr } = await culvert(home, ['split', 'import', file]);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `${file}:5: "no host" is neither an address, nor a range, nor a host name\n${file}:6: Error: taken\n` +
      'Added 2, already there 2, failed 2.\n',
  );
  writeFileSync(file, '10.0.0.0/8\n192.0.2.1\nnew.example\n');
  const before = performed.length;
  const again = await culvert(home, ['split', 'import', '--json'], readFileSync(file, 'utf8'));
  assert.equal(again.code, 0);
  assert.deepEqual(JSON.parse(again.stdout), {
    ok: true,
    added: [],
    present: ['10.0.0.0/8', '192.0.2.1', 'new.example'],
    failed: [],
  });
  assert.equal(performed.length, before);
});

test('import stops at a failure that every further line would meet', async t => {
  const home = createHome(t);
  let asked = 0;
  await startDaemon(t, home, () => {
    asked++;
    throw new Problem('service-stopped', 'The service does not answer.');
  });
  const { code, stderr } = await culvert(home, ['split', 'import'], 'a.example\nb.example\n');
  assert.deepEqual([code, asked], [1, 1]);
  assert.match(stderr, /Start it with: sudo systemctl/);
});

test('export writes a list that import accepts, to stdout or a file', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('splitTunnel', some);
  const text = 'mode exclude\n10.0.0.0/8  # CLI exclude\nexample.com\n';
  assert.equal((await culvert(home, ['split', 'export'])).stdout, text);
  const file = join(home.path, 'out.txt');
  assert.equal((await culvert(home, ['split', 'export', file])).stdout, '');
  assert.equal(readFileSync(file, 'utf8'), text);
  assert.equal((await culvert(home, ['split', 'import', file])).code, 0);
});

test('export replaces a file whole or leaves it, and keeps the link to it', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('splitTunnel', some);
  const [file, link] = [join(home.path, 'list'), join(home.path, 'link')];
  writeFileSync(file, 'before', { mode: 0o640 });
  symlinkSync(file, link);
  // in the way of what is written first
  mkdirSync(join(home.path, '.list.culvert-new'));
  for (const words of [['split'], ['routes'], ['settings']]) {
    const { code, stderr } = await culvert(home, [...words, 'export', link, '--force']);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /list can't be written/);
    assert.equal(readFileSync(file, 'utf8'), 'before');
  }
  rmdirSync(join(home.path, '.list.culvert-new'));
  assert.equal((await culvert(home, ['split', 'export', link, '--force'])).code, 0);
  assert.match(readFileSync(file, 'utf8'), /^mode exclude\n/);
  assert.equal(lstatSync(link).isSymbolicLink(), true);
  assert.equal(statSync(file).mode & 0o777, 0o640);
});

test('a list that is not there, and a place that cannot be written, are failures with the reason', async t => {
  const home = createHome(t);
  const { daemon } = await startDaemon(t, home);
  daemon.state.set('splitTunnel', some);
  const file = join(missing(t), 'list');
  const unread = await culvert(home, ['split', 'import', file]);
  assert.equal(unread.code, 1);
  assert.ok(unread.stderr.includes(`${file} can't be read: ENOENT`), unread.stderr);
  const unwritable = await culvert(home, ['split', 'export', file]);
  assert.equal(unwritable.code, 1);
  assert.ok(unwritable.stderr.includes(`${file} can't be written: ENOENT`), unwritable.stderr);
});
