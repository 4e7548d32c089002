// What is shown of the kill switch in each of its states, and how its pause counts down.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KillSwitch } from '../../daemon/api/schema.ts';
import {
  describeKillSwitch,
  type KillSwitchLook,
  killSwitchBanner,
  nextMinute,
  PAUSES,
  pauseLeft,
  pauseMinutes,
  pauseName,
} from '../../gnome/killswitch-view.ts';
import { type Entry, menuOf, tooltipOf } from '../../gnome/tray/menu.ts';
import { describe } from '../../gnome/view.ts';
import { KILL_SWITCH, NO_KILL_SWITCH } from './initial.ts';
import { factsOf, words } from './words.ts';

const ON: KillSwitch = { ...KILL_SWITCH, enabled: true, active: true };
const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const PAUSED: KillSwitch = { ...ON, active: false, pausedUntil: '2026-11-21T10:04:32.000Z' };

const view = (killSwitch: Partial<KillSwitch>) => describeKillSwitch(factsOf({ killSwitch }), words);

const looks: [KillSwitchLook, Partial<KillSwitch>, RegExp][] = [
  ['not-installed', NO_KILL_SWITCH, /not installed/],
  ['off', KILL_SWITCH, /^Off: /],
  ['stuck', { ...KILL_SWITCH, active: true }, /^Off, but its rules still block/],
  ['blocking', ON, /^On: .*blocked/],
  ['unmeasured', { ...ON, active: null }, /could not be measured/],
  ['missing', { ...ON, active: false }, /nothing is blocked/],
  ['paused', PAUSED, /^Paused/],
];
for (const [look, killSwitch, sentence] of looks)
  test(`the kill switch that is "${look}" says so, and its switch stands at what is wanted`, () => {
    const shown = view(killSwitch);
    assert.equal(shown.look, look);
    assert.match(shown.sentence, sentence);
    assert.equal(shown.on, killSwitch.enabled);
    assert.equal(shown.sensitive, look !== 'not-installed');
    assert.equal(shown.pausable, Boolean(killSwitch.enabled) && look !== 'paused');
  });

test('only a block that was measured is shown as one', () => {
  const success = looks.filter(([, killSwitch]) => view(killSwitch).tone === 'success').map(([look]) => look);
  assert.deepEqual(success, ['blocking']);
});

test('nothing of it can be changed while a change is pending or the daemon is lost', () => {
  const pending = describeKillSwitch(factsOf({ killSwitch: ON }, { killSwitchPending: true }), words);
  assert.deepEqual([pending.sensitive, pending.pausable, pending.on], [false, false, true]);
  const lost = describeKillSwitch(factsOf({ killSwitch: ON }, { loss: { code: 'stopped', detail: '' } }), words);
  assert.deepEqual([lost.look, lost.on, lost.sensitive, lost.protection], ['unavailable', false, false, null]);
});

test('what guards the rules is told while there are rules to guard', () => {
  assert.match(view(ON).protection!, /kernel/);
  assert.match(view({ ...ON, protection: 'watchdog' }).protection!, /watchdog/);
  assert.match(view({ ...ON, protection: 'none' }).protection!, /could remove/);
  assert.match(view(ON).boot!, /before the network/);
  assert.match(view({ ...ON, bootGuard: false }).boot!, /until the kill switch is turned on again/);
  assert.deepEqual([view(KILL_SWITCH).protection, view(KILL_SWITCH).boot], [null, null]);
});

test('a command that helps is offered with what it is for', () => {
  assert.equal(view(NO_KILL_SWITCH).command, null);
  assert.match(view({ ...NO_KILL_SWITCH, command: 'x' }).command!.purpose, /^Install/);
  assert.deepEqual(view({ ...ON, command: 'sudo nft' }).command, {
    purpose: 'This helps, in a terminal:',
    command: 'sudo nft',
  });
});

test('a pause counts in seconds for the panel and in minutes, rounded up, for the tray', () => {
  const until = Date.parse(PAUSED.pausedUntil!);
  assert.equal(pauseLeft(until, NOW, words), '4:32');
  assert.equal(pauseLeft(until, until + 5000, words), '0:00');
  const minutes = (left: number) => pauseMinutes(NOW + left, NOW);
  assert.deepEqual([272_000, 60_001, 60_000, 1, -5].map(minutes), [5, 2, 1, 1, 1]);
  assert.deepEqual(
    PAUSES.map(count => pauseName(count, words)),
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
});

const menu = (killSwitch: Partial<KillSwitch>, more = {}): Entry[] => {
  const facts = factsOf({ killSwitch }, more);
  const shown = {
    view: describe(facts, words),
    killSwitch: describeKillSwitch(facts, words),
    stopped: false,
    now: NOW,
  };
  return menuOf(shown, words);
};
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

test('the tooltip tells of a kill switch that is not off', () => {
  const text = (killSwitch: Partial<KillSwitch>) => {
    const facts = factsOf({ killSwitch });
    const shown = {
      view: describe(facts, words),
      killSwitch: describeKillSwitch(facts, words),
      stopped: false,
      now: NOW,
    };
    return tooltipOf(shown, words).text;
  };
  assert.doesNotMatch(text(KILL_SWITCH), /kill switch/i);
  assert.match(text(ON), /Kill switch · On/);
  assert.match(text(PAUSED), /Kill switch paused, 5 minutes left/);
});

test('a banner tells of blocked traffic with the way out that fits, and of nothing else', () => {
  const banner = (status: object, killSwitch: Partial<KillSwitch> = ON, Mode = 'warp', more = {}) => {
    const facts = factsOf({ status, killSwitch, settings: { Mode } }, more);
    const shown = killSwitchBanner(facts, describe(facts, words).look, words);
    return shown && [shown.title, shown.button?.asks ?? null];
  };
  const blocked = 'Traffic is blocked by the kill switch';
  assert.deepEqual(banner({ state: 'disconnected' }), [blocked, 'connect']);
  assert.deepEqual(banner({ state: 'connecting' }), [blocked, null]);
  assert.deepEqual(banner({ state: 'unable' }), [blocked, 'off']);
  assert.deepEqual(banner({ state: 'unable', blocked: 'cli-missing' }), [blocked, 'off']);
  assert.deepEqual(banner({ state: 'disconnected' }, ON, 'warp', { pending: 'connect' }), [blocked, null]);
  assert.equal(banner({ state: 'connected' }), null);
  assert.match(banner({ state: 'connected' }, ON, 'proxy')![0]!, /this mode does not tunnel it/);
  assert.equal(banner({ state: 'disconnected' }, PAUSED), null);
  assert.equal(banner({ state: 'disconnected' }, { ...ON, active: null }), null, 'nothing measured, nothing claimed');
  assert.equal(banner({ state: 'disconnected' }, ON, 'warp', { loss: { code: 'silent', detail: '' } }), null);
});
