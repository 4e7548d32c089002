// A hostile page in the same browser, on another port and on another site: it reads, posts, embeds, opens and rebinds.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { type TestContext, test } from 'node:test';
import { checkAccessibility, emulate, openTab, shareBrowser, shareWeb, startWeb } from '../../support/e2e/browser.ts';
import { culvert, getJson } from '../../support/e2e/culvert.ts';
import { listen, serve } from '../../support/listen.ts';

/** Every name of this site leads to this machine, as after a rebinding of its DNS. */
const EVIL = 'evil.example';
const openBrowser = shareBrowser([`--host-resolver-rules=MAP ${EVIL} 127.0.0.1`]);
const openWeb = shareWeb();

/** Entries of the daemon's log after one of them; a response has a part of a long log. */
async function entriesSince(port: number, entry: number): Promise<{ id: number; source: string }[]> {
  const found: { id: number; source: string }[] = [];
  for (;;) {
    const since = found.at(-1)?.id ?? entry;
    const { entries } = (await getJson(port, `/api/logs?since=${since}`)) as unknown as { entries: typeof found };
    if (entries.length === 0) return found;
    found.push(...entries);
  }
}

/** Actions that reached the tunnel since an entry of the log. */
const actionsSince = async (port: number, entry = 0) =>
  (await entriesSince(port, entry)).filter(({ source }) => source === 'action');

/** The last entry of the log. */
const lastEntry = async (port: number) => (await entriesSince(port, 0)).at(-1)?.id ?? 0;

/** Runs in the hostile page. Each attack answers with what it got hold of, or null. */
const ATTACKS = `async target => {
  const patience = 5000;
  const limited = (promise) => Promise.race([promise, new Promise(done => setTimeout(done, patience, null))]);
  const read = async (path, init) => {
    try {
      const response = await fetch(target + path, init);
      return response.type === 'opaque' ? null : (await response.text()) || 'an empty answer';
    } catch { return null; }
  };
  const body = JSON.stringify({ action: 'connect' });
  const element = (tag, attributes) => limited(new Promise(done => {
    const made = Object.assign(document.createElement(tag), attributes);
    made.onload = () => done(tag + ' loaded');
    made.onerror = () => done(null);
    document.body.append(made);
  }));
  const post = type => {
    const frame = Object.assign(document.createElement('iframe'), { name: 'sink' + Math.random() });
    const form = Object.assign(document.createElement('form'), {
      action: target + 'api/action', method: 'post', enctype: type, target: frame.name,
    });
    form.append(Object.assign(document.createElement('input'), { name: body.slice(0, -1) + ',"', value: '":1}' }));
    document.body.append(frame, form);
    form.submit();
    return new Promise(done => setTimeout(done, 500, null));
  };
  const framed = async () => {
    const frame = Object.assign(document.createElement('iframe'), { src: target });
    document.body.append(frame);
    await limited(new Promise(done => { frame.onload = done; }));
    try { return frame.contentDocument?.querySelector('script') ? 'the framed page' : null; } catch { return null; }
  };
  const opened = async () => {
    const popup = open(target);
    await new Promise(done => setTimeout(done, 1000));
    try { return popup && popup.document.querySelector('script[type=module]') ? 'the opened page' : null; } catch { return null; }
  };
  const stream = () => limited(new Promise(done => {
    const source = new EventSource(target + 'api/events');
    source.addEventListener('snapshot', event => done(event.data));
    source.onerror = () => { source.close(); done(null); };
  }));
  const socket = () => limited(new Promise(done => {
    const made = new WebSocket(target.replace('http', 'ws') + 'api/events');
    made.onopen = () => done('an open socket');
    made.onerror = () => done(null);
  }));
  return {
    'read with CORS': await read('api/snapshot'),
    'read without CORS': await read('api/snapshot', { mode: 'no-cors' }),
    'read with cookies': await read('api/config', { credentials: 'include' }),
    'read the page': await read(''),
    'post text': await read('api/action', { method: 'POST', mode: 'no-cors', body }),
    'post JSON': await read('api/action', { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    'beacon': navigator.sendBeacon(target + 'api/action', new Blob([body], { type: 'text/plain' })) && null,
    'form of text': await post('text/plain'),
    'form of fields': await post('application/x-www-form-urlencoded'),
    'image': await element('img', { src: target + 'api/health' }),
    'script': await element('script', { src: target + 'api/snapshot' }),
    'style': await element('link', { rel: 'stylesheet', href: target }),
    'object': await element('object', { data: target, type: 'text/html' }),
    'event stream': await stream(),
    'socket': await socket(),
    'frame': await framed(),
    'popup': await opened(),
  };
}`;

function startHostileSite(t: TestContext): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>hostile</title><body>');
  });
  return listen(t, server);
}

