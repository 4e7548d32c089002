// `culvert web`: turns the page on and off.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { culvert, startHome } from '../../../support/daemon/command.ts';

async function running(t: TestContext) {
  const { home, daemon, port } = await startHome(t);
  const web = (...words: string[]) => culvert(home, ['web', ...words]);
  return { daemon, port, address: `http://127.0.0.1:${port}/`, web };
}

test('turns the page on, prints its address, and turns it off again', async t => {
  const { daemon, address, web } = await running(t);
  const on = await web();
  assert.deepEqual([on.code, on.stdout, daemon.settings.config.webui.enabled], [0, `${address}\n`, true]);
  assert.match(
    on.stderr,
    /stays on, also after a restart.*culvert web off\n.*not opened, because there is no display\./,
  );
  const json = await web('--json');
  assert.deepEqual(JSON.parse(json.stdout), { ok: true, enabled: true, url: address });
  assert.deepEqual([json.stderr, (await web('--no-open')).stderr], ['', '']);
  assert.equal((await web('off')).stdout, 'The browser page is off.\n');
  assert.equal(daemon.settings.config.webui.enabled, false);
});

test('names the configuration layer that keeps the page off', async t => {
  const { daemon, web } = await running(t);
  daemon.settings.setSession({ webui: { enabled: false } });
  const { code, stderr } = await web();
  assert.equal(code, 1);
  assert.match(stderr, /webui\.enabled stays false: the session layer of the configuration sets it\./);
});
