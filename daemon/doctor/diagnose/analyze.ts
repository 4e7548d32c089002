// Analyzes an archive of the vendor's warp-diag: version, timeline, codes, and causes that checks recognize.
import type { CheckResult } from '../../api/doctor.ts';
import type { Snapshot } from '../../api/schema.ts';
import { createState } from '../../state/store.ts';
import { parseSettings } from '../../warp/parse/settings.ts';
import { parseStatus } from '../../warp/parse/status.ts';
import type { Check } from '../check.ts';
import { fallbackOnly, providerResolvers, resolvConf, search } from '../checks/dns.ts';
import { knownIssues } from '../checks/issues.ts';
import { mdmFile } from '../checks/organization.ts';
import { registrationStuck, service, sessionExpiry } from '../checks/registration.ts';
import { registration } from '../checks/registration-cause.ts';
import { oneLine, runChecks } from '../engine.ts';
import type { Code, Knowledge } from '../knowledge.ts';
import type { Files } from '../world/files.ts';
import { createWorld } from '../world/world.ts';
import type { Archive, ArchiveFile } from './archive.ts';

export interface Analysis {
  version: string | null;
  files: number;
  timeline: { at: string; file: string; text: string; count: number }[];
  codes: { code: Code; file: string; line: string; count: number }[];
  /** Checks that found something in the files. */
  causes: CheckResult[];
}

/** Checks that need only files and the client's output. */
const CHECKS: readonly Check[] = [
  service,
  registration,
  registrationStuck,
  sessionExpiry,
  search,
  resolvConf,
  fallbackOnly,
  providerResolvers,
  mdmFile,
  knownIssues,
];
const TIMELINE_ROWS = 200;
const LINE_BYTES = 2_000;

export async function analyze({ files }: Archive, knowledge: Knowledge): Promise<Analysis> {
  const version = versionIn(files);
  const snapshot = snapshotOf(files, version);
  const world = createWorld({
    env: { PATH: '' }, // no program is needed to read an archive
    tunnel: snapshot,
    culvert: {
      version: '',
      runtime: '',
      state: '',
      userConfig: '',
      brokenChanges: '',
      daemon: null,
      configuration: null,
      port: 0,
      cli: 'warp-cli',
    },
    knowledge,
    now: () => Date.parse(stampsOf(files, /./).at(-1) ?? new Date().toISOString()),
  });
  const copies = filesOf(files);
  const lookup = await copies.readText('/etc/resolv.conf');
  // warp-diag does not collect every file
  const checks = CHECKS.filter(check => lookup !== null || (check !== resolvConf && check !== search));
  const results = await runChecks(checks, {
    ...world,
    files: copies,
    bus: { properties: async () => null },
  });
  return {
    version,
    files: files.length,
    timeline: timelineOf(files),
    codes: codesIn(files, knowledge),
    causes: results.filter(({ verdict }) => verdict === 'problem' || verdict === 'notice'),
  };
}

function versionIn(files: readonly ArchiveFile[]): string | null {
  const first =
    files.find(({ name }) => /version/i.test(name)) ?? files.find(({ text }) => /warp-cli \d{4}\./.test(text));
  return /\b(20\d\d\.\d{1,2}\.\d{1,5}(?:\.\d{1,3})?)\b/.exec(first?.text ?? '')?.[1] ?? null;
}

/** Returns the text of a file that matches both patterns, or else of a small file that matches `content`. */
function find(files: readonly ArchiveFile[], name: RegExp, content: RegExp): string | null {
  const match =
    files.find(file => name.test(file.name) && content.test(file.text)) ??
    files.find(file => content.test(file.text) && file.text.length < 100_000);
  return match?.text ?? null;
}

function snapshotOf(files: readonly ArchiveFile[], version: string | null): Snapshot {
  const snapshot = createState({ available: true, path: null, version, emulated: false }).snapshot();
  const status = find(files, /status/i, /^[ \t]*"?status(?: update)?"?:/im);
  const settings = find(files, /settings/i, /Merged configuration:|"operation_mode"/);
  const account = find(files, /account|registration/i, /^[ \t]*"?account type"?:|"account"[ \t]*:/im);
  const read = settings ? parseSettings(settings) : null;
  // take the start of a phase from the log, which has the clock of the diagnosed machine
  const since = stampsOf(files, /checking your organi[sz]ation/i)[0] ?? snapshot.status.since;
  return {
    ...snapshot,
    ...(status
      ? {
          status: {
            ...snapshot.status,
            ...parseStatus({ stdout: status, stderr: '', exitCode: 0 }),
            raw: status,
            since,
          },
        }
      : {}),
    ...(read ? { settings: read.settings, splitTunnel: read.splitTunnel ?? snapshot.splitTunnel } : {}),
    ...(account
      ? { account: { ...snapshot.account, registered: true, type: /team/i.test(account) ? 'team' : 'free' } }
      : {}),
  };
}

