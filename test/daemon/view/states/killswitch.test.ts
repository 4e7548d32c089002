// The view of the kill switch in each of its states, and the countdown of its pause.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KillSwitch } from '../../../../daemon/api/schema.ts';
import { NO_KILL_SWITCH } from '../../../../daemon/state/store.ts';
import { killSwitchForm } from '../../../../daemon/view/forms/tunnel/killswitch.ts';
import { message } from '../../../../daemon/view/message.ts';
import {
  describeKillSwitch,
  type KillSwitchLook,
  killSwitchBanner,
  nextMinute,
  PAUSES,
  pauseLeft,
  pauseMinutes,
  pauseName,
} from '../../../../daemon/view/states/killswitch.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { type Entry, menuOf, tooltipOf } from '../../../../gnome/session/menu.ts';
import { KILL_SWITCH } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const ON: KillSwitch = { ...KILL_SWITCH, enabled: true, active: true };
const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const PAUSED: KillSwitch = { ...ON, active: false, pausedUntil: '2026-11-21T10:04:32.000Z' };

const view = (killSwitch: Partial<KillSwitch>) => describeKillSwitch(clientState({ killSwitch }), tr);

const looks: [KillSwitchLook, Partial<KillSwitch>, RegExp][] = [
  ['not-installed', NO_KILL_SWITCH, /Not installed/],
  ['off', KILL_SWITCH, /^Off: /],
  ['stuck', { ...KILL_SWITCH, active: true }, /^Off, but traffic outside the tunnel is still blocked/],
  ['blocking', ON, /^On: .*blocked/],
  ['unmeasured', { ...ON, active: null }, /couldn’t check/],
  ['missing', { ...ON, active: false }, /nothing is blocked/],
  ['paused', PAUSED, /^Paused/],
];
for (const [look, killSwitch, sentence] of looks)
  test(`the kill switch that is "${look}" says so, and its switch shows the wanted position`, () => {
    const shown = view(killSwitch);
    assert.equal(shown.look, look);
    assert.match(shown.sentence, sentence);
    assert.equal(shown.on, killSwitch.enabled);
    assert.equal(shown.sensitive, look !== 'not-installed');
    assert.equal(shown.pausable, Boolean(killSwitch.enabled) && look !== 'paused');
  });

test('only a block that was measured is shown as one', () => {
  const tones = (state: 'connected' | 'disconnected') =>
    looks
      .filter(
        ([, killSwitch]) => describeKillSwitch(clientState({ status: { state }, killSwitch }), tr).tone === 'success',
      )
      .map(([look]) => look);
  assert.deepEqual(tones('connected'), ['blocking']);
  assert.deepEqual(tones('disconnected'), [], 'a person without internet does not see green');
});

test('its page says that it blocks all users, and that an administrator turns it off', () => {
  const form = (killSwitch: KillSwitch) => killSwitchForm(view(killSwitch), NOW, tr).groups[0]!;
  for (const killSwitch of [KILL_SWITCH, ON])
    assert.match(form(killSwitch).description!, /all users, even after a restart.* administrator/);
});

test('nothing of it can be changed while a change is pending or the daemon is lost, and it is not shown as off', () => {
  const pending = describeKillSwitch(clientState({ killSwitch: ON }, { killSwitchPending: true }), tr);
  assert.deepEqual([pending.sensitive, pending.pausable, pending.on], [false, false, true]);
  const lost = describeKillSwitch(clientState({ killSwitch: ON }, { offline: { code: 'stopped', detail: '' } }), tr);
  assert.deepEqual([lost.look, lost.on, lost.sensitive, lost.protection], ['unavailable', true, false, null]);
  assert.equal(lost.allowLan, ON.allowLan);
});

test('the protection of the rules is shown while there are rules', () => {
  assert.match(view(ON).protection!, /can’t turn it off/);
  assert.match(view({ ...ON, protection: 'watchdog' }).protection!, /restored immediately/);
  assert.match(view({ ...ON, protection: 'none' }).protection!, /could remove/);
  assert.match(view(ON).boot!, /before the network/);
  assert.match(view({ ...ON, bootGuard: false }).boot!, /until the kill switch is turned on again/);
  assert.deepEqual([view(KILL_SWITCH).protection, view(KILL_SWITCH).boot], [null, null]);
  assert.match(view({ ...KILL_SWITCH, active: true }).protection!, /can’t turn it off/, 'off, but it blocks');
});

