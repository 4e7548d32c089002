// The lists of routes and of domains.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dnsForm } from '../../../../../daemon/view/forms/tunnel/dns.ts';
import { describeRoutes, removal } from '../../../../../daemon/view/forms/tunnel/split-tunnel.ts';
import { clientState, tr } from '../../../../support/gnome/view/translator.ts';

test('routes are listed with their kind and origin, those of the user first', () => {
  const client = clientState();
  client.snapshot!.splitTunnel = {
    mode: 'exclude',
    ips: [
      { value: '10.0.0.0/8', description: null },
      { value: '192.0.2.1', description: 'printer' },
      { value: '255.255.255.255/32', description: null },
      { value: '17.249.0.0/16', description: null },
    ],
    hosts: [{ value: 'example.com', description: null }],
  };
  const view = describeRoutes(client, true, tr);
  assert.deepEqual(
    view.entries.map(({ kind, origin }) => [kind, origin]),
    [
      ['host', 'yours'],
      ['address', 'yours'],
      ['range', 'built in'],
      ['address', 'built in'],
      ['range', 'built in'],
    ],
  );
});

test('domains for the user’s own DNS are listed with their origin, and adding one can be undone', () => {
  const fallbackDomains = ['corp', 'corp.example', 'lan'].map(domain => ({ domain, note: null }));
  const rows = dnsForm(clientState({ options: { fallbackDomains } }), true, tr).groups.flatMap(group => group.rows);
  assert.deepEqual(
    rows.filter(({ kind }) => kind === 'item').map(({ title, subtitle }) => `${title}: ${subtitle}`),
    ['corp.example: yours', 'corp: built in', 'lan: built in'],
  );
  const managed = clientState({ options: { fallbackDomains } });
  managed.snapshot!.account.managed = true;
  const theirs = dnsForm(managed, true, tr).groups.flatMap(group => group.rows.filter(({ kind }) => kind === 'item'));
  assert.deepEqual([...new Set(theirs.map(({ subtitle }) => subtitle))], ['Organization']);
  const add = rows.find(({ id }) => id === 'fallback-add');
  assert.ok(add?.kind === 'entry');
  assert.deepEqual([add.check('lan'), add.check('lan.example')], ['It is already on the list', null]);
  const { undo, done } = add.command('lan.example');
  const request = { action: 'removeFallbackDomain', value: 'lan.example' };
  assert.deepEqual([done, undo], ['lan.example added', { kind: 'action', request }]);
});

test('a removal can be undone', () => {
  const { ask, undo } = removal({ value: '192.0.2.0/24', kind: 'range' }, tr);
  assert.deepEqual(ask, { kind: 'action', request: { action: 'removeSplitRange', value: '192.0.2.0/24' } });
  assert.deepEqual(undo, { kind: 'action', request: { action: 'addSplitRange', value: '192.0.2.0/24' } });
});
