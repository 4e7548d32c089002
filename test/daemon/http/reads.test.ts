// Sends each GET of the contract, without and with its parameters: none may start a user's program, open an unexpected
// connection, or show text from the user's files.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import * as z from 'zod/mini';
import { endpoints } from '../../../daemon/api/contract.ts';
import type { Endpoint } from '../../../daemon/api/endpoint.ts';
import type { TrustReport } from '../../../daemon/api/trust.ts';
import type { FeatureContext } from '../../../daemon/controls.ts';
import { createFeatures } from '../../../daemon/features.ts';
import { paths } from '../../../daemon/system/paths.ts';
import { openToolAccounts } from '../../../daemon/tool-accounts/index.ts';
import { TOOLS } from '../../../daemon/trust/judge.ts';
import { createTrustService } from '../../../daemon/trust/trust.ts';
import { recordConnections, recorders, recordPrograms } from '../../support/acts.ts';
import { raw, request, startListeners } from '../../support/daemon/listeners.ts';
import { serve } from '../../support/listen.ts';
import { link } from '../../support/networks/mocks.ts';
import { FULL } from '../../support/thoroughness.ts';
import { authority, machine } from '../../support/trust/organization.ts';
import { FILES, hasSecret, plant, SECRET, VARIABLES } from '../../support/trust/secrets.ts';

/** System programs that print state, and read no settings of a user. */
const READERS = ['warp-cli', 'busctl', 'gdbus', 'networkctl', 'ip'];
const OTHERS = [
  'ssh',
  'gpg',
  'docker',
  'podman',
  'flatpak',
  'snap',
  'gh',
  'secret-tool',
  'xdg-open',
  'pass',
  'sh',
  'env',
];
/** Sample values: each parameter accepts at least one. Values that could cause a connection come first. */
const VALUES = (host: string) => [host, 'login.example', '127.0.0.1', 'curl', 'status', '1', '2d', 'minute', 'hour'];
const GETS = Object.entries(endpoints).filter(([line]) => line.startsWith('GET ')) as [string, Endpoint][];

/** Starts a daemon's features on a machine with an organization's certificate and a home directory full of secrets. */
async function startFeatures(t: TestContext) {
  const running = await startListeners(t);
  const { daemon, directory: home } = running;
  const host = 'localhost:9';
  const pc = machine(t);
  pc.install(authority(t));
  const files = plant(home, host);
  const roots = `${pc.root}/etc/ssl/certs/ca-certificates.crt`;
  // these answers make each tool of the table seem installed, but without the certificate
  const answers = `case "$*" in *cafile*|*where*) echo '${roots}';; --version) echo 'pip 23.0 from /usr/lib/python3/dist-packages/pip (python 3.11)';; *) exit 1;; esac\n`;
  const started = recorders(home, [...TOOLS.flatMap(({ programs }) => programs), ...OTHERS], answers);
  const env = { ...VARIABLES(host), HOME: home, SHELL: '/bin/bash', PATH: `${started.bin}:${process.env.PATH}` };
  const context: FeatureContext = {
    env,
    paths: paths(env),
    state: daemon.state,
    settings: daemon.settings,
    tunnel: daemon.tunnel,
    restart() {},
    say: line => void running.said.push(line),
  };
  const features = createFeatures(context, daemon.log, () => 0);
  const trust = createTrustService(context, async () => {}, { root: pc.root, owner: process.getuid!() });
  // the default path of the catalog exists only in an installation
  const accounts = openToolAccounts(context, { catalog: 'wrapper/catalog/providers' });
  const { handlers } = daemon.features;
  const handlersHere: typeof handlers = {
    ...features.handlers,
    ...accounts.handlers,
    'GET /api/networks': handlers['GET /api/networks'],
    'POST /api/networks': handlers['POST /api/networks'],
    'POST /api/trust': ({ body }) => trust.report(body),
    'POST /api/trust/apply': ({ body }) => trust.apply(body),
    'POST /api/trust/undo': ({ body }) => trust.undo(body),
  };
  Object.assign(daemon, { env, features: { ...features, toolAccounts: accounts, handlers: handlersHere } });
  t.after(async () => {
    trust.stop();
    await Promise.all([accounts.stop(), features.stop()]);
  });
  const ask = (line: string, body?: object) =>
    raw({ path: running.socket }, request(line, 'localhost', {}, body && JSON.stringify(body)));
  return { ...running, home, files, started, ask };
}

/** A GET without parameters, and with all of them. */
function addressesOf(line: string, { query }: Endpoint, host: string): string[] {
  const shape = (query?.def as { shape?: Record<string, z.ZodMiniType> } | undefined)?.shape ?? {};
  const pairs = Object.entries(shape).map(([name, schema]) => {
    const value = VALUES(host).find(each => z.safeParse(schema, each).success);
    assert.ok(value !== undefined, `${line}: none of VALUES suits the parameter ${name}; add one`);
    return `${name}=${encodeURIComponent(value)}`;
  });
  return pairs.length > 0 ? [line, `${line}?${pairs.join('&')}`] : [line];
}

