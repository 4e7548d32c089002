// Holds the state of the routes editor: the text with its preview, the presets, and earlier documents.
import type { Routes, RoutesHistory, RoutesPresets, RoutesPreview, RoutesProgress } from '../../api/routes.ts';
import { CONFIRM_SECONDS } from '../form.ts';
import type { Model } from './model.ts';

export interface EditorState {
  /** The text in the field. */
  text: string;
  /** The current list at the last read, or null before the first read. */
  routes: Routes | null;
  /** The difference that the text makes, or null after a change of the text. */
  preview: RoutesPreview | null;
  presets: RoutesPresets['presets'];
  documents: RoutesHistory['documents'];
  busy: 'previewing' | 'setting' | null;
  /** Progress while any client sets a list. */
  progress: RoutesProgress | null;
}

export interface RoutesEditor {
  state(): EditorState;
  /** Takes the text that the user types. */
  type(text: string): void;
  /** Reads the current list, and keeps a changed text. @throws ApiError, Unreachable, like the methods below */
  read(): Promise<void>;
  /** Previews the changes that the text would make. */
  preview(): Promise<void>;
  /** Sets the previewed list, which reverts unless the user confirms it. Resolves after the list is set. */
  apply(): Promise<void>;
  /** Sets the previous document, which reverts unless the user confirms it. */
  undo(): Promise<void>;
  /** Adds the entries of a preset to the text. */
  addPreset(id: string): void;
  /** Replaces the text with a file's text. */
  load(text: string): void;
  /** Replaces the text with an earlier document. */
  open(id: number): Promise<void>;
  /** Restores the text of the current list. */
  discard(): void;
  close(): void;
}

/** @param changed called after every change of the state. */
export function createRoutesEditor(
  { call, onEvent }: Pick<Model, 'call' | 'onEvent'>,
  changed: () => void,
): RoutesEditor {
  let state: EditorState = {
    text: '',
    routes: null,
    preview: null,
    presets: [],
    documents: [],
    busy: null,
    progress: null,
  };

  function update(change: Partial<EditorState>): void {
    state = { ...state, ...change };
    changed();
  }

  let cause: 'edit' | 'import' = 'edit';
  const type = (text: string) => {
    if (text !== state.text) update({ text, preview: null });
  };

  async function read(): Promise<void> {
    const [routes, { presets }, { documents }] = await Promise.all([
      call('GET /api/routes'),
      call('GET /api/routes/presets'),
      call('GET /api/routes/history', { query: {} }),
    ]);
    const text = state.text === (state.routes?.document ?? '') ? routes.document : state.text;
    // the preview is valid only for this text and this list
    const same = text === state.text && state.preview?.revision === routes.revision;
    update({ routes, presets, documents, text, preview: same ? state.preview : null });
  }

  /** Runs one request at a time, which the buttons show. The end of a request and its change appear together. */
  async function during(
    busy: 'previewing' | 'setting',
    work: () => Promise<Partial<EditorState> | undefined>,
  ): Promise<void> {
    if (state.busy) return;
    update({ busy });
    let change: Partial<EditorState> | undefined;
    try {
      change = await work();
    } finally {
      update({ ...change, busy: null, progress: null });
    }
  }

  /** Sets a list, and then shows it as the text. */
  async function set(work: () => Promise<unknown>): Promise<void> {
    await during('setting', async () => {
      await work();
      discard();
      await read();
      return undefined;
    });
  }

  function discard(): void {
    cause = 'edit';
    type(state.routes?.document ?? '');
  }

  const unsubscribe = onEvent(({ event, data }) => {
    if (event === 'routes') update({ progress: data.phase === 'done' ? null : data });
    // the stream reports a lost daemon
    if (event === 'splitTunnel' && state.routes && state.busy !== 'setting') read().catch(() => {});
  });

  return {
    state: () => state,
    type,
    read,
    close: unsubscribe,

    preview: () =>
      during('previewing', async () => {
        const document = state.text;
        const preview = await call('POST /api/routes/preview', { body: { document } });
        return state.text === document ? { preview } : undefined;
      }),

    async apply() {
      const { preview, text: document } = state;
      if (!preview) return;
      const limits = { ifRevision: preview.revision, confirmWithin: CONFIRM_SECONDS };
      await set(() => call('POST /api/routes', { body: { document, cause, ...limits } }));
    },

    undo: () => set(() => call('POST /api/routes/undo', { body: { confirmWithin: CONFIRM_SECONDS } })),

    addPreset(id) {
      const entries = missingEntries(state, id).map(({ value, source }) => `${value}  # ${id}, ${source}\n`);
      const { text } = state;
      type((text === '' || text.endsWith('\n') ? text : `${text}\n`) + entries.join(''));
    },

    async open(id) {
      const { documents } = await call('GET /api/routes/history', { query: { id: String(id) } });
      type(documents[0]?.document ?? '');
    },

    load(text) {
      cause = 'import';
      type(text);
    },

    discard,
  };
}

/** Returns the entries of a preset that are not in the text. */
export function missingEntries({ presets, text }: EditorState, id: string): { value: string; source: string }[] {
  const lines = linesOf(text);
  return presets.find(preset => preset.id === id)?.entries.filter(({ value }) => !lines.has(value)) ?? [];
}

/** The lines of the last text, cached because every preset of every view needs them. */
let last: { text: string; lines: ReadonlySet<string> } = { text: '', lines: new Set() };

/** Returns the entries of a text: its lines without comments. */
function linesOf(text: string): ReadonlySet<string> {
  if (last.text === text) return last.lines;
  const lines = text.split('\n').map(line => {
    const comment = line.indexOf('#');
    return (comment < 0 ? line : line.slice(0, comment)).trim();
  });
  last = { text, lines: new Set(lines) };
  return last.lines;
}
