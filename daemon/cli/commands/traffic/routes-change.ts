// Runs `culvert routes edit|import|add|remove|undo`, which change the split tunnel as a document after a preview.
import type { Routes, RoutesPreview, RoutesRequest, RoutesResponse } from '../../../api/routes.ts';
import { printable } from '../../../core/printable.ts';
import { addedTo, canonical, type Entry, parseDocument, parseLine, removedFrom } from '../../../routes/document.ts';
import { wordMessage } from '../../../view/message.ts';
import { english } from '../../../view/translator.ts';
import { type Context, type Options, type Run, show } from '../../context.ts';
import { consent, createProgress, isAttended } from '../../dialog.ts';
import { editDocument, readDocument } from '../../document.ts';
import { Failure, usage } from '../../errors.ts';
import { askToKeep, type Keeping, keepingOf, limited } from '../../keep.ts';
import { describePreview, previewOf, withOwnSession } from './routes.ts';

/** Number of tunnel CLI runs from which progress is shown. */
const MANY = 20;

const NO_ENTRY = 'Name an address, a range or a host, or a preset with --preset.';
const UNREADABLE = 'Some lines of the document are not valid. Nothing was changed.';

type Cause = NonNullable<RoutesRequest['cause']>;

export const importDocument: Run = async (context, [file], options) => {
  const document = await readDocument(context, file);
  if (options.add) return addDocument(context, document, options);
  return apply(context, { document, cause: 'import', options, asks: 'always' });
};

/** Adds a document's entries to the list. @throws Failure for unreadable lines, or a document of the other mode */
async function addDocument(context: Context, document: string, options: Options): Promise<number> {
  const { mode, lines } = parseDocument(document);
  const routes = await context.client.call('GET /api/routes');
  if (mode && routes.mode && mode !== routes.mode)
    throw new Failure(`The document has mode ${mode}, and the list has mode ${routes.mode}. Nothing was changed.`, {
      hint: 'Remove its line "mode", or replace the list with: culvert routes import FILE',
    });
  const invalid = lines.filter(({ reason }) => reason !== null);
  if (invalid.length) {
    for (const { number, reason } of invalid)
      context.say(`Line ${number}: ${printable(wordMessage(reason!, english))}`);
    throw new Failure(UNREADABLE);
  }
  const entries = lines.flatMap(({ entries, comment }) => entries.map(({ value }) => ({ value, comment })));
  return apply(context, {
    document: addedTo(routes.document, entries),
    cause: 'import',
    options,
    asks: 'warnings',
    routes,
  });
}

export const edit: Run = async (context, _, options) => {
  if (!isAttended(context))
    throw usage('An editor needs a terminal.', 'Give the document as a file instead: culvert routes import FILE');
  const { document, readOnly } = await context.client.call('GET /api/routes');
  if (readOnly) throw new Failure('Your organization manages the split tunnel, so you can’t change it here.');
  return editDocument(context, {
    document,
    file: ['routes', 'txt'],
    command: 'culvert routes import',
    async apply(text) {
      const preview = await previewOf(context, text);
      if (preview.invalid.length === 0)
        return apply(context, { document: text, cause: 'edit', options, asks: 'always' });
      context.say(describePreview(context, preview));
      return null;
    },
  });
};

export const add: Run = async (context, words, options) => {
  if (words.length === 0 && options.preset === undefined)
    throw usage(NO_ENTRY, 'Example: culvert routes add 10.0.0.0/8');
  const routes = await context.client.call('GET /api/routes');
  const entries = words.flatMap(entriesOf);
  const preset = options.preset === undefined ? [] : await presetEntries(context, String(options.preset), routes);
  const document = addedTo(routes.document, [
    ...entries.map(({ value }) => ({ value, comment: null })),
    ...preset.map(({ value, source }) => ({ value, comment: `${options.preset}, ${source}` })),
  ]);
  return apply(context, { document, cause: preset.length ? 'preset' : 'add', options, asks: 'warnings', routes });
};

export const remove: Run = async (context, words, options) => {
  const routes = await context.client.call('GET /api/routes');
  const values = words.flatMap(entriesOf).map(({ value }) => value);
  const present = new Set(routes.entries.map(entry => canonical(entry.value).value));
  const absent = values.find(value => !present.has(value));
  if (absent !== undefined)
    throw new Failure(`${absent} is not in the list; nothing was removed.`, { hint: 'See: culvert routes' });
  const document = removedFrom(routes.document, new Set(values));
  return apply(context, { document, cause: 'remove', options, asks: 'warnings', routes });
};

