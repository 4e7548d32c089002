// The first page as data: one skeleton for every state, with at most two buttons and the others in a menu.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '../../../../daemon/api/schema.ts';
import { STATES } from '../../../../daemon/api/states.ts';
import { type ClientState, connectionOf } from '../../../../daemon/view/client/client-state.ts';
import { type Form, lockOf, type Row } from '../../../../daemon/view/form.ts';
import { timeOfDay } from '../../../../daemon/view/format.ts';
import { message } from '../../../../daemon/view/message.ts';
import { type ConnectionFacts, connectionForm, connectionPage } from '../../../../daemon/view/pages/connection.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { change, KILL_SWITCH, richTool, tool, toolAccount } from '../../../support/gnome/initial.ts';
import { named, rowsOf } from '../../../support/gnome/view/forms.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';
import { OFFLINE, opened, settled, client as worldOf } from '../../../support/gnome/view/world.ts';

const NOW = Date.parse('2026-11-21T15:21:00.000Z');
const at = (seconds: number) => new Date(NOW + 1000 * seconds).toISOString();
const SINCE = `Since ${timeOfDay(at(-720), false, new Date(NOW))}`;
const BLOCKS = { ...KILL_SWITCH, enabled: true, active: true };
const PAUSED = change('connection', { value: 'off', setAt: at(-60), endsAt: at(840) });
const TRIAL = change('mode', { value: 'doh', setAt: at(-5), confirmBy: at(25) });
const OLD = { at: at(-600), said: null };
const SILENCE = /^WARP does not answer\.$/m;
const UNTIL = change('mode', { value: 'doh', setAt: at(-60), endsAt: at(840) });

type Parts = Parameters<typeof clientState>[0];

function given(
  status: Partial<Snapshot['status']>,
  parts: Parts = {},
  changes = [] as Snapshot['changes'],
): ClientState {
  const client = clientState({ ...parts, status: { since: at(-720), reason: null, ...status } });
  return { ...client, isLong: false, snapshot: { ...client.snapshot!, changes } };
}

function formOf(client: ClientState, more: Partial<ConnectionFacts> = {}, language = tr): Form {
  const facts = { now: NOW, figures: [], tools: [], ...more };
  return connectionForm(describe(client, '1', language), facts, language);
}

const DEMO = { tunnelCli: { emulated: true } };
const reason = (code: string) => ({ code, text: '' });
const UNPROTECTED = 'You are not protected. Your traffic bypasses WARP.';
const long = (client: ClientState) => ({ ...client, isLong: true });

