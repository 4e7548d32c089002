// The ways to a store: TCP, TLS, an ACL user, Sentinels and a cluster; and what is said when it refuses.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { Redis } from 'iovalkey';
import type { ConnectOptions } from '../../../wrapper/pool/connection.ts';
import { openStore } from '../../../wrapper/pool/store.ts';
import { listen } from '../../support/listen.ts';
import { freePort } from '../../support/ports.ts';
import { missing, temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';
import { inCluster, onPort, storeServer } from '../../support/wrapper/store-server.ts';

const tcp = freePort();
const plain = await storeServer({ after }, onPort(tcp));

async function open(t: TestContext, url: string, more: Partial<Omit<ConnectOptions, 'script'>> = {}) {
  const store = openStore({ url, timeoutMs: 10_000, ...more });
  t.after(() => store.close());
  return store;
}

test('a store on TCP, in a separate database', async t => {
  const store = await open(t, `redis://127.0.0.1:${tcp}/3`);
  assert.deepEqual(await store.status('tool'), []);
  assert.match(await plain.client.info('keyspace'), /^db3:keys=1/m);
});

test('a store behind TLS is used with its authority only', async t => {
  const directory = temporary(t, 'tls');
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      key,
      '-out',
      certificate,
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
    ].concat(['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']),
    { stdio: 'ignore' },
  );
  const port = freePort();
  await storeServer(t, [
    '--tls-port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--tls-auth-clients',
    'no',
    '--tls-cert-file',
    certificate,
    '--tls-key-file',
    key,
    '--tls-ca-cert-file',
    certificate,
  ]);
  const ca = readFileSync(certificate, 'utf8');
  for (const host of ['localhost', '127.0.0.1']) {
    assert.deepEqual(await (await open(t, `valkeys://${host}:${port}`, { ca })).status('tool'), []);
  }
  const rejected = /self.signed certificate/;
  await assert.rejects((await open(t, `rediss://localhost:${port}`)).status('tool'), rejected);
  const [sentinel, file] = [freePort(), join(directory, 'sentinel.conf')];
  writeFileSync(file, `sentinel monitor shared 127.0.0.1 ${port} 1\n`);
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
  await storeServer(
    t,
    [
      '--port',
      '0',
      '--tls-port',
      String(sentinel),
      '--bind',
      '127.0.0.1',
      '--dir',
      directory,
      '--tls-auth-clients',
      'no',
      '--tls-replication',
      'yes',
      ...files,
    ],
    [file, '--sentinel'],
  );
  const behind = `valkeys+sentinel://127.0.0.1:${sentinel}/shared`;
  assert.deepEqual(await (await open(t, behind, { ca })).status('tool'), [], 'with TLS to the Sentinels, too');
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    // the pool ignores variables that are meant for the wrapped tool
    await assert.rejects((await open(t, `rediss://localhost:${port}`)).status('tool'), rejected);
    await assert.rejects((await open(t, behind)).status('tool'), { name: 'StoreUnreachable' });
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  }
  await assert.rejects((await open(t, `valkeys://127.0.0.1:${tcp}`, { ca, timeoutMs: 500 })).status('tool'), {
    name: 'StoreUnreachable',
  });
});

function documentedRules(user = 'culvert'): string {
  const readme = readFileSync(new URL('../../../wrapper/pool/README.md', import.meta.url), 'utf8');
  const rules = new RegExp(`ACL SETUSER ${user} on '>PASSWORD' (.*)`).exec(readme)?.[1];
  assert.ok(rules, 'the README has the rules');
  return rules;
}