for (const site of ['127.0.0.1', EVIL])
  test(`a page of ${site} on another port reads nothing and changes nothing`, async t => {
    const { address, home, port } = await openWeb();
    await emulate(home, 'reset');
    const before = await lastEntry(port);
    const hostile = await startHostileSite(t);
    const browser = await openBrowser(t);
    const own = await openTab(browser, address);
    await own.page.locator('main .state').waitFor();
    const { page } = await openTab(browser, `http://${site}:${hostile}/`);
    const got = await page.evaluate<Record<string, string | null>>(`(${ATTACKS})(${JSON.stringify(address)})`);
    const succeeded = Object.entries(got).filter(([, found]) => found !== null);
    assert.deepEqual(succeeded, []);
    assert.ok(Object.keys(got).length > 15);
    assert.deepEqual(await actionsSince(port, before), []);
    await own.page.getByRole('button', { name: 'Connect', exact: true }).click();
    await own.page.locator('main .state', { hasText: 'Demo: Connected' }).waitFor();
  });

test('a site whose name leads here after a rebinding gets neither page nor API', async t => {
  const { port } = await openWeb();
  const browser = await openBrowser(t);
  const { page } = await openTab(browser, `http://${EVIL}:${port}/`);
  assert.match(await page.content(), /host-not-allowed/);
  const answer = await page.evaluate<string>("fetch('/api/snapshot').then(response => response.text())");
  assert.equal(JSON.parse(answer).code, 'host-not-allowed');
});

test('a link on another site opens nothing of the page, and typing its address does', async t => {
  const { address } = await openWeb();
  const hostile = await startHostileSite(t);
  const browser = await openBrowser(t);
  const { page } = await openTab(browser, `http://${EVIL}:${hostile}/`);
  await page.evaluate(`location.href = ${JSON.stringify(address)}`);
  await page.waitForURL(address);
  assert.match(await page.content(), /fetch-site-not-allowed/);
  const { page: typed } = await openTab(browser, address);
  await typed.locator('main .state').waitFor();
});

test('a link, a typed address and a redirect have the API start nothing, and show a refusal', async t => {
  const { address, port } = await openWeb();
  const before = await lastEntry(port);
  const asked: string[] = [];
  const away = await serve(t, (request, response) => {
    asked.push(request.url!);
    const to = new URL(request.url!, 'http://localhost').searchParams.get('to');
    if (to) response.writeHead(302, { location: to }).end();
    else response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>elsewhere</title>');
  });
  const browser = await openBrowser(t);
  const collector = new URL(away).host;
  const targets = ['api/snapshot', `api/trust?host=${collector}`, 'api/doctor?online=1', `api/why?target=${collector}`];
  for (const target of targets) {
    const { page } = await openTab(browser, away);
    // as a chat, a mail or `culvert portal` opens it: nothing opened it before
    await page.goto(address + target);
    assert.match(await page.content(), /fetch-site-not-allowed/, `typed: ${target}`);
    await page.goto(away);
    await page.evaluate(`location.href = ${JSON.stringify(address + target)}`);
    await page.waitForURL(address + target);
    assert.match(await page.content(), /fetch-site-not-allowed/, `link: ${target}`);
    await page.goto(`${away}/?to=${encodeURIComponent(address + target)}`);
    assert.match(await page.content(), /fetch-site-not-allowed/, `redirect: ${target}`);
  }
  assert.deepEqual(
    asked.filter(url => !url.startsWith('/?to=') && url !== '/' && url !== '/favicon.ico'),
    [],
  );
  assert.deepEqual(await actionsSince(port, before), []);
});

test('a browser on another machine sees nothing until it has the token, and is warned of a connection without TLS', async t => {
  const outside = Object.values(networkInterfaces())
    .flat()
    .find(each => each && !each.internal && each.family === 'IPv4')?.address;
  if (!outside) return t.skip('this machine has no address beyond loopback');
  const { home, port } = await startWeb(t, { CULVERT_WEBUI_ALLOW_REMOTE: '1' });
  const { page } = await openTab(await openBrowser(t), `http://${outside}:${port}/`);
  await page.getByText('Culvert needs its token here').waitFor();
  await page.getByText('Others on the network can read this traffic and take over the access.').waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await checkAccessibility(page, `the question for the token, ${colorScheme}`);
  }
  const enter = async (token: string) => {
    await page.getByLabel('Token', { exact: true }).fill(token);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
  };
  await enter('wrong');
  await page.locator('main').getByText('The token is missing or wrong.', { exact: true }).waitFor();
  await checkAccessibility(page, 'a wrong token');
  await enter((await culvert(home, 'token')).stdout.trim());
  await page.getByRole('button', { name: 'Connect', exact: true }).waitFor();
  await page
    .getByText(/^Remote access is on\. Culvert does not encrypt these connections\.$/)
    .first()
    .waitFor();
  assert.match((await culvert(home, 'status')).stdout, /Remote access is on/);
  assert.equal(await page.evaluate('document.cookie'), '', 'no script reads the cookie');
  await page.reload();
  await page.getByRole('button', { name: 'Connect', exact: true }).waitFor();
});
