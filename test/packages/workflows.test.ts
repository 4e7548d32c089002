// Continuous integration on the usual forges: each calls the same scripts, and the draft on Forgejo.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { listen } from '../support/listen.ts';
import { temporary } from '../support/temporary.ts';

for (const file of ['.github/workflows/ci.yml', '.forgejo/workflows/ci.yml', '.gitlab-ci.yml'])
  test(`${file} runs the tests and builds the packages by the scripts of the project`, () => {
    const text = readFileSync(file, 'utf8');
    for (const script of [/^ +(script: )?\.ci\/\$.+\brun\b/m, /^ +(script: )?\.ci\/packages$/m])
      assert.match(text, script);
    assert.match(text, /schedule(.|\n)*weekly/, 'a scheduled run is the weekly one');
    assert.doesNotMatch(text, /--key|passphrase|culvert-tool/, 'CI signs nothing, and has no way of its own');
  });

test('the weekly run takes everything, another day and place, and the benchmarks, whatever one of them says', t => {
  const at = temporary(t);
  mkdirSync(join(at, '.ci'));
  cpSync('.ci/weekly', join(at, '.ci/weekly'));
  const tool = '#!/bin/sh\necho "$*" >>asked\n[ "$1" = bench ]\n';
  writeFileSync(join(at, 'culvert-tool'), tool, { mode: 0o755 });
  assert.equal(spawnSync(join(at, '.ci/weekly')).status, 1);
  assert.match(
    readFileSync(join(at, 'asked'), 'utf8'),
    /^test --full\ntest --date \S+ --zone \S+ --locale \S+\nbench --slack 25\n$/,
  );
});

/** A Forgejo with these releases, which keeps what it is asked. */
async function startForge(t: TestContext, status: number) {
  const asked: { line: string; authorized: boolean; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const line = `${request.method} ${request.url}`;
    asked.push({ line, authorized: request.headers.authorization === 'token secret', body });
    response.statusCode = request.method === 'GET' ? status : 201;
    response.end('{"id":7}');
  });
  return { asked, address: `http://127.0.0.1:${await listen(t, server)}` };
}

async function draft(t: TestContext, address: string) {
  const at = temporary(t);
  mkdirSync(join(at, 'dist/1.0.0'), { recursive: true });
  cpSync('.ci', join(at, '.ci'), { recursive: true });
  for (const name of ['culvert-1.0.0.deb', 'release-manifest.v1.json'])
    writeFileSync(join(at, 'dist/1.0.0', name), `what is in ${name}`);
  const env = { PATH: process.env.PATH, GITHUB_SERVER_URL: address, GITHUB_REPOSITORY: 'you/culvert' };
  const child = spawn(join(at, '.ci/draft'), { env: { ...env, GITHUB_REF_NAME: 'v1.0.0', TOKEN: 'secret' } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (said += piece));
  const [code] = await once(child, 'close');
  return { code, said };
}

test('the packages of a tag are attached to a draft on Forgejo', async t => {
  const { asked, address } = await startForge(t, 404);
  const { code, said } = await draft(t, address);
  assert.equal(code, 0, said);
  const releases = '/api/v1/repos/you/culvert/releases';
  assert.deepEqual(asked.map(({ line }) => line).sort(), [
    `GET ${releases}/tags/v1.0.0`,
    `POST ${releases}`,
    `POST ${releases}/7/assets?name=culvert-1.0.0.deb`,
    `POST ${releases}/7/assets?name=release-manifest.v1.json`,
  ]);
  assert.ok(asked.every(({ authorized }) => authorized));
  const { tag_name, draft: isDraft } = JSON.parse(asked[1]!.body);
  assert.deepEqual([tag_name, isDraft], ['v1.0.0', true]);
  const uploaded = asked.find(({ line }) => line.endsWith('.deb'))!.body;
  assert.match(uploaded, /name="attachment"; filename="culvert-1\.0\.0\.deb"(.|\n|\r)*what is in culvert-1\.0\.0\.deb/);
});

test('a release that is there already stays as it is, and a forge that refuses fails', async t => {
  const there = await startForge(t, 200);
  const { code, said } = await draft(t, there.address);
  assert.deepEqual([code, there.asked.length], [0, 1]);
  assert.match(said, /There is a release of v1\.0\.0 already/);
  const refusing = await startForge(t, 403);
  const refused = await draft(t, refusing.address);
  assert.deepEqual([refused.code, refusing.asked.length], [1, 1]);
  assert.match(refused.said, /answers with 403/);
});
