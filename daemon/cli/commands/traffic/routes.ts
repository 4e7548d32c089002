// Runs `culvert routes`, which lists, resets, compares and shortens the split tunnel, and `culvert why`, which explains routes.
import type { RoutesPresets, RoutesPreview } from '../../../api/routes.ts';
import type { ActionRequest, Snapshot, SplitTunnel, Why } from '../../../api/schema.ts';
import { printable } from '../../../core/printable.ts';
import { dateTime } from '../../../core/terminal.ts';
import {
  canonical,
  type Document,
  type Entry,
  parseDocument,
  simplify as simplified,
} from '../../../routes/document.ts';
import { wordMessage } from '../../../view/message.ts';
import { type DifferenceKind, differenceLines, differenceTotal, routeWarning } from '../../../view/states/routes.ts';
import { whyAnswers } from '../../../view/states/why.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Run, show, showDocument } from '../../context.ts';
import { readDocument, writeDocument } from '../../document.ts';
import { EXIT, Failure, sayOld, unknown, usage } from '../../errors.ts';
import { askToKeep, keepingOf, requestKept } from '../../keep.ts';
import { columns, wrapped } from '../../layout.ts';
import { ownEntry } from '../../session.ts';

export const print: Run = async context => {
  const routes = await context.client.call('GET /api/routes');
  show(context, routes, ({ mode, entries }) =>
    [
      `mode ${mode ?? 'exclude'}`,
      ...entries.map(({ value, origin, description }) => {
        const entry = printable(value).padEnd(commentColumn(entries, context.width));
        return commented(entry, printable([origin, description].filter(Boolean).join(', ')), context.width);
      }),
    ].join('\n'),
  );
  if (routes.readOnly) context.say('Your organization manages this list, so it can only be read here.');
  return EXIT.ok;
};

/** Returns the width before comments: on a terminal, the length of the longest entry that fills at most half a line. */
function commentColumn(entries: readonly { value: string }[], width: number): number {
  if (!Number.isFinite(width)) return 0;
  return Math.max(0, ...entries.map(({ value }) => value.length).filter(length => length <= width / 2));
}

/** Returns an entry with its comment, which follows on separate lines if it is long. */
function commented(entry: string, comment: string, width: number): string {
  const line = `${entry}  # ${comment}`;
  if (line.length <= width) return line;
  return [
    entry.trimEnd(),
    ...wrapped(comment, width - '# '.length, 0)
      .split('\n')
      .map(each => `# ${each}`),
  ].join('\n');
}

export const exportDocument: Run = async (context, [file], options) => {
  const routes = await context.client.call('GET /api/routes');
  if (file === undefined || file === '-') {
    showDocument(context, routes, ({ document }) => document.trimEnd());
    return EXIT.ok;
  }
  const text = context.json ? `${JSON.stringify(routes)}\n` : routes.document;
  writeDocument(file, text, { mode: 0o666, force: options.force === true });
  context.say(`Wrote ${routes.entries.length} entries to ${file}.`);
  return EXIT.ok;
};

/** Exits with 1 if the document differs or has unreadable lines, like diff(1). */
export const diff: Run = async (context, [file]) => {
  const preview = await previewOf(context, await readDocument(context, file));
  const same = preview.add.length + preview.remove.length + preview.invalid.length === 0;
  show(context, { ...preview, ok: same }, () => describePreview(context, preview));
  return same ? EXIT.ok : EXIT.failure;
};

export const history: Run = async (context, [id]) => {
  if (id !== undefined && !/^\d{1,9}$/.test(id)) throw usage(`A document has a number, not "${id}".`);
  const query = id === undefined ? {} : { id };
  const answer = await context.client.call('GET /api/routes/history', { query });
  if (id !== undefined) {
    showDocument(context, answer, ({ documents }) => (documents[0]?.document ?? '').trimEnd());
    return EXIT.ok;
  }
  show(context, answer, ({ documents }) => {
    if (documents.length === 0) return 'No document of routes was set yet.';
    const rows = documents.map(each => {
      const mark = each.current ? '*' : each.undo ? '<' : '';
      return [mark, String(each.id), dateTime(each.at), each.cause, `${each.entries} entries`];
    });
    return columns(rows, text => text, context.width);
  });
  if (answer.documents.length)
    context.say('* is set now, < is what "culvert routes undo" goes back to. See one: culvert routes history NUMBER');
  return EXIT.ok;
};

export const presets: Run = async context => {
  const answer = await context.client.call('GET /api/routes/presets');
  const all = answer.presets.map(({ id, entries }) => ({
    id,
    entries: id === 'ssh' ? withOwnSession(context, entries) : entries,
  }));
  show(context, { ...answer, presets: all }, () => {
    const rows = all.flatMap(({ id, entries }) =>
      entries.length ? entries.map(({ value, source }, at) => [at ? '' : id, value, source]) : [[id, 'none found', '']],
    );
    return columns(rows, (text, column) => (column === 2 ? context.style.dim(text) : text), context.width);
  });
  context.say('Add one with: culvert routes add --preset NAME');
  return EXIT.ok;
};

type PresetEntry = RoutesPresets['presets'][number]['entries'][number];

/** Adds the address of this session, whose server may listen on a port that the daemon does not know. */
export function withOwnSession({ env }: Context, entries: readonly PresetEntry[]): PresetEntry[] {
  const own = ownEntry(env);
  return own && !entries.some(({ value }) => value === own.value) ? [own, ...entries] : [...entries];
}

