// `culvert split`: the entries that bypass WARP (or, in include mode, use it).
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { ApiError } from '../../../api/client.ts';
import type { ActionRequest, ActionResponse, Snapshot, SplitTunnel } from '../../../api/schema.ts';
import {
  ADD,
  canonical,
  type Entry,
  formatDocument,
  parseDocument,
  parseLine,
  REMOVE,
} from '../../../routes/document.ts';
import { printable } from '../../../system/printable.ts';
import { wordMessage } from '../../../view/message.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show, showDocument } from '../../context.ts';
import { EXIT, Failure, unknown, usage } from '../../errors.ts';
import { askToKeep, keepingOf, performKept } from '../../keep.ts';
import { columns } from '../../terminal/columns.ts';
import { writeDocument } from '../../write-document.ts';

export const list: Run = async context => {
  const split = known(await context.client.call('GET /api/snapshot'));
  show(context, split, ({ mode, ips, hosts }) => {
    const rows = [
      ...ips.map(ip => [ip.value.includes('/') ? 'range' : 'address', ip]),
      ...hosts.map(host => ['host', host]),
    ] as [string, SplitTunnel['ips'][0]][];
    const title = mode === 'include' ? 'Only these use WARP:' : 'These bypass WARP:';
    if (!rows.length) return mode === 'include' ? 'Nothing uses WARP.' : 'Nothing bypasses WARP.';
    const table = rows.map(([kind, { value, description }]) => [`  ${value}`, kind, description ?? '']);
    return `${context.style.bold(title)}\n${columns(
      table.map(([value, ...rest]) => ['', value!, ...rest]),
      (text, column) => (column > 1 ? context.style.dim(text) : text),
      context.width,
    )}`;
  });
  return EXIT.ok;
};

export const add: Run = async (context, words, options) => {
  const entries = words.flatMap(parse);
  const present = valuesOf(await read(context));
  return changing(context, options, async perform => {
    const results = [];
    for (const entry of entries) {
      if (present.has(entry.value)) {
        context.say(`${entry.value} is there already.`);
        continue;
      }
      results.push(await perform({ action: ADD[entry.kind], value: entry.value }));
      present.add(entry.value);
      context.say(`Added ${entry.value}.`);
    }
    if (context.json) show(context, { results }, () => '');
  });
};

export const remove: Run = async (context, words, options) => {
  const entries = words.flatMap(parse);
  const present = valuesOf(known(await context.client.call('GET /api/snapshot')));
  const absent = entries.find(entry => !present.has(entry.value));
  if (absent)
    throw new Failure(`${absent.value} is not in the split tunnel; nothing was removed.`, {
      hint: 'See: culvert split list',
    });
  return changing(context, options, async perform => {
    const results = [];
    for (const { kind, value } of entries) {
      results.push(await perform({ action: REMOVE[kind], value }));
      context.say(`Removed ${value}.`);
    }
    if (context.json) show(context, { results }, () => '');
  });
};

export const reset: Run = async (context, _, options) => {
  const both = !options.ips === !options.hosts;
  return changing(context, options, async perform => {
    const results = [];
    if (both || options.ips) results.push(await perform({ action: 'resetSplitIps' }));
    if (both || options.hosts) results.push(await perform({ action: 'resetSplitHosts' }));
    if (context.json) show(context, { results }, () => '');
    context.say(
      `${both ? 'Addresses and hosts are' : options.ips ? 'Addresses are' : 'Hosts are'} as the tunnel client ships them.`,
    );
  });
};

export const exportList: Run = async (context, [file], options) => {
  const split = known(await context.client.call('GET /api/snapshot'));
  if (file === undefined || file === '-') {
    showDocument(context, split, list => formatDocument(list, () => null).trimEnd());
    return EXIT.ok;
  }
  const text = context.json ? `${JSON.stringify({ ok: true, ...split })}\n` : formatDocument(split, () => null);
  writeDocument(file, text, { mode: 0o666, force: options.force === true });
  context.say(`Wrote ${split.ips.length + split.hosts.length} entries to ${file}.`);
  return EXIT.ok;
};

