// A store that answers wrongly, met by wrapped commands and by those about the pool.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../wrapper/pool/store.ts';
import { listen } from '../../support/listen.ts';
import { FULL, third } from '../../support/thoroughness.ts';
import { countingApi } from '../../support/wrapper/counting-api.ts';
import { poolBox } from '../../support/wrapper/pool/pool-box.ts';

/** A server that answers everything with the same text. @returns its address */
async function fakeStore(t: TestContext, answer: () => string): Promise<string> {
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.on('data', () => socket.write(answer()));
  });
  return `valkey://127.0.0.1:${await listen(t, server)}`;
}

const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

test('a store that answers wrongly is named, and no command waits for it or ends with an error of the program', async t => {
  const api = await countingApi(t, { ka: 100 });
  let answer = '';
  const url = await fakeStore(t, () => bulk(answer));
  const box = poolBox(t, { url, api }, { keys: { a: 'ka' }, capacity: 'wait = "1s"' });
  const row = '{"fp":"x","name":5,"budget":"x","leases":0,"reserved":0}';
  const answers = [
    'null',
    '5',
    '"x"',
    '[]',
    '{}',
    '{"fence":1,"fp":"a"}',
    '{"fence":"1","fp":"unknown"}',
    '{"ask":["unknown"]}',
    '{"ask":[5]}',
    '{"ask":{"a":1}}',
    '{"none":true,"soon":true,"ms":-5,"accounts":{}}',
    '{"none":true,"soon":false,"accounts":[null]}',
    '{"none":true,"soon":false,"accounts":5}',
    '{"none":true,"soon":false,"accounts":[{"fp":"a","state":"odd"}]}',
    `{"accounts":[${row}],"held":1}`,
  ];
  const commands = [['status'], ['leases'], ['reset', 'a']];
  const kind = (text: string) => /^\{"(\w+)/.exec(text)?.[1] ?? '';
  for (const [i, wrong] of third(answers, kind).entries()) {
    answer = wrong;
    const refused = await box.tool();
    assert.equal(refused.exit, 69, `${answer}: ${refused.stderr}`);
    assert.match(refused.stderr, /can't be reached: it (?:answers|leases|asks)/, answer);
    // they read an answer by the same functions, so each meets some of them in a short run
    for (const words of FULL ? commands : [commands[i % commands.length]!]) {
      const { exit, stderr } = await box.wrap(['pool', ...words]);
      assert.equal(exit, 69, `${answer}, ${words}: ${stderr}`);
    }
  }
  assert.equal(api.used.size, 0);
});

test('nothing that a store says moves the cursor of a terminal', async t => {
  const api = await countingApi(t, { ka: 100 });
  let answer = '';
  const url = await fakeStore(t, () => answer);
  const box = poolBox(t, { url, api }, { keys: { a: 'ka' } });
  const odd = '\x1b[2J\u009b2J\u202e';
  const row = { fp: 'x', name: odd, budget: 'x', leases: 0, reserved: 0, paused: 5, class: odd };
  const lease = { fence: '1', name: odd, fp: 'x', owner: odd, want: 1, age: 1, ttl: 1 };
  const said = JSON.stringify({ accounts: [row], leases: [lease] });
  const escaped = said.replaceAll(/[^\x20-\x7e]/g, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  for (answer of [`-ERR ${odd}\r\n`, `-LOADING ${odd}\r\n`, bulk(said), bulk(escaped)]) {
    const runs = [await box.tool(), await box.wrap(['pool', 'status']), await box.wrap(['pool', 'leases'])];
    for (const { stdout, stderr } of runs) {
      const shown = stdout + stderr;
      assert.notEqual(shown, '');
      assert.doesNotMatch(shown, /[^\n\P{C}]|\\u001b/u, JSON.stringify(shown));
    }
  }
});

test('no message repeats the password that a store quotes, and none is longer than a line', async t => {
  const password = 'canary/"x y';
  let answer = '';
  const url = await fakeStore(t, () => answer);
  const ask = async () => {
    const store = openStore({ url, password, timeoutMs: 2_000 });
    try {
      return JSON.stringify(await store.status('tool'));
    } catch (error) {
      return (error as Error).message;
    } finally {
      store.close();
    }
  };
  const quoted = [
    password,
    encodeURIComponent(password),
    JSON.stringify(password),
    btoa(password),
    btoa(`me:${password}`),
  ];
  for (const form of quoted) {
    for (const code of [
      'ERR unknown command `AUTH`, with args beginning with:',
      'LOADING',
      'ERR CULVERTSCHEMA',
      'wrong',
    ]) {
      answer = `-${code} ${form}\r\n`;
      const said = await ask();
      assert.match(said, /\*\*\*/, answer);
      assert.doesNotMatch(said, /canary|Y2FuYXJ5/, answer);
    }
  }
  const long = 'x'.repeat(2_000);
  const row = { fp: 'x', name: long, budget: 'x', leases: 0, reserved: 0 };
  const rows = bulk(JSON.stringify({ accounts: [row] }));
  for (answer of [`-ERR CULVERTSCHEMA ${long}\r\n`, `-MOVED ${long}\r\n`, `-error ${long}\r\n`, rows]) {
    const said = await ask();
    assert.ok(said.length < 400, `${said.length} characters`);
  }
});

test('a store that refuses accounts without a question about them is named, and they are not', async t => {
  const accounts = [{ fp: 'stranger', state: 'spent' }];
  const url = await fakeStore(t, () => bulk(JSON.stringify({ none: true, soon: false, accounts })));
  const store = openStore({ url, timeoutMs: 2_000 });
  t.after(() => store.close());
  const request = {
    owner: 'm',
    accounts: [{ fp: 'a', name: 'a' }],
    want: 1,
    ttl: 1_000,
    strategy: 'in-order',
    reserve: 0,
  };
  await assert.rejects(store.lease('tool', { ...request, askable: false, stale: 1 }), {
    message: 'it answers with something that is not a reply of the script',
  });
});

const DEAF = `import socket, sys
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(0)
print(s.getsockname()[1], flush=True)
sys.stdin.read()`;

test('no command waits longer than pool.timeout for a server that takes no connection', async t => {
  const api = await countingApi(t, { ka: 100 });
  const deaf = spawn('python3', ['-I', '-c', DEAF], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => deaf.stdin.end());
  const port = Number(String((await once(deaf.stdout, 'data'))[0]));
  // it holds one unaccepted connection, and the kernel lets all others wait
  const first = connect(port, '127.0.0.1');
  t.after(() => first.destroy());
  await once(first, 'connect');
  const url = `valkey://127.0.0.1:${port}`;
  const box = poolBox(t, { url, api }, { keys: { a: 'ka' }, pool: 'timeout = "200ms"' });
  for (const { exit, stderr } of [await box.tool(), await box.tool()]) {
    assert.equal(exit, 69, stderr);
    assert.match(stderr, /can't be reached: it gave no answer within 0.2 s/);
  }
  assert.equal(api.used.size, 0);
});
