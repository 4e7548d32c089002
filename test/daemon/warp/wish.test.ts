// A connection that the tunnel CLI has accepted: what is reported of it until the tunnel is up or is turned off.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { createState } from '../../../daemon/state/store.ts';
import { parseStatusText, type StatusReading } from '../../../daemon/warp/parse/status.ts';
import { createTunnelStore } from '../../../daemon/warp/tunnel-store.ts';
import { createWish } from '../../../daemon/warp/wish.ts';
import { startTunnel } from '../../support/daemon/tunnel.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

const json = (status: string, reason: unknown) => JSON.stringify({ status, reason });
const settings = (current: boolean, previous: boolean) =>
  json('Disconnected', { SettingsChanged: { current: { always_on: current }, previous: { always_on: previous } } });
/** Lines of the tunnel CLI. */
const PRINTED = {
  manual: json('Disconnected', 'Manual'),
  bare: json('Disconnected', undefined),
  changed: json('Disconnected', 'SettingsChanged'),
  'turned on': settings(true, false),
  'turned off': settings(false, true),
  'turned off, on several lines': JSON.stringify(JSON.parse(settings(false, true)), null, 2),
  'no network': json('Disconnected', 'NoNetwork'),
  connecting: json('Connecting', 'EstablishingConnection'),
  unable: json('Unable', 'HappyEyeballsFailed'),
  connected: json('Connected', 'NetworkHealthy'),
  unregistered: json('Unable', { RegistrationMissing: 'DaemonStartup' }),
};
type Word = keyof typeof PRINTED;

/** Lines before and after the connection is accepted, and the reason that is reported at last. */
const COURSES: [before: Word, after: Word[], code: string | undefined][] = [
  ['manual', [], 'ConnectIgnored'],
  ['manual', ['manual'], 'ConnectIgnored'],
  ['bare', ['bare'], 'ConnectIgnored'],
  ['manual', ['connecting', 'manual'], 'ConnectIgnored'],
  ['manual', ['connecting', 'bare'], 'ConnectIgnored'],
  ['manual', ['connecting', 'unable', 'connecting', 'manual'], 'ConnectIgnored'],
  ['manual', ['changed'], 'ConnectIgnored'],
  ['manual', ['changed', 'manual'], 'ConnectIgnored'],
  ['manual', ['turned on', 'connecting', 'changed', 'manual'], 'ConnectIgnored'],
  ['turned off', ['turned off'], 'ConnectIgnored'],
  ['turned off', ['turned off, on several lines'], 'ConnectIgnored'],
  ['connecting', ['manual'], 'ConnectIgnored'],
  ['manual', ['no network'], 'NoNetwork'],
  ['manual', ['no network', 'manual'], 'ConnectIgnored'],
  // turned off by hand
  ['manual', ['connecting', 'connected', 'manual'], 'Manual'],
  ['connected', ['manual'], 'Manual'],
  ['manual', ['turned off'], 'SettingsChanged'],
  ['turned off', ['connecting', 'turned off'], 'SettingsChanged'],
  ['manual', ['connecting', 'turned off', 'manual'], 'Manual'],
  // another registration has no wish of the previous registration
  ['manual', ['unregistered', 'manual'], 'Manual'],
];

/** A store that was given what the tunnel CLI prints. */
function hearing(file: string | null = null, now = Date.now) {
  const state = createState({ available: true, path: null, version: null, emulated: true });
  const wish = createWish(file, now);
  const store = createTunnelStore(state, wish);
  const hear = (word: Word) => store.status(parseStatusText(PRINTED[word]) as StatusReading, PRINTED[word]);
  const reason = () => state.snapshot().status.reason;
  return { store, wish, hear, reason, code: () => reason()?.code };
}

for (const [before, after, code] of COURSES)
  test(`after "${before}" and an accepted connection, ${after.map(word => `"${word}"`).join(', ') || 'silence'} is ${code}`, () => {
    for (const isOverdueFirst of [false, true]) {
      const { store, hear, code: reported } = hearing();
      hear(before);
      store.expectConnection(true);
      if (isOverdueFirst) store.connectionOverdue();
      for (const word of after) hear(word);
      if (!isOverdueFirst) {
        if (code === 'ConnectIgnored') assert.equal(reported(), 'ConnectAccepted', 'it may still come');
        store.connectionOverdue();
      }
      assert.equal(reported(), code);
      store.expectConnection(false);
      assert.notEqual(reported(), 'ConnectIgnored', 'turned off through Culvert');
    }
  });