export const undo: Run = async (context, _, options) => {
  const keeping = keepingOf(context, options);
  const response = await withProgress(context, MANY, () =>
    context.client.call('POST /api/routes/undo', { body: limited(keeping) }),
  );
  return conclude(context, response, keeping);
};

interface Wanted {
  document: string;
  cause: Cause;
  options: Options;
  /** Condition for a question before applying, at a terminal: always, or with warnings. */
  asks: 'always' | 'warnings';
  /** The list that the document is based on. */
  routes?: Routes;
}

async function apply(context: Context, { document, cause, options, asks, routes }: Wanted): Promise<number> {
  const keeping = keepingOf(context, options);
  const preview = await previewOf(context, document);
  if (preview.invalid.length) {
    context.say(describePreview(context, preview));
    throw new Failure(UNREADABLE);
  }
  const { add, remove, warnings } = preview;
  const warned = describePreview(context, { ...EMPTY, warnings });
  const question = 'Apply changes?';
  const isShown = isAttended(context) && options.yes !== true && (asks === 'always' || warnings.length > 0);
  if (isShown && add.length + remove.length > 0) {
    await consent(context, options, { consequence: describePreview(context, preview), question });
  } else {
    if (warned) context.say(warned);
    // otherwise a script could remove entries unnoticed
    const consequence = `The document replaces the whole list: it adds ${add.length} and removes ${remove.length}.`;
    if (asks === 'always' && remove.length > 0 && !isAttended(context) && !keeping.isWanted)
      await consent(context, options, { consequence, question });
  }
  const ifRevision = routes?.revision ?? preview.revision;
  const body = { document, cause, ifRevision, ...limited(keeping) };
  const response = await withProgress(context, preview.calls, () => context.client.call('POST /api/routes', { body }));
  return conclude(context, response, keeping);
}

async function conclude(context: Context, response: RoutesResponse, keeping: Keeping): Promise<number> {
  if (context.json) show(context, response, () => '');
  const { added, removed } = response;
  context.say(added + removed ? `Added ${added}, removed ${removed}.` : 'The list is as it was.');
  return askToKeep(context, 'routes', keeping);
}

const EMPTY: Pick<RoutesPreview, 'add' | 'remove' | 'invalid' | 'duplicates' | 'contained'> = {
  add: [],
  remove: [],
  invalid: [],
  duplicates: [],
  contained: [],
};

/** Shows progress, because a change may take many runs of the tunnel CLI. */
async function withProgress<T>(context: Context, calls: number, work: () => Promise<T>): Promise<T> {
  if (calls < MANY || context.json) return work();
  const stream = await context.client.events(undefined, ['routes']);
  const progress = createProgress(context);
  const follow = async () => {
    for await (const { event, data } of stream.events) {
      if (event !== 'routes') continue;
      const verb = data.phase === 'rolling-back' ? 'Restoring the previous list' : 'Setting the list';
      if (context.stderr.isTTY || (data.total > 500 && data.done % 500 === 0))
        progress.step(`${verb}: ${data.done} of ${data.total}`);
    }
  };
  follow().catch(() => {}); // the reply reports the outcome
  try {
    return await work();
  } finally {
    stream.close();
    progress.end();
  }
}

function entriesOf(word: string): Entry[] {
  const { entries, reason } = parseLine(word);
  if (reason !== null) throw usage(`${wordMessage(reason, english)}.`);
  return entries;
}

async function presetEntries(context: Context, id: string, { mode }: Routes) {
  const { presets } = await context.client.call('GET /api/routes/presets');
  const preset = presets.find(each => each.id === id);
  if (!preset) throw usage(`There is no preset "${id}".`, `Choose one of: ${presets.map(each => each.id).join(', ')}`);
  const isSsh = preset.id === 'ssh';
  if (isSsh && mode === 'include')
    throw new Failure('Only listed addresses use WARP here, so an entry would send the SSH session into the tunnel.', {
      hint: 'Nothing needs to be added for a session whose address is not listed.',
    });
  const entries = isSsh ? withOwnSession(context, preset.entries) : preset.entries;
  if (entries.length === 0) throw new Failure(`Nothing of ${id} was found on this machine.`);
  return entries;
}
