// Wrapped commands whose pool is behind Sentinels or in a cluster, where the library finds the server.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { freePort } from '../../support/ports.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';
import { countingApi } from '../../support/wrapper/counting-api.ts';
import { poolBox } from '../../support/wrapper/pool/pool-box.ts';
import { endsOfLeases, inCluster, onPort, type StoreServer, storeServer } from '../../support/wrapper/store-server.ts';

interface Found {
  url: string;
  server: StoreServer;
}

async function behindSentinel(t: TestContext): Promise<Found> {
  const [port, sentinel] = [freePort(), freePort()];
  const server = await storeServer(t, onPort(port));
  const directory = temporary(t, 'sentinel');
  const file = join(directory, 'sentinel.conf');
  writeFileSync(file, `sentinel monitor shared 127.0.0.1 ${port} 1\n`);
  await storeServer(t, onPort(sentinel, '--dir', directory), [file, '--sentinel']);
  return { url: `valkey+sentinel://127.0.0.1:${sentinel}/shared`, server };
}

async function behindCluster(t: TestContext): Promise<Found> {
  const port = freePort();
  // a node that no other has met does not know its address
  const server = await storeServer(t, inCluster(port, freePort(), '--cluster-announce-ip', '127.0.0.1'));
  await server.client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until(async () => /cluster_state:ok/.test(String(await server.client.call('CLUSTER', 'INFO'))));
  return { url: `valkey+cluster://127.0.0.1:${port}`, server };
}

const KINDS = { Sentinels: behindSentinel, cluster: behindCluster };

for (const [kind, begin] of Object.entries(KINDS)) {
  test(`${kind}: commands share the accounts, and a command that gets none ends with the reason`, async t => {
    const { url } = await begin(t);
    const api = await countingApi(t, { ka: 1, kb: 1 });
    const boxes = [poolBox(t, { url, api }), poolBox(t, { url, api })];
    assert.deepEqual([(await boxes[0]!.tool()).stdout, (await boxes[1]!.tool()).stdout], ['used ka\n', 'used kb\n']);
    const refused = await boxes[0]!.tool();
    assert.deepEqual([refused.exit, refused.stdout], [69, ''], refused.stderr);
    assert.match(refused.stderr, /no account can be used \("a" has nothing left, "b" has nothing left\)/);
    assert.equal(api.refused.size, 0);
  });

  test(`${kind}: a command whose store goes while it runs ends, and its report is kept`, async t => {
    const { url, server } = await begin(t);
    const api = await countingApi(t, { ka: 0 });
    const options = { keys: { a: 'ka' }, usage: false, before: 'while [ ! -e "$GATE" ]; do sleep 0.05; done' };
    const box = poolBox(t, { url, api }, options);
    const GATE = join(box.home, 'gate');
    const running = box.tool({ GATE });
    await until(async () => (await endsOfLeases(server)).length === 1);
    await server.kill();
    writeFileSync(GATE, '');
    const { exit, stderr } = await running;
    assert.equal(exit, 1);
    assert.match(stderr, /tool: the pool will get the report later/);
    const status = await box.wrap(['pool', 'status', '--json']);
    const { unsent, reachable } = JSON.parse(status.stdout).pool;
    assert.deepEqual([unsent, reachable], [1, false]);
  });
}

test('without any server a command is refused, or uses the share of its machine', async t => {
  const api = await countingApi(t, { ka: 10 });
  for (const form of ['sentinel://HOST/shared', 'cluster://HOST']) {
    const url = `valkey+${form.replace('HOST', `127.0.0.1:${freePort()}`)}`;
    const pool = 'offline = "local"\nmachines = 1\naccounts = { tool = ["a"] }';
    const refusing = poolBox(t, { url, api }, { keys: { a: 'ka' } });
    const sharing = poolBox(t, { url, api }, { keys: { a: 'ka' }, pool, capacity: 'reserve = 2' });
    // from the second on, by the program that has a pool's part in it
    for (let run = 0; run < 2; run++) {
      const refused = await refusing.tool();
      assert.deepEqual([refused.exit, refused.stdout], [69, ''], refused.stderr);
      assert.ok(refused.stderr.startsWith(`culvert-wrap: tool: the pool at ${url} can't be reached: no node answers`));
      const local = await sharing.tool();
      assert.deepEqual([local.exit, local.stdout], [0, 'used ka\n'], local.stderr);
    }
  }
});
