// HTTP/2 of MASQUE: where it is offered, and where it shows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '../../../../daemon/api/schema.ts';
import { statusLine } from '../../../../daemon/state/status-line.ts';
import { actionCommand } from '../../../../daemon/view/form.ts';
import { modeForm } from '../../../../daemon/view/forms/tunnel/modes.ts';
import { connectionForm } from '../../../../daemon/view/pages/connection.ts';
import { causeOf, remedyOf } from '../../../../daemon/view/states/causes.ts';
import { isHttp2Only, knowsHttp2, offersHttp2, usesHttp2 } from '../../../../daemon/view/states/http2.ts';
import { describeTunnel } from '../../../../daemon/view/states/tunnel.ts';
import { describe } from '../../../../daemon/view/view.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

type Parts = Parameters<typeof clientState>[0];

/** Output of WARP for each option (recorded 2026.3.846; HTTP/2 and HTTP/3 alone as in the same form). */
const FALLBACK = 'MASQUE (HTTP/3 with HTTP/2 fallback)';
const ONLY_2 = 'MASQUE (HTTP/2)';
const ONLY_3 = 'MASQUE (HTTP/3)';

const of = (parts: Parts = {}) => clientState(parts).snapshot!;
const version = (text: string | null): Parts => ({ tunnelCli: { version: text } });

const OFFERED: [title: string, parts: Parts, offered: boolean][] = [
  ['a free account', {}, true],
  ['the default, with a fallback that may not work', { options: { masque: FALLBACK } }, true],
  ['HTTP/3 alone', { options: { masque: ONLY_3 } }, true],
  ['HTTP/2 alone', { options: { masque: ONLY_2 } }, false],
  ['the first release with it', version('2025.4.929'), true],
  ['the release before', version('2025.4.589.1'), false],
  ['a release whose version is not known', version(null), false],
  ['a missing client', { tunnelCli: { available: false } }, false],
  ['WireGuard', { settings: { Mode: 'warp', 'WARP tunnel protocol': 'WireGuard' } }, false],
  ['a protocol that is not known', { settings: { Mode: 'warp', 'WARP tunnel protocol': undefined } } as Parts, false],
  ['a managed device', { account: { managed: true } }, false],
  ['a device of an organization', { account: { organization: 'acme' } }, false],
  ['settings of an organization', { options: { organization: 'acme' } }, false],
];
for (const [title, parts, offered] of OFFERED)
  test(`HTTP/2 is ${offered ? '' : 'not '}offered to ${title}`, () => {
    assert.equal(offersHttp2(of(parts)), offered);
    const remedy = remedyOf('udp', of(parts), tr)!;
    const isOffered =
      JSON.stringify(remedy.command) ===
      JSON.stringify(actionCommand({ action: 'setMasqueOptions', value: 'h2-only' }));
    assert.equal(isOffered, offered);
    assert.equal(/HTTP\/2/.test(remedy.label), offered);
  });

test('offers to allow HTTP/3 again if only HTTP/2 is allowed and does not connect', () => {
  const remedy = remedyOf('udp', of({ options: { masque: ONLY_2 } }), tr)!;
  assert.deepEqual(remedy.command, actionCommand({ action: 'resetMasqueOptions' }));
});

test('a tunnel over TCP that reaches no server is not said to lack UDP', () => {
  for (const code of ['HappyEyeballsFailed', 'CF_HAPPY_EYEBALLS_MITM_FAILURE']) {
    const failed: Parts = { status: { state: 'unable', reason: { code, text: code } } };
    assert.match(causeOf(of(failed), tr)!.sentence, /often all of UDP/);
    const overTcp = causeOf(of({ ...failed, options: { masque: ONLY_2 } }), tr)!;
    assert.doesNotMatch(overTcp.sentence, /UDP/);
    assert.match(overTcp.sentence, /TCP 443/);
    const wireGuard = { Mode: 'warp', 'WARP tunnel protocol': 'WireGuard' };
    const overUdp = causeOf(of({ ...failed, settings: wireGuard, options: { masque: ONLY_2 } }), tr)!;
    assert.match(overUdp.sentence, /often all of UDP/);
    assert.equal(overUdp.remedy?.label, 'Try MASQUE');
  }
});

