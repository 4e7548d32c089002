// The answer to an address or a host name that is typed into the search.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Why, WhyAddress } from '../../../../daemon/api/schema.ts';
import { answerRows, createLookup, targetOf } from '../../../../daemon/view/forms/search-rows.ts';
import { describe, type View } from '../../../../daemon/view/view.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

const address = (parts: Partial<WhyAddress>): WhyAddress => ({
  address: '192.0.2.7',
  tunnel: true,
  reason: 'default',
  entry: null,
  blocked: false,
  kernel: null,
  kernelProblem: null,
  disagrees: false,
  ...parts,
});
const why = (addresses: WhyAddress[], parts: Partial<Why> = {}): Why => ({
  ok: true,
  target: { kind: 'host', value: 'example.com' },
  mode: 'warp',
  list: 'exclude',
  fallback: null,
  proxy: null,
  addresses,
  resolveProblem: null,
  ...parts,
});
function viewOf(hosts: string[], mode: 'exclude' | 'include' = 'exclude') {
  const client = clientState({ status: { state: 'connected' } });
  client.snapshot!.splitTunnel = { mode, ips: [], hosts: hosts.map(value => ({ value, description: null })) };
  return describe(client, '1.0.0', tr);
}
/** Title, label and action of the answer. */
function answer(given: Why, view = viewOf([])) {
  const [row] = answerRows(given, view, tr);
  if (row?.kind !== 'button') return [row?.title];
  return [row.title, row.label, row.command.ask.kind === 'action' ? row.command.ask.request.action : null];
}

test('only whole addresses and host names are looked up, also within a web address', () => {
  assert.equal(targetOf('netflix.com'), 'netflix.com');
  assert.equal(targetOf(' https://www.Netflix.com/browse?a=1 '), 'www.netflix.com');
  assert.equal(targetOf('https://me@www.netflix.com:8443/browse'), 'www.netflix.com');
  assert.equal(targetOf('2001:db8::1'), '2001:db8::1');
  for (const words of ['wifi', 'split tunnel', '10.0.0.0/33 x', '*.example.com', ''])
    assert.equal(targetOf(words), null);
});

test('the answer offers the change that sends the target the other way, where one entry can do it', () => {
  const entry = { reason: 'entry', entry: 'example.com' } as const;
  assert.deepEqual(answer(why([address({})])), ['example.com uses WARP', 'Bypass', 'addSplitHost']);
  assert.deepEqual(
    answer(why([address({ tunnel: false, ...entry })], { nameEntry: 'example.com' }), viewOf(['example.com'])),
    ['example.com bypasses WARP', 'Tunnel It', 'removeSplitHost'],
  );
  assert.deepEqual(answer(why([address({ tunnel: false })], { list: 'include' }), viewOf([], 'include')), [
    'example.com bypasses WARP',
    'Tunnel It',
    'addSplitHost',
  ]);
  const range = { tunnel: false, reason: 'entry', entry: '192.0.2.0/24' } as const;
  assert.deepEqual(answer(why([address(range)])), ['example.com bypasses WARP'], 'a range is about more');
  assert.deepEqual(answer(why([address({ tunnel: null, reason: 'disconnected' })])), ['example.com']);
  assert.deepEqual(answer(why([address({}), address({ tunnel: false })])), ['example.com']);
  const nowhere = { device: null, gateway: null, source: null, tunnel: false, refusal: 'Network is unreachable' };
  assert.deepEqual(
    answer(why([address({ kernel: nowhere }), address({})])),
    ['example.com uses WARP', 'Bypass', 'addSplitHost'],
    'an address that goes nowhere does not bypass WARP',
  );
  assert.deepEqual(answer(why([address({ kernel: nowhere })])), ['example.com']);
  assert.deepEqual(answer(why([], { resolveProblem: 'No such name' })), ['example.com']);
  const named = { resolveProblem: 'No such name', nameEntry: 'example.com' };
  assert.deepEqual(answer(why([], named)), ['example.com'], 'the list does not say where an unknown address goes');
  assert.deepEqual(answer(why([], { ...named, list: 'include' })), ['example.com']);
});

test('a block by the kill switch and a contradiction of the kernel are in the answer', () => {
  const [blocked] = answerRows(why([address({ tunnel: false, blocked: true })]), viewOf([]), tr);
  assert.equal(blocked!.title, 'example.com');
  assert.match(blocked!.subtitle!, /^Blocked: it would bypass WARP\n/);
  const [contradicted] = answerRows(why([address({ disagrees: true })]), viewOf([]), tr);
  assert.match(contradicted!.subtitle!, /elsewhere than expected/);
  assert.equal(contradicted!.tone, 'warning');
  const kernel = { device: 'CloudflareWARP', gateway: null, source: null, tunnel: true };
  const lost = address({ reason: 'disconnected', kernel, disagrees: true });
  const [row] = answerRows(why([address({ tunnel: false }), lost]), viewOf([]), tr);
  assert.deepEqual([row!.title, row!.tone], ['example.com', 'warning'], 'also if another address has none');
});

test('a daemon that comes back is asked again', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let reachable = false;
  const call = () => (reachable ? Promise.resolve(why([address({})])) : Promise.reject(new Error('gone')));
  const lookup = createLookup({ call: call as never }, () => {});
  const view = viewOf([]);
  const follow = async (offline: View['client']['offline']) => {
    lookup.follow('example.com', { ...view, client: { ...view.client, offline } });
    t.mock.timers.tick(1000);
    for (let turn = 0; turn < 4; turn++) await Promise.resolve();
    return lookup.group(view, tr)!.rows[0]!;
  };
  assert.equal((await follow({ code: 'stopped', detail: '' })).subtitle, 'gone');
  reachable = true;
  assert.equal((await follow(null)).title, 'example.com uses WARP');
});

test('an answer belongs to what is typed now, and is asked for once the keys rest', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked: unknown[] = [];
  let changed = 0;
  const call = (_line: string, options: unknown) => {
    asked.push(options);
    return Promise.resolve(why([address({})]));
  };
  const lookup = createLookup({ call: call as never }, () => changed++);
  const view = viewOf([]);
  for (const typed of ['example.co', 'example.com', 'example.com']) lookup.follow(typed, view);
  assert.equal(lookup.group(view, tr)!.rows[0]!.subtitle, 'Looking it up…');
  t.mock.timers.tick(1000);
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(asked, [{ body: { target: 'example.com' } }]);
  assert.ok(changed > 0);
  assert.equal(lookup.group(view, tr)!.rows[0]!.title, 'example.com uses WARP');
  lookup.follow('wifi', view);
  assert.equal(lookup.group(view, tr), null);
});
