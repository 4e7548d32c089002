// The reverse proxies of data/doc/browser-page.md, as it configures them, before the built daemon: nginx and Caddy from Debian.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startWeb } from '../../support/e2e/browser.ts';
import { culvert } from '../../support/e2e/culvert.ts';
import { freePort } from '../../support/ports.ts';
import { temporary } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

const NAME = 'culvert.example.org';
/** Neither the daemon's user nor a privileged one. */
const NOBODY = 65_534;
const page = readFileSync('data/doc/browser-page.md', 'utf8');

interface Ports {
  proxy: number;
  daemon: number;
}

/** A directory that the proxy's user can read, with a certificate in it. */
function proxyDirectory(t: TestContext): string {
  const directory = temporary(t, 'proxy');
  chmodSync(directory, 0o755);
  const files = ['-keyout', join(directory, 'culvert.key'), '-out', join(directory, 'culvert.pem')];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', `/CN=${NAME}`];
  execFileSync('openssl', ['req', '-x509', ...made, '-days', '2', ...files], { stdio: 'pipe' });
  chmodSync(join(directory, 'culvert.key'), 0o644);
  return directory;
}

const PROXIES: Record<string, { program: string; start(directory: string, ports: Ports): ChildProcess }> = {
  nginx: {
    program: '/usr/sbin/nginx',
    start(directory, ports) {
      const server = /^server \{\n[^`]*^\}$/m.exec(page)![0];
      const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const http = [
        'access_log off;',
        ...kinds.map(kind => `${kind}_temp_path ${directory}/${kind};`),
        server
          .replace('listen 443 ssl', `listen 127.0.0.1:${ports.proxy} ssl`)
          .replaceAll('/etc/ssl', directory)
          .replace(':4173', `:${ports.daemon}`),
      ];
      const file = join(directory, 'nginx.conf');
      const main = `user nobody nogroup;\npid ${directory}/nginx.pid;\ndaemon off;\nevents {}\n`;
      writeFileSync(file, `${main}http {\n${http.join('\n')}\n}\n`);
      return spawn(this.program, ['-c', file, '-e', 'stderr'], { stdio: ['ignore', 'ignore', 'pipe'] });
    },
  },
  caddy: {
    program: '/usr/bin/caddy',
    start(directory, ports) {
      const site = /^culvert\.example\.org \{\n[^`]*^\}$/m
        .exec(page)![0]
        .replace('{', `{\n    tls ${directory}/culvert.pem ${directory}/culvert.key\n    bind 127.0.0.1`)
        .replace(':4173', `:${ports.daemon}`);
      const file = join(directory, 'Caddyfile');
      writeFileSync(file, `{\n admin off\n auto_https disable_redirects\n https_port ${ports.proxy}\n}\n${site}\n`);
      const home = join(directory, 'home');
      mkdirSync(home);
      chmodSync(home, 0o777);
      return spawn(this.program, ['run', '--config', file, '--adapter', 'caddyfile'], {
        uid: NOBODY,
        gid: NOBODY,
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { HOME: home, PATH: process.env.PATH },
      });
    },
  },
};

/** Sends a request as a browser on another machine would; resolves with the head of the answer. */
function ask(port: number, line: string, headers: Record<string, string> = {}, body = ''): Promise<IncomingMessage> {
  const [method = '', path = ''] = line.split(' ');
  return new Promise((resolve, reject) => {
    const all = { host: NAME, ...(body ? { 'content-type': 'application/json', origin: `https://${NAME}` } : {}) };
    const options = {
      host: '127.0.0.1',
      port,
      method,
      path,
      servername: NAME,
      rejectUnauthorized: false,
      agent: false,
    };
    request({ ...options, headers: { ...all, ...headers } }, resolve)
      .on('error', reject)
      .end(body);
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) text += piece;
  return text;
}

for (const [name, { program }] of Object.entries(PROXIES)) {
  const lacks = !existsSync(program) ? `${name} is not installed` : process.getuid!() !== 0 && 'needs a second user';
  test(`behind ${name}, a browser with the token gets the page and events without delay, and changes things`, {
    skip: lacks,
  }, async t => {
    const environment = { CULVERT_WEBUI_ALLOW_REMOTE: '1', CULVERT_WEBUI_ADDRESS: `https://${NAME}` };
    const { home, port: daemon } = await startWeb(t, environment);
    const proxy = freePort();
    const child = PROXIES[name]!.start(proxyDirectory(t), { proxy, daemon });
    const said: string[] = [];
    child.stderr!.setEncoding('utf8').on('data', piece => said.push(piece));
    const ended = once(child, 'close');
    t.after(async () => {
      child.kill('SIGTERM');
      await ended;
    });
    const reached = () =>
      ask(proxy, 'GET /').then(
        answer => answer.resume().statusCode === 200,
        () => false,
      );
    await until(reached, () => `${name} answers: ${said.join('')}`);

    const stranger = await textOf(await ask(proxy, 'GET /'));
    assert.match(stranger, /<script src="/);
    assert.equal((await ask(proxy, 'GET /api/snapshot')).resume().statusCode, 401);

    const authorization = `Bearer ${(await culvert(home, 'token')).stdout.trim()}`;
    const kept = await ask(proxy, 'POST /api/session', { authorization }, '{}');
    assert.equal(kept.resume().statusCode, 200);
    const set = kept.headers['set-cookie']![0]!;
    assert.match(set, /; Secure/);
    const cookie = set.replace(/;.*/, '');

    const stream = await ask(proxy, 'GET /api/events', { cookie });
    let events = '';
    stream.setEncoding('utf8').on('data', piece => {
      events += piece;
    });
    await until(() => events.includes('event: snapshot'), 'the stream begins');
    const action = await ask(proxy, 'POST /api/action', { cookie }, JSON.stringify({ action: 'connect' }));
    assert.equal(action.resume().statusCode, 200);
    await until(() => /^event: status\ndata: .*"state":"connected"/m.test(events), 'the event arrives');
    stream.destroy();

    const hostile = { cookie, origin: 'https://evil.example' };
    assert.equal((await ask(proxy, 'POST /api/action', hostile, '{"action":"disconnect"}')).resume().statusCode, 403);
  });
}