export const simplify: Run = async (context, [file]) => {
  const routes = file === undefined ? await context.client.call('GET /api/routes') : null;
  const document = file === undefined ? null : parseDocument(await readDocument(context, file));
  const mode = document ? document.mode : routes!.mode;
  const entries = document ? valid(document) : routes!.entries.map(({ value }) => canonical(value));
  const shortest = simplified(entries);
  showDocument(
    context,
    { ok: true, mode, before: entries.length, entries: shortest.map(({ kind, value }) => ({ kind, value })) },
    () => [...(mode ? [`mode ${mode}`] : []), ...shortest.map(({ value }) => value)].join('\n'),
  );
  context.say(`${entries.length} entries became ${shortest.length}.`);
  return EXIT.ok;
};

/** @throws Failure with the first unreadable line */
function valid({ lines }: Document): Entry[] {
  const bad = lines.find(({ reason }) => reason !== null);
  if (bad) throw new Failure(`Line ${bad.number}: ${printable(wordMessage(bad.reason!, english))}.`);
  return lines.flatMap(({ entries }) => entries);
}

export function previewOf({ client, env }: Context, document: string): Promise<RoutesPreview> {
  const sshPeer = env.SSH_CONNECTION?.trim().split(/\s+/)[0];
  return client.call('POST /api/routes/preview', { body: { document, ...(sshPeer ? { sshPeer } : {}) } });
}

type Shown = Pick<RoutesPreview, 'add' | 'remove' | 'invalid' | 'duplicates' | 'contained' | 'warnings'> & {
  unchanged?: number;
};

export function describePreview({ style }: Context, preview: Shown): string {
  const { unchanged } = preview;
  const styles: Record<DifferenceKind, (text: string) => string> = {
    invalid: style.red,
    add: style.green,
    remove: style.red,
    duplicate: style.dim,
    contained: style.dim,
  };
  const lines = [
    ...differenceLines(preview, english).map(({ kind, mark, text }) => styles[kind](`${mark} ${printable(text)}`)),
    ...preview.warnings.map(warning => style.yellow(`Warning: ${printable(routeWarning(warning, english))}`)),
  ];
  const total = unchanged === undefined ? [] : [style.bold(differenceTotal({ ...preview, unchanged }, english))];
  return [...lines, ...total].join('\n');
}

export const list: Run = async context => {
  const snapshot = await context.client.call('GET /api/snapshot');
  const split = { ...knownList(snapshot), ...sayOld(context, { splitTunnel: 'split tunnel' }, snapshot) };
  show(context, split, ({ mode, ips, hosts }) => {
    const rows = [
      ...ips.map(({ value, description }) => ['', value, value.includes('/') ? 'range' : 'address', description ?? '']),
      ...hosts.map(({ value, description }) => ['', value, 'host', description ?? '']),
    ];
    if (!rows.length)
      return mode === 'include'
        ? 'Nothing uses WARP. Add a site: culvert routes add HOST'
        : 'Nothing bypasses WARP. Add a site: culvert routes add HOST';
    const title = mode === 'include' ? 'Only these use WARP:' : 'These bypass WARP:';
    const table = columns(rows, (text, column) => (column > 1 ? context.style.dim(text) : text), context.width);
    return `${context.style.bold(title)}\n${table}`;
  });
  return EXIT.ok;
};

export const reset: Run = async (context, _, options) => {
  const isBoth = !options.ips === !options.hosts;
  const keeping = keepingOf(context, options);
  const results = [];
  if (isBoth || options.ips) results.push(await requestKept(context, { action: 'resetSplitIps' }, keeping));
  const hosts: ActionRequest = isBoth ? { action: 'resetSplitHosts', continues: true } : { action: 'resetSplitHosts' };
  if (isBoth || options.hosts) results.push(await requestKept(context, hosts, keeping));
  if (context.json) show(context, { results }, () => '');
  context.say(
    `${isBoth ? 'Addresses and hosts' : options.ips ? 'Addresses' : 'Hosts'} are the defaults of WARP again.`,
  );
  return askToKeep(context, 'routes', keeping);
};

/** Returns the list. @throws Failure if no list was read yet, because an empty list would mean "nothing bypasses WARP" */
function knownList(snapshot: Snapshot): SplitTunnel {
  const split = snapshot.splitTunnel;
  if (split.mode === null && split.ips.length + split.hosts.length === 0)
    throw unknown('split tunnel', 'splitTunnel', snapshot);
  return split;
}

export const why: Run = async (context, [target]) => {
  if (!target?.trim()) throw usage('The target is empty.', 'Name an address, a host name or a URL.');
  const answer = await context.client.call('POST /api/why', { body: { target } });
  show(context, answer, why => describe(context, why));
  // an entry with the host's name is also an answer
  return answer.addresses.length > 0 || answer.nameEntry ? EXIT.ok : EXIT.failure;
};

function describe({ style }: Context, answer: Why): string {
  const { target, fallback } = answer;
  const lines: string[] = [];
  if (fallback) {
    const by = fallback.resolvers.length ? fallback.resolvers.join(', ') : "the system's own name servers";
    lines.push(
      `${target.value} is resolved outside the tunnel by ${by}, because ${fallback.domain} is a fallback domain.`,
    );
  }
  for (const { addresses, way, verdict, because, kernel, disagreement } of whyAnswers(answer, english)) {
    const paint = way === null ? style.dim : way ? style.green : style.yellow;
    const names = addresses.length ? addresses : [target.value];
    lines.push(`${names.map(name => style.bold(printable(name))).join(' ')}  ${paint(verdict)}`);
    if (kernel) lines.push(`  ${printable(kernel)}`);
    lines.push(...because.map(line => style.dim(`  ${printable(line)}`)));
    if (disagreement) lines.push(style.red(`  ${disagreement} See: culvert doctor`));
  }
  return lines.join('\n');
}
