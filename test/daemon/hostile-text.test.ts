// Everything that reads text of strangers takes time in proportion to its length, whatever the text is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Snapshot } from '../../daemon/api/schema.ts';
import { parseEntry, splitExec } from '../../daemon/apps/desktop-entry.ts';
import { printable } from '../../daemon/core/printable.ts';
import { sessionExpiry } from '../../daemon/doctor/checks/registration.ts';
import { analyze } from '../../daemon/doctor/diagnose/analyze.ts';
import { namesOf } from '../../daemon/doctor/diagnose/bundle.ts';
import { createRedactor } from '../../daemon/doctor/diagnose/redact.ts';
import { explain } from '../../daemon/doctor/knowledge.ts';
import { parseResolvConf } from '../../daemon/doctor/world/resolv-conf.ts';
import type { World } from '../../daemon/doctor/world/world.ts';
import { parseDocument, parseLine } from '../../daemon/routes/document.ts';
import { outputOf } from '../../daemon/view/log.ts';
import { excerpt, failureOf, jsonOf, linesOf, propertyOf } from '../../daemon/warp/parse/output.ts';
import {
  parseDevices,
  parseRegistration,
  parseSsids,
  parseStats,
  parseVirtualNetworks,
} from '../../daemon/warp/parse/reads.ts';
import { optionsOf, parseRoutes, parseSettings } from '../../daemon/warp/parse/settings.ts';
import { parseStatus, reasonOfJson, reasonOfText } from '../../daemon/warp/parse/status.ts';
import { loadCatalog } from '../../wrapper/catalog/catalog.ts';
import { classify } from '../../wrapper/run/rules/classify.ts';
import { envLines } from '../../wrapper/store/secrets.ts';
import { KNOWLEDGE, snapshot } from '../support/doctor/world.ts';
import { FULL } from '../support/thoroughness.ts';

const entry = (stdout: string) => ({
  id: 1,
  at: '2026-11-21T10:00:00.000Z',
  source: 'action' as const,
  argv: ['warp-cli', 'status'],
  ok: true,
  exitCode: 0,
  durationMs: 1,
  stdout,
  stderr: stdout,
});
const printed = (stdout: string) => ({ stdout, stderr: stdout, exitCode: 1 });
/** The second name begins as a beginning below ends, and has blanks, where outputs break lines. */
const NAMES = ['a', 'type:  network'].map(text => ({ kind: 'ssid' as const, text }));
const redactor = createRedactor({ names: NAMES, public: [] });
const sources = {
  hostname: 'h',
  username: 'u',
  passwd: '',
  resolvConf: '',
  snapshot: null,
  entries: [],
  config: null,
  changes: [],
};

/** The rules of all entries of the catalog. */
const CATALOG = fileURLToPath(new URL('../../wrapper/catalog/providers', import.meta.url));
const RULES = Object.values(loadCatalog(CATALOG, '').providers).flatMap(({ rules }) => rules);

