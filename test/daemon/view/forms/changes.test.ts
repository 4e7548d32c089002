// Changes that revert unless they are kept, and states that end: what every client shows of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../../daemon/api/changes.ts';
import type { Snapshot } from '../../../../daemon/api/schema.ts';
import type { ClientState } from '../../../../daemon/view/client/client-state.ts';
import { askAboutChange } from '../../../../daemon/view/client/requests.ts';
import { type Command, commandsOf } from '../../../../daemon/view/form.ts';
import { dnsForm } from '../../../../daemon/view/forms/tunnel/dns.ts';
import { advancedForm, modeForm } from '../../../../daemon/view/forms/tunnel/modes.ts';
import { countdownText, describeUnconfirmed, fractionLeft } from '../../../../daemon/view/states/changes.ts';
import { describeCountdown, describeTimed, timedRows, timeLeftText } from '../../../../daemon/view/states/timed.ts';
import { change } from '../../../support/gnome/initial.ts';
import { scripted } from '../../../support/gnome/view/forms.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const CONFIRM_BY = '2026-01-01T10:00:30.000Z';
const ENDS_AT = '2026-01-01T10:15:00.000Z';

function withChanges(changes: Change[], status: Partial<Snapshot['status']> = {}): ClientState {
  const client = clientState({ status });
  return { ...client, snapshot: { ...client.snapshot!, changes } };
}

test('unconfirmed changes share one bar, which keeps or reverts exactly these changes', () => {
  const client = withChanges([
    change('mode', { value: 'doh', setAt: '2026-01-01T10:00:01.000Z', confirmBy: CONFIRM_BY }),
    change('routes', { confirmBy: '2026-01-01T10:00:40.000Z' }),
    change('connection', { value: 'off', endsAt: ENDS_AT }),
    change('protocol', { value: 'MASQUE', confirmBy: CONFIRM_BY, problem: 'WARP does not answer.' }),
  ]);
  const bar = describeUnconfirmed(client, tr)!;
  assert.equal(bar.text, 'Mode: DNS only\nRoutes');
  assert.equal(bar.until, Date.parse(CONFIRM_BY), 'the first deadline counts');
  assert.equal(bar.from, Date.parse('2026-01-01T10:00:01.000Z'), 'of the same change');
  assert.deepEqual(bar.keep.ask, { kind: 'change', what: 'confirm', subjects: ['mode', 'routes'] });
  assert.deepEqual(bar.revert.ask, { kind: 'change', what: 'revert', subjects: ['mode', 'routes'] });
  assert.equal(describeUnconfirmed(withChanges([]), tr), null);
  assert.equal(describeUnconfirmed({ ...client, offline: { code: 'stopped', detail: '' } }, tr), null);
});

test('an unconfirmed kill switch is in the same bar, in words', () => {
  const bar = (value: string) =>
    describeUnconfirmed(withChanges([change('killSwitch', { value, confirmBy: CONFIRM_BY })]), tr)!;
  assert.deepEqual(
    ['on', 'on-lan', 'off'].map(value => bar(value).text),
    ['Kill Switch: On', 'Kill Switch: On, local network allowed', 'Kill Switch: Off'],
  );
  assert.deepEqual(bar('on').revert.ask, { kind: 'change', what: 'revert', subjects: ['killSwitch'] });
});

test('the countdown is in whole seconds and does not go below zero', () => {
  const bar = describeUnconfirmed(withChanges([change('routes', { confirmBy: CONFIRM_BY })]), tr)!;
  const texts = [30_400, 29_600, 500, 0, -5_000].map(left => countdownText(bar, bar.until - left, tr));
  assert.deepEqual(texts, ['Reverting in 0:30', 'Reverting in 0:30', 'Reverting in 0:01', 'Reverting…', 'Reverting…']);
});

test('a state that ends shows its end, can be extended and ended, and is tried again if it could not end', () => {
  const off = change('connection', { value: 'off', endsAt: ENDS_AT });
  const stuck = change('mode', { endsAt: ENDS_AT, problem: 'WARP does not answer.' });
  const client = withChanges([off, stuck, change('routes', { confirmBy: CONFIRM_BY })]);
  const [first, second, ...rest] = describeTimed(client, tr);
  assert.deepEqual(rest, []);
  assert.match(first!.text, /^Back on at /);
  assert.deepEqual(first!.end.command.ask, { kind: 'change', what: 'revert', subjects: ['connection'] });
  assert.equal(second!.text, 'Mode could not be reverted yet: WARP does not answer.');
  assert.deepEqual([second!.extend, second!.span], [null, null]);
});