test('a command that helps is offered with what it is for', () => {
  assert.equal(view(NO_KILL_SWITCH).command, null);
  assert.match(view({ ...NO_KILL_SWITCH, command: 'x' }).command!.purpose, /^Install/);
  assert.deepEqual(view({ ...ON, command: 'sudo nft' }).command, {
    purpose: 'To fix it, in a terminal:',
    command: 'sudo nft',
  });
});

test('a pause counts in seconds for the panel and in minutes, rounded up, for the tray', () => {
  const until = Date.parse(PAUSED.pausedUntil!);
  assert.equal(pauseLeft(until, NOW, tr), '4:32');
  assert.equal(pauseLeft(until, until + 5000, tr), '0:00');
  assert.equal(pauseLeft(2_002_000, 0, tr), '33:22');
  const minutes = (left: number) => pauseMinutes(NOW + left, NOW);
  assert.deepEqual([272_000, 60_001, 60_000, 1, -5].map(minutes), [5, 2, 1, 1, 1]);
  assert.deepEqual(
    PAUSES.map(count => pauseName(count, tr)),
    ['5 minutes', '15 minutes', '1 hour'],
  );
});

test('the tray wakes when the number of minutes changes, and no more after the last', () => {
  for (let left = 200_000; ; ) {
    const wait = nextMinute(NOW + left, NOW);
    if (wait === null) {
      assert.ok(left <= 60_000);
      break;
    }
    const before = pauseMinutes(NOW + left, NOW);
    left -= wait;
    assert.equal(pauseMinutes(NOW + left, NOW), before - 1);
  }
  const waits = [60_000, 60_001, 90_000, 120_000].map(left => nextMinute(NOW + left, NOW));
  assert.deepEqual(waits, [null, 51, 30_050, 60_050]);
});

/** The state as the tray shows it. */
function inTray(killSwitch: Partial<KillSwitch>, more = {}) {
  const facts = clientState({ killSwitch }, more);
  return {
    tunnel: describeTunnel(facts, tr),
    killSwitch: describeKillSwitch(facts, tr),
    stopped: false,
    now: NOW,
    proxy: null,
    recent: [],
    update: null,
    network: null,
    remote: null,
    timed: [],
    unconfirmed: null,
  };
}
const menu = (...state: Parameters<typeof inTray>): Entry[] => menuOf(inTray(...state), tr);
const named = (entries: Entry[], label: string) => entries.find(entry => entry.label === label);

test('the menu has the kill switch only where it is installed, with a check mark for what is wanted', () => {
  assert.equal(named(menu(NO_KILL_SWITCH), 'Kill Switch'), undefined);
  const off = named(menu(KILL_SWITCH), 'Kill Switch')!;
  assert.deepEqual([off.checked, off.command, off.enabled], [false, { killSwitch: true }, true]);
  assert.equal(named(menu(KILL_SWITCH), 'Pause Kill Switch'), undefined);
  const on = menu(ON);
  assert.deepEqual(named(on, 'Kill Switch')!.command, { killSwitch: false });
  assert.deepEqual(
    named(on, 'Pause Kill Switch')!.children!.map(({ label, command }) => [label, command]),
    [
      ['5 minutes', { pause: 300 }],
      ['15 minutes', { pause: 900 }],
      ['1 hour', { pause: 3600 }],
    ],
  );
  assert.equal(named(menu(ON, { killSwitchPending: true }), 'Kill Switch')!.enabled, false);
});

test('a pause can be ended in the menu, which says how long it lasts', () => {
  const resume = named(menu(PAUSED), 'Resume (5 minutes left)')!;
  assert.deepEqual(resume.command, { pause: 0 });
  assert.equal(named(menu(PAUSED), 'Pause Kill Switch'), undefined);
});

test('no two entries of any menu share an id', () => {
  for (const [, killSwitch] of looks) {
    const ids = menu(killSwitch).flatMap(entry => [entry.id, ...(entry.children ?? []).map(({ id }) => id)]);
    assert.equal(new Set(ids).size, ids.length);
  }
});

