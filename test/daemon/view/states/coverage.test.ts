// The traffic that a list of the split tunnel leaves to WARP.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DEFAULT_ROUTES } from '../../../../daemon/view/default-routes.ts';
import type { Question } from '../../../../daemon/view/form.ts';
import { modeCommand } from '../../../../daemon/view/forms/tunnel/choose-mode.ts';
import { coverageOf, coverageText, isAsNamed, wholeFamilies } from '../../../../daemon/view/states/coverage.ts';
import { describeProxy } from '../../../../daemon/view/states/proxy.ts';
import { clientState, tr } from '../../../support/gnome/view/translator.ts';

/** IPv4 without 10.0.0.0/8 and multicast, as an include list that leaves out a LAN has it. */
const AROUND_TEN = ['0.0.0.0/5', '8.0.0.0/7', '11.0.0.0/8', '12.0.0.0/6', '16.0.0.0/4', '32.0.0.0/3', '64.0.0.0/2'];

const WHOLE: [string[], string[]][] = [
  [[], []],
  [['0.0.0.0/0'], ['IPv4']],
  [['::/0'], ['IPv6']],
  [['0:0:0:0:0:0:0:0/0'], ['IPv6']],
  [
    ['0.0.0.0/0', '::/0'],
    ['IPv4', 'IPv6'],
  ],
  [['0.0.0.0/1', '128.0.0.0/1'], ['IPv4']],
  [['::/1', '8000::/1'], ['IPv6']],
  [['2000::/3'], ['IPv6']],
  [['2000::/4', '3000::/4'], ['IPv6']],
  [['2000::/4'], []],
  [['0.0.0.0/1'], []],
  [['0.0.0.0/1', '8000::/1'], []],
  [[...AROUND_TEN, '128.0.0.0/1'], ['IPv4']],
  [[...AROUND_TEN, '128.0.0.0/2'], []],
  [['10.0.0.0/8', '192.168.0.0/16', '224.0.0.0/3'], []],
  [['192.0.2.1', '2001:db8::1', '::'], []],
  [['0/0', '/0', '1.2.3.4/', '1.2.3.4.5/0', '0.0.0.0/ 0', '0.0.0.0/0x0', '::1::/0', ':/0'], []],
  [['::ffff:0.0.0.0/96', '::ffff:0:0/96'], []],
  [['203.0.113.9/0', '203.0.113.9/0'], ['IPv4']],
  [['example.com', '0.0.0.0/x', '1.2/0.5', '999.0.0.0/1', '', '/1', ':/1', '0.0.0.0/-1'], []],
];

describe('the families of which a list holds all public addresses', () => {
  for (const [values, families] of WHOLE)
    test(`${values.join(', ') || 'no entry'}: ${families.join(', ') || 'none'}`, () => {
      assert.deepEqual(wholeFamilies(values), families);
    });
});

const coverageIn = (list: 'exclude' | 'include', values: string[], hosts: string[] = [], Mode = 'warp') => {
  const entries = (texts: string[]) => texts.map(value => ({ value, description: null }));
  const { snapshot } = clientState();
  const splitTunnel = { ...snapshot!.splitTunnel, mode: list, ips: entries(values), hosts: entries(hosts) };
  return coverageOf({ ...snapshot!, settings: { Mode }, splitTunnel });
};
const words = (...given: Parameters<typeof coverageIn>) => coverageText(coverageIn(...given), tr);
const ALL = 'Your traffic goes through Cloudflare.';
const LISTED = 'Only the sites and networks on your list use WARP.';

test('names the family that bypasses WARP, and says no more than that', () => {
  assert.equal(words('exclude', ['10.0.0.0/8']), ALL);
  assert.equal(words('exclude', ['::/0']), 'IPv6 traffic bypasses WARP, because of your list.');
  assert.equal(words('exclude', ['0.0.0.0/1', '128.0.0.0/1']), 'IPv4 traffic bypasses WARP, because of your list.');
  assert.equal(words('exclude', ['0.0.0.0/0', '::/0']), 'IPv4, IPv6 traffic bypasses WARP, because of your list.');
  assert.equal(words('include', ['0.0.0.0/0', '::/0']), ALL);
  assert.equal(words('include', ['0.0.0.0/0']), 'IPv6 traffic bypasses WARP, because of your list.');
  assert.equal(words('include', ['0.0.0.0/0', '2001:db8::/32']), LISTED);
  assert.equal(words('include', ['0.0.0.0/0'], ['example.com']), LISTED);
  assert.equal(words('include', ['10.0.0.0/8']), LISTED);
  assert.equal(words('include', []), 'IPv4, IPv6 traffic bypasses WARP, because of your list.');
  assert.equal(words('include', [], ['example.com']), LISTED);
});

test('says that a list excludes public addresses, beyond those that WARP itself excludes', () => {
  const EXCEPT = 'Your traffic goes through Cloudflare, except what is on your list.';
  assert.equal(words('exclude', [...DEFAULT_ROUTES]), ALL);
  assert.equal(
    words('exclude', ['239.255.255.250/32', '192.168.7.0/24', '127.0.0.1', 'fd12::/16', '17.249.1.0/24']),
    ALL,
  );
  for (const range of ['0.0.0.0/1', '128.0.0.0/1', '192.0.0.0/8', '203.0.113.9', '2000::/4', '2606:4700::/32'])
    assert.equal(words('exclude', [...DEFAULT_ROUTES, range]), EXCEPT, range);
  assert.equal(words('exclude', [], ['example.com']), EXCEPT);
  const named = (value: string) => isAsNamed(coverageIn('exclude', [value]));
  assert.deepEqual(['203.0.113.9', '240.0.0.0/4', '0.0.0.0/1', '::/1'].map(named), [true, true, false, false]);
  const noDns = words('exclude', ['0.0.0.0/1'], [], 'tunnel_only');
  assert.equal(noDns, 'Your traffic is tunneled, except what is on your list; DNS is not.');
});

test('the questions before less is tunneled say what is tunneled now: what a list says, and nothing in the demo', () => {
  const questions = (changed: Parameters<typeof clientState>[0]) => {
    const client = clientState({ settings: { Mode: 'warp' }, status: { state: 'connected' }, ...changed });
    const { confirm } = modeCommand(client.snapshot, 'doh', tr) as { confirm?: Question };
    return [confirm?.body, describeProxy(client, tr).enable.command.confirm!.body];
  };
  const THEN = 'From then on only the apps that you start here use WARP.';
  const both = (now: string) => [`${now} In this mode most traffic bypasses WARP.`, `${now} ${THEN}`];
  assert.deepEqual(questions({}), both(ALL));
  const hosts = [{ value: 'example.com', description: null }];
  assert.deepEqual(questions({ splitTunnel: { mode: 'include', ips: [], hosts } }), both(LISTED));
  assert.deepEqual(questions({ tunnelCli: { emulated: true } }), both('Demo: your real traffic is not protected.'));
  assert.deepEqual(questions({ status: { state: 'disconnected' } }), [undefined, THEN]);
  const killSwitch = { installed: true, enabled: true, active: true };
  const blocked = both(ALL).map(text => `${text} Traffic outside the tunnel is blocked.`);
  assert.deepEqual(questions({ killSwitch }), blocked);
  assert.deepEqual(
    questions({ killSwitch, tunnelCli: { emulated: true } }),
    both('Demo: your real traffic is not protected.'),
  );
});