test('an ACL user with the rules of the README is enough, and less is refused with what to do', async t => {
  const rules = documentedRules();
  await plain.client.call('ACL', 'SETUSER', 'culvert', 'on', '>pass word', ...rules.split(' '));
  await plain.client.call('ACL', 'SETUSER', 'less', 'on', '>x', '~culvert:*', '+select');
  const url = `redis://127.0.0.1:${tcp}/2`;
  const store = await open(t, url, { user: 'culvert', password: 'pass word' });
  const seen = [{ fp: 'a', remaining: 9, limit: 9, resets: Date.now() + 1e6, identity: 'x', age: 0 }];
  const request = {
    owner: 'm',
    accounts: [{ fp: 'a', name: 'a' }],
    want: 1,
    ttl: 9_000,
    strategy: 'in-order',
    reserve: 0,
    below: 100,
    above: 200,
    askable: true,
    stale: 0,
    away: [
      { fp: 'a', spent: 1 },
      { fp: 'a', spent: 0 },
    ],
  };
  const reply = await store.lease('tool', { ...request, seen });
  assert.ok(reply.kind === 'granted');
  const { fence } = reply.lease;
  assert.equal(await store.renew('tool', fence, 9_000), true);
  const rest = { class: 'quota', kind: 'elapsed' as const, ms: 1_000, fallback: 0 };
  assert.equal(await store.release('tool', { fence, fp: 'a', spent: 1, rest, seen }), true);
  assert.equal(await store.reset('tool', 'a'), 1);
  assert.deepEqual(await store.leases('tool'), []);
  await assert.rejects((await open(t, url, { user: 'less', password: 'x' })).status('tool'), {
    code: 'pool-refused',
    hint: /rules that the README of culvert-wrap lists/,
  });
  const lacking = /^\+(?!eval$|select$)/;
  for (const right of rules.split(' ').filter(rule => lacking.test(rule))) {
    const without = rules.split(' ').filter(rule => rule !== right);
    await plain.client.call('ACL', 'SETUSER', 'lacks', 'reset', 'on', '>x', ...without);
    await plain.client.flushall();
    const poor = await open(t, url, { user: 'lacks', password: 'x' });
    const use = async () => {
      const held = await poor.lease('tool', { ...request, seen });
      if (held.kind === 'granted') await poor.release('tool', { ...held.lease, spent: 1 });
      await poor.reset('tool', 'a');
    };
    const hint = /rules that the README of culvert-wrap lists/;
    await assert.rejects(use(), { code: 'pool-refused', hint }, `without ${right}`);
  }
  await assert.rejects((await open(t, url, { user: 'culvert', password: 'wrong' })).status('tool'), error => {
    assert.ok(error instanceof Error && 'code' in error);
    assert.equal(error.code, 'pool-refused');
    assert.match(error.message, /refuses the login/);
    return !/wrong/.test(error.message);
  });
});

test('Sentinels name the primary, and its successor after it has failed', async t => {
  const directory = temporary(t, 'sentinel');
  const [first, second, port] = [freePort(), freePort(), freePort()];
  const primary = await storeServer(t, onPort(first, '--repl-diskless-sync-delay', '0'));
  const replica = await storeServer(t, onPort(second));
  await replica.client.replicaof('127.0.0.1', first);
  const file = join(directory, 'sentinel.conf');
  writeFileSync(
    file,
    `sentinel monitor shared 127.0.0.1 ${first} 1\nsentinel down-after-milliseconds shared 500\nsentinel failover-timeout shared 2000\n`,
  );
  // the server takes a file of configuration as its first argument
  await storeServer(t, onPort(port, '--dir', directory), [file, '--sentinel']);
  const asked = new Redis({ host: '127.0.0.1', port });
  t.after(() => asked.disconnect());
  const url = `valkey+sentinel://127.0.0.1:${port}/shared`;
  await primary.client.call('ACL', 'SETUSER', 'culvert', 'on', '>x', ...documentedRules().split(' '));
  assert.deepEqual(await (await open(t, url, { user: 'culvert', password: 'x' })).status('tool'), []);
  assert.ok(!String(await primary.client.call('ACL', 'LOG')).includes(',info,'), 'the rules are enough');
  assert.deepEqual(await (await open(t, url)).status('tool'), []);
  assert.equal(await primary.client.get('culvert:{tool}:schema'), '1');
  await until(async () => String(await asked.call('SENTINEL', 'replicas', 'shared')).includes(String(second)));
  await until(async () => /role:slave[\s\S]*master_link_status:up/.test(await replica.client.info('replication')));
  await primary.kill();
  await until(async () => /role:master/.test(await replica.client.info('replication')));
  await until(async () => {
    const store = openStore({ url, timeoutMs: 10_000 });
    try {
      await store.status('after');
      return true;
    } catch {
      return false;
    } finally {
      store.close();
    }
  }, 'the store behind the Sentinel');
  assert.equal(await replica.client.get('culvert:{after}:schema'), '1');
  const nobody = await open(t, `valkey+sentinel://127.0.0.1:${freePort()}/shared`);
  await assert.rejects(nobody.status('tool'), { name: 'StoreUnreachable', message: /^no node answers/ });
  const size = await replica.client.dbsize();
  assert.deepEqual(await (await open(t, `${url}/3`)).status('third'), []);
  assert.match(await replica.client.info('keyspace'), /^db3:keys=1/m);
  await assert.rejects((await open(t, `${url}/99`)).status('tool2'), {
    code: 'pool-refused',
    hint: /correct the address/,
  });
  assert.equal(await replica.client.dbsize(), size, 'nothing was written to another database');
  await assert.rejects((await open(t, `valkey+sentinel://127.0.0.1:${port}/other`)).status('tool'), {
    code: 'pool-refused',
    message: /answers: ERR No such master with that name/,
    hint: /correct the address/,
  });
});