/** The status in each state: title, first line of the sentence, gray line, buttons, and the menu. */
const TABLE: [name: string, client: ClientState, ...rest: [string, string, string | null, string[], string[]]][] = [
  [
    'connected',
    given({ state: 'connected' }, { tunnel: { colo: 'FRA' } }),
    'Connected',
    'Your traffic goes through Cloudflare.',
    'Connected for 12 min · Frankfurt',
    ['Disconnect'],
    ['Check where you appear'],
  ],
  [
    'connected in the demo',
    given({ state: 'connected' }, DEMO),
    'Demo: Connected',
    'Demo: your real traffic is not protected.',
    'Connected for 12 min',
    ['Disconnect'],
    [],
  ],
  [
    'connected, DNS only for a while',
    given({ state: 'connected' }, { settings: { Mode: 'doh' } }, [UNTIL]),
    'Connected',
    'DNS queries are encrypted; other traffic is not tunneled.',
    `Mode: DNS only until ${timeOfDay(at(840), false)} · 14:00 left`,
    ['Disconnect', 'End Now'],
    ['15 Minutes More'],
  ],
  [
    'connecting',
    given({ state: 'connecting' }),
    'Connecting…',
    'Setting up the tunnel…',
    'Trying for 12 min',
    ['Cancel'],
    [],
  ],
  [
    'connecting for long',
    long(given({ state: 'connecting' })),
    'Connecting…',
    'This takes longer than usual. UDP may be blocked.',
    'Trying for 12 min',
    ['Use HTTP/2', 'Cancel'],
    ['Run Checks'],
  ],
  [
    'disconnecting',
    given({ state: 'disconnecting' }),
    'Disconnecting…',
    'The tunnel is being taken down.',
    null,
    ['Connect'],
    [],
  ],
  ['disconnected', given({ state: 'disconnected' }), 'Disconnected', UNPROTECTED, SINCE, ['Connect'], []],
  [
    'disconnected in the demo',
    given({ state: 'disconnected' }, DEMO),
    'Demo: Disconnected',
    'Demo: your real traffic is not protected.',
    SINCE,
    ['Connect'],
    [],
  ],
  [
    'paused',
    given({ state: 'disconnected' }, {}, [PAUSED]),
    'Paused',
    `Back on at ${timeOfDay(at(840), false)}. Your traffic bypasses WARP until then.`,
    '14:00 left',
    ['Connect Now', '15 Minutes More'],
    [],
  ],
  [
    'blocked',
    given({ state: 'disconnected' }, { killSwitch: BLOCKS }),
    'Internet is blocked',
    'The kill switch waits for WARP.',
    SINCE,
    ['Connect', 'Pause Kill Switch 5 min'],
    [],
  ],
  [
    'blocked in a mode for a while',
    given({ state: 'disconnected' }, { killSwitch: BLOCKS }, [UNTIL]),
    'Internet is blocked',
    'The kill switch waits for WARP.',
    `Mode: DNS only until ${timeOfDay(at(840), false)} · 14:00 left`,
    ['Connect', 'Pause Kill Switch 5 min'],
    ['End Now', '15 Minutes More'],
  ],
  [
    'unable',
    given({ state: 'unable', reason: reason('NoNetwork') }),
    'You are offline',
    'This computer has no network with internet access.',
    'Trying for 12 min',
    ['Network Settings', 'Stop Trying'],
    [],
  ],
  [
    'needs-you',
    given({ state: 'unable', reason: reason('CaptivePortalTimedOut') }),
    'This network wants you to sign in',
    'You did not finish its sign-in page in time. WARP connects after you sign in on its page.',
    'Trying for 12 min',
    ['Open Sign-in Page', 'Stop Trying'],
    [],
  ],
  [
    'unknown',
    given({ state: 'unknown', raw: 'Something new' }),
    'State not known',
    'WARP reports something that Culvert does not understand.',
    null,
    ['Connect', 'Disconnect'],
    [],
  ],
];

for (const [name, client, title, sentence, line, buttons, menu] of TABLE)
  test(`the status of a tunnel that is ${name} has its words and at most two buttons`, () => {
    const { status } = formOf(client);
    const { tunnel } = describe(client, '1', tr);
    assert.deepEqual([status!.icon, status!.tone], [tunnel.icon, tunnel.tone]);
    assert.equal(status!.title, title);
    assert.equal(status!.sentence!.split('\n')[0], sentence);
    assert.equal(status!.line, line);
    assert.deepEqual(
      status!.buttons.map(({ label }) => label),
      buttons,
    );
    assert.deepEqual(
      status!.menu!.map(({ label }) => label),
      menu,
    );
    assert.ok(status!.buttons.length <= 2);
  });

test('the table has every state', () => {
  const states = new Set(TABLE.map(([, client]) => describe(client, '1', tr).tunnel.state));
  assert.deepEqual([...states].sort(), [...STATES].sort());
});

test('every state has the same rows, so nothing moves', () => {
  for (const [name, client] of TABLE) {
    const [, main] = formOf(client).groups;
    assert.deepEqual(
      main!.rows.map(({ id }) => id),
      ['figures', 'mode', 'killswitch', 'pause'],
      name,
    );
  }
});

test('without a daemon the status offers to start it, and keeps the skeleton', () => {
  const client = { ...given({ state: 'connected' }), offline: OFFLINE };
  const { status, groups } = formOf(client);
  assert.deepEqual(
    [status!.title, status!.line, status!.buttons.map(({ label }) => label)],
    ['Unavailable', null, ['Start']],
  );
  assert.equal(groups[1]!.rows.length, 4);
  const starting = formOf({ ...client, snapshot: null, offline: { code: 'starting', detail: '' } });
  const [button] = starting.status!.buttons;
  assert.deepEqual([starting.status!.title, button!.label, button!.sensitive], ['Starting…', 'Connect', false]);
});