/** Serves the machine's files from their copies in the archive. */
function filesOf(files: readonly ArchiveFile[]): Files {
  const copies: Record<string, string | null> = {
    '/etc/resolv.conf': find(files, /resolv/i, /^[ \t]*(?:nameserver|search)[ \t]/m),
    '/var/lib/cloudflare-warp/mdm.xml': files.find(({ name }) => /mdm[^/]*\.(?:xml|plist)$/i.test(name))?.text ?? null,
    '/etc/os-release': find(files, /os-release|system/i, /^ID=/m),
  };
  return {
    locate: path => path,
    readText: async path => copies[path] ?? null,
    readBytes: async path => (copies[path] == null ? null : Buffer.from(copies[path])),
    readLink: async () => null,
    list: async () => [],
    policyFile(path) {
      const text = copies[path];
      return text == null ? null : { path, link: null, uid: 0, gid: 0, mode: 0o600, isFile: true, text };
    },
    obstacle: async () => null,
    async stat(path) {
      const text = copies[path];
      if (text == null) return null;
      return { kind: 'file', size: text.length, mtimeMs: 0, mode: 0o644, uid: 0, gid: 0 };
    },
  };
}

const STAMP = /^\W{0,3}(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\s*(.*)$/;
const EVENT =
  /status(?: update|Change)?\s*[:=]|new status|(?:dis)?connect(?:ed|ing)\b|reason\s*[:=]|CF_[A-Z_]{4,}|\bERROR\b|resum(?:e|ing) from|network (?:info )?change|captive portal|happy eyeballs|registration|fighting us|already in use/i;

/** Returns the times of the matching lines, in order, as ISO 8601. Logs use UTC. */
function stampsOf(files: readonly ArchiveFile[], pattern: RegExp): string[] {
  const lines = files.flatMap(({ text }) => text.split('\n')).filter(line => pattern.test(line.slice(0, LINE_BYTES)));
  return lines
    .flatMap(line => {
      const at = STAMP.exec(line.slice(0, LINE_BYTES))?.[1];
      return at ? [`${at.replace(' ', 'T')}.000Z`] : [];
    })
    .sort();
}

/** Returns log lines that report events, in order of time, and counts repeated lines. */
function timelineOf(files: readonly ArchiveFile[]): Analysis['timeline'] {
  const rows = new Map<string, Analysis['timeline'][number]>();
  for (const { name, text } of files)
    for (const line of text.split('\n')) {
      const [, at, rest = ''] = STAMP.exec(line.slice(0, LINE_BYTES)) ?? [];
      if (!at || !EVENT.test(rest)) continue;
      const event = oneLine(rest).slice(0, 200);
      const key = event.replace(/\d+/g, '#');
      const row = rows.get(key);
      if (row) row.count += 1;
      else if (rows.size < 5_000) rows.set(key, { at: at.replace(' ', 'T'), file: name, text: event, count: 1 });
    }
  return [...rows.values()].sort((a, b) => a.at.localeCompare(b.at)).slice(-TIMELINE_ROWS);
}

/** Minimum length of a name to search for: shorter names occur in ordinary text. */
const SHORTEST_NAME = 9;

/** Returns the known codes and log lines in the files, with the first line of each. */
function codesIn(files: readonly ArchiveFile[], { codes }: Knowledge): Analysis['codes'] {
  return codes.flatMap(code => {
    if (!['error', 'log', 'cli-error', 'reason'].includes(code.kind)) return [];
    const names = [code.code.replace(/^log: /, ''), ...code.also].filter(
      name => name.length >= SHORTEST_NAME && !/ \(/.test(name),
    );
    let match: Analysis['codes'][number] | null = null;
    for (const { name: file, text } of files)
      for (const name of names)
        for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
          if (/\w/.test(text[at + name.length] ?? '') || /\w/.test(text[at - 1] ?? '')) continue;
          const start = text.lastIndexOf('\n', at) + 1;
          match ??= {
            code,
            file,
            line: oneLine(text.slice(Math.max(start, at - 100), at + name.length + 100).split('\n')[0] ?? ''),
            count: 0,
          };
          match.count += 1;
        }
    return match ? [match] : [];
  });
}
