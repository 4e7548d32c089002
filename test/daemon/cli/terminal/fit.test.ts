// Output on a terminal: within its width, and in ASCII for a locale without UTF-8.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import stringWidth from 'string-width';
import { COMMANDS, parse } from '../../../../daemon/cli/command-line/program.ts';
import { asciiText, columns, isAsciiLocale, unbroken, wrapped } from '../../../../daemon/cli/layout.ts';
import { createStyle } from '../../../../daemon/core/terminal.ts';
import { createHome, culvert, culvertAt, type Home, startDaemon, status } from '../../../support/daemon/command.ts';
import { memoryTunnel, route, showIn } from '../../../support/daemon/memory-tunnel.ts';

test('a line is broken at its spaces, and what follows is indented', () => {
  assert.equal(wrapped('  one two three four', 12), '  one two\n    three\n    four');
  assert.equal(wrapped('short', 12), 'short');
  assert.equal(wrapped('https://example.com/long/path x', 12), 'https://example.com/long/path\n  x');
  assert.equal(wrapped(`run: ${unbroken('sudo rm a')}`, 10), 'run:\n sudo rm a');
});

test('columns wrap their last cell, and are given up where the terminal is too narrow', () => {
  const rows = [['firefox.desktop', 'Firefox', 'a note that is longer than the room beside the names']];
  assert.equal(
    columns(rows, text => text, 52),
    'firefox.desktop  Firefox  a note that is longer than\n                          the room beside the names',
  );
  for (const line of columns(rows, text => text, 30).split('\n')) assert.ok(line.length <= 30, line);
});

test('a locale is ASCII where it names another charset than UTF-8', () => {
  for (const env of [{ LC_ALL: 'C' }, { LANG: 'POSIX' }, { LANG: 'C.UTF-8', LC_ALL: 'C' }, { LC_CTYPE: 'de_DE' }])
    assert.equal(isAsciiLocale(env), true, JSON.stringify(env));
  for (const env of [{}, { LANG: 'C.UTF-8' }, { LC_ALL: 'en_US.utf8', LANG: 'C' }, { LC_ALL: '', LANG: 'de_DE.UTF-8' }])
    assert.equal(isAsciiLocale(env), false, JSON.stringify(env));
});

test('signs and letters have others in ASCII', () => {
  assert.equal(asciiText('● Connecting… · “Zürich” – 日 → x\n'), '* Connecting... - "Zurich" - ? -> x\n');
});

/** A daemon with long values in memory. */
async function setUp(t: TestContext): Promise<Home> {
  const home = createHome(t);
  const hosts = ['service-with-a-long-name.internal.example.com', '*.corp.example'].map(route);
  const ips = ['10.0.0.0/8', '2001:db8:1234:5678::/64'].map(route);
  const memory = memoryTunnel({ split: { mode: 'exclude', ips, hosts } });
  const { daemon } = await startDaemon(t, home, undefined, { tunnel: memory.tunnel });
  showIn(daemon.state, memory);
  const reason = { code: null, text: 'Performing happy eyeballs to 162.159.198.1:443 and several others of the pool…' };
  daemon.state.set('status', status('connecting', { reason }));
  const app = {
    id: 'org.chromium.Chromium.desktop',
    name: 'Chromium – web browser',
    icon: null,
    method: 'profile' as const,
    note: 'A window that is open already belongs to another profile, and its traffic stays as it is. Close it first.',
    shortcut: false,
  };
  daemon.features.handlers['GET /api/apps'] = () => ({ ok: true, apps: [app] as never });
  return home;
}

const OUTPUTS = [
  ['status'],
  ['status', '--long'],
  ['doctor', 'list'],
  ['doctor', 'check', '--only', 'clock,display,daemon,knowledge-files', '--verbose'],
  ['apps'],
  ['routes'],
  ['routes', 'history'],
  ['routes', 'presets'],
  ['split'],
  ['history'],
  ['config'],
  ['actions'],
  ['mode'],
  ['logs'],
  ['explain'],
  ['killswitch'],
  ['update', 'check'],
  ['why', '192.0.2.1'],
  ['help'],
  ['help', '--all'],
];
const HELPS = COMMANDS.map(({ name }) => ['help', name]);

for (const width of [60, 80]) {
  test(`no line is wider than a terminal of ${width} columns`, async t => {
    const home = await setUp(t);
    let all = '';
    for (const words of OUTPUTS) {
      const { stdout, stderr } = await culvertAt(width, home, words);
      all += stdout + stderr;
    }
    checkWidth(all, width);
    assert.match(all, /org\.chromium/);
  });

  test(`no line of a command’s help is wider than a terminal of ${width} columns`, async t => {
    for (const words of HELPS) {
      const text = await helpOn(t, width, words);
      assert.match(text, /^Usage: culvert/, words.join(' '));
      checkWidth(text, width);
    }
  });
}

function checkWidth(text: string, width: number): void {
  for (const line of text.split(/[\r\n]+/))
    assert.ok(stringWidth(line) <= width || /^ *\S+$/.test(line), `${stringWidth(line)} columns: ${line}`);
}

/** The help that this process prints on a terminal of `width` columns. */
async function helpOn(t: TestContext, width: number, words: string[]): Promise<string> {
  const { stdout } = process;
  const { isTTY, columns } = stdout;
  let text = '';
  const write = t.mock.method(stdout, 'write', (piece: string) => {
    text += piece;
    return true;
  });
  Object.assign(stdout, { isTTY: true, columns: width });
  try {
    await assert.rejects(parse(words, createStyle(false)), { exitCode: 0 });
  } finally {
    Object.assign(stdout, { isTTY, columns });
    write.mock.restore();
  }
  return text;
}

test('with LC_ALL=C every command writes ASCII', async t => {
  const home = await setUp(t);
  const further = [['bogus'], ['why', 'ü'], ['mode', 'é'], ['status', '--json'], ['apps', '--json']];
  for (const words of [...OUTPUTS, ...HELPS.slice(0, 2), ...further]) {
    const { stdout, stderr } = await culvert(home, words, '', { LC_ALL: 'C' });
    for (const text of [stdout, stderr]) assert.doesNotMatch(text, /[^\0-\x7f]/, words.join(' '));
    if (words.includes('--json')) assert.doesNotThrow(() => JSON.parse(stdout));
  }
  const { stdout } = await culvert(home, ['apps', '--json'], '', { LC_ALL: 'C' });
  assert.equal(JSON.parse(stdout).apps[0].name, 'Chromium – web browser');
});

test('a document keeps its bytes, whatever the locale', async t => {
  const home = await setUp(t);
  const file = `${home.path}/routes.txt`;
  writeFileSync(file, 'mode exclude\n10.0.0.0/8 # Büro\n');
  await culvert(home, ['routes', 'import', file, '--yes']);
  assert.match((await culvert(home, ['routes', 'export'], '', { LC_ALL: 'C' })).stdout, /Büro/);
});