test('the tooltip mentions a kill switch that is not off', () => {
  const text = (killSwitch: Partial<KillSwitch>) => tooltipOf(inTray(killSwitch), tr).text;
  assert.doesNotMatch(text(KILL_SWITCH), /kill switch/i);
  assert.match(text(ON), /Kill switch · On/);
  assert.match(text(PAUSED), /Kill switch paused, 5 minutes left/);
});

test('a banner reports blocked traffic with the button that helps, and nothing else', () => {
  const banner = (status: object, killSwitch: Partial<KillSwitch> = ON, Mode = 'warp', more = {}) => {
    const facts = clientState({ status, killSwitch, settings: { Mode } }, more);
    const shown = killSwitchBanner(facts, describeTunnel(facts, tr).look, tr);
    const ask = shown?.button?.command.ask;
    const asks = ask?.kind === 'kill-switch' ? ('seconds' in ask.change ? 'pause' : 'off') : null;
    return shown && [shown.title, asks];
  };
  const blocked = ['Internet is blocked', 'pause'];
  for (const state of ['disconnected', 'connecting', 'unable']) assert.deepEqual(banner({ state }), blocked, state);
  assert.deepEqual(banner({ state: 'unable', blocked: 'not-registered' }), blocked);
  // there may be a tunnel
  const outside = ['Traffic outside the tunnel is blocked.', 'pause'];
  assert.deepEqual(banner({ state: 'unknown' }), outside);
  for (const name of ['cli-missing', 'cli-too-old', 'service-hangs', 'terms-not-accepted'])
    assert.deepEqual(banner({ state: 'unknown', blocked: name }), outside, name);
  assert.deepEqual(banner({ state: 'unknown', blocked: 'service-stopped' }), blocked);
  // another user of the machine may have connected
  assert.deepEqual(banner({ state: 'disconnected', blocked: 'not-authorized' }), blocked);
  assert.equal(banner({ state: 'connected', blocked: 'not-authorized' }), null);
  assert.deepEqual(banner({ state: 'unable' }, ON, 'warp', { killSwitchPending: true }), [blocked[0], null]);
  assert.deepEqual(banner({ state: 'unable' }, { ...ON, enabled: false }), [blocked[0], 'off']);
  assert.equal(banner({ state: 'connected' }), null);
  assert.equal(banner({ state: 'disconnecting' }), null, 'the tunnel may still be up');
  assert.deepEqual(banner({ state: 'connected' }, ON, 'proxy'), [outside[0], 'off']);
  assert.equal(banner({ state: 'disconnected' }, PAUSED), null);
  assert.equal(banner({ state: 'disconnected' }, { ...ON, active: null }), null, 'nothing measured, nothing claimed');
  assert.equal(
    banner({ state: 'disconnected' }, ON, 'warp', { offline: { code: 'not-responding', detail: '' } }),
    null,
  );
});

test('the buttons of a banner ask for just the change that they name', () => {
  const button = (status: object, killSwitch: Partial<KillSwitch>) => {
    const facts = clientState({ status, killSwitch });
    return killSwitchBanner(facts, describeTunnel(facts, tr).look, tr)!.button!;
  };
  const off = button({ state: 'unable' }, { ...ON, enabled: false, allowLan: true });
  assert.deepEqual(off.command.ask, { kind: 'kill-switch', change: { enabled: false, allowLan: true } });
  const reason = { code: 'CaptivePortalTimedOut', text: '' };
  const pause = button({ state: 'unable', reason }, ON);
  assert.deepEqual(
    [pause.label, pause.command.ask],
    ['Pause Kill Switch 5 min', { kind: 'kill-switch', change: { seconds: 300 } }],
  );
});

test('a change that blocks waits to be confirmed; a change that opens, in a pause, or with an older service does not', () => {
  const asks = (killSwitch: Partial<KillSwitch>) => page(killSwitch).switch!.map(([, asked]) => asked);
  const able = { confirmable: true };
  assert.deepEqual(asks({ ...KILL_SWITCH, ...able }), [
    { enabled: true, allowLan: false, confirmWithin: 30 },
    { enabled: false, allowLan: true },
  ]);
  assert.deepEqual(asks({ ...ON, allowLan: true, ...able }), [
    { enabled: false, allowLan: true },
    { enabled: true, allowLan: false, confirmWithin: 30 },
  ]);
  assert.deepEqual(asks(KILL_SWITCH)[0], { enabled: true, allowLan: false });
  assert.deepEqual(asks({ ...PAUSED, ...able })[1], { enabled: true, allowLan: true });
  const unconfirmed = {
    setAt: '2026-11-21T10:00:00.000Z',
    confirmBy: '2026-11-21T10:00:30.000Z',
    previous: { enabled: false, allowLan: false },
  };
  assert.deepEqual([view(ON).pausable, view({ ...ON, ...able, unconfirmed }).pausable], [true, false]);
});

