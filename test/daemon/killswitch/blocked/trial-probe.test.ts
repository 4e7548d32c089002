// The packet of `culvert diagnose record --try`, with the real root service, nft and kernel: it is counted as blocked, and
// nothing leaves.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { BlockedList } from '../../../../daemon/api/schema.ts';
import { PROBE, packetsTo } from '../../../../daemon/cli/commands/doctor/trial.ts';
import { DAEMON, machineFor } from '../../../support/killswitch/programs.ts';
import { missing } from '../../../support/killswitch/stage.ts';
import { bundleScript } from '../../../support/script.ts';

const machine = machineFor(missing);

async function counted(): Promise<number> {
  const { ok, text } = await machine.call('Blocked', ['u', '60'], DAEMON);
  assert.ok(ok, text);
  return packetsTo(BlockedList.parse(JSON.parse(text)).entries);
}

test('the packet of a trial is refused and counted while the kill switch is on, and no longer after', {
  skip: missing,
}, async () => {
  const script = resolve(import.meta.dirname, '../../../support/killswitch/send-probe.ts');
  const send = [process.execPath, bundleScript(script, machine.directory)];
  const { ok, text: answer } = await machine.call('TryEnable', ['ba(ssaq)u', 'false', '0', '60']);
  assert.ok(ok, answer);
  const uplink = (await machine.seen()).uplink;
  assert.equal(await counted(), 0);
  const { out, err } = await machine.run(send);
  assert.match(out, /^(?:EPERM|EACCES|null)\n$/, err);
  assert.equal(await counted(), 1);
  assert.equal((await machine.seen()).uplink, uplink);
  assert.ok((await machine.call('Revert')).ok);
  assert.equal((await machine.run(send)).out, 'null\n');
  assert.equal(await counted(), 1);
  assert.ok(PROBE.address.startsWith('192.0.2.'));
});