/** Adds what is missing, line by line; a line that fails is reported and the rest still counts. */
export const importList: Run = async (context, [file], options) => {
  const source = file === undefined || file === '-' ? 'stdin' : file;
  const { lines } = parseDocument(await (source === 'stdin' ? readAll(context.stdin) : readText(source)));
  const present = valuesOf(await read(context));
  const result = { ok: true, added: [] as string[], present: [] as string[], failed: [] as Fault[] };
  const kept = await changing(context, options, async perform => {
    for (const { number, text, entries, reason } of lines) {
      if (context.signal.aborted) break;
      const faults = reason === null ? [] : [wordMessage(reason, english)];
      for (const entry of entries) faults.push(...(await addMissing(perform, entry, present, result)));
      for (const message of faults) {
        result.failed.push({ line: number, text, message });
        context.say(`${source}:${number}: ${printable(message)}`);
      }
    }
    result.ok = result.failed.length === 0;
    if (context.json) show(context, result, () => '');
    context.say(
      `Added ${result.added.length}, already there ${result.present.length}, failed ${result.failed.length}.`,
    );
  });
  if (context.signal.aborted) return EXIT.interrupted;
  return result.ok ? kept : EXIT.failure;
};

type Perform = (action: ActionRequest) => Promise<ActionResponse>;

/** Changes of the list that are kept or taken back together. @returns the exit code */
async function changing(
  context: Context,
  options: Options,
  work: (perform: Perform) => Promise<void>,
): Promise<number> {
  const keeping = keepingOf(context, options);
  try {
    let continues = false;
    await work(async action => {
      const response = await performKept(context, continues ? { ...action, continues } : action, keeping);
      continues = true;
      return response;
    });
  } catch (error) {
    await askToKeep(context, 'routes', { ...keeping, asks: false }); // says that what came before the failure returns
    throw error;
  }
  return context.signal.aborted ? EXIT.interrupted : askToKeep(context, 'routes', keeping);
}

interface Fault {
  line: number;
  text: string;
  message: string;
}

/** Returns what the API says of this entry only; throws what would stop every further line. */
async function addMissing(
  perform: Perform,
  entry: Entry,
  present: Set<string>,
  result: { added: string[]; present: string[] },
): Promise<string[]> {
  if (present.has(entry.value)) {
    result.present.push(entry.value);
    return [];
  }
  try {
    await perform({ action: ADD[entry.kind], value: entry.value });
  } catch (error) {
    const single = error instanceof ApiError && ['argument-rejected', 'tunnel-cli-failed'].includes(error.problem.code);
    if (!single) throw error;
    return [error.problem.stderr?.trim() || error.problem.detail];
  }
  present.add(entry.value);
  result.added.push(entry.value);
  return [];
}

async function read({ client }: Context): Promise<SplitTunnel> {
  return (await client.call('GET /api/snapshot')).splitTunnel;
}

/** The lists are empty before they were ever read, too: that must not pass for "nothing bypasses WARP". */
function known(snapshot: Snapshot): SplitTunnel {
  const split = snapshot.splitTunnel;
  if (split.mode === null && split.ips.length + split.hosts.length === 0)
    throw unknown('split tunnel', 'splitTunnel', snapshot);
  return split;
}

/** The entries of a word; `10.0.0.1-10.0.0.9` has several. */
function parse(word: string): Entry[] {
  const { entries, reason } = parseLine(word);
  if (reason !== null) throw usage(`${wordMessage(reason, english)}.`);
  return entries;
}

/** The canonical values of everything in the split tunnel. */
function valuesOf({ ips, hosts }: SplitTunnel): Set<string> {
  return new Set([...ips, ...hosts].map(({ value }) => canonical(value).value));
}

function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(error => {
    throw new Failure(`${file} can't be read: ${error.message}`, { cause: error });
  });
}
