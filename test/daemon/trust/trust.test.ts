// The organization's certificate for real tools: they fail before, connect after, and fail again after the undo.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { nameIn } from '../../../daemon/trust/certificates.ts';
import { openSite } from '../../../daemon/trust/probe.ts';
import { certificateFacts } from '../../../daemon/view/forms/trust.ts';
import { listen } from '../../support/listen.ts';
import { npmEnvironment } from '../../support/npm-environment.ts';
import { temporary } from '../../support/temporary.ts';
import { FULL } from '../../support/thoroughness.ts';
import { type Authority, authority, isThere, MANAGED, machine, ROOTS, read } from '../../support/trust/organization.ts';

const NODE = "require('https').get(process.argv[1],r=>r.resume()).on('error',()=>process.exit(1))";
const PYTHON = 'import sys,urllib.request as u; u.urlopen(sys.argv[1])';
const HTTPX = 'import sys,httpx; httpx.get(sys.argv[1])';
const REQUESTS = 'import sys,requests; requests.get(sys.argv[1])';

/** Real programs, by the id of their row; those that are not here are left out. */
const REAL: readonly [id: string, program: string, args: (url: URL) => string[]][] = [
  ['node', process.execPath, ({ href }) => ['-e', NODE, href]],
  ['npm', 'npm', ({ href }) => ['ping', '--registry', href, '--fetch-retries=0']],
  ['python', 'python3', ({ href }) => ['-c', PYTHON, href]],
  ['python-requests', 'python3', ({ href }) => ['-c', REQUESTS, href]],
  ['python-httpx', 'python3', ({ href }) => ['-c', HTTPX, href]],
  ['pip', 'pip3', ({ href }) => ['download', '--retries=0', `--index-url=${href}`, '--dest=/dev/null/none', 'probe']],
  ['git', 'git', ({ href }) => ['-C', '/', 'ls-remote', href]],
  ['curl', 'curl', ({ href }) => ['-s', '-o', '/dev/null', href]],
  ['wget', 'wget', ({ href }) => ['-q', '-O', '/dev/null', '--tries=1', href]],
  [
    'uv',
    'uv',
    ({ href }) => ['pip', 'install', '--dry-run', '--target=/dev/null/none', `--default-index=${href}`, 'probe'],
  ],
  ['openssl', 'openssl', ({ host }) => ['s_client', '-quiet', '-verify_return_error', '-connect', host]],
  ['cargo', 'cargo', ({ href }) => ['search', '--index', `sparse+${href}`, 'probe']],
  ['go', 'env', ({ href }) => [`GOPROXY=${href}`, 'GOSUMDB=off', 'go', 'list', '-m', '-versions', 'a.example/probe']],
];
/** A short run takes those that start fast. */
const TRIED = REAL.filter(([id]) => FULL || ['node', 'curl'].includes(id)).filter(([id, program]) =>
  id.startsWith('python-')
    ? isThere('python3', '-c', `import ${id.slice('python-'.length)}`)
    : isThere(program === 'env' ? id : program, ['openssl', 'go'].includes(id) ? 'version' : '--version'),
);
const IDS = TRIED.map(([id]) => id);
/** Directory of the toolchains, where rustup is what starts Cargo. */
const RUSTUP = { RUSTUP_HOME: process.env.RUSTUP_HOME ?? path.join(homedir(), '.rustup') };
/** Files of the user, which come back as they were. */
const FILES: Record<string, string> = {
  '.curlrc': '# mine\nsilent',
  '.wgetrc': 'timeout = 30\n',
  '.gitconfig': '[user]\n\tname = A\n[http]\n\tproxy =\n',
  '.config/pip/pip.conf': '[global]\ntimeout = 60\n\n[install]\nuser = true\n',
  '.profile': 'umask 022\n',
};

