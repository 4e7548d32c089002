// SDKs that meet a short limit: behind a gateway a program fares as it does alone, or better where another account can answer.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { variablesFor } from '../../../../wrapper/gateway/address.ts';
import { json, openShippedAt, shippedHome, startProvider } from '../../../support/wrapper/gateway.ts';
import { realPrograms } from '../../../support/wrapper/real-programs.ts';

const { skip, run } = await realPrograms([
  '@mendable/firecrawl-js@4.42.0',
  '@tavily/core@0.7.13',
  'exa-js@2.23.0',
  'openai@7.59.0',
  '@elevenlabs/elevenlabs-js@2.73.0',
  'deepl-node@1.28.0',
]);

/** A call of an SDK, and an answer with which it is content. */
interface Sdk {
  key: string;
  script: string;
  answer: object;
}

const SDKS: Record<string, Sdk> = {
  firecrawl: {
    key: 'fc-canary',
    script: `import { Firecrawl } from '@mendable/firecrawl-js';
      const call = () => new Firecrawl({}).search('x');`,
    answer: { success: true, data: { web: [] } },
  },
  tvly: {
    key: 'tvly-canary',
    script: `import { tavily } from '@tavily/core';
      const call = () => tavily({ apiKey: process.env.TAVILY_API_KEY, apiBaseURL: process.env.TAVILY_BASE_URL }).search('x');`,
    answer: { query: 'x', images: [], results: [], response_time: 1 },
  },
  exa: {
    key: 'canary',
    script: `import { Exa } from 'exa-js';
      const call = () => new Exa(process.env.EXA_API_KEY, process.env.EXA_BASE_URL).search('x');`,
    answer: { results: [], requestId: 'r' },
  },
  openai: {
    key: 'sk-canary',
    script: `import OpenAI from 'openai';
      const call = () => new OpenAI().models.list();`,
    answer: { object: 'list', data: [] },
  },
  elevenlabs: {
    key: 'sk_canary',
    script: `import { ElevenLabsClient } from '@elevenlabs/elevenlabs-js';
      const call = () => new ElevenLabsClient({ baseUrl: process.env.ELEVENLABS_BASE_URL }).voices.getAll();`,
    answer: { voices: [] },
  },
  deepl: {
    key: 'canary',
    script: `import * as deepl from 'deepl-node';
      const call = () => new deepl.Translator(process.env.DEEPL_AUTH_KEY, { serverUrl: process.env.DEEPL_SERVER_URL }).getUsage();`,
    answer: { character_count: 1, character_limit: 500000 },
  },
};

/** The end of the call: its result, or the kind of its error and the status in it. */
const END = `
  console.log(JSON.stringify(await call().then(
    () => 'ok',
    error => (error.constructor.name + ' ' + (error.status ?? error.statusCode ?? error.response?.status ?? '')).trim(),
  )));`;

/** A provider that is out of breath for two seconds, once for each of the keys. */
function outOfBreath(keys: readonly string[], answer: object) {
  const limited = new Set<string>();
  return (key: string, req: { url?: string | undefined }, res: ServerResponse) => {
    if (req.url?.includes('/usage') && !req.url.startsWith('/v2/usage')) return json(res, 200, {});
    if (limited.has(key) || !keys.includes(key)) return json(res, 200, answer);
    limited.add(key);
    res.setHeader('retry-after', '2');
    json(res, 429, { error: 'Too many requests', message: 'Too many requests' });
  };
}

async function endOf(t: TestContext, cli: string, accounts: readonly string[], limited: readonly string[]) {
  const { key, script, answer } = SDKS[cli]!;
  const keys = Object.fromEntries(accounts.map(name => [name, `${key}-${name}`]));
  const respond = outOfBreath(
    limited.map(name => `${key}-${name}`),
    answer,
  );
  const { port } = await startProvider(t, respond);
  if (accounts.length > 0) {
    const { http, url, placeholder } = await openShippedAt(t, cli, keys, port);
    return (await run(`${script}${END}`, variablesFor(http, { url, placeholder }, {}))).value;
  }
  const { http } = shippedHome(t, cli, { a: `${key}-a` }, port);
  const alone = { url: `http://127.0.0.1:${port}`, placeholder: `${key}-a` };
  return (await run(`${script}${END}`, variablesFor(http, alone, {}))).value;
}

for (const cli of Object.keys(SDKS))
  test(`a limit of two seconds ends for the SDK of ${cli} behind a gateway as it ends alone`, { skip }, async t => {
    const alone = await endOf(t, cli, [], ['a']);
    const withOne = await endOf(t, cli, ['a'], ['a']);
    const withBoth = await endOf(t, cli, ['a', 'b'], ['a', 'b']);
    const withOther = await endOf(t, cli, ['a', 'b'], ['a']);
    t.diagnostic(`${cli}: alone ${alone}; one account ${withOne}; two limited ${withBoth}; one of two ${withOther}`);
    assert.deepEqual([withOne, withBoth], [alone, alone]);
    // the other account answers what the SDK alone gives up
    assert.equal(withOther, 'ok');
  });