test('the end that comes next is the countdown, and the others are rows', () => {
  const later = change('connection', { value: 'off', endsAt: ENDS_AT });
  const sooner = change('mode', {
    value: 'doh',
    setAt: '2026-01-01T10:00:00.000Z',
    endsAt: '2026-01-01T10:10:00.000Z',
  });
  const stuck = change('routes', { endsAt: '2026-01-01T10:00:00.000Z', problem: 'WARP does not answer.' });
  const client = withChanges([later, sooner, stuck, change('protocol', { confirmBy: CONFIRM_BY })]);
  const { change: next, pause, span, extend, end } = describeCountdown(client, tr)!;
  assert.deepEqual([next, pause, end.label], [sooner, false, 'End Now']);
  assert.deepEqual(span, { from: Date.parse('2026-01-01T10:00:00.000Z'), until: Date.parse(sooner.endsAt!) });
  assert.equal(extend!.label, '15 Minutes More');
  assert.deepEqual(
    timedRows(client, tr).map(row => [row.id, row.kind === 'button' && row.label]),
    [
      ['timed-connection', 'Connect Now'],
      ['timed-connection-extend', '15 Minutes More'],
      ['timed-routes', 'Try Again'],
    ],
  );
  assert.equal(describeCountdown(withChanges([later]), tr)!.pause, true);
  assert.equal(describeCountdown(withChanges([stuck]), tr), null);
  assert.equal(describeCountdown({ ...client, offline: { code: 'stopped', detail: '' } }, tr), null);
});

test('a ring is whole at the beginning of a time, and gone from its end on', () => {
  const part = (now: number, until = 300) => fractionLeft({ from: 100, until }, now);
  assert.deepEqual(
    [50, 100, 150, 300, 301].map(now => part(now)),
    [1, 1, 0.75, 0, 0],
  );
  assert.deepEqual([part(50, 100), part(50, 90)], [0, 0], 'a time without a length');
  assert.equal(fractionLeft({ from: Number.NaN, until: 300 }, 150), 0);
});

test('the time left is a clock, which begins at the whole time and stops at zero', () => {
  const span = { from: 0, until: 900_000 };
  const texts = [-999, 0, 1, 899_001, 900_000, 999_000].map(now => timeLeftText(span, now, tr));
  assert.deepEqual(texts, ['15:00 left', '15:00 left', '15:00 left', '0:01 left', '0:00 left', '0:00 left']);
});

test('a state is extended from its end on, at most by a week', async () => {
  const more = (subject: Change['subject'], endsAt: string) =>
    describeTimed(withChanges([change(subject, { endsAt })]), tr)[0]!.extend!.command.ask;
  const left = (ask: Command['ask']) => {
    const { call, asked } = scripted({});
    assert.ok(ask.kind === 'extend');
    return askAboutChange({ call }, ask).then(() => asked[0]![1] as { body: { subject: string; seconds: number } });
  };
  const soon = new Date(Date.now() + 40 * 60_000).toISOString();
  const { body } = await left(more('connection', soon));
  assert.equal(body.subject, 'connection');
  assert.ok(Math.abs(body.seconds - 55 * 60) < 60, String(body.seconds));
  const late = await left(more('mode', '2026-01-01T00:00:00.000Z'));
  assert.equal(late.body.seconds, 900, 'an end that has passed counts from now');
  const far = await left(more('mode', '2999-01-01T00:00:00.000Z'));
  assert.equal(far.body.seconds, 604_800);
});

test('mode, protocol, server, MASQUE and Gateway location wait to be confirmed while the tunnel is up and can return', () => {
  const asks = (state: 'connected' | 'disconnected', Mode: string) => {
    const client = clientState({
      status: { state },
      settings: { Mode },
      options: { gatewayId: 'abc', masque: 'HTTP/3' },
    });
    const commands = [modeForm(client, true, tr), dnsForm(client, true, tr), advancedForm(client, true, tr)].flatMap(
      form => commandsOf(form, 'abc'),
    );
    const limited = commands.flatMap(({ ask }) =>
      ask.kind === 'action' && ask.request.confirmWithin === 30 ? [ask.request.action] : [],
    );
    return [...new Set(limited)].sort();
  };
  const all = [
    'resetEndpoint',
    'resetGatewayId',
    'resetMasqueOptions',
    'resetProtocol',
    'setEndpoint',
    'setGatewayId',
    'setMasqueOptions',
    'setMode',
    'setProtocol',
  ];
  assert.deepEqual(asks('connected', 'warp'), all);
  assert.deepEqual(asks('connected', 'a-mode-of-the-future'), [], 'the mode before could not be set again');
  assert.deepEqual(asks('disconnected', 'warp'), [], 'there is nothing to be cut off');
});