test('tools fail before, connect after, and fail again after the undo, with their files as they were', async t => {
  const pc = machine(t, RUSTUP);
  const organization = authority(t);
  pc.install(organization);
  const site = await organization.serve();
  const files = Object.keys(FILES).map(name => path.join(pc.home, name));
  for (const [i, file] of files.entries()) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, Object.values(FILES)[i]!, { mode: 0o600 });
    utimesSync(file, i, 1_000_000_000 + i);
  }
  const state = () =>
    files.map(file => {
      const { mode, uid, gid, mtimeMs } = statSync(file);
      return [readFileSync(file, 'utf8'), mode, uid, gid, mtimeMs];
    });
  const before = state();
  const connect = async () => {
    const reached: string[] = [];
    for (const [id, program, args] of TRIED) if (await site.isReachedBy(pc.session(), program, args)) reached.push(id);
    return reached;
  };

  assert.deepEqual(await connect(), []);
  const trust = pc.trust();
  const first = await trust.report(IDS);
  assert.deepEqual(
    first.tools.map(({ id, verdict, changes }) => [id, verdict, changes.length > 0]),
    IDS.map(id => [id, 'does-not-trust', true]),
  );
  await trust.apply(IDS);
  assert.deepEqual(await connect(), IDS);
  const second = await trust.report(IDS);
  assert.deepEqual(
    second.tools.map(({ id, verdict, applied, changes, reasons }) => [id, verdict, applied, changes, reasons.length]),
    IDS.map(id => [id, 'trusts', true, [], 1]),
  );
  await trust.undo();
  assert.deepEqual(await connect(), []);
  assert.deepEqual(state(), before);
  assert.ok(!existsSync(path.join(pc.home, '.config/environment.d')));
});

