// `culvert routes list|reset|import --add|export`, and `culvert split` as the old spelling of them.
import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readFileSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createHome, culvert, startDaemon, startHome } from '../../../support/daemon/command.ts';
import { memoryTunnel, showIn } from '../../../support/daemon/memory-tunnel.ts';
import { missing } from '../../../support/temporary.ts';

const some = {
  mode: 'exclude' as const,
  ips: [{ value: '10.0.0.0/8', description: 'CLI exclude' }],
  hosts: [{ value: 'example.com', description: null }],
};

test('split alone and split list show the entries with their kind and description', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('splitTunnel', { mode: 'exclude', ips: [], hosts: [] });
  assert.equal((await culvert(home, ['split'])).stdout, 'Nothing bypasses WARP. Add a site: culvert routes add HOST\n');
  daemon.state.set('splitTunnel', some);
  const { stdout } = await culvert(home, ['split']);
  assert.match(stdout, /^These bypass WARP:\n +10\.0\.0\.0\/8 +range +CLI exclude\n +example\.com +host\n$/);
  assert.deepEqual(JSON.parse((await culvert(home, ['split', '--json'])).stdout), { ok: true, ...some });
  daemon.state.set('splitTunnel', { ...some, mode: 'include' });
  assert.match((await culvert(home, ['split', 'list'])).stdout, /^Only these use WARP:/);
});

test('lists that were never read are not shown or exported as empty', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('splitTunnel', { mode: null, ips: [], hosts: [] });
  for (const words of [['list'], ['export'], ['remove', '10.0.0.0/8']]) {
    const { stdout, stderr, code } = await culvert(home, ['split', ...words]);
    assert.deepEqual([stdout, code], ['', 1], words[0]);
    assert.match(stderr, /split tunnel is not known|did not report the split tunnel/);
  }
  daemon.state.set('status', { ...daemon.state.snapshot().status, blocked: 'cli-missing' });
  for (const words of [['split'], ['mode'], ['protocol']]) {
    const { stderr, code } = await culvert(home, words);
    assert.deepEqual([code, /not known: Cloudflare WARP is not installed\./.test(stderr)], [6, true], words[0]);
  }
});

test('the old spelling adds, removes, imports and undoes through the same list', async t => {
  const home = createHome(t);
  const memory = memoryTunnel();
  const { daemon } = await startDaemon(t, home, undefined, { tunnel: memory.tunnel });
  showIn(daemon.state, memory);
  const listed = () => [...memory.values.split.ips, ...memory.values.split.hosts].map(({ value }) => value).sort();
  const before = listed();
  const added = await culvert(home, ['split', 'add', '10.9.9.9/8', '192.0.2.1', '*.Example.com']);
  assert.equal(added.code, 0, added.stderr);
  assert.deepEqual(listed(), [...new Set([...before, '10.0.0.0/8', '192.0.2.1', '*.example.com'])].sort());
  const wrong = await culvert(home, ['split', 'add', '192.0.2.2', '10.0.0.0/40']);
  assert.deepEqual([wrong.code, listed().includes('192.0.2.2')], [2, false]);
  assert.match(wrong.stderr, /"10\.0\.0\.0\/40" has a prefix length outside 0 to 32\./);
  const absent = await culvert(home, ['split', 'remove', '192.0.2.1', '192.0.2.77']);
  assert.deepEqual([absent.code, listed().includes('192.0.2.1')], [1, true]);
  assert.match(absent.stderr, /192\.0\.2\.77 is not in the list; nothing was removed\./);
  assert.equal((await culvert(home, ['split', 'remove', '10.0.0.0/8', '192.0.2.1', '*.example.com'])).code, 0);
  const kept = before.filter(value => value !== '10.0.0.0/8');
  assert.deepEqual(listed(), kept);
  assert.equal((await culvert(home, ['split', 'import'], '# mine\n198.51.100.7 # office\n')).code, 0);
  assert.deepEqual(listed(), [...kept, '198.51.100.7'].sort(), 'import as it was: nothing is removed');
  assert.match((await culvert(home, ['routes', 'export'])).stdout, /^198\.51\.100\.7 {2}# office$/m);
  assert.equal((await culvert(home, ['routes', 'undo'])).code, 0);
  assert.deepEqual(listed(), kept);
});

test('import --add changes nothing where a line is not valid or the mode differs', async t => {
  const { home, daemon, performed } = await startHome(t);
  daemon.state.set('splitTunnel', some);
  const invalid = await culvert(home, ['routes', 'import', '--add'], '192.0.2.1\nno host\n');
  assert.equal(invalid.code, 1);
  assert.match(
    invalid.stderr,
    /^Line 2: "no host" is neither an address, nor a range, nor a host name\n.*Nothing was changed/,
  );
  const other = await culvert(home, ['routes', 'import', '--add'], 'mode include\n192.0.2.1\n');
  assert.equal(other.code, 1);
  assert.match(other.stderr, /The document has mode include, and the list has mode exclude\. Nothing was changed/);
  assert.deepEqual(performed, []);
});

test('reset resets both lists, or the named list', async t => {
  const { home, performed } = await startHome(t);
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

test('export writes a list that import accepts, to stdout or a file', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('splitTunnel', some);
  const text = 'mode exclude\n10.0.0.0/8  # CLI exclude\nexample.com\n';
  assert.equal((await culvert(home, ['split', 'export'])).stdout, text);
  const file = join(home.path, 'out.txt');
  assert.equal((await culvert(home, ['split', 'export', file])).stdout, '');
  assert.equal(readFileSync(file, 'utf8'), text);
  assert.equal((await culvert(home, ['split', 'import', file])).code, 0);
});

test('export replaces a file whole or leaves it, and keeps the link to it', async t => {
  const { home, daemon } = await startHome(t);
  daemon.state.set('splitTunnel', some);
  const [file, link] = [join(home.path, 'list'), join(home.path, 'link')];
  writeFileSync(file, 'before', { mode: 0o640 });
  symlinkSync(file, link);
  // in the way of what is written first
  mkdirSync(join(home.path, '.list.culvert-new'));
  for (const words of [['routes'], ['settings']]) {
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
  const { home, daemon } = await startHome(t);
  daemon.state.set('splitTunnel', some);
  const file = join(missing(t), 'list');
  const unread = await culvert(home, ['split', 'import', file]);
  assert.equal(unread.code, 1);
  assert.ok(unread.stderr.includes(`${file} can't be read: No such file or directory`), unread.stderr);
  const unwritable = await culvert(home, ['split', 'export', file]);
  assert.equal(unwritable.code, 1);
  assert.ok(unwritable.stderr.includes(`${file} can't be written: No such file or directory`), unwritable.stderr);
});
