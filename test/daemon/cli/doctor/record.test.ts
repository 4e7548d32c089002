// `culvert diagnose record` over the emulator, as a stranger uses it: recorded, redacted, replayed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { formatTranscript, parseTranscript, type Row } from '../../../../daemon/warp/record/transcript.ts';
import { replayTranscript } from '../../../runner/transcript.ts';
import { createHome, culvert, ended, type Home, start } from '../../../support/daemon/command.ts';
import { emulator } from '../../../support/daemon/emulator.ts';

/** Words that must not get out, each where a real client prints such a word. */
const CANARIES = {
  organization: 'canaryteam',
  host: 'canary-nas.example.net',
  network: 'CanaryCoffee 5G',
  domain: 'canarylan',
  device: 'CanaryLaptop',
  address: '203.0.113.77',
  license: 'CANARYAA-CANARYBB-CANARYCC',
  uuid: '9c1c3a5e-ca4a-4a77-8b77-000000000001',
};

/** A home whose warp-cli is the emulator in a state full of canaries. @param answers output by arguments, in place of the emulator's */
async function setUp(t: TestContext, words: string[] = [], answers: Record<string, string> = {}) {
  const home = createHome(t);
  const cli = await emulator();
  t.after(() => cli.remove());
  const { env } = cli;
  const variables = Object.entries(env).filter(([name]) => name.startsWith('CULVERT_'));
  const warp = join(home.path, 'warp-cli');
  const exports = variables.map(([name, value]) => `export ${name}='${value}'`).join('\n');
  const cases = Object.entries(answers).map(([argv, text]) => `'${argv}') printf '%s\\n' '${text}'; exit;;`);
  const own = cases.length > 0 ? `case "$*" in\n${cases.join('\n')}\nesac\n` : '';
  writeFileSync(warp, `#!/bin/sh\n${exports}\n${own}exec ${cli.bin} "$@"\n`, { mode: 0o755 });
  home.env.CULVERT_WARP_CLI = warp;
  await cli.control('reset', ...words);
  return { home, cli };
}

const record = (home: Home, ...words: string[]) => culvert(home, ['diagnose', 'record', ...words]);
const rowsOf = (file: string): Row[] => parseTranscript(readFileSync(file, 'utf8'));
const replay = async (file: string) => {
  const lines: string[] = [];
  const code = await replayTranscript(file, line => lines.push(line));
  return { code, said: lines.join('\n') };
};