test('Sentinels are logged in to with their own password, and with a user that may do little', async t => {
  const directory = temporary(t, 'sentinel');
  const [tcp, port] = [freePort(), freePort()];
  const primary = await storeServer(t, onPort(tcp));
  await primary.client.call('ACL', 'SETUSER', 'culvert', 'on', '>of the store', ...documentedRules().split(' '));
  const file = join(directory, 'sentinel.conf');
  await primary.client.config('SET', 'requirepass', 'of-nobody');
  writeFileSync(file, `sentinel monitor shared 127.0.0.1 ${tcp} 1\nsentinel auth-pass shared of-nobody\n`);
  await storeServer(t, onPort(port, '--dir', directory, '--requirepass', 'of the sentinel'), [file, '--sentinel']);
  const admin = new Redis({ host: '127.0.0.1', port, password: 'of the sentinel' });
  t.after(() => admin.disconnect());
  await admin.call('ACL', 'SETUSER', 'finder', 'on', '>of the finder', ...documentedRules('finder').split(' '));
  const url = `valkey+sentinel://127.0.0.1:${port}/shared`;
  const login = { user: 'culvert', password: 'of the store' };
  for (const sentinel of [{ password: 'of the sentinel' }, { user: 'finder', password: 'of the finder' }]) {
    assert.deepEqual(await (await open(t, url, { ...login, sentinel })).status('tool'), []);
  }
  assert.equal(String(await admin.call('ACL', 'LOG')), '', 'the rules are enough');
  for (const sentinel of [undefined, { password: 'wrong' }, { user: 'finder', password: 'wrong' }]) {
    await assert.rejects((await open(t, url, { ...login, sentinel })).status('tool'), {
      code: 'pool-refused',
      message: `the Sentinels of the pool at ${url} refuse the login`,
      hint: /--sentinel-user and --sentinel-password SOURCE/,
    });
  }
  const sentinel = { password: 'of the sentinel' };
  await assert.rejects((await open(t, url, { user: 'culvert', password: 'wrong', sentinel })).status('tool'), {
    code: 'pool-refused',
    message: `the pool at ${url} refuses the login`,
  });
});