test('a ring shows the next end, and an unconfirmed change', () => {
  const spanOf = (changes: Snapshot['changes']) => formOf(given({ state: 'connected' }, {}, changes)).status!.span;
  assert.deepEqual(spanOf([UNTIL]), { from: NOW - 60_000, until: NOW + 840_000 });
  assert.deepEqual(spanOf([TRIAL]), { from: NOW - 5_000, until: NOW + 25_000 });
  assert.equal(spanOf([]), null);
});

test('a blocked state has its way out in sight, and its cause’s remedy before it', () => {
  const { status } = formOf(given({ state: 'unable', reason: reason('NoNetwork') }, { killSwitch: BLOCKS }));
  assert.deepEqual(
    [status!.buttons, status!.menu!].map(buttons => buttons.map(({ label }) => label)),
    [['Network Settings', 'Pause Kill Switch 5 min'], ['Stop Trying']],
  );
});

test('the line says where the user appears, once that is checked', () => {
  const client = given({ state: 'connected' }, { tunnel: { colo: 'MUC' } });
  const statusOf = (result: object | null) =>
    formOf({ ...client, proof: { connection: connectionOf(client.snapshot!), result: result as never } }).status!;
  const line = (result: object | null) => statusOf(result).line;
  const proof = { ok: true, through: true, answered: true, seen: message(''), address: '104.28.0.1', at: at(0) };
  const since = 'Connected for 12 min';
  assert.equal(
    line({ ...proof, dataCenter: 'FRA' }),
    `${since} · You appear in Frankfurt, 104.28.0.1 — verified just now`,
  );
  assert.equal(line(null), `${since} · Munich · Checking…`);
  const bypassed = statusOf({ ...proof, through: false, seen: message('warp=off') });
  assert.deepEqual([bypassed.line, bypassed.tone], [`${since} · Munich · Not through WARP: warp=off`, 'warning']);
  const failed = statusOf({ ...proof, answered: false, through: false, seen: message('No answer') });
  assert.deepEqual([failed.line, failed.tone], [`${since} · Munich · Couldn’t check: No answer`, 'success']);
});

test('buttons wait while an action is under way', () => {
  const client = {
    ...given({ state: 'unable', reason: reason('NoNetwork') }),
    pending: 'connect' as const,
    slow: true,
  };
  const { status } = formOf(client);
  assert.ok(status!.buttons.every(({ sensitive }) => sensitive === false));
  assert.equal(status!.waiting, 'Waiting for WARP…');
  const timed = formOf({ ...given({ state: 'connected' }, {}, [UNTIL]), pending: 'connect' }).status!;
  assert.ok([...timed.buttons, ...timed.menu!.slice(0, 1)].every(({ sensitive }) => sensitive === false));
});

test('the figures are dashes until they are known', () => {
  const values = (client: ClientState) => {
    const row = named(rowsOf(formOf(client)), 'figures');
    assert.ok(row.kind === 'figures');
    return row.figures.map(({ value }) => value);
  };
  const tunnel = { latencyMs: 31, loss: 0.0002, bytesReceived: 1_000_000, bytesSent: 200_000 };
  assert.deepEqual(values(given({ state: 'connected' }, { tunnel })), ['31 ms', '0.02 %', '1.2 MB']);
  assert.deepEqual(values(given({ state: 'connected' })), ['–', '–', '–']);
  assert.deepEqual(values(given({ state: 'disconnected' }, { tunnel })), ['–', '–', '–'], 'of the last connection');
});

test('the figures have a curve and its range in words', () => {
  const figures = [30, 34].map(latencyMs => ({ at: NOW, latencyMs, loss: 0, received: null, sent: null }));
  const row = named(
    rowsOf(formOf(given({ state: 'connected' }, { tunnel: { latencyMs: 31 } }), { figures })),
    'figures',
  );
  assert.ok(row.kind === 'figures');
  assert.deepEqual([row.curve, row.page, row.row], [[30, 34], 'history', 'now']);
  assert.equal(row.subtitle, 'Latency over time: from 30 ms to 34 ms, 32 ms on average');
});

