// Bytes that a sign-in let through: counted by the helper, kept in files, and given to the user who signed in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createPassed,
  createReports,
  MAX_HOSTS,
  passedIn,
  type ReportFiles,
} from '../../../../daemon/killswitch/sign-in/reports.ts';

const HOSTS = [{ host: 'login.example', sent: 1, received: 2 }];
const NOW = Date.parse('2026-01-01T00:00:00.000Z');

function play() {
  const disk = new Map<string, string>();
  const troubles: string[] = [];
  let isFull = false;
  const files: ReportFiles = {
    read: name => disk.get(name) ?? null,
    write(name, text) {
      if (isFull) throw new Error('No space left on disk');
      disk.set(name, text);
    },
    remove: name => void disk.delete(name),
  };
  const start = () =>
    createReports(
      files,
      () => NOW,
      trouble => void troubles.push(trouble),
    );
  return { disk, start, troubles, fill: () => (isFull = true) };
}

test('a report is taken once, by its own user', () => {
  const { disk, start } = play();
  const reports = start();
  reports.keep({ uid: 1000, hosts: HOSTS });
  reports.end({ uid: 1000, hosts: HOSTS }, 'time');
  reports.end({ uid: 1001, hosts: [] }, 'network');
  assert.deepEqual(reports.take(1002), []);
  assert.deepEqual(reports.take(1000), [{ ended: 'time', endedAt: '2026-01-01T00:00:00.000Z', hosts: HOSTS }]);
  assert.deepEqual(reports.take(1000), []);
  assert.equal(reports.take(1001)[0]!.ended, 'network');
  assert.deepEqual([...disk], []);
});

test('a service that was killed during a sign-in reports its last totals when it is started again', () => {
  const { start } = play();
  start().keep({ uid: 1000, hosts: HOSTS });
  const [report] = start().take(1000);
  assert.deepEqual([report!.ended, report!.hosts], ['service', HOSTS]);
  assert.deepEqual(start().take(1000), []);
});

test('files that are damaged, or a full disk, end nothing', () => {
  const { disk, start, troubles, fill } = play();
  disk.set('sign-in.json', '{');
  disk.set('signed-in.json', '{');
  assert.deepEqual(start().take(1000), []);
  fill();
  start().end({ uid: 1000, hosts: HOSTS }, 'time');
  assert.match(troubles.join(), /No space left on disk/);
});

test('totals grow, and are reported again only if they changed', () => {
  const passed = createPassed();
  const count = passed.begin('login.example');
  passed.begin('login.example')('received', 2);
  count('sent', 1);
  assert.deepEqual(passed.news(), HOSTS);
  assert.deepEqual(passed.news(), []);
  count('sent', 4);
  assert.deepEqual(passed.news(), [{ host: 'login.example', sent: 5, received: 2 }]);
});

test('hosts beyond the limit are counted together', () => {
  const passed = createPassed();
  for (let i = 0; i < MAX_HOSTS + 9; i++) passed.begin(`${i}.example`)('sent', 1);
  const news = passed.news();
  assert.deepEqual([news.length, news.at(-1)], [MAX_HOSTS, { host: '*', sent: 10, received: 0 }]);
});

test('a helper is not trusted with anything but totals', () => {
  for (const value of [null, 1, {}, { host: 'a b', sent: 1, received: 1 }, { host: 'a', sent: -1, received: 1 }])
    assert.equal(passedIn(value), null, JSON.stringify(value));
  assert.deepEqual(passedIn({ ...HOSTS[0], more: 1 }), HOSTS[0]);
});