/** The end of a daemon that was asked to connect, and the reason that the next one reports of the same tunnel. */
const ENDS: [end: 'crash' | 'restart' | 'stop', before: Word[], then: Word, code: string | undefined][] = [
  ['crash', [], 'manual', 'ConnectIgnored'],
  ['crash', ['connecting', 'manual'], 'manual', 'ConnectIgnored'],
  ['crash', ['connecting', 'manual'], 'bare', 'ConnectIgnored'],
  ['restart', [], 'manual', 'ConnectIgnored'],
  ['restart', ['connecting', 'manual'], 'bare', 'ConnectIgnored'],
  // turned off in the meantime
  ['crash', [], 'turned off', 'SettingsChanged'],
  ['restart', [], 'turned off', 'SettingsChanged'],
  // fulfilled before the end, or while no daemon ran
  ['crash', ['connected', 'manual'], 'manual', 'Manual'],
  ['restart', ['connected', 'manual'], 'manual', 'Manual'],
  ['crash', ['connecting'], 'connected', 'NetworkHealthy'],
  // a stop lasts as long as the user likes
  ['stop', [], 'manual', 'Manual'],
  ['stop', ['connecting', 'manual'], 'manual', 'Manual'],
];
for (const [end, before, then, code] of ENDS)
  test(`after a ${end} of the daemon with a wish to connect and ${JSON.stringify(before)}, "${then}" is ${code}`, t => {
    const file = join(temporary(t), 'state/connect-wish');
    const first = hearing(file);
    first.hear('manual');
    first.store.expectConnection(true);
    for (const word of before) first.hear(word);
    if (end !== 'crash') first.wish.leave(end === 'restart');
    // two in a row: a second crash comes before anything is heard
    for (const next of [hearing(file), hearing(file)]) {
      next.hear(then);
      assert.equal(next.code() ?? 'NetworkHealthy', code);
    }
    const last = hearing(file);
    last.store.expectConnection(false);
    last.wish.leave(false);
    assert.throws(() => readFileSync(file), { code: 'ENOENT' });
  });

test('a wish that is older than a restart takes, and a file that is damaged, do not count', t => {
  const file = join(temporary(t), 'connect-wish');
  const hour = 3_600_000;
  for (const text of [
    '',
    '{',
    '7',
    '{"at":"x"}',
    ...[-hour, hour].map(ms => JSON.stringify({ at: Date.now() + ms })),
  ]) {
    writeFileSync(file, text);
    const { hear, code } = hearing(file);
    hear('manual');
    assert.equal(code(), 'Manual', text);
  }
});

/** Lines after the tunnel CLI accepted to disconnect, and the reason that is reported at last. */
const OFF: [before: Word, after: Word[], code: string | undefined][] = [
  ['connected', ['changed'], 'Manual'],
  ['connected', ['turned on'], 'Manual'],
  ['connected', ['bare'], 'Manual'],
  ['connected', ['connected', 'changed'], 'Manual'],
  ['connecting', ['changed', 'changed'], 'Manual'],
  ['changed', ['changed'], 'Manual'],
  ['connected', ['manual'], 'Manual'],
  ['connected', ['no network'], 'NoNetwork'],
  // it came up again
  ['connected', ['changed', 'connecting', 'connected', 'changed'], 'SettingsChanged'],
  ['connected', ['bare', 'connected', 'bare'], undefined],
];
for (const [before, after, code] of OFF)
  test(`after "${before}" and an accepted end, ${after.map(word => `"${word}"`).join(', ')} is ${code}`, () => {
    const { store, hear, code: reported } = hearing();
    hear(before);
    store.expectConnection(false);
    for (const word of after) hear(word);
    assert.equal(reported(), code);
  });

test('a change of the settings of a tunnel that its user turned off is not the reason why it is off', () => {
  for (const off of ['manual', 'turned off'] as const) {
    const { hear, code } = hearing();
    hear(off);
    hear('changed');
    assert.equal(code(), 'Manual', off);
    hear('connected');
    hear('changed');
    assert.equal(code(), 'SettingsChanged', 'from outside Culvert');
  }
});

test('only a tunnel that was on, or whose switch was moved, is known to be turned off by hand', () => {
  const byUser = (words: Word[]) => {
    const { hear, reason } = hearing();
    for (const word of words) hear(word);
    assert.equal(reason()?.code, 'Manual', words.join());
    return reason()?.byUser === true;
  };
  const courses: [heard: Word[], byUser: boolean][] = [
    [['manual'], false],
    [['manual', 'changed'], false],
    [['manual', 'bare'], false],
    [['unregistered', 'manual'], false],
    [['connected', 'manual'], true],
    [['connecting', 'manual'], true],
    [['connected', 'manual', 'changed'], true],
    [['turned off'], true],
    [['manual', 'turned off'], true],
  ];
  for (const [heard, expected] of courses) assert.equal(byUser(heard), expected, heard.join());
});

