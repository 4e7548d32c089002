// The list of blocked destinations, as rows of the page of the kill switch.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BlockedEntry } from '../../../../../daemon/api/schema.ts';
import { blockedRows, originOf, targetOf, unitName } from '../../../../../daemon/view/forms/tunnel/killswitch.ts';
import { tr } from '../../../../support/gnome/view/translator.ts';

const english = { ...tr, locale: 'en' };
const ENTRY: BlockedEntry = {
  rule: 'kill-switch',
  uid: 1000,
  unit: 'app-gnome-org.mozilla.firefox-1234.scope',
  programs: ['firefox', 'Web Content'],
  source: null,
  protocol: 'tcp',
  address: '203.0.113.5',
  port: 443,
  packets: 12,
  since: '2026-11-22T12:00:00Z',
  last: '2026-11-22T12:01:00Z',
};
const rows = (entries: BlockedEntry[], hidden = 0, recordingSince: string | null = '2026-11-22T12:00:00Z') =>
  blockedRows({ list: { recordingSince, entries, hidden, missed: 0 }, failed: null }, english).map(
    ({ title, subtitle }) => [title, subtitle?.replace(/\d\d:\d\d:\d\d/, 'TIME') ?? null],
  );

test('a row has the program, the destination, the count, the time and the rule', () => {
  assert.deepEqual(rows([ENTRY, { ...ENTRY, port: 53, protocol: 'udp', packets: 1, rule: 'dns', programs: [] }]), [
    ['firefox, Web Content to 203.0.113.5:443 (TCP)', '12 packets since TIME: kill switch'],
    ['org.mozilla.firefox to 203.0.113.5:53 (UDP)', '1 packet since TIME: kill switch: no DNS outside the tunnel'],
  ]);
});

test('says that nothing was blocked, that there is more, and why it can’t be shown', () => {
  assert.match(rows([])[0]![0]!, /^Nothing was blocked since /);
  assert.deepEqual(rows([], 0, null), []);
  assert.deepEqual(rows([], 3), [['3 more, also of other users', null]]);
  const many = Array.from({ length: 40 }, (_, port) => ({ ...ENTRY, port }));
  assert.equal(rows(many).length, 31);
  assert.deepEqual(rows(many).at(-1), ['10 more, also of other users', null]);
  const failed = blockedRows({ list: null, failed: 'why' }, english);
  assert.deepEqual(
    failed.map(({ subtitle }) => subtitle),
    ['why'],
  );
  assert.deepEqual(blockedRows({ list: null, failed: null }, english), []);
});

test('rows of different entries have different ids', () => {
  const list = [ENTRY, { ...ENTRY, rule: 'tunnel-only' as const }, { ...ENTRY, uid: 0 }, { ...ENTRY, port: 80 }];
  const ids = blockedRows(
    { list: { recordingSince: ENTRY.since, entries: list, hidden: 0, missed: 0 }, failed: null },
    english,
  ).map(({ id }) => id);
  assert.equal(new Set(ids).size, 4);
});

test('names the program by its unit where its processes are gone', () => {
  for (const [unit, name] of [
    ['app-gnome-org.mozilla.firefox-1234.scope', 'org.mozilla.firefox'],
    ['app-org.example.Mail@3f2.service', 'org.example.Mail'],
    ['app-gnome-my\\x2dapp-7.scope', 'my-app'],
    ['systemd-timesyncd.service', 'systemd-timesyncd'],
    ['culvert-3f2c.scope', null],
    ['session-2.scope', null],
    ['user@1000.service', null],
  ] as const)
    assert.equal(unitName(unit), name, unit);
  const gone = { ...ENTRY, programs: [], unit: null };
  assert.equal(originOf(gone, english), 'A program of user 1000');
  assert.equal(originOf({ ...gone, uid: null, source: '172.17.0.2' }, english), '172.17.0.2');
});

test('writes a destination with its port and protocol', () => {
  const base = { ...ENTRY, address: '2001:db8::1' };
  assert.equal(targetOf(base), '[2001:db8::1]:443 (TCP)');
  assert.equal(targetOf({ ...base, port: null, protocol: 'ipv6-icmp' }), '2001:db8::1 (ICMPv6)');
  assert.equal(targetOf({ ...ENTRY, port: null, protocol: '47' }), '203.0.113.5 (47)');
});