test('a cluster is used through any of its nodes, and refused as a single server', async t => {
  const ports = [freePort(), freePort()] as const;
  const buses = [freePort(), freePort()] as const;
  const nodes = [];
  for (const i of [0, 1] as const) nodes.push(await storeServer(t, inCluster(ports[i], buses[i])));
  await nodes[0]!.client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '8191');
  await nodes[1]!.client.call('CLUSTER', 'ADDSLOTSRANGE', '8192', '16383');
  await nodes[0]!.client.call('CLUSTER', 'MEET', '127.0.0.1', String(ports[1]), String(buses[1]));
  for (const { client } of nodes)
    await until(async () => /cluster_state:ok/.test(String(await client.call('CLUSTER', 'INFO'))));
  const store = await open(t, `valkey+cluster://127.0.0.1:${ports[0]}`);
  for (const cli of ['firecrawl', 'tvly', 'npm', 'gh']) assert.deepEqual(await store.status(cli), []);
  const sizes = await Promise.all(nodes.map(({ client }) => client.dbsize()));
  assert.deepEqual([sizes[0]! + sizes[1]!, sizes.every(size => size > 0)], [4, true], 'the CLIs are spread over both');
  // a slot that moves to the other node
  const slot = String(await nodes[0]!.client.call('CLUSTER', 'KEYSLOT', 'culvert:{firecrawl}:schema'));
  const [from, to] = Number(slot) < 8_192 ? [nodes[0]!, nodes[1]!] : [nodes[1]!, nodes[0]!];
  const names = await Promise.all([from, to].map(async ({ client }) => String(await client.call('CLUSTER', 'MYID'))));
  const lease = () =>
    store.lease('firecrawl', {
      owner: 'm',
      accounts: [{ fp: 'a', name: 'a' }],
      want: 1,
      ttl: 90_000,
      strategy: 'in-order',
      reserve: 0,
      max: 2,
      askable: false,
      stale: 1,
    });
  assert.equal((await lease()).kind, 'granted');
  await to.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', names[0]!);
  await from.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', names[1]!);
  const keys = (await from.client.call('CLUSTER', 'GETKEYSINSLOT', slot, '100')) as string[];
  const toPort = String(ports[nodes.indexOf(to)]);
  for (const [i, key] of keys.entries()) {
    await from.client.call('MIGRATE', '127.0.0.1', toPort, key, '0', '5000');
    if (i === 1)
      await assert.rejects(lease(), { name: 'StoreUnreachable', message: /^it answers (?:TRYAGAIN|ASK|MOVED)/ });
  }
  for (const { client } of [to, from]) await client.call('CLUSTER', 'SETSLOT', slot, 'NODE', names[1]!);
  assert.equal((await lease()).kind, 'granted');
  assert.equal((await lease()).kind, 'none', 'the lease from before the move counts');
  for (const { client } of nodes) {
    await client.call('ACL', 'SETUSER', 'culvert', 'on', '>x', ...documentedRules().split(' '), '+cluster|slots');
    await client.config('SET', 'requirepass', 'x');
  }
  const cluster = `valkey+cluster://127.0.0.1:${ports[0]}`;
  assert.equal((await (await open(t, cluster, { password: 'x' })).leases('firecrawl')).length, 2);
  const limited = await open(t, cluster, { user: 'culvert', password: 'x' });
  for (const cli of ['firecrawl', 'npm', 'gh']) await limited.status(cli);
  await assert.rejects((await open(t, cluster)).status('firecrawl'), {
    code: 'pool-refused',
    message: /refuses the login/,
  });
  for (const { client } of nodes) await client.config('SET', 'requirepass', '');
  const single = await open(t, `valkey://127.0.0.1:${ports[0]}`);
  const replies = await Promise.allSettled(['firecrawl', 'tvly', 'npm', 'gh'].map(cli => single.status(cli)));
  const refused = replies.find(reply => reply.status === 'rejected');
  assert.match(String(refused?.reason.message), /is a cluster/);
  assert.match(refused?.reason.hint, /valkey\+cluster:/);
});

test('a store that has no place for another connection says so', async t => {
  const refusing = createServer(socket => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end('-ERR max number of clients reached\r\n'));
  });
  const store = await open(t, `redis://127.0.0.1:${await listen(t, refusing)}/2`, { password: 'x' });
  const expected = { name: 'StoreUnreachable', message: /it answers ERR max number of clients/ };
  for (const _ of [1, 2]) await assert.rejects(store.status('tool'), expected);
});