for (const [isAutomatic, other, byUser] of [
  [true, { action: 'setMode', value: 'doh' }, undefined],
  [false, { action: 'disconnect' }, true],
] as const)
  test(`an end by ${byUser ? 'the user' : 'Culvert'} stays one while ${other.action} is under way`, async t => {
    const { tunnel, status, place } = await startTunnel(t, {
      fake: `cd "$(dirname "$0")"; case "$*" in
        --version) echo "warp-cli 2026.7.1343.0";;
        *-l*) exec tail -n +1 -f lines;;
        *disconnect) read -r line <ends; echo Success;;
      esac`,
    });
    const [lines, ends] = [join(place.path, 'lines'), join(place.path, 'ends')];
    execFileSync('mkfifo', [ends]);
    const end = openSync(ends, 'r+');
    t.after(() => closeSync(end));
    writeFileSync(lines, `${PRINTED.connected}\n`);
    await until(() => status().state === 'connected');
    const actions = [tunnel.runAction({ action: 'disconnect' }, isAutomatic), tunnel.runAction(other, !isAutomatic)];
    appendFileSync(lines, `${PRINTED['turned off']}\n`);
    await until(() => status().reason?.code === 'Manual');
    if (isAutomatic) assert.equal(status().reason?.byUser, undefined, 'before the command has ended');
    for (const action of actions) {
      writeSync(end, '\n');
      await action;
      assert.equal(status().reason?.byUser, byUser);
    }
  });

test('a crash of the daemon keeps who turned the tunnel off', t => {
  for (const [heard, isAsked, expected] of [
    [['connected'], 'by the user', true],
    [['connected'], 'by Culvert', undefined],
    [['connected', 'manual'], false, true],
    [['manual'], false, undefined],
  ] as [Word[], string | false, true | undefined][]) {
    const file = join(temporary(t), 'connect-wish');
    const first = hearing(file);
    for (const word of heard) first.hear(word);
    if (isAsked) first.store.expectConnection(false, isAsked === 'by Culvert');
    for (const word of ['manual', 'turned off', 'manual'] as const) {
      if (isAsked) first.hear(word);
      assert.ok(!isAsked || first.reason()?.byUser === expected, `${isAsked}: ${word}`);
    }
    const next = hearing(file);
    next.hear('manual');
    assert.equal(next.reason()?.byUser, expected, heard.join());
  }
});

test('an accepted end that was never carried out does not explain a later one', () => {
  for (const [seconds, code] of [
    [10, 'Manual'],
    [20, 'SettingsChanged'],
  ] as const) {
    let time = 0;
    const { store, hear, code: reported } = hearing(null, () => time);
    hear('connected');
    store.expectConnection(false);
    time = seconds * 1000;
    hear('changed');
    assert.equal(reported(), code, `after ${seconds} s`);
  }
});

test('after a crash of the daemon, a disconnection by the user is still reported as one', t => {
  for (const before of [[], ['changed'], ['bare']] as Word[][]) {
    const file = join(temporary(t), 'connect-wish');
    const first = hearing(file);
    first.hear('connected');
    first.store.expectConnection(false);
    for (const word of before) first.hear(word);
    const next = hearing(file);
    next.hear('changed');
    assert.equal(next.code(), 'Manual');
    next.hear('connected');
    next.hear('changed');
    assert.equal(next.code(), 'SettingsChanged');
  }
});

test('a tunnel that moves and gives up without a word was not turned off by its user', async t => {
  const { tunnel, status, place, state } = await startTunnel(t, {
    ignoredMs: 100,
    fake: `lines="$(dirname "$0")/lines"; case "$*" in
      --version) echo "warp-cli 2026.7.1343.0";;
      *-l*) echo '${PRINTED.manual}'; exec tail -n +1 -f "$lines";;
      *disconnect) echo Success;;
      *connect) echo Success; echo '${PRINTED.connecting}' >>"$lines"; echo '${PRINTED.manual}' >>"$lines";;
      *status) echo '${PRINTED.manual}';;
    esac`,
  });
  writeFileSync(join(place.path, 'lines'), '');
  await until(() => status().reason?.code === 'Manual');
  await tunnel.runAction({ action: 'connect' });
  await until(() => status().reason?.code === 'ConnectIgnored');
  assert.equal(state.snapshot().status.state, 'disconnected');
  await tunnel.runAction({ action: 'disconnect' });
  assert.equal(status().reason?.code, 'Manual');
});
