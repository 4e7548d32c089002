// Creates the state that the whole page shares, and keeps it in step with the daemon.
import { computed, type Signal, signal } from '@preact/signals';
import type { Model } from '../view/client/model.ts';
import { gatherFigures, type Sample } from '../view/graph.ts';
import type { Translator } from '../view/translator.ts';
import { describe } from '../view/view.ts';
import type { App, DialogContent, Messages, OpenDialog, Toast } from './app.ts';
import { createHost } from './create-host.ts';

/** @param tr translator of the initial language; the configuration may change the language later */
export function createApp(model: Model, tr: Translator, page: App['page']): App {
  const client = signal(model.state());
  const language = signal(tr);
  const staleSince = signal<number | null>(Date.now());
  const newer = signal<string | null>(null);
  const figures = gatherFigures(model);
  const samples = signal<readonly Sample[]>(figures.samples());
  model.subscribe(() => {
    const state = model.state();
    // the first daemon to answer served this page: no comparison
    if (client.value.snapshot && client.value.offline && !state.offline) void compareVersions(model, newer);
    if (!state.offline) staleSince.value = null;
    else staleSince.value ??= Date.now();
    client.value = state;
    samples.value = figures.samples();
  });
  const shared: Omit<App, 'host'> = {
    client,
    tr: language,
    page,
    staleSince,
    newer,
    messages: createMessages(),
    samples,
    view: computed(() => describe(client.value, __VERSION__, language.value)),
    now: signal(Date.now()),
  };
  return { ...shared, host: createHost(model, shared) };
}

/** Sets `newer` if the daemon's version differs from the page's, since the daemon now serves a different page. */
async function compareVersions(model: Model, newer: Signal<string | null>): Promise<void> {
  try {
    const { version } = await model.call('GET /api/health');
    newer.value = version === __VERSION__ ? null : version;
  } catch {
    // the stream reports that the daemon is gone
  }
}

/** Creates the page's toasts and its only dialog. */
function createMessages(): Messages {
  const toasts = signal<readonly Toast[]>([]);
  const dialog = signal<OpenDialog | null>(null);
  let nextId = 1;
  function askFor(content: DialogContent): Promise<string[] | null> {
    dialog.value?.answer(null);
    return new Promise(resolve => {
      const answer = (secrets: string[] | null) => {
        dialog.value = null;
        resolve(secrets);
      };
      dialog.value = { id: nextId++, content, answer };
    });
  }
  return {
    toasts,
    dialog,
    toast(text, { error = false, undo } = {}) {
      toasts.value = [...toasts.value.slice(-2), { id: nextId++, text, error, undo: undo ?? null }];
    },
    dismiss(id) {
      toasts.value = toasts.value.filter(toast => toast.id !== id);
    },
    ask: async content => (await askFor(content)) !== null,
    askFor,
  };
}