/** The answer to a GET, or the first part of a stream. */
function read(socketPath: string, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ socketPath, path: line.slice(4), headers: { host: 'localhost' }, agent: false }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        if (!response.headers['content-type']?.startsWith('text/event-stream')) return;
        response.destroy();
        resolve(text);
      });
      response.on('end', () => resolve(text));
    }).on('error', reject);
  });
}

test('no GET starts a program of the user or opens a connection, whatever its parameters', async t => {
  const { daemon, directory, network, socket, started } = await startFeatures(t);
  const source = new URL(await serve(t, (_, reply) => void reply.writeHead(404).end())).port;
  daemon.settings.setSession({ updates: { source: `http://127.0.0.1:${source}` }, metrics: { enabled: true } });
  const rules = paths({ HOME: directory }).networks;
  const beacon = `{address = "127.0.0.1:${source}", sha256 = "${'ab'.repeat(32)}"}`;
  network.links = [link('wlan0', { name: 'Home' })];
  const document = `[[network]]\nname = "lab"\nbeacon = ${beacon}\nwarp = "connect"\n`;
  await daemon.features.handlers['POST /api/networks']({ body: { document }, query: undefined });
  assert.ok(existsSync(rules));
  const connected = recordConnections(t);
  const programs = recordPrograms(t, READERS);
  const found: Record<string, string[]> = {};
  for (const [line, endpoint] of GETS)
    for (const address of addressesOf(line, endpoint, `127.0.0.1:${source}`)) {
      await read(socket, address);
      const acts = [...connected.take(), ...programs.take(), ...started.take()];
      // the update check may connect to its configured source
      const own = line === 'GET /api/update/check' ? [`connect 127.0.0.1:${source}`] : [];
      const others = acts.filter(act => !own.includes(act));
      if (others.length > 0) found[address] = others;
    }
  assert.deepEqual(found, {});
  await read(socket, 'GET /api/update/check?fresh=1');
  assert.ok(connected.take().length > 0, 'a connection would be noticed');
});

test('no answer, event or report of a program shows a text of the user’s files', async t => {
  const { daemon, home, files, socket, said, ask } = await startFeatures(t);
  const published: string[] = [];
  t.after(daemon.state.subscribe(event => void published.push(JSON.stringify(event))));
  const shown: [string, string][] = [];
  const note = (what: string, text: string) => void shown.push([what, text]);
  const post = async (line: string, body: object = {}) => {
    const { status, body: text } = await ask(line, body);
    note(line, text);
    return { status, json: JSON.parse(Buffer.from(text, 'latin1').toString()) };
  };

  const report: TrustReport = (await post('POST /api/trust')).json;
  const changed = report.tools.flatMap(({ changes }) => changes.map(({ target }) => target));
  for (const { wanted, id } of TOOLS) {
    const change = wanted?.({ env: daemon.env, home, config: path.join(home, '.config') } as never, {
      files: [],
      ownList: false,
    });
    if (change?.kind !== 'setting') continue;
    assert.ok(files.includes(change.path), `${id}: add a secret for ${change.path} to FILES`);
    assert.ok(changed.includes(change.path), `${id}: its change is shown`);
  }
  assert.ok(changed.includes(path.join(home, '.bash_profile')), 'and that of the shell');
  for (const tool of report.tools)
    for (const { target, diff } of tool.changes) assert.match(diff, /^\+(?!\+\+).+$/m, `what is added to ${target}`);
  assert.equal((await post('POST /api/trust/apply')).status, 200);
  // an edited line can't be undone, and the refusal quotes only the lines that Culvert added
  for (const file of files)
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^(.*culvert.*)$/gm, `$1 # ${SECRET}`));
  const refused = await post('POST /api/trust/undo', { tools: ['curl'] });
  assert.match(refused.json.hint, /Culvert added:\ncacert = /);
  // values that are not paths
  for (const [name, text] of Object.entries(FILES('localhost:9')))
    writeFileSync(
      path.join(home, name),
      text.replace(
        /^(user|\[http\]|\[global\]|\/\/|header).*/m,
        line =>
          `${line}\ncacert = ${SECRET}\ncert = ${SECRET}\nsslCAInfo = ${SECRET}\ncainfo = "${SECRET}"\nca_certificate = ${SECRET}`,
      ),
    );
  await post('POST /api/trust');

  await post('POST /api/doctor');
  if (FULL) await post('POST /api/doctor/bundle');
  for (const [line, endpoint] of GETS)
    for (const address of addressesOf(line, endpoint, 'localhost:9')) note(address, await read(socket, address));
  for (const line of ['GET /api/accounts', 'GET /api/apps'])
    assert.match(shown.find(([what]) => what === line)![1], /"planted"/i, `${line} reads the planted text`);
  for (const text of [...published, ...said, JSON.stringify(daemon.log.since(0, 500))]) note('event or log', text);
  assert.deepEqual(
    shown.filter(([, text]) => hasSecret(text)),
    [],
  );
});