function pauseOf(client: ClientState) {
  const row = named(rowsOf(formOf(client)), 'pause');
  assert.ok(row.kind === 'button');
  return row;
}

test('a pause is one row: the last length is its button, and the others are its menu', () => {
  const labels = (client: ClientState) => {
    const { label, menu } = pauseOf(client);
    return [label, ...menu!.map(each => each.label)];
  };
  const on = given({ state: 'connected' });
  assert.deepEqual(labels(on), ['15 minutes', 'Pause for 1 hour', 'Until…']);
  const last = (seconds: number) => labels({ ...on, snapshot: { ...on.snapshot!, lastPause: { seconds } } });
  assert.deepEqual(last(1800), ['30 minutes', 'Pause for 15 minutes', 'Pause for 1 hour', 'Until…']);
  assert.deepEqual(last(3600), ['1 hour', 'Pause for 15 minutes', 'Until…']);
});

test('a pause can begin only while the tunnel is on and may be turned off', () => {
  const usable = (...args: Parameters<typeof given>) => {
    const { sensitive, reason: why } = pauseOf(given(...args));
    return [sensitive, why];
  };
  assert.deepEqual(usable({ state: 'connected' }), [true, null]);
  assert.deepEqual(usable({ state: 'disconnected' }), [false, 'There is no connection to pause.']);
  const [sensitive, why] = usable({ state: 'connected' }, { options: { switchLocked: true } });
  assert.equal(sensitive, false);
  assert.match(String(why), /WARP can’t be turned off here/);
  const [, off] = usable({ state: 'disconnected' }, { options: { switchLocked: true } });
  assert.equal(off, 'There is no connection to pause.');
  const [, unknown] = usable({ state: 'unknown', raw: 'Something new' });
  assert.equal(unknown, 'WARP reports something that Culvert does not understand.');
});

test('a pause until a time of day asks for the time', () => {
  const { menu } = pauseOf(given({ state: 'connected' }));
  const { ask, confirm } = menu!.at(-1)!.command;
  const problems = ['', '18:00', '7:05', '24:00', '18', 'noon'].map(text => confirm!.field!.check(text) !== null);
  assert.deepEqual(problems, [false, false, false, true, true, true]);
  assert.ok(ask.kind === 'answer');
  const paused = ask.command('18:00').ask;
  assert.ok(paused.kind === 'action' && paused.request.action === 'disconnect');
  assert.ok(paused.request.forSeconds! >= 1 && paused.request.forSeconds! <= 86_400 + 3_600);
});

test('the switch of the kill switch opens its page as well', () => {
  const row = (killSwitch: object, parts: Parts = {}) =>
    named(rowsOf(formOf(given({ state: 'connected' }, { killSwitch, ...parts }))), 'killswitch');
  const installed = row({ ...KILL_SWITCH });
  assert.deepEqual([installed.kind, installed.kind === 'switch' && installed.page], ['switch', 'killswitch']);
  assert.equal(row({ installed: false }).kind, 'link');
  assert.equal(row({ ...KILL_SWITCH }, DEMO).kind, 'note');
});

test('credits are shown for tools with an account, and a dash where nothing is known', () => {
  const credits = (tools: ConnectionFacts['tools']) =>
    rowsOf(formOf(given({ state: 'connected' }), { tools })).find(({ id }) => id === 'credits');
  assert.equal(credits([]), undefined);
  assert.equal(credits([tool('tvly')]), undefined);
  const rich = credits([richTool(NOW), tool('tvly')]) as Extract<Row, { kind: 'link' }>;
  assert.deepEqual([rich.value, rich.level, rich.page], ['1650 of 3000 left', 0.55, 'tools']);
  const unread = tool('tvly', { accounts: [toolAccount('a')] });
  const unknown = credits([unread]) as Extract<Row, { kind: 'link' }>;
  assert.deepEqual([unknown.value, unknown.level], ['–', null]);
  assert.equal(credits([richTool(NOW), unread])!.subtitle, 'firecrawl: 1650 of 3000 left\ntvly: Credits unknown');
  // a sum says how many accounts it lacks
  const known = toolAccount('a', { remaining: 5, limit: 10 });
  const accounts = [known, toolAccount('b'), toolAccount('c', { enabled: false })];
  const part = tool('tvly', { accounts, total: { remaining: 5, limit: 10, used: 5 } });
  assert.equal(credits([part])!.subtitle, 'tvly · 1 account unknown');
  assert.equal(credits([part, unread])!.subtitle, 'tvly: 5 of 10 left · 1 account unknown\ntvly: Credits unknown');
  const translated = formOf(
    given({ state: 'connected' }),
    { tools: [part, unread] },
    {
      ...tr,
      _: text => (text === '%s: %s' ? '%2$s (%1$s)' : text),
    },
  );
  assert.match(rowsOf(translated).find(({ id }) => id === 'credits')!.subtitle!, /^5 of 10 left .* \(tvly\)\n/);
});

