// The list of apps: how long 1,000 desktop entries take, through the API of the built daemon, first and again.
// Exits 1 when a bar is not met. Run: ./culvert-tool bench apps [rounds]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../support/ports.ts';
import { end } from './support/process.ts';
import { median, report } from './support/report.ts';

const ENTRIES = 1_000;
const BARS = { first: 100, again: 5, changed: 50 };

const rounds = Number(process.argv[2] ?? 5);
const prefix = resolve(process.env.CULVERT_TEST_PREFIX ?? 'build/prefix');
const home = mkdtempSync(join(tmpdir(), 'culvert-bench-apps-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const [session, applications, bin] = ['session', 'data/applications', 'bin'].map(name => join(home, name)) as [
  string,
  string,
  string,
];
for (const directory of [session, applications, bin]) mkdirSync(directory, { recursive: true, mode: 0o700 });

// longer than those of Debian 12 are on average, and mostly names and comments in 60 languages
const languages =
  'af ar ast be bg bn ca cs cy da de el en_GB eo es et eu fa fi fr ga gl gu he hi hr hu ia id is it ja ka kk kn ko ku lt lv mk ml mr ms nb nl nn pa pl pt pt_BR ro ru sk sl sr sv ta te th tr uk vi zh_CN zh_TW'.split(
    ' ',
  );
for (let at = 0; at < ENTRIES; at++) {
  const program = join(bin, `program${at % 200}`);
  if (at < 200) writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  const lines = [
    '[Desktop Entry]',
    'Version=1.0',
    'Type=Application',
    `Name=Application ${at}`,
    ...languages.map(language => `Name[${language}]=Application ${at} in ${language}`),
    'Comment=Does what an application does, and says so at some length',
    ...languages.map(language => `Comment[${language}]=Does what an application does, said in ${language}`),
    `Exec=${at % 10 === 0 ? '/usr/bin/chromium' : program} %U`,
    'Icon=application',
    'Categories=Network;WebBrowser;',
    'MimeType=text/html;text/xml;application/xhtml+xml;',
    '',
  ];
  writeFileSync(join(applications, `org.example.Application${at}.desktop`), lines.join('\n'));
}

const env = {
  PATH: process.env.PATH!,
  HOME: home,
  XDG_RUNTIME_DIR: session,
  XDG_DATA_HOME: join(home, 'data'),
  XDG_DATA_DIRS: join(home, 'none'),
  LANG: 'de_DE.UTF-8',
};

/** ms until the whole list has arrived, and how many apps it has. */
function list(): Promise<{ ms: number; count: number }> {
  const started = performance.now();
  return new Promise((done, fail) => {
    get(
      {
        socketPath: join(session, 'culvert/api.sock'),
        path: '/api/apps',
        agent: false,
        headers: { host: 'localhost' },
      },
      response => {
        const pieces: Buffer[] = [];
        response.on('data', piece => pieces.push(piece));
        response.on('end', () => {
          const ms = performance.now() - started;
          done({ ms, count: JSON.parse(Buffer.concat(pieces).toString()).apps?.length ?? 0 });
        });
      },
    ).on('error', fail);
  });
}

const measured: Record<keyof typeof BARS, number[]> = { first: [], again: [], changed: [] };
for (let round = 0; round < rounds; round++) {
  const daemon = spawn(
    process.execPath,
    [
      join(prefix, 'share/culvert/daemon/main.cjs'),
      '--demo',
      '--no-tray',
      '--no-panel',
      '--no-open',
      '--port',
      String(freePort()),
    ],
    { env, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  await once(daemon.stderr, 'data');
  await new Promise(done => setTimeout(done, 3_000)); // other work of a start: kill switch, updates
  const first = await list();
  if (first.count !== ENTRIES) throw new Error(`${first.count} apps instead of ${ENTRIES}`);
  measured.first.push(first.ms);
  const again: number[] = [];
  for (let i = 0; i < 20; i++) again.push((await list()).ms);
  measured.again.push(median(again));
  const path = join(applications, 'org.example.Application7.desktop');
  appendFileSync(path, '# changed\n');
  await new Promise(done => setTimeout(done, 100)); // the kernel's word of the change
  measured.changed.push((await list()).ms);
  writeFileSync(path, readFileSync(path, 'utf8').replace('# changed\n', ''));
  await end(daemon);
}

const WHAT = { first: 'first list of 1,000 entries', again: 'list again', changed: 'list after one entry changed' };
for (const [name, values] of Object.entries(measured) as [keyof typeof BARS, number[]][])
  report(WHAT[name], median(values), BARS[name], 'ms');
process.exit();
