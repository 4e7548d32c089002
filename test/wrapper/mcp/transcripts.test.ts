// Recorded sessions of both eras of the protocol, played through the proxy.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../support/until.ts';
import { clientOf, putEntry } from '../../support/wrapper/fake-mcp.ts';
import { shippedHome } from '../../support/wrapper/gateway.ts';
import { putRecorded, readTranscript } from '../../support/wrapper/mcp-transcript.ts';
import { buildWrapper, type Sandbox, sandbox } from '../../support/wrapper/sandbox.ts';

/** A recording, and a home with accounts for its server. */
interface Recording {
  name: string;
  server: string;
  home(t: TestContext, keys: Record<string, string>): Sandbox;
}

const shipped = (cli: string) => (t: TestContext, keys: Record<string, string>) => shippedHome(t, cli, keys, 1).box;
const TAVILY = { name: 'tavily-mcp-2025-11-25.txt', server: 'tavily-mcp', home: shipped('tvly') };
const STATELESS = {
  name: 'sdk-2026-07-28.txt',
  server: 'fake-mcp',
  home: (t: TestContext, keys: Record<string, string>) => {
    const box = sandbox(t);
    putEntry(box);
    box.accounts('fake', keys);
    return box;
  },
};
const FIRECRAWL = { name: 'firecrawl-mcp-2025-11-25.txt', server: 'firecrawl-mcp', home: shipped('firecrawl') };

function open(t: TestContext, { name, server, home }: Recording, keys: Record<string, string>) {
  const exchanges = readTranscript(name);
  const box = home(t, keys);
  const processes = putRecorded(box, server, exchanges);
  const client = clientOf(box.start(process.execPath, [buildWrapper(), 'mcp', '--', server]));
  /** Plays the client's lines, each after the answers to the last. */
  const play = async (part = exchanges) => {
    let expected = client.lines().length;
    for (const { sent, received } of part) {
      client.child.stdin!.write(`${sent}\n`);
      expected += received.length;
      await until(() => client.lines().length >= expected, client.stderr);
    }
  };
  const calls = exchanges.filter(({ sent }) => JSON.parse(sent).method === 'tools/call');
  return { exchanges, calls, processes, client, play };
}

for (const recording of [TAVILY, FIRECRAWL, STATELESS]) {
  test(`each line of ${recording.name} passes as it is, and a server killed in a call is set up again`, async t => {
    const { exchanges, calls, processes, client, play } = open(t, recording, { a: 'key-a' });
    await play();
    const sent = exchanges.map(exchange => exchange.sent);
    const received = exchanges.flatMap(exchange => exchange.received);
    assert.deepEqual(client.lines(), received);
    await until(() => processes()[0]!.length >= sent.length);
    assert.deepEqual(processes(), [sent]);

    const { method, params } = JSON.parse(calls[0]!.sent);
    client.send({ id: 'killed', method, params: { ...params, arguments: { die: 'die' } } });
    assert.match((await client.answer('killed')).error.message, /not repeated/);
    client.send({ id: 'next', method, params });
    assert.deepEqual((await client.answer('next')).result, JSON.parse(calls[0]!.received.at(-1)!).result);
    const second = processes()[1]!.map(line => JSON.parse(line));
    const initialize = JSON.parse(sent[0]!);
    const setup = initialize.method === 'initialize' ? ['initialize', 'notifications/initialized'] : [];
    const methods = second.map(message => message.method);
    assert.deepEqual(methods.slice(0, setup.length), setup);
    assert.ok(methods.includes('tools/call'));
    if (setup.length > 0) assert.deepEqual(second[0].params, initialize.params);
    assert.equal(
      processes()
        .flat()
        .filter(line => line.includes('"die"')).length,
      1,
    );
  });
}

for (const recording of [TAVILY, STATELESS]) {
  test(`the call of ${recording.name} that meets a limit goes to the server of the next account, byte for byte`, async t => {
    const { exchanges, calls, processes, client, play } = open(t, recording, { a: 'key-a', b: 'key-b' });
    const limited = calls.at(-1)!;
    await play(exchanges.slice(0, exchanges.indexOf(limited)));
    client.child.stdin!.write(`${limited.sent}\n`);
    const { result } = await client.answer(JSON.parse(limited.sent).id);
    assert.deepEqual(result, JSON.parse(calls[0]!.received[0]!).result);
    assert.ok(processes()[1]!.includes(limited.sent));
    assert.equal(
      client.lines().some(line => line.includes('"isError":true')),
      false,
    );
  });
}
