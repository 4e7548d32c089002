// The restart by systemd, or by the daemon itself.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseFlags } from '../../daemon/launcher.ts';
import { isUnit, startAgain, takeDemoRequest } from '../../daemon/restart.ts';
import { programs } from '../../daemon/system/installation.ts';
import { missing, temporary } from '../support/temporary.ts';

test('only the main process of a unit that systemd waits for is started again by systemd', () => {
  const cases: [NodeJS.ProcessEnv, boolean][] = [
    [{}, false],
    [{ NOTIFY_SOCKET: '/run/user/1000/systemd/notify', SYSTEMD_EXEC_PID: '42' }, true],
    // started within a session that is itself a unit, as in GNOME
    [{ NOTIFY_SOCKET: '/run/user/1000/systemd/notify', SYSTEMD_EXEC_PID: '41' }, false],
    // a desktop's own unit for a started app, which systemd does not restart
    [{ SYSTEMD_EXEC_PID: '42', INVOCATION_ID: 'x' }, false],
    // before systemd 248
    [{ NOTIFY_SOCKET: '/run/user/1000/systemd/notify' }, true],
  ];
  for (const [env, expected] of cases) assert.equal(isUnit(env, 42), expected, JSON.stringify(env));
});

test('a program that cannot be started is named before the daemon ends', t => {
  const { culvert } = programs;
  Object.assign(programs, { culvert: missing(t) });
  t.after(() => Object.assign(programs, { culvert }));
  const said: string[] = [];
  const paths = { demoRequest: missing(t) };
  assert.equal(startAgain([], parseFlags([]), [], { env: {}, say: line => said.push(line), demo: false, paths }), 1);
  assert.equal(said.at(-1), `${programs.culvert} could not be started. Start it by hand.`);
});

test('a daemon that systemd starts becomes a demo once', t => {
  const paths = { demoRequest: join(temporary(t), 'start-demo') };
  const restart = (demo: boolean) =>
    startAgain([], parseFlags([]), [], { env: { NOTIFY_SOCKET: '/run/notify' }, say: () => {}, demo, paths });
  assert.deepEqual([restart(true), takeDemoRequest(paths), takeDemoRequest(paths)], [75, true, false]);
  assert.deepEqual([restart(false), takeDemoRequest(paths)], [75, false]);
});