test('a database that is not there, or may not be chosen, is named, and nothing is written to another one', async t => {
  await plain.client.flushall();
  await plain.client.call('ACL', 'SETUSER', 'stays', 'on', '>x', ...documentedRules().split(' '), '-select');
  const absent = await open(t, `redis://127.0.0.1:${tcp}/99`);
  await assert.rejects(absent.status('tool'), { code: 'pool-refused', hint: /correct the address/ });
  const denied = await open(t, `redis://127.0.0.1:${tcp}/2`, { user: 'stays', password: 'x' });
  await assert.rejects(denied.status('tool'), { code: 'pool-refused', message: /does not permit this user/ });
  assert.equal(await plain.client.dbsize(), 0);
});

test('a server that is no store, or says nothing, counts as unreachable', async t => {
  const answers: Record<string, RegExp> = {
    'HTTP/1.1 400 Bad Request\r\n\r\n': /does not speak the protocol/,
    '$99999999999\r\n': /gave no answer within 0.5 s/,
    '-LOADING Redis is loading the dataset in memory\r\n': /it answers LOADING/,
    "-READONLY You can't write against a read only replica.\r\n": /it answers READONLY/,
    '+OK\r\n': /not a reply of the script/,
    '$3\r\nabc\r\n': /not a reply of the script/,
    ':5\r\n': /not a reply of the script/,
  };
  for (const [answer, expected] of Object.entries(answers)) {
    const server = createServer(socket => {
      socket.on('error', () => {});
      socket.once('data', () => {
        // in pieces, as a network may deliver it
        for (const byte of answer) socket.write(byte);
      });
    });
    const port = await listen(t, server);
    const timeoutMs = answer.startsWith('$9') ? 500 : 10_000;
    const store = await open(t, `redis://127.0.0.1:${port}`, { timeoutMs });
    await assert.rejects(store.status('tool'), { name: 'StoreUnreachable', message: expected }, answer);
    store.close();
  }
  const port = await listen(
    t,
    createServer(socket => socket.destroy()),
  );
  await assert.rejects((await open(t, `redis://127.0.0.1:${port}`)).status('tool'), /closed the connection/);
  await assert.rejects((await open(t, `valkey+unix://${missing(t)}`)).status('tool'), /no such socket/);
});

test('answers that no store gives end no program and fill no memory', async t => {
  const nested = '*1\r\n'.repeat(20_000);
  for (const answer of [nested, nested.repeat(20), '$999999999999\r\n', '+', '*1\r\n$999999999999\r\n']) {
    const server = createServer(socket => {
      socket.on('error', () => {});
      const piece = Buffer.alloc(1024 * 1024, answer.startsWith('*1\r\n*') ? nested : 'x\n');
      const write = () => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.once('data', () => {
        socket.write(answer);
        socket.on('drain', write);
        write();
      });
    });
    const store = await open(t, `redis://127.0.0.1:${await listen(t, server)}`);
    const expected = { name: 'StoreUnreachable', message: /does not speak the protocol|not a reply of the script/ };
    await assert.rejects(store.status('tool'), expected, answer.slice(0, 20));
    store.close();
  }
});

test('an answer without a question is not taken for the next one', async t => {
  let connections = 0;
  const held = (value: boolean) => `$${`{"held":${value}}`.length}\r\n{"held":${value}}\r\n`;
  const server = createServer(socket => {
    const first = connections++ === 0;
    socket.on('error', () => {});
    socket.on('data', () => socket.write(first ? held(true) + held(true) : held(false)));
  });
  const store = await open(t, `redis://127.0.0.1:${await listen(t, server)}`);
  assert.equal(await store.renew('tool', '1', 1), true);
  assert.equal(await store.renew('tool', '2', 1), false);
  assert.equal(connections, 2, 'on a new connection');
  store.close();
});

test('a connection that broke is opened again with the next operation', async t => {
  const store = await open(t, `redis://127.0.0.1:${tcp}`);
  await store.status('tool');
  await plain.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until(() =>
    store.status('tool').then(
      () => true,
      () => false,
    ),
  );
});
