// One state for shells, bars and icons, from everything that a snapshot says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionState, type Snapshot } from '../../../../daemon/api/schema.ts';
import { STATES } from '../../../../daemon/api/states.ts';
import { stateIcon } from '../../../../daemon/view/states/state-table.ts';
import { stateOf } from '../../../../daemon/view/states/summary.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { change, KILL_SWITCH } from '../../../support/gnome/initial.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const BLOCKING = { ...KILL_SWITCH, enabled: true, active: true };
const PAUSE = change('connection', { value: 'off', endsAt: '2030-01-01T00:00:00.000Z' });
const PORTAL = { code: 'CaptivePortalTimedOut', text: '' };

type Case = [state: string, status: Partial<Snapshot['status']>, more?: Partial<Snapshot>];
const CASES: Case[] = [
  ['paused', { state: 'disconnected' }, { changes: [PAUSE] }],
  ['connected', { state: 'connected' }, { changes: [PAUSE] }],
  ['blocked', { state: 'disconnected' }, { killSwitch: BLOCKING }],
  ['blocked', { state: 'unable' }, { killSwitch: BLOCKING }],
  ['blocked', { state: 'disconnected' }, { killSwitch: BLOCKING, changes: [PAUSE] }],
  ['connecting', { state: 'connecting' }, { killSwitch: BLOCKING }],
  ['disconnected', { state: 'disconnected' }, { killSwitch: { ...BLOCKING, pausedUntil: '2030-01-01T00:00:00.000Z' } }],
  ['needs-you', { state: 'unable', blocked: 'not-registered' }, { killSwitch: BLOCKING }],
  ['needs-you', { state: 'connecting', reason: PORTAL }],
  ['connected', { state: 'connected', reason: PORTAL }],
  ...ConnectionState.options.map((state): Case => [state, { state }]),
];

function withParts(status: Partial<Snapshot['status']>, more: Partial<Snapshot>) {
  const client = clientState({ status });
  return { ...client, snapshot: { ...client.snapshot!, ...more } };
}

for (const [expected, status, more = {}] of CASES)
  test(`${JSON.stringify(status)} with ${Object.keys(more).join(' and ') || 'nothing else'} is ${expected}`, () => {
    const client = withParts(status, more);
    assert.equal(stateOf(client), expected);
    assert.equal(describeTunnel(client, tr).icon, stateIcon(stateOf(client)));
    for (const code of ['not-running', 'not-responding', 'starting'] as const) {
      const gone = { ...client, offline: { code, detail: '' } };
      assert.equal(stateOf(gone), 'unknown', 'the former state is not shown');
      assert.equal(describeTunnel(gone, tr).icon, stateIcon('unknown'));
    }
  });

test('every state is among the cases', () => {
  assert.deepEqual([...new Set(CASES.map(([state]) => state))].sort(), [...STATES].sort());
});