test('a release without the option has no rows for it', () => {
  const ids = (parts: Parts) => modeForm(clientState(parts), true, tr).groups.map(({ id }) => id);
  assert.ok(ids({}).includes('masque'));
  assert.ok(!ids(version('2025.2.664.0')).includes('masque'));
  assert.equal(knowsHttp2(of(version('2025.2.664.0'))), false);
  // a release that prints it has it, whatever its version says
  assert.equal(knowsHttp2(of({ ...version('2025.2.664.0'), options: { masque: FALLBACK } })), true);
});

const connected = (parts: Parts): Parts => ({ ...parts, status: { state: 'connected', ...parts?.status } });
const USED: [title: string, parts: Parts, used: boolean][] = [
  ['MASQUE (HTTP/2), of 2025', connected({ tunnel: { protocol: 'MASQUE (HTTP/2)' } }), true],
  ['MASQUE (HTTPS via TCP), of 2026', connected({ tunnel: { protocol: 'MASQUE (HTTPS via TCP)' } }), true],
  ['MASQUE (HTTPS via UDP)', connected({ tunnel: { protocol: 'MASQUE (HTTPS via UDP)' } }), false],
  ['MASQUE (HTTP/3)', connected({ tunnel: { protocol: 'MASQUE (HTTP/3)' } }), false],
  [
    'UDP, while only HTTP/2 is set for the next connection',
    connected({ tunnel: { protocol: 'MASQUE (HTTP/3)' }, options: { masque: ONLY_2 } }),
    false,
  ],
  ['MASQUE alone, with HTTP/2 set', connected({ tunnel: { protocol: 'MASQUE' }, options: { masque: ONLY_2 } }), true],
  ['MASQUE alone', connected({ tunnel: { protocol: 'MASQUE' } }), false],
  ['connecting with HTTP/2 set', { status: { state: 'connecting' }, options: { masque: ONLY_2 } }, true],
  [
    'statistics of an earlier connection',
    { status: { state: 'connecting' }, tunnel: { protocol: 'MASQUE (HTTP/2)' } },
    false,
  ],
  [
    'WireGuard with HTTP/2 set',
    { settings: { 'WARP tunnel protocol': 'WireGuard' }, options: { masque: ONLY_2 } },
    false,
  ],
];
for (const [title, parts, used] of USED)
  test(`status and window ${used ? 'name HTTP/2' : 'do not name HTTP/2'}: ${title}`, () => {
    const client = clientState(parts);
    assert.equal(usesHttp2(client.snapshot!), used);
    assert.equal(/ · MASQUE over HTTP\/2/.test(statusLine(client.snapshot!)), used);
    if (client.snapshot!.status.state !== 'connected') return;
    const page = connectionForm(describe(client, '1.0.0', tr), { now: 0, figures: [], tools: [] }, tr);
    const rows = page.groups.flatMap(group => group.rows).flatMap(row => (row.kind === 'expander' ? row.rows : []));
    const row = rows.find(({ id }) => id === 'protocol');
    assert.equal(row?.kind === 'fact' ? row.value : null, used ? 'MASQUE over HTTP/2 (TCP)' : 'MASQUE');
  });

test('connecting for long offers HTTP/2 with a button and a command, where WARP has it', () => {
  const long = (parts: Parts): [string, string, boolean] => {
    const since = new Date(0).toISOString();
    const client = clientState({ ...parts, status: { state: 'connecting', since } }, { isLong: true });
    const { remedy, sentence } = describeTunnel(client, tr);
    return [remedy!.label, sentence, /culvert protocol h2-only/.test(statusLine(client.snapshot!, undefined, 60_000))];
  };
  assert.deepEqual(long({}), ['Use HTTP/2', 'This takes longer than usual. UDP may be blocked.', true]);
  assert.deepEqual(long(version('2025.2.664.0')), ['Try WireGuard', 'This takes longer than usual.', false]);
  assert.deepEqual(long({ options: { masque: ONLY_2 } }), [
    'Allow HTTP/3 Again',
    'This takes longer than usual.',
    false,
  ]);
});

test('the versions in what WARP prints are read in their order', () => {
  const only = (masque: string | null) => isHttp2Only({ options: { masque } as Snapshot['options'] });
  assert.deepEqual([FALLBACK, ONLY_2, ONLY_3, null, ''].map(only), [false, true, false, false, false]);
});