/** The rows of the page by group, each as its id, what it asks for, and whether it can be used. */
function page(killSwitch: Partial<KillSwitch>, more: Partial<ReturnType<typeof clientState>> = {}) {
  const { groups } = killSwitchForm(describeKillSwitch(clientState({ killSwitch }, more), tr), NOW, tr);
  return Object.fromEntries(
    groups.map(({ id, rows }) => [
      id,
      rows.map(row => {
        const { command, sensitive } = row as { command?: { ask: { change?: object } }; sensitive?: boolean };
        return [row.id, command?.ask.change ?? null, sensitive ?? null];
      }),
    ]),
  );
}

const change = (enabled: boolean, allowLan: boolean) => ({ enabled, allowLan });

test('the page of a kill switch that is off has no pauses', () => {
  assert.deepEqual(page({ ...KILL_SWITCH, allowLan: false }), {
    switch: [
      ['killswitch', change(true, false), true],
      ['lan', change(false, true), true],
    ],
    protection: [],
  });
});

test('the page without the root service or in the demo is a status with one button, and no dead switch', () => {
  const absent = (killSwitch: Partial<KillSwitch>, emulated = false) => {
    const client = clientState({ killSwitch, ...(emulated ? { tunnelCli: { emulated } } : {}) });
    const { status, groups } = killSwitchForm(describeKillSwitch(client, tr), NOW, tr);
    return [status!.title, status!.buttons.map(({ label }) => label), groups.flatMap(({ rows }) => rows)];
  };
  assert.deepEqual(absent({ ...NO_KILL_SWITCH, detail: null, command: null }), [
    'The kill switch is not installed',
    ['Install…'],
    [],
  ]);
  const [, , rows] = absent({ ...NO_KILL_SWITCH, command: 'sudo install-it' });
  assert.deepEqual(rows, [
    {
      kind: 'shell',
      id: 'shell',
      title: 'Install it once, in a terminal:',
      shell: 'sudo install-it',
      folded: 'Show commands',
    },
  ]);
  assert.deepEqual(absent(NO_KILL_SWITCH, true), ['The kill switch is not part of the demo.', ['Use Real WARP'], []]);
});

test('the page of the kill switch offers pauses while it is on, and to resume while it is paused', () => {
  const on = page({ ...ON, allowLan: true, command: 'sudo nft', detail: 'x' });
  assert.deepEqual(on, {
    switch: [
      ['killswitch', change(false, true), true],
      ['lan', change(true, false), true],
    ],
    pause: [
      ['pause-5', { seconds: 300 }, true],
      ['pause-15', { seconds: 900 }, true],
      ['pause-60', { seconds: 3600 }, true],
    ],
    protection: [
      ['protection', null, null],
      ['boot', null, null],
      ['detail', null, null],
    ],
    command: [['shell', null, null]],
  });
  assert.deepEqual(page(PAUSED).pause, [['resume', { seconds: 0 }, true]]);
  assert.deepEqual(page({ ...PAUSED, detail: 'Paused.' }).protection, page(PAUSED).protection);
  const lost = page(ON, { offline: { code: 'stopped', detail: '' } }).pause!;
  assert.deepEqual(
    lost.map(([, , sensitive]) => sensitive),
    [false, false, false],
  );
});

test('words of the root service are translated only for the page that shows them', () => {
  const asked: string[] = [];
  const killSwitch = { ...NO_KILL_SWITCH, detail: 'It needs systemd.', wording: [message('It needs systemd.')] };
  const translate = (text: string) => {
    asked.push(text);
    return text;
  };
  const shown = describeKillSwitch(clientState({ killSwitch }), { ...tr, _: translate });
  assert.ok(!asked.includes('It needs systemd.'));
  assert.equal(shown.detail, 'It needs systemd.');
  assert.ok(asked.includes('It needs systemd.'));
});
