// The way of an address, as the split tunnel has it and as the kernel does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Why } from '../../../../daemon/api/schema.ts';
import { whyAnswers, whyForm } from '../../../../daemon/view/states/why.ts';
import { rowsOf } from '../../../support/gnome/view/forms.ts';
import { tr } from '../../../support/gnome/view/translator.ts';

test('forecast and fact are side by side, and a contradiction leads to the checks', () => {
  const why: Why = {
    ok: true,
    target: { kind: 'host', value: 'example.com' },
    mode: 'warp',
    list: 'exclude',
    proxy: null,
    fallback: { domain: 'com', resolvers: ['10.0.0.53'] },
    addresses: [
      {
        address: '192.0.2.1',
        tunnel: true,
        reason: 'default',
        entry: null,
        blocked: false,
        kernelProblem: null,
        kernel: { device: 'eth0', gateway: '10.0.0.1', source: '10.0.0.2', tunnel: false },
        disagrees: true,
      },
    ],
    resolveProblem: null,
  };
  const asked: string[] = [];
  const [field, answer, fallback] = rowsOf(whyForm(why, async target => asked.push(target), tr));
  assert.ok(answer?.kind === 'button');
  assert.deepEqual(
    [answer.title, answer.tone, answer.subtitle!.split('\n')],
    [
      'Bypasses WARP',
      'warning',
      [
        'example.com · 192.0.2.1',
        'The system sends it elsewhere than expected.',
        'No entry of the split tunnel excludes it.',
        'The kernel sends it to 10.0.0.1 by eth0.',
      ],
    ],
  );
  assert.deepEqual([answer.label, answer.command.ask], ['Run Checks', { kind: 'page', page: 'checks' }]);
  assert.match(fallback!.subtitle!, /10\.0\.0\.53/);
  assert.ok(field!.kind === 'entry');
  const [address] = why.addresses;
  const both = whyAnswers({ ...why, addresses: [address!, { ...address!, address: '192.0.2.2' }] }, tr);
  assert.deepEqual(
    both.map(({ addresses }) => addresses),
    [['192.0.2.1', '192.0.2.2']],
    'addresses with the same answer share a row',
  );
});

test('only what is known to be wrong is a warning', () => {
  const of = (tunnel: boolean | null, blocked = false): Why => ({
    ok: true,
    target: { kind: 'ip', value: '192.0.2.1' },
    mode: 'warp',
    list: 'exclude',
    proxy: null,
    fallback: null,
    addresses: [
      {
        address: '192.0.2.1',
        tunnel: null,
        forecast: tunnel,
        reason: 'default',
        entry: null,
        blocked,
        kernelProblem: null,
        kernel: null,
        disagrees: false,
      },
    ],
    resolveProblem: null,
  });
  const unresolved: Why = { ...of(null), addresses: [], resolveProblem: 'no name server answered' };
  for (const [why, tone] of [
    [of(true), 'success'],
    [of(false), 'neutral'],
    [of(null), 'neutral'],
    [unresolved, 'neutral'],
    [of(false, true), 'warning'],
  ] as const) {
    const [, answer, ...rest] = rowsOf(whyForm(why, async () => {}, tr));
    assert.deepEqual([answer!.tone, rest], [tone, []]);
  }
});

test('a name that the list has is answered without its addresses, in the same words everywhere', () => {
  const unresolved: Why = {
    ok: true,
    target: { kind: 'host', value: 'example.com' },
    mode: 'warp',
    list: 'exclude',
    proxy: null,
    fallback: null,
    addresses: [],
    nameEntry: 'example.com',
    resolveProblem: 'no name server answered',
  };
  const listed = 'The split tunnel excludes example.com.';
  const failure = 'example.com could not be resolved: no name server answered.';
  const includes: Why = { ...unresolved, list: 'include' };
  // without a tunnel, only the list is certain
  for (const [why, verdict, way, because] of [
    [unresolved, listed, null, [failure]],
    [{ ...includes, nameForecast: null }, 'The split tunnel includes example.com.', null, [failure]],
    [{ ...unresolved, nameForecast: false }, 'Should bypass WARP', false, [listed, failure]],
    [
      { ...unresolved, nameForecast: false, nameBlocked: true },
      'Blocked: it would bypass WARP',
      false,
      [listed, failure],
    ],
    [
      { ...includes, nameForecast: true },
      'Should go through WARP',
      true,
      ['The split tunnel includes example.com.', failure],
    ],
  ] as [Why, string, boolean | null, string[]][]) {
    const [answer] = whyAnswers(why, tr);
    assert.deepEqual([answer!.verdict, answer!.way, answer!.because], [verdict, way, because]);
    const [, row] = rowsOf(whyForm(why, async () => {}, tr));
    assert.deepEqual([row!.title, row!.subtitle], [verdict, ['example.com', ...because].join('\n')]);
    assert.equal(row!.mark === 'fine', way === true);
  }
  const [unnamed] = whyAnswers({ ...unresolved, nameEntry: null }, tr);
  assert.equal(unnamed!.way, null);
  assert.match(unnamed!.because[1]!, /its addresses would decide/);
});
