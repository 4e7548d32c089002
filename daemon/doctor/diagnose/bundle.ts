// Puts a bundle together that can be shared: the doctor's results, versions, configuration, log and history, redacted.
import { createWriteStream, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { hostname, release, userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { CheckResult } from '../../api/doctor.ts';
import type { ConfigResponse, LogEntry } from '../../api/schema.ts';
import { giveToOwner } from '../../system/own-home.ts';
import { shownResult } from '../file-fix.ts';
import type { World } from '../world/world.ts';
import { namesOf } from './names.ts';
import { createRedactor } from './redact.ts';
import type { Timeline } from './timeline.ts';

export interface BundleInput {
  world: World;
  results: readonly CheckResult[];
  entries: readonly LogEntry[];
  config: ConfigResponse | null;
  /** Null if no daemon was there to ask. */
  timeline: Timeline | null;
  /** Fixes that were applied, newest first. */
  history: readonly { id: string; label: string; at: string }[];
}

export interface Bundle {
  files: { name: string; about: string; text: string }[];
  /** Number of different values replaced, by kind. */
  redacted: Record<string, number>;
}

/** Everything that is written, already redacted. */
export async function createBundle(input: BundleInput): Promise<Bundle> {
  const { world, results, entries, config, timeline, history } = input;
  const [passwd, resolvConf, osRelease] = await Promise.all(
    ['/etc/passwd', '/etc/resolv.conf', '/etc/os-release'].map(path => world.files.readText(path).catch(() => null)),
  );
  const redactor = createRedactor({
    names: namesOf({
      hostname: hostname(),
      username: userInfo().username,
      passwd: passwd ?? '',
      resolvConf: resolvConf ?? '',
      snapshot: world.tunnel,
      entries,
      config: config?.config ?? null,
      changes: timeline?.changes ?? [],
    }),
    public: [...world.knowledge.limits.flatMap(({ values }) => values), '1.1.1.1', '1.0.0.1'],
  });
  const versions = {
    culvert: world.culvert.version,
    daemon: world.culvert.daemon?.version ?? null,
    node: process.versions.node,
    kernel: release(),
    tunnelCli: world.tunnel?.tunnelCli ?? null,
    system: /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease ?? '')?.[1] ?? null,
  };
  const documents: [name: string, about: string, value: unknown][] = [
    ['doctor.json', 'results of culvert doctor', results.map(result => inEnglish(shownResult(result)))],
    ['versions.json', 'versions of Culvert, Node, the kernel, the system and the tunnel CLI', versions],
    ['snapshot.json', 'state, settings, split tunnel and account as the daemon shows them', world.tunnel],
    ['configuration.json', 'configuration of Culvert', config],
    ['command-log.json', 'commands given to the tunnel CLI, with their output', entries],
    ['timeline.json', 'changes of the state in the last week, with totals of each day', timeline],
    [
      'history.json',
      'memory of the service over time, and fixes that were applied',
      { samples: world.samples, fixes: history },
    ],
  ];
  const files = documents.map(([name, about, value]) => ({
    name,
    about,
    text: `${JSON.stringify(redactor.value(value), null, 2)}\n`,
  }));
  const redacted = redactor.counts();
  files.unshift({ name: 'contents.txt', about: 'this list', text: `${describeBundle({ files, redacted })}\n` });
  return { files, redacted };
}

/** Those who read a report need no wording for the catalogs. */
function inEnglish({ wording: _, fix, ...result }: CheckResult) {
  const { wording: __, ...plain } = fix ?? {};
  return { ...result, fix: fix && plain };
}

/** Summary of the contents and replacements, to review before the file is written. */
export function describeBundle({ files, redacted }: Bundle): string {
  const rows = files.map(
    ({ name, about, text }) => `  ${name.padEnd(20)}${String(text.length).padStart(8)} bytes  ${about}`,
  );
  const counts = Object.entries(redacted).map(([kind, count]) => `${count} × <${kind}-…>`);
  return [
    'Read the files before you share them. What a pattern, a name of this machine or a mark such as “token=” shows is replaced.',
    'Left are: keys and passwords without such a mark, a host’s name alone, names that only people know, an address as one number.',
    'Inside:',
    ...rows,
    `Replaced by placeholders, the same ones in all files: ${counts.join(', ') || 'nothing'}.`,
  ].join('\n');
}

/** The bytes of the archive. */
export function packBundle({ files }: Bundle): NodeJS.ReadableStream {
  const zip = new ZipFile();
  for (const { name, text } of files) zip.addBuffer(Buffer.from(text), name, { mode: 0o100600 });
  zip.end();
  return zip.outputStream;
}

/**
 * Writes the archive, readable for this user only; as root, for the owner of its directory.
 * @throws NodeJS.ErrnoException EEXIST when there is a file already, or whatever the disk says; nothing is left then
 */
export async function writeBundle(path: string, bundle: Bundle): Promise<void> {
  const fd = openSync(path, 'wx', 0o600);
  try {
    giveToOwner(fd, dirname(resolve(path)));
    await pipeline(packBundle(bundle), createWriteStream(path, { fd }));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}
