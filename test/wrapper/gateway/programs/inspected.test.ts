// A network that inspects TLS: after `culvert trust apply`, real programs behind a gateway get through its proxy as well.
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { proxyTo } from '../../../support/listen.ts';
import { authority, machine } from '../../../support/trust/organization.ts';
import { clientOf } from '../../../support/wrapper/fake-mcp.ts';
import { json } from '../../../support/wrapper/gateway.ts';
import { realPrograms } from '../../../support/wrapper/real-programs.ts';
import { buildWrapper, type Sandbox, sandbox } from '../../../support/wrapper/sandbox.ts';

const { skip, node, file } = await realPrograms(['firecrawl-mcp@3.26.0', '@mendable/firecrawl-js@4.42.0']);
const HOST = 'api.firecrawl.dev';

type Env = Record<string, string | undefined>;

/** A search by a real MCP server. @returns whether it succeeded */
async function byServer(box: Sandbox, env: Env): Promise<boolean> {
  const command = [buildWrapper(), 'mcp', '--', node, file('firecrawl-mcp/dist/index.js')];
  const client = clientOf(box.start(process.execPath, command, { env }));
  const clientInfo = { name: 'test', version: '1.0.0' };
  client.send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', clientInfo, capabilities: {} } });
  await client.answer(1);
  client.send({ method: 'notifications/initialized' });
  client.send({ id: 2, method: 'tools/call', params: { name: 'firecrawl_search', arguments: { query: 'x' } } });
  const { result } = await client.answer(2);
  client.child.kill();
  return result?.isError !== true;
}

/** The same by a real SDK. */
async function bySdk(box: Sandbox, env: Env): Promise<boolean> {
  const script = file(`culvert-inspected-${process.pid}.mjs`);
  fs.writeFileSync(
    script,
    `import { Firecrawl } from '@mendable/firecrawl-js';
    await new Firecrawl({}).search('x');`,
  );
  const command = [buildWrapper(), 'serve', 'firecrawl', '--', node, script];
  const { exit } = await box.run(process.execPath, command, { env });
  fs.rmSync(script);
  return exit === 0;
}

const PROGRAMS = { 'firecrawl-mcp': byServer, '@mendable/firecrawl-js': bySdk };

for (const [name, search] of Object.entries(PROGRAMS))
  test(`${name} behind a gateway gets through an inspecting proxy once the certificate is trusted`, {
    skip,
  }, async t => {
    const asked: string[] = [];
    const answer: RequestListener = (req, res) => {
      const key = String(req.headers.authorization).replace('Bearer ', '');
      req.resume();
      if (req.url !== '/v2/search') return json(res, 200, { data: {} });
      asked.push(key);
      if (key === 'fc-a')
        return json(res, 402, { success: false, error: 'Insufficient credits to perform this request.' });
      json(res, 200, { success: true, data: { web: [] } });
    };
    const pc = machine(t);
    const organization = authority(t);
    pc.install(organization);
    const site = await organization.serve(answer, HOST);
    const proxy = await proxyTo(t, Number(site.host.split(':')[1]));
    const box = sandbox(t);
    box.script('firecrawl', '#!/bin/sh\n');
    box.accounts('firecrawl', { a: 'fc-a', b: 'fc-b' }, 'FIRECRAWL_API_KEY');
    const env = () => ({ NODE_EXTRA_CA_CERTS: pc.session().NODE_EXTRA_CA_CERTS, HTTPS_PROXY: proxy.url });

    assert.equal(await search(box, env()), false);
    assert.deepEqual(asked, []);
    const trust = pc.trust();
    await trust.apply(['node']);
    assert.equal(await search(box, env()), true);
    assert.deepEqual(asked, ['fc-a', 'fc-b']);
    assert.deepEqual([...new Set(proxy.asked)], [`${HOST}:443`]);
    await trust.undo();
    assert.equal(await search(box, env()), false);
  });
