// The reasons that the audit log gives for commands that were refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countingApi } from '../../support/wrapper/counting-api.ts';
import { poolBox } from '../../support/wrapper/pool/pool-box.ts';
import { type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';
import { storeServer } from '../../support/wrapper/store-server.ts';

interface Entry {
  outcome: string;
  why?: string;
}

async function lastEntry(box: Sandbox): Promise<Entry> {
  const { entries } = (await box.json('audit')) as { entries: Entry[] };
  const { outcome, why } = entries.at(-1)!;
  return { outcome, ...(why !== undefined && { why }) };
}

test('a command that policy = "shed" refuses has its reason in the audit log', async t => {
  const box = sandbox(t);
  const api = await countingApi(t, { ka: 0 });
  box.script('fake', '#!/bin/sh\necho ok\n');
  const usage = `[providers.fake.usage]\nurl = "${api.url}/usage"\nremaining = "remaining"\nlimit = "limit"\n`;
  box.provider('fake', `inject = ["FAKE_KEY"]\n${usage}`);
  box.accounts('fake', { a: 'ka' });
  box.configure('[capacity.fake]\npolicy = "shed"\n');
  assert.equal((await box.shim('fake', ['x'])).exit, 69);
  assert.deepEqual(await lastEntry(box), { outcome: 'refused', why: 'nothing-left' });
});

for (const policy of ['execute', 'shed']) {
  test(`a command that a pool leases no account under policy = "${policy}" has its reason in the audit log`, async t => {
    const server = await storeServer(t);
    const api = await countingApi(t, { ka: 0, kb: 0 });
    const box = poolBox(t, { url: server.url, api }, { capacity: `policy = "${policy}"\n` });
    assert.equal((await box.tool()).exit, 69);
    assert.deepEqual(await lastEntry(box), { outcome: 'refused', why: 'nothing-left' });
  });
}
