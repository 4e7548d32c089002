// What the daemon loads for the browser page: nothing while nobody looks, and no Koa for its files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHome, start } from '../support/e2e/culvert.ts';
import { freePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

test('the files of the page are loaded with the first request, and Koa with the first that needs it', async t => {
  const home = createHome(t);
  Object.assign(home.env, { CULVERT_WEBUI: '1', NODE_DEBUG: 'module' });
  const port = freePort();
  const daemon = start(home, '--demo', '--port', String(port));
  await until(() => daemon.said().includes('answers on'), 'the daemon answers');
  const address = `http://127.0.0.1:${port}`;
  const loaded = (part: string) => new RegExp(`/${part}-\\w+\\.cjs`).test(daemon.said());
  const get = async (path: string) => {
    const response = await fetch(address + path);
    assert.equal(response.status, 200, path);
    return response.text();
  };
  assert.deepEqual([loaded('assets'), loaded('server')], [false, false], 'a page that is on changes no start');
  const html = await get('/');
  const files = [...html.matchAll(/(?:src|href)="(\/[\w-]+\.(?:js|css|svg|png))"/g)].map(([, path]) => path!);
  assert.ok(files.length >= 2, html.slice(0, 1000));
  for (const path of files) await get(path);
  await until(() => loaded('assets'));
  assert.equal(loaded('server'), false);
  await get('/api/config');
  await until(() => loaded('server'), 'Koa, with the first request that is routed');
});