test('a button that an organization locks says so, and nothing else', () => {
  const locked = given({ state: 'connected' }, { options: { switchLocked: true } });
  const reason = 'Managed by your organization · WARP can’t be turned off here.';
  const statusOf = (client: ClientState) => formOf(client).status!;
  assert.deepEqual([statusOf(locked).buttons[0]?.sensitive, lockOf(statusOf(locked))], [false, reason]);
  const free = given({ state: 'connected' }, { options: { modeLocked: true } });
  assert.equal(lockOf(statusOf({ ...free, pending: 'disconnect' })), null, 'the mode is locked, the button waits');
  const off = given({ state: 'disconnected' }, { options: { switchLocked: true } });
  assert.deepEqual([statusOf(off).buttons[0]?.sensitive, lockOf(statusOf(off))], [true, null]);
});

test('credits are read only once the page is shown, and only where tools are offered', async () => {
  const world = worldOf(clientState({ status: { state: 'connected' } }));
  world.host.figures = () => [];
  const { form, shown } = opened(connectionPage, world);
  assert.deepEqual(world.asked, []);
  form();
  assert.deepEqual(world.asked, ['GET /api/accounts']);
  world.open[0]!.answer({ ok: true, tools: [richTool(NOW)], problem: null, refreshing: false });
  await settled();
  assert.ok(rowsOf(form()).some(({ id }) => id === 'credits'));
  world.set({ ...world.host.model.state(), offline: OFFLINE });
  assert.ok(!rowsOf(form()).some(({ id }) => id === 'credits'), 'credits of a lost daemon are not current');
  shown.close!();
  const plain = worldOf(clientState({ toolAccounts: { offered: false } }));
  plain.host.figures = () => [];
  opened(connectionPage, plain).form();
  assert.deepEqual(plain.asked, []);
});

test('the details have every known fact of the connection', () => {
  const tunnel = {
    protocol: 'MASQUE',
    endpoints: ['162.159.198.2:443', '0.0.0.0'],
    colo: 'FRA',
    latencyMs: 31,
    loss: 0.01,
    bytesReceived: 1000,
    bytesSent: 1000,
    handshakeAgeSeconds: 12,
  };
  const ids = (client: ClientState) => {
    const row = named(rowsOf(formOf(client)), 'connection-details');
    assert.ok(row.kind === 'expander');
    return row.rows.map(({ id }) => id);
  };
  const known = ['since', 'protocol', 'endpoint-0', 'colo', 'latency', 'loss', 'received', 'sent', 'handshake'];
  assert.deepEqual(ids(given({ state: 'connected' }, { tunnel })), [...known, 'plan', 'warp']);
  assert.deepEqual(ids(given({ state: 'disconnected' }, { tunnel })), ['plan', 'warp']);
});