test('Node 22 of the registry and a program in Go connect after the change, and fail again after the undo', {
  skip: !FULL,
}, async t => {
  const prefix = temporary(t);
  const node = `node-linux-${process.arch}`;
  const install = ['install', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', `${node}@22`];
  execFileSync('npm', install, { stdio: 'pipe', env: npmEnvironment });
  const bin = path.join(prefix, 'node_modules', node, 'bin');
  const pc = machine(t, { PATH: `${bin}:${process.env.PATH}` });
  const organization = authority(t);
  pc.install(organization);
  const site = await organization.serve();
  const programs: [program: string, args: (url: URL) => string[]][] = [
    [path.join(bin, 'node'), ({ href }) => ['-e', NODE, href]],
    ['npm', ({ href }) => ['ping', '--registry', href, '--fetch-retries=0']],
  ];
  if (isThere('rclone', 'version'))
    programs.push(['rclone', ({ href }) => ['lsf', '--retries=1', '--http-url', href, ':http:']]);
  const reached = async () => {
    const all: boolean[] = [];
    for (const [program, args] of programs) all.push(await site.isReachedBy(pc.session(), program, args));
    return [...new Set(all)];
  };
  assert.deepEqual(await reached(), [false]);
  await pc.trust().apply(['node', 'openssl']);
  assert.deepEqual(await reached(), [true]);
  await pc.trust().undo();
  assert.deepEqual(await reached(), [false]);
});

const JAVA = `public class Get { public static void main(String[] args) throws Exception {
  new java.net.URL(args[0]).openConnection().getInputStream(); } }`;

test('the command for an administrator makes Java connect', {
  skip: !FULL || !isThere('keytool', '-help') || !isThere('javac', '-version'),
}, async t => {
  const pc = machine(t, { JAVA_HOME: process.env.JAVA_HOME });
  const organization = authority(t);
  pc.install(organization);
  const site = await organization.serve();
  const at = (name: string) => path.join(pc.home, name);
  writeFileSync(at('Get.java'), JAVA);
  const store = ['-keystore', at('cacerts'), '-storepass', 'changeit'];
  const keytool = (...args: string[]) => execFileSync('keytool', args, { stdio: 'pipe', encoding: 'utf8' });
  const all = keytool('-list', '-rfc', '-cacerts', '-storepass', 'changeit');
  writeFileSync(at('first.pem'), /-----BEGIN[\s\S]*?-----END CERTIFICATE-----/.exec(all)![0]);
  keytool('-importcert', '-noprompt', '-alias', 'first', '-file', at('first.pem'), ...store);
  const options = [`-Djavax.net.ssl.trustStore=${at('cacerts')}`, '-Djavax.net.ssl.trustStorePassword=changeit'];
  const isReached = () => site.isReachedBy(pc.env, 'java', ({ href }) => [...options, at('Get.java'), href]);
  assert.equal(await isReached(), false);
  const { tools } = await pc.trust().report(['java']);
  const [command] = tools[0]!.administrator;
  assert.equal(tools[0]!.verdict, 'does-not-trust');
  // the store of the machine's Java stays as it is
  const inCopy = command!.replace('-cacerts -storepass changeit', store.join(' ')).replace(MANAGED, pc.root + MANAGED);
  execFileSync('sh', ['-c', inCopy], { stdio: 'pipe' });
  assert.equal(await isReached(), true);
});

test('knows in the words of each release of a tool that it refuses a certificate', async t => {
  const { host } = await authority(t).serve();
  const site = await openSite(host, [], t.signal);
  for (const printed of [
    // git of Debian 12, 13 and sid
    'server certificate verification failed. CAfile: /etc/ssl/certs/ca-certificates.crt CRLfile: none',
    'server verification failed: certificate signer not trusted. (CAfile: /etc/ssl/certs/ca-certificates.crt CRLfile: none)',
    'SSL certificate verification failed: certificate signer not trusted. (CAfile: /etc/ssl/certs/ca-certificates.crt CRLfile: none)',
    // curl before 8.18 and since
    'curl: (60) SSL certificate problem: unable to get local issuer certificate',
    'curl: (60) SSL certificate OpenSSL verify result: unable to get local issuer certificate (20)',
  ]) {
    const args = ['-c', `echo '${printed}' >&2; exit 1`];
    const { accepts } = await site.judge(() => ({ program: '/bin/sh', args, env: {} }), temporary(t));
    assert.equal(accepts, false, printed);
  }
});

test('has each tool connect to a host, and names the signer of its certificate', async t => {
  const pc = machine(t, RUSTUP);
  const organization = authority(t);
  pc.install(organization);
  const { host } = await organization.serve();
  const ids = FULL ? IDS : ['curl'];
  const verdicts = async () => {
    const { tools, online } = await pc.trust().report(ids, host);
    assert.deepEqual(online, { host, issuer: 'Gateway CA - Cloudflare Managed G1', inspected: true });
    return tools.map(({ verdict, reasons }) => [verdict, reasons.at(-1)?.replace(/:.*/, '')]);
  };
  assert.deepEqual(
    await verdicts(),
    ids.map(() => ['does-not-trust', 'It refuses the certificate of localhost']),
  );
  await pc.trust().apply(ids);
  assert.deepEqual(
    await verdicts(),
    ids.map(() => ['trusts', 'It accepts the certificate of localhost']),
  );
  await assert.rejects(pc.trust().report(ids, 'localhost:9'), /localhost does not answer with TLS/);
});

test('a broken connection shows nothing, whatever numbers a tool prints about it', {
  skip: !isThere('python3', '--version'),
}, async t => {
  const pc = machine(t);
  const organization = authority(t);
  pc.install(organization);
  const { host } = await organization.serve();
  let count = 0;
  const gate = createServer(socket => {
    // the first connection is Culvert's own, which reads the certificate
    if (count++ > 0) {
      socket.destroy();
      return;
    }
    const site = connect(Number(host.split(':')[1]), 'localhost');
    for (const [from, to] of [
      [socket, site],
      [site, socket],
    ] as const)
      from.on('error', () => {}).pipe(to);
  });
  const port = await listen(t, gate);
  const { tools } = await pc.trust().report(['python'], `localhost:${port}`);
  assert.match(tools[0]!.reasons.at(-1)!, /did not show whether it accepts/);
});

test('names the certificate by its fingerprint, and what is at its path only where root alone can write', async t => {
  const pc = machine(t);
  const organization = authority(t);
  pc.install(organization);
  const { certificates, refused } = pc.trust().summary();
  assert.deepEqual(
    certificates.map(({ fingerprint, name, state, source }) => ({ fingerprint, name, state, source })),
    [
      {
        fingerprint: organization.fingerprint,
        name: 'Gateway CA - Cloudflare Managed G1',
        state: 'valid',
        source: MANAGED,
      },
    ],
  );
  assert.deepEqual(certificates.map(certificateFacts), [[['SHA-256', organization.fingerprint]]]);
  assert.deepEqual(refused, []);
  chmodSync(path.dirname(pc.root + MANAGED), 0o777);
  const open = pc.trust().summary();
  assert.deepEqual(open.certificates, []);
  assert.match(open.refused[0]!.reason, /can be changed by others than root/);
  chmodSync(path.dirname(pc.root + MANAGED), 0o755);
  const ofUser = pc.trust({ place: { root: pc.root, owner: process.getuid!() + 1 } }).summary();
  assert.deepEqual([ofUser.certificates.length, ofUser.refused.length > 0], [0, true], 'files of the user');
});

test('without a certificate, it starts only tools that were named', async t => {
  const pc = machine(t);
  const marker = path.join(pc.home, 'started');
  writeFileSync(path.join(pc.home, 'curl'), `#!/bin/sh\ntouch '${marker}'\n`, { mode: 0o755 });
  pc.env.PATH = `${pc.home}:${pc.env.PATH}`;
  assert.deepEqual(await pc.trust().report(), {
    ok: true,
    certificates: [],
    refused: [],
    removalDue: false,
    tools: [],
  });
  assert.equal(existsSync(marker), false);
  assert.equal((await pc.trust().report(['curl'])).tools.length, 1);
  assert.equal(existsSync(marker), true);
});

test('finds a tool that verifies nothing', async t => {
  const pc = machine(t, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  pc.install(authority(t));
  writeFileSync(path.join(pc.home, '.curlrc'), 'insecure\n');
  const { tools } = await pc.trust().report(['node', 'curl']);
  for (const id of ['node', 'curl']) {
    const tool = tools.find(each => each.id === id)!;
    assert.equal(tool.verdict, 'trusts-too-much');
    assert.match(tool.reasons.join(' '), /verifies no certificates/);
    assert.deepEqual(tool.changes, []);
  }
  assert.equal(read(path.join(pc.home, '.curlrc')), 'insecure\n');
});

/** The authorities in Culvert's two lists, as far as they are the test's own. */
function listed(pc: ReturnType<typeof machine>, ...authorities: Authority[]): boolean[][] {
  const directory = path.join(pc.home, '.local/state/culvert/trust');
  const lists = ['extra.pem', 'bundle.pem'].map(name => read(path.join(directory, name)));
  return lists.map(list => authorities.map(({ pem }) => list.includes(pem.trim())));
}

test('follows a renewal, two certificates, and a withdrawal while tools trust it', async t => {
  const pc = machine(t);
  const [one, two] = [authority(t), authority(t)];
  pc.install(one);
  const trust = pc.trust();
  await trust.apply(['curl']);
  assert.deepEqual(listed(pc, one, two), [
    [true, false],
    [true, false],
  ]);
  pc.install(one, two);
  assert.equal(await trust.refresh(), true);
  assert.deepEqual(listed(pc, one, two), [
    [true, true],
    [true, true],
  ]);
  assert.equal(await trust.refresh(), false);
  pc.install(two);
  await trust.refresh();
  assert.deepEqual(listed(pc, one, two), [
    [false, true],
    [false, true],
  ]);
  pc.withdraw();
  await trust.refresh();
  assert.deepEqual(listed(pc, one, two), [
    [false, false],
    [false, false],
  ]);
  const report = trust.summary();
  assert.deepEqual(
    report.certificates.map(({ state }) => state),
    ['withdrawn', 'withdrawn'],
  );
  assert.equal(report.removalDue, true);
  await trust.undo();
  assert.equal(trust.summary().removalDue, false);
  pc.install(two);
  await trust.apply(['curl']);
  await trust.undo();
  assert.deepEqual(listed(pc, one, two), [
    [false, false],
    [false, false],
  ]);
  const left = pc.trust({ isMember: false }).summary();
  assert.deepEqual(
    left.certificates.map(({ state }) => state),
    ['withdrawn'],
    'the device left the organization',
  );
});

test('a certificate that can’t be read in the journal blocks neither the summary nor a refresh or an undo', async t => {
  const pc = machine(t);
  const organization = authority(t);
  pc.install(organization);
  const trust = pc.trust();
  await trust.apply(['curl']);
  const file = path.join(pc.home, '.local/state/culvert/trust/trust.json');
  const journal = JSON.parse(read(file));
  const [known] = journal.known;
  assert.deepEqual(Object.keys(known).sort(), ['fingerprint', 'from', 'name', 'pem', 'until']);
  const bad = { ...known, fingerprint: '00', pem: known.pem.replace(/\n.{8}/, '\nAAAAAAAA') };
  writeFileSync(file, JSON.stringify({ ...journal, known: [bad, known], confirmed: [bad] }));
  assert.deepEqual(
    trust.summary().certificates.map(({ fingerprint }) => fingerprint),
    [organization.fingerprint],
  );
  assert.equal(await trust.refresh(), false);
  await trust.undo();
  assert.equal(read(path.join(pc.home, '.curlrc')), '');
});

test('never has a tool trust a certificate that has expired, and finds a tool that does', async t => {
  const pc = machine(t);
  const old = authority(t, { until: new Date('2021-01-01') });
  pc.install(old);
  await assert.rejects(pc.trust().apply(['curl']), /no valid certificate/);
  writeFileSync(path.join(pc.home, 'own.pem'), old.pem);
  writeFileSync(path.join(pc.home, '.curlrc'), `cacert = ${path.join(pc.home, 'own.pem')}\n`);
  const { tools, certificates } = await pc.trust().report(['curl']);
  assert.equal(certificates[0]?.state, 'expired');
  assert.equal(tools[0]?.verdict, 'trusts-too-much');
});

test('takes a certificate that WARP did not install only with its fingerprint', async t => {
  const pc = machine(t);
  const [foreign, other] = [authority(t, { subject: '/CN=Elsewhere' }), authority(t)];
  const file = path.join(pc.home, 'foreign.pem');
  writeFileSync(file, foreign.pem);
  const trust = pc.trust();
  await assert.rejects(trust.confirm(file, other.fingerprint), /fingerprint is another one/);
  await assert.rejects(trust.confirm(file, ''), /fingerprint is another one/);
  assert.deepEqual(trust.summary().certificates, []);
  await trust.confirm(file, foreign.fingerprint.toLowerCase().replaceAll(':', ' '));
  const [certificate] = trust.summary().certificates;
  assert.deepEqual([certificate?.fingerprint, certificate?.confirmed], [foreign.fingerprint, true]);
});

test('shows a hostile name on one line, without escape sequences, and shortened', async t => {
  for (const name of ['a\u001b[31mred\u001b]0;title\u0007', 'first\nCN=second', '\u202eevil', 'x'.repeat(60)]) {
    const pc = machine(t);
    pc.install(authority(t, { subject: `/O=${'y'.repeat(60)}/CN=${name}` }));
    const [certificate] = pc.trust().summary().certificates;
    assert.match(certificate!.name, /^[^\p{Cc}\p{Cf}]{1,81}$/u);
  }
  assert.equal(nameIn(`CN=${'z'.repeat(10_000)}`), `${'z'.repeat(80)}…`);
});

test('a variable that this Node does not know brings it no certificate', async t => {
  const bin = temporary(t);
  symlinkSync(process.execPath, path.join(bin, 'real'));
  const version = (text: string) =>
    writeFileSync(path.join(bin, 'node'), `#!/bin/sh\n[ "$1" != -p ] || exec echo ${text}\nexec '${bin}/real' "$@"\n`, {
      mode: 0o755,
    });
  const pc = machine(t, { NODE_USE_SYSTEM_CA: '1', PATH: `${bin}:${process.env.PATH}` });
  const organization = authority(t);
  pc.install(organization);
  pc.write('/etc/ssl/certs/ca-certificates.crt', `${[...ROOTS, organization.pem].join('\n')}\n`);
  const verdict = async () => (await pc.trust().report(['node'])).tools[0]?.verdict;
  for (const [text, expected] of [
    ['22.18.0', 'does-not-trust'],
    ['22.19.0', 'trusts'],
  ] as const) {
    version(text);
    assert.equal(await verdict(), expected, text);
  }
});

test('never replaces a list that a variable or an included file sets', async t => {
  const pc = machine(t, { CURL_CA_BUNDLE: '/nowhere.pem' });
  pc.install(authority(t));
  writeFileSync(path.join(pc.home, 'work'), '[http]\n\tsslCAInfo = /work.pem\n');
  writeFileSync(path.join(pc.home, '.gitconfig'), '[include]\n\tpath = ~/work\n');
  const { tools } = await pc.trust().report(['git', 'curl']);
  assert.deepEqual(
    tools.map(({ id, changes, reasons }) => [id, changes, reasons.at(-1)]),
    [
      ['git', [], 'It is set to read /work.pem, which Culvert does not replace.'],
      ['curl', [], 'It is set to read /nowhere.pem, which Culvert does not replace.'],
    ],
  );
  await assert.rejects(pc.trust().apply(['git']), /nothing to change for git.*\/work\.pem/);
});

test('never replaces a setting of the user, and keeps what is edited after a change', async t => {
  const pc = machine(t);
  pc.install(authority(t));
  const curlrc = path.join(pc.home, '.curlrc');
  const profile = path.join(pc.home, '.profile');
  writeFileSync(curlrc, 'cacert = /nowhere.pem\n');
  writeFileSync(profile, 'one\n');
  const trust = pc.trust();
  await assert.rejects(trust.apply(['curl']), /cacert .*is set to \/nowhere\.pem, which Culvert does not replace/);
  writeFileSync(curlrc, '');
  await trust.apply(['curl', 'node']);
  writeFileSync(curlrc, `${read(curlrc)}silent\n`);
  writeFileSync(profile, `zero\n${read(profile)}two\n`);
  await trust.undo();
  assert.deepEqual([read(curlrc), read(profile)], ['silent\n', 'zero\none\ntwo\n']);
});