test('records every reading command, changes nothing, and replays what it wrote', async t => {
  const { home, cli } = await setUp(t, [
    `registration.license=${CANARIES.license}`,
    `registration.deviceId=${CANARIES.uuid}`,
    `settings.hosts=[{"value":"${CANARIES.host}","description":"CLI exclude"}]`,
    `settings.ips=[{"value":"10.0.0.0/8","description":""},{"value":"${CANARIES.address}","description":"${CANARIES.device}"}]`,
    `settings.fallback=[{"domain":"${CANARIES.domain}","description":"","servers":["${CANARIES.address}"]}]`,
    `settings.ssids=["${CANARIES.network}"]`,
    `otherDevices=[{"device_id":"${CANARIES.uuid}","name":"${CANARIES.device}","model":"PC","active":true}]`,
  ]);
  await cli.run('connect');
  const before = readFileSync(cli.stateFile, 'utf8');
  const file = join(home.path, 'mine.jsonl');
  const { code, stdout } = await record(home, file);
  assert.equal(code, 0, stdout);
  assert.equal(readFileSync(cli.stateFile, 'utf8'), before);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(stdout, /Where to send it is not known: this build names no address/);

  const rows = rowsOf(file);
  const answer = (...argv: string[]) => rows.find(row => row.argv.join(' ') === argv.join(' '));
  assert.deepEqual(answer('--version')?.stdout, 'warp-cli 2026.7.1377.0\n');
  assert.ok(rows[0]?.system?.kernel && rows[0].system.distribution, JSON.stringify(rows[0]));
  assert.match(answer('-j', 'status')?.stdout ?? '', /"status": "Connected"/);
  assert.match(answer('-j', '-l', 'status')?.stdout ?? '', /^\{"status":"Connected"/);
  // a command that this version lacks is recorded with its refusal
  assert.deepEqual([answer('debug', 'dex')?.exit_code, answer('debug', 'dex')?.stdout], [2, '']);
  assert.match(answer('debug', 'dex')?.stderr ?? '', /unrecognized subcommand/);
  assert.ok(rows.every(({ fidelity }) => fidelity === 'recorded'));

  const text = readFileSync(file, 'utf8').toLowerCase();
  for (const canary of [...Object.values(CANARIES), home.path]) assert.ok(!text.includes(canary.toLowerCase()), canary);

  const replayed = await replay(file);
  assert.equal(replayed.code, 0, replayed.said);
  assert.match(replayed.said, /The daemon shows: ● Connected · All traffic · MASQUE/);
  assert.match(replayed.said, /0 unknown values, 0 unknown failures/);
  assert.match(replayed.said, /Failed: debug dex: error: unrecognized subcommand/);
});

test('records a member of an organization without its name', async t => {
  const { home } = await setUp(t, [`organization=${CANARIES.organization}`]);
  const file = join(home.path, 'team.jsonl');
  assert.equal((await record(home, file)).code, 0);
  const text = readFileSync(file, 'utf8');
  assert.ok(!text.includes(CANARIES.organization));
  assert.match(text, /<organization-1>/);
  assert.equal((await replay(file)).code, 0);
});

/** Answers with a canary as a value, a label or a key, in commands whose answers no redaction is sure to know. */
const PRIVATE: Record<string, string> = {
  'target list': 'Targets:\n  db-prod-canarya: up\n  canaryb 10.0.0.1\n',
  '-j target list': '{"targets":{"db-prod-canaryc":{"state":"up"}}}',
  '-j mdm get-configs': '{"configs":{"canarydcorp":{"organization":"canarye","canaryf":true}}}',
  'mdm get-configs': 'canarygcorp:\n  organization: canaryh\n',
  'dns fallback list': 'canaryi\ncanaryj-lan: 10.0.0.1\n',
  '-j dns fallback list': '{"canaryk":["canaryl"]}',
  'dns default-fallbacks': 'canarym\n',
  'dns stats': 'canaryn: 12\n',
  '-j dns stats': '{"queries":{"canaryo":12}}',
  'settings support-url': 'https://help.example.com/canaryp/\n',
  '-j settings support-url': '{"support_url":"https://help.example.com/canaryq"}',
  'registration organization': 'canaryr\n',
  certs: 'canarys: installed\n',
  'debug posture': 'Serial canaryt\ncanaryu-check: passed\n',
  'override show': 'Override code: canaryv\n',
};

test('keeps no word of a private answer, neither of a value nor of a label or a key', async t => {
  const { home } = await setUp(t, [], PRIVATE);
  const file = join(home.path, 'private.jsonl');
  assert.equal((await record(home, file)).code, 0);
  const rows = rowsOf(file);
  for (const argv of Object.keys(PRIVATE)) {
    const row = rows.find(each => each.argv.join(' ') === argv);
    assert.deepEqual([row?.exit_code, /<(?:value|name)/.test(row?.stdout ?? '')], [0, true], argv);
  }
  assert.doesNotMatch(readFileSync(file, 'utf8'), /canary/i);
  assert.equal((await replay(file)).code, 0);
});

test('replaces no file, and says so before and after it asked', async t => {
  const { home } = await setUp(t);
  const file = join(home.path, 'mine.jsonl');
  writeFileSync(file, 'mine');
  const { code, stderr } = await record(home, file);
  assert.equal(code, 1);
  assert.match(stderr, /already exists/);
  assert.equal(readFileSync(file, 'utf8'), 'mine');
});

test('names its file after the version, and prints what it did as JSON', async t => {
  const { home } = await setUp(t);
  // a separate process, whose directory is that of the file
  const { code, stdout } = await ended(await start(home, ['diagnose', 'record', '--json']));
  const report = JSON.parse(stdout);
  assert.deepEqual([code, report.out, report.sendTo, report.trial], [0, 'warp-cli-2026.7.1377.0.jsonl', null, null]);
  assert.ok(existsSync(join(home.path, report.out)));
  assert.ok(report.failed.includes('debug dex'));
  // a clone, in which it is replayed, is in another directory
  const other = await ended(await start(home, ['diagnose', 'record', 'other.jsonl']));
  assert.ok(
    other.stdout.includes(`./culvert-tool test --transcript ${join(home.path, 'other.jsonl')}\n`),
    other.stdout,
  );
});

test('records a service that is down, or does not answer, as what it is', async t => {
  for (const [fault, read] of [
    ['service-down', /Unable to connect to the CloudflareWARP daemon/],
    ['not-registered', /Missing registration/],
    ['terms', /Please accept the WARP Terms of Service/],
  ] as const) {
    const { home } = await setUp(t, [`fault=${fault}`]);
    const file = join(home.path, 'mine.jsonl');
    assert.equal((await record(home, file)).code, 0, fault);
    const rows = rowsOf(file);
    assert.ok(
      rows.some(({ stdout, stderr }) => read.test(stdout + stderr)),
      fault,
    );
    const { code, said } = await replay(file);
    assert.equal(code, 0, said);
  }
});

test('says that there is nothing to record without a client', async t => {
  const home = createHome(t);
  home.env.CULVERT_WARP_CLI = 'no-such-client';
  const { code, stderr } = await record(home, join(home.path, 'x.jsonl'));
  assert.equal(code, 6);
  assert.match(stderr, /no-such-client is not installed/);
});

test('a replay names what Culvert does not know, and ends with another status', async t => {
  const { home } = await setUp(t);
  const file = join(home.path, 'mine.jsonl');
  await record(home, file);
  const change = (argv: string, more: Partial<Row>) =>
    rowsOf(file).map(row => (row.argv.join(' ') === argv ? { ...row, ...more } : row));
  const other = join(home.path, 'other.jsonl');
  for (const [argv, more, said] of [
    [
      '-j status',
      { stdout: '{"status":"Hibernating","reason":"Moonlight"}\n' },
      /Not known: -j status: status: Hibernating\n.*reason: Moonlight/,
    ],
    [
      '-j settings',
      { stdout: '{"settings":{"operation_mode":"quantum","always_on":true}}' },
      /Not known: -j settings: Mode: quantum/,
    ],
    [
      'tunnel ip list',
      { stdout: 'Ranges that bypass:\n  10.0.0.0/8\n' },
      /Not known: tunnel ip list: answer: Ranges that bypass:/,
    ],
    [
      '-j registration show',
      { stdout: '', stderr: 'Error: No moon.\n', exit_code: 1 },
      /Failed, not known why: -j registration show: Error: No moon\./,
    ],
  ] as const) {
    writeFileSync(other, formatTranscript(change(argv, more)));
    const replayed = await replay(other);
    assert.equal(replayed.code, 1, replayed.said);
    assert.match(replayed.said, said);
  }
});

test('a replay refuses a file that is no transcript', async t => {
  const home = createHome(t);
  const file = join(home.path, 'x.jsonl');
  for (const [text, said] of [
    ['', /has no line/],
    ['{"version":"1"}\n', /Line 1 is not a recorded command: argv/],
    ['not JSON\n', /Line 1 is not a recorded command: it is not JSON/],
  ] as const) {
    writeFileSync(file, text);
    const { code, said: what } = await replay(file);
    assert.equal(code, 2);
    assert.match(what, said);
  }
  const program = resolve('test/runner/main.ts');
  const words = ['--import', 'tsx', program, '--transcript', join(home.path, 'absent.jsonl')];
  const absent = spawnSync(process.execPath, words, { encoding: 'utf8' });
  assert.deepEqual([absent.status, absent.stderr], [2, '']);
  assert.match(absent.stdout, /absent\.jsonl can't be replayed: No such file or directory/);
  // the recordings of the tests are in the same format
  const published = await replay(resolve('test/fixtures/warp-cli/transcripts.jsonl'));
  assert.notEqual(published.code, 2, published.said);
});