test('a missing setup has the same skeleton, with its links and commands as rows', () => {
  const terms = formOf(given({ state: 'unknown', blocked: 'terms-not-accepted' }));
  assert.deepEqual(
    terms.status!.buttons.map(({ label }) => label),
    ['Agree and Set Up', 'Join an Organization…'],
  );
  assert.deepEqual(
    rowsOf(terms).map(({ title }) => title),
    ['Terms of Service', 'Privacy Policy'],
  );
  const stopped = formOf(given({ state: 'unknown', blocked: 'service-stopped' }));
  assert.ok(rowsOf(stopped).some(row => row.kind === 'shell' && /warp-svc/.test(row.shell)));
  for (const blocked of ['cli-missing', 'cli-too-old', 'service-hangs', 'not-registered', 'not-authorized'] as const) {
    const { status } = formOf(given({ state: 'unknown', blocked }));
    assert.ok(status!.buttons.length >= 1 && status!.buttons.length <= 2, blocked);
  }
});

/** Words of a kill switch that blocks while the tunnel's state is old. */
const ONLY_TUNNEL = /^Traffic outside the tunnel is blocked\.$/;

test('the sentence is one sentence, and the rest fits the gray line, in every state', () => {
  const failed = { subject: 'connection' as const, value: 'off', setAt: at(-60), endsAt: null, problem: 'No answer.' };
  const cases: [name: string, client: ClientState, line: RegExp][] = [
    [
      'blocked, with a cause',
      given({ state: 'unable', reason: reason('NoNetwork') }, { killSwitch: BLOCKS }),
      /^You are offline$/,
    ],
    ['blocked, in a pause', given({ state: 'disconnected' }, { killSwitch: BLOCKS }, [PAUSED]), /^Back on at .* left$/],
    [
      'paused without an end',
      given({ state: 'disconnected' }, {}, [change('connection', failed)]),
      /^Connection could not be reverted yet: No answer\.$/,
    ],
    ['blocked, and old', given({ state: 'disconnected', lastKnown: OLD }, { killSwitch: BLOCKS }), ONLY_TUNNEL],
    [
      'blocked and old, in a pause',
      given({ state: 'disconnected', lastKnown: OLD }, { killSwitch: BLOCKS }, [PAUSED]),
      ONLY_TUNNEL,
    ],
  ];
  for (const [name, client, line] of cases) {
    const { status } = formOf(client);
    assert.doesNotMatch(status!.sentence!, /\n/, name);
    assert.match(status!.line!, line, name);
  }
});

test('a state that could not be read again does not say how long it lasts', () => {
  for (const [name, { snapshot, ...client }] of TABLE) {
    const status = { ...snapshot!.status, lastKnown: OLD };
    const old = { ...client, snapshot: { ...snapshot!, status } };
    const { sentence, line, title } = formOf(old).status!;
    assert.doesNotMatch(line ?? '', /Connected for|Trying for|Since|Frankfurt/, name);
    if (status.state === 'unknown') continue;
    assert.match([sentence, line].join('\n'), SILENCE, name);
    const isBlocked = describe(old, '1', tr).tunnel.state === 'blocked';
    assert.equal(/as of/.test(title), !isBlocked, name);
    assert.equal(sentence, isBlocked ? 'The kill switch waits for WARP.' : 'WARP does not answer.', name);
  }
  assert.equal(formOf(given({ state: 'connected', lastKnown: OLD }, { tunnel: { colo: 'FRA' } })).status!.line, null);
});

test('the time left stands only where the line or the sentence says what ends', () => {
  const lengths = { old: { lastKnown: OLD }, new: {} };
  for (const [name, { snapshot, ...client }] of TABLE)
    for (const [age, more] of Object.entries(lengths))
      for (const killSwitch of [snapshot!.killSwitch, BLOCKS])
        for (const change of [UNTIL, PAUSED]) {
          const status = { ...snapshot!.status, ...more };
          const given = { ...client, snapshot: { ...snapshot!, status, killSwitch, changes: [change] } };
          const { sentence, line } = formOf(given).status!;
          const parts = [sentence!, ...(line ?? '').split(' · ')];
          const left = parts.findIndex(part => part.endsWith(' left'));
          if (left < 0) continue;
          const end = timeOfDay(at(840), false);
          assert.ok(parts[left - 1]!.includes(end), `${name}, ${age}, ${killSwitch.active}: ${parts.join(' · ')}`);
        }
  const offline = given({ state: 'unable', reason: reason('NoNetwork') }, { killSwitch: BLOCKS }, [UNTIL]);
  assert.equal(formOf(offline).status!.line, 'You are offline');
});
