// The list of blocked packets, from the real root service to the API, and the recording that a setting keeps on.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { BlockedList } from '../../../../daemon/api/schema.ts';
import { startListeners } from '../../../support/daemon/listeners.ts';
import { onStage, type Stage } from '../../../support/killswitch/stage.ts';
import { until } from '../../../support/until.ts';
import { createSide } from './side.ts';

const FAR = '203.0.113.9';
const SEND = `
import socket
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("${FAR}", 4321))
except PermissionError:
    pass`;

const inside = (stage: Stage, ...words: string[]) =>
  execFileSync(stage.inside[0]!, [...stage.inside.slice(1), ...words], { encoding: 'utf8' });
const isRecording = async (stage: Stage) => /culvert_blocked/.test(await stage.nft('list', 'tables'));

onStage('a request answers with the blocked packets of this user', async (stage, t) => {
  await stage.serve();
  const { control } = await createSide(t, stage);
  const { killSwitch, port } = await startListeners(t);
  Object.assign(killSwitch, control);
  const ask = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/killswitch/blocked`);
    assert.equal(answer.status, 200);
    return BlockedList.parse(await answer.json());
  };
  await control.set({ enabled: true, allowLan: false });
  inside(
    stage,
    'sh',
    '-c',
    'ip link add up0 type veth peer name up1 && ip link set up1 up && ip link set up0 up && ip route add default dev up0',
  );
  assert.deepEqual((await ask()).entries, []);
  inside(stage, '/usr/bin/python3', '-c', SEND);
  const { recordingSince, entries } = await ask();
  assert.ok(recordingSince);
  assert.deepEqual(
    entries.map(({ protocol, address, port, packets }) => ({ protocol, address, port, packets })),
    [{ protocol: 'udp', address: FAR, port: 4321, packets: 1 }],
  );
});

onStage('while the setting wants it, the recording goes on without anybody who looks', async (stage, t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  await stage.serve();
  const { control, context } = await createSide(t, stage);
  const { settings, state } = context;
  const renewals = () => readFileSync(stage.path('calls'), 'utf8').match(/ Blocked u 180$/gm)?.length ?? 0;
  const want = (recordBlocked: boolean) => {
    settings.setSession({ warp: { recordBlocked } });
    state.publish('config', settings.response());
  };
  control.start();
  await control.set({ enabled: true, allowLan: false });
  t.mock.timers.tick(60_000);
  assert.deepEqual([renewals(), await isRecording(stage)], [0, false]);
  want(true);
  await until(() => isRecording(stage));
  const before = renewals();
  t.mock.timers.tick(60_000);
  await until(() => renewals() === before + 1);
  // from the first packet after it was turned on
  await control.set({ enabled: false, allowLan: false });
  await control.set({ enabled: true, allowLan: false });
  await until(() => renewals() >= before + 3);
  want(false);
  const last = renewals();
  t.mock.timers.tick(600_000);
  await control.read();
  assert.equal(renewals(), last);
});