/** Readers of foreign text, each given the text where it expects it. */
const READERS: Record<string, (text: string) => unknown> = {
  'an archive': text =>
    analyze(
      {
        files: ['status.txt', 'settings.txt', 'account.txt', 'resolv.conf', 'os-release', 'daemon.log'].map(name => ({
          name,
          cut: false,
          text,
        })),
        skipped: [],
      },
      KNOWLEDGE,
    ),
  'names of a bundle': text => namesOf({ ...sources, resolvConf: text, passwd: text, entries: [entry(text)] }),
  'a bundle': text => redactor.text(text),
  'a registration that may expire': text => {
    const commands = { registration: entry(text) } as unknown as Snapshot['commands'];
    const tunnel = snapshot({ account: { type: 'team' }, commands, settings: { [text]: text } } as never);
    return sessionExpiry.probe({ tunnel, now: () => 0 } as unknown as World, AbortSignal.any([]));
  },
  explain: text => explain(KNOWLEDGE.codes.slice(0, 20), text),
  'resolv.conf': text => parseResolvConf(text, null),
  'a desktop entry': text => parseEntry(`[Desktop Entry]\nName=${text}\n${text}`),
  Exec: splitExec,
  'a document of routes': parseDocument,
  'an entry of routes': parseLine,
  'a line for people': printable,
  'the log': text => outputOf(entry(text)),
  'status of the tunnel CLI': text => parseStatus(printed(text)),
  'settings of the tunnel CLI': parseSettings,
  'options of the tunnel CLI': text => optionsOf({ [text.slice(0, 50)]: text, Resolver: text, 'Resolve via': text }),
  'SSIDs of the tunnel CLI': parseSsids,
  'virtual networks of the tunnel CLI': parseVirtualNetworks,
  'figures of the tunnel CLI': parseStats,
  'registration of the tunnel CLI': parseRegistration,
  'devices of the tunnel CLI': parseDevices,
  'routes of the tunnel CLI': parseRoutes,
  'reasons of the tunnel CLI': text => [reasonOfText(text), reasonOfJson(text), reasonOfJson({ [text]: text })],
  'failures of the tunnel CLI': text => failureOf(printed(text)),
  'output of the tunnel CLI': text => [linesOf(text), jsonOf(text), excerpt(text), propertyOf(text)],
  'output of a wrapped command': text => {
    for (const rule of RULES) classify({ exit: 1, signal: null, stdout: text, stderr: text, command: '' }, [rule]);
  },
  'a file of secrets': envLines,
};

/** Beginnings that get a reader to its inner patterns. */
const BEGINNINGS = [
  '',
  'Account type: ',
  'Status update: ',
  'Status update: Connected. Reason: ',
  'Merged configuration:\n',
  'Currently selected: x\n ID: a',
  'Excluded routes:\n  1.1.1.1 (',
  'Estimated latency: ',
  '"account" ',
  'nameserver ',
  '10.0.0.0/8 -',
  '-----BEGIN ',
  'auth',
  '{"a": ',
];
/** Repeated parts that follow the beginnings. */
const UNITS = [
  ' ',
  '\n',
  ' \n',
  '\t',
  '\r',
  '\r\n',
  '\u2028',
  'a',
  'A',
  '0',
  '.',
  '-',
  '_',
  ':',
  '/',
  '"',
  '\\',
  '[',
  '(',
  '<',
  ';',
  '=',
  ',',
  'a.',
  'a ',
  '0:',
  'a:',
  '::',
  'a@',
  '@',
  '*',
  '%',
  '#',
  '{',
  '}',
  '\x1b[',
  ' - ',
  '://',
  '/home/',
  'eyJ',
  '<a-1>',
  'ID: ',
  'auth',
  '-----BEGIN A-----',
  'Reason: ',
  '. Reason',
  ': "',
  '" ,',
  'é',
  '0d',
  'f-',
];

/** Processor time of a piece of work in ms: other processes of the machine don't count. */
async function cost(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  // a refusal is an answer
  await Promise.resolve()
    .then(work)
    .catch(() => {});
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const LENGTH = 16_000;
/** Below this a difference is noise, and harmless. */
const NOISE_MS = 150;

for (const [name, read] of Object.entries(READERS))
  test(`reads in proportion to the length: ${name}`, async () => {
    // in a short run each beginning meets a sixth of the units, and each unit a sixth of the beginnings
    for (const [index, beginning] of BEGINNINGS.entries())
      for (const unit of UNITS.filter((_, at) => FULL || (at + index) % 6 === 0)) {
        const text = (length: number) => `${beginning}${unit.repeat(length / unit.length)}\u0001x`;
        const long = await cost(() => read(text(LENGTH)));
        if (long < NOISE_MS) continue;
        // twice, since a compiler or a garbage collection may have come in between
        const [short, again] = [await cost(() => read(text(LENGTH / 4))), await cost(() => read(text(LENGTH)))];
        assert.ok(
          Math.min(long, again) < 8 * short + NOISE_MS,
          `${JSON.stringify(beginning)} and ${JSON.stringify(unit)}: ${short} ms, four times as long ${again} ms`,
        );
      }
  });
