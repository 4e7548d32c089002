// Secrets in the files of a user: no host gets them, and no answer, event, line of a terminal or log shows them.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { withoutSettings } from '../../../daemon/trust/judge.ts';
import { openSite } from '../../../daemon/trust/probe.ts';
import { CONNECTING } from '../../../daemon/trust/tools/connecting.ts';
import { firstProgram, type Look } from '../../../daemon/trust/tools/tool.ts';
import { temporary } from '../../support/temporary.ts';
import { FULL } from '../../support/thoroughness.ts';
import { askForPassword, authority, isThere, machine } from '../../support/trust/organization.ts';
import { hasSecret, plant, SECRET, VARIABLES } from '../../support/trust/secrets.ts';

/** Tools of the table that are here; a short run takes those that start fast. */
const HERE = CONNECTING.filter(({ id, programs }) => {
  if (!FULL && !['curl', 'git'].includes(id)) return false;
  if (id.startsWith('python-')) return isThere('python3', '-c', `import ${id.slice('python-'.length)}`);
  return firstProgram(programs, process.env) !== null;
}).map(({ id }) => id);

test('a host that tools are tried with gets no credentials of the user', async t => {
  const organization = authority(t);
  const { host, heard } = await organization.serve(askForPassword);
  const pc = machine(t, VARIABLES(host));
  pc.install(organization);
  plant(pc.home, host);
  // the machine's own rustup, where that is what starts Cargo
  pc.env.RUSTUP_HOME = process.env.RUSTUP_HOME ?? `${process.env.HOME}/.rustup`;
  const first = await pc.trust().report(HERE, host);
  assert.deepEqual(
    first.tools.map(({ id, reasons }) => [id, reasons.at(-1)?.replace(/:.*/, '')]),
    HERE.map(id => [id, 'It refuses the certificate of localhost']),
  );
  await pc.trust().apply(HERE);
  await pc.trust().report(HERE, host);
  assert.ok(heard.length >= HERE.length - 1, 'each connected, but for OpenSSL without a request');
  assert.deepEqual(heard.filter(hasSecret), []);
});

test('an address of a proxy that a tool prints is shown without its password', async t => {
  const organization = authority(t);
  const { host } = await organization.serve((_, reply) => void reply.end());
  const site = await openSite(host, [], t.signal);
  for (const [proxy, printed] of [
    ['', `odd://ann:${SECRET}@proxy: Unsupported scheme`],
    [`ann:${SECRET}@proxy:3128`, `Error in proxy URL ftp://ann/${SECRET}@proxy:3128`],
    [`http://ann:p@${SECRET}@proxy`, `Could not resolve proxy: ${SECRET}@proxy`],
    [`http://ann:${SECRET.toUpperCase()}@proxy`, `unable to resolve ${SECRET}@proxy`],
    [`http://ann:${SECRET}@proxy`, `${'x'.repeat(175)} http://ann:${SECRET}@proxy`],
    ['', `{ "password":\n"${SECRET}" }`],
    ['', `-----BEGIN PRIVATE KEY-----\n${SECRET}`],
    [`http://ann:%63${SECRET.slice(1)}@proxy`, `certificate verify failed (ann, ${SECRET})`],
  ] as const) {
    const args = ['-c', `echo '${printed}' >&2; exit 1`];
    const env = { https_proxy: proxy };
    const judged = JSON.stringify(await site.judge(() => ({ program: '/bin/sh', args, env }), temporary(t)));
    assert.match(judged, /\[redacted\]/, printed);
    assert.ok(!hasSecret(judged), judged);
  }
});

test('a host that tools are tried with runs none of its code here', async t => {
  const organization = authority(t);
  const directory = temporary(t);
  const ran = path.join(directory, 'ran');
  const name = 'culvert_probe-9.0';
  mkdirSync(path.join(directory, name));
  writeFileSync(path.join(directory, name, 'setup.py'), `open(${JSON.stringify(ran)}, 'w')\n`);
  execFileSync('tar', ['-czf', path.join(directory, 'source'), '-C', directory, name]);
  const { host, heard } = await organization.serve((request, reply) => {
    if (request.url!.endsWith('.tar.gz')) reply.end(readFileSync(path.join(directory, 'source')));
    else reply.setHeader('content-type', 'text/html').end(`<a href="/${name}.tar.gz">${name}.tar.gz</a>`);
  });
  const authorities = path.join(directory, 'authorities.pem');
  writeFileSync(authorities, organization.pem);
  const target = { url: `https://${host}`, host: 'localhost', port: Number(host.split(':')[1]), path: '/', directory };
  const look = { env: process.env, home: directory } as Look;
  for (const { id, programs, connect, instead } of CONNECTING.filter(tool =>
    ['pip', 'uv', ...HERE].includes(tool.id),
  )) {
    const program = firstProgram(programs, process.env);
    if (program === null) continue;
    const { env } = instead?.(authorities, { files: [], ownList: false }) ?? {};
    const options = { env: { ...withoutSettings(look, directory), ...env }, cwd: '/' };
    await new Promise<void>(
      resolve => void execFile(program, connect?.(target, look).args ?? ['--version'], options, () => resolve()),
    );
    const requests = heard.splice(0).join('\n');
    if (['pip', 'uv'].includes(id)) assert.match(requests, /culvert-probe/, `${program} looks for a package`);
    assert.ok(!existsSync(ran), `${program} runs none`);
  }
});
