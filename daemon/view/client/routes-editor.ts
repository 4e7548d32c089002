// Edits the split tunnel as a document: the text with its preview, the presets, and earlier documents.
import type { Routes, RoutesHistory, RoutesPresets, RoutesPreview, RoutesProgress } from '../../api/routes.ts';
import { CONFIRM_SECONDS } from '../form.ts';
import type { Model } from './model.ts';

export interface EditorState {
  /** In the field. */
  text: string;
  /** The list that is set, as it was last read; null before. */
  routes: Routes | null;
  /** The text's difference; null once the text was changed. */
  preview: RoutesPreview | null;
  presets: RoutesPresets['presets'];
  documents: RoutesHistory['documents'];
  busy: 'previewing' | 'setting' | null;
  /** Progress of a list that is being set, by any client. */
  progress: RoutesProgress | null;
}

export interface RoutesEditor {
  state(): EditorState;
  /** The text as it is typed. */
  type(text: string): void;
  /** Reads what is set; a text that was changed stays. @throws ApiError, Unreachable, as do the following */
  read(): Promise<void>;
  /** Finds what the text would change. */
  preview(): Promise<void>;
  /** Sets the previewed list, which reverts unless it is confirmed. Resolves once it is set. */
  apply(): Promise<void>;
  /** Sets the previous document, which reverts unless it is confirmed. */
  undo(): Promise<void>;
  /** Adds the entries of a preset to the text. */
  addPreset(id: string): void;
  /** Replaces the text by that of a file. */
  load(text: string): void;
  /** Replaces the text by an earlier document. */
  open(id: number): Promise<void>;
  /** Goes back to the text of the list that is set. */
  discard(): void;
  close(): void;
}

/** @param changed is called after every change of the state. */
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
    // the preview is of this text and this list only
    const same = text === state.text && state.preview?.revision === routes.revision;
    update({ routes, presets, documents, text, preview: same ? state.preview : null });
  }

  /** One request at a time; the buttons show it. What it changes is shown together with its end. */
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

  /** Shows the list that was set as the text. */
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
    // the stream reports that the daemon is gone
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

/** The entries of a preset that no line of the text begins with. */
export function missingEntries({ presets, text }: EditorState, id: string): { value: string; source: string }[] {
  const lines = linesOf(text);
  return presets.find(preset => preset.id === id)?.entries.filter(({ value }) => !lines.has(value)) ?? [];
}

/** The lines of the last text, which every preset of every view asks for. */
let last: { text: string; lines: ReadonlySet<string> } = { text: '', lines: new Set() };

/** Entries of a text: its lines without comments. */
function linesOf(text: string): ReadonlySet<string> {
  if (last.text === text) return last.lines;
  const lines = text.split('\n').map(line => {
    const comment = line.indexOf('#');
    return (comment < 0 ? line : line.slice(0, comment)).trim();
  });
  last = { text, lines: new Set(lines) };
  return last.lines;
}
