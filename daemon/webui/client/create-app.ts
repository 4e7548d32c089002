// Makes what the whole page shares: signals that follow the daemon's state, messages, and what carries out commands.
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { LogEntry } from '../../api/schema.ts';
import { createHistory, type Sample } from '../../view/client/history.ts';
import type { Model } from '../../view/client/model.ts';
import { createRing } from '../../view/log.ts';
import { errorWithDetail } from '../../view/states/problems.ts';
import type { Translator } from '../../view/translator.ts';
import { describe } from '../../view/view.ts';
import { createRunner } from '../tasks/client-tasks.ts';
import type { App, DialogContent, OpenDialog, Toast } from './app.ts';
import { followChecks } from './checks.ts';

/** Lines of the log that the page keeps. */
const LOG_LINES = 10_000;

/** @param tr the first language; a change of the configuration may bring another. */
export function createApp(model: Model, tr: Translator, page: App['page']): App {
  const client = signal(model.state());
  const language = signal(tr);
  const staleSince = signal<number | null>(Date.now());
  const newer = signal<string | null>(null);
  const messages = createMessages();
  model.subscribe(() => {
    const state = model.state();
    // the first daemon that answers is the one that served this page
    if (client.value.snapshot && client.value.offline && !state.offline) void compareVersions(model, newer);
    if (!state.offline) staleSince.value = null;
    else staleSince.value ??= Date.now();
    client.value = state;
  });
  const app: App = {
    model,
    client,
    tr: language,
    page,
    staleSince,
    newer,
    ...messages,
    ...followFigures(model),
    view: computed(() => describe(client.value, __VERSION__, language.value)),
    now: signal(Date.now()),
    ...followLog(model),
    ...followChecks(model),
    readOnly: followRights(model),
    showError(error) {
      messages.toast(errorWithDetail(error, language.value), { error: true });
    },
    run: command => run(command),
  };
  const run = createRunner(app);
  return app;
}

function createMessages() {
  const toasts = signal<readonly Toast[]>([]);
  const dialog = signal<OpenDialog | null>(null);
  let nextId = 1;
  function askFor(content: DialogContent): Promise<string[] | null> {
    dialog.value?.answer(null);
    return new Promise(resolve => {
      const answer = (given: string[] | null) => {
        dialog.value = null;
        resolve(given);
      };
      dialog.value = { content, answer };
    });
  }
  return {
    toasts,
    dialog,
    toast(text: string, { error = false, undo }: { error?: boolean; undo?: () => void } = {}) {
      toasts.value = [...toasts.value.slice(-2), { id: nextId++, text, error, undo: undo ?? null }];
    },
    dismiss(id: number) {
      toasts.value = toasts.value.filter(toast => toast.id !== id);
    },
    ask: async (content: DialogContent) => (await askFor(content)) !== null,
    askFor,
  };
}

/** The figures of the tunnel as they come; a new connection starts over. */
function followFigures(model: Model) {
  const history = createHistory();
  const samples = signal<Sample[]>([]);
  const add = () => {
    const tunnel = model.state().snapshot?.tunnel;
    if (tunnel) history.add(tunnel);
    samples.value = history.samples();
  };
  model.onEvent(({ event, data }) => {
    if (event === 'status' && data.state !== 'connected') history.clear();
    if (event === 'tunnel' || event === 'snapshot' || event === 'status') add();
  });
  return { samples };
}

/** The command log: when it is first opened, the entries that the daemon kept, then each new one. */
function followLog(model: Model) {
  const ring = createRing(LOG_LINES);
  const log = signal<readonly LogEntry[]>([]);
  const add = (entries: LogEntry[]) => {
    ring.add(entries);
    log.value = ring.entries();
  };
  /** What came by event since the newest read began; null while none is under way. */
  let arrived: LogEntry[] | null = null;
  const read = async () => {
    const last = log.value.at(-1)?.id ?? 0;
    const meanwhile: LogEntry[] = [];
    arrived = meanwhile;
    try {
      const { entries } = await model.call('GET /api/logs', { query: {} });
      // a daemon that was restarted counts from the beginning
      if ((entries.at(-1)?.id ?? 0) < last) ring.reset(LOG_LINES, meanwhile);
      add(entries);
    } catch {
      // the stream reports that the daemon is gone
    } finally {
      if (arrived === meanwhile) arrived = null;
    }
  };
  /** Id of the oldest read that came without its output, as the page's stream brings it; null where none is missing. */
  let missing: number | null = null;
  let reading = false;
  const readMissing = async () => {
    if (reading) return;
    reading = true;
    try {
      while (missing !== null) {
        const since = String(missing - 1);
        missing = null;
        add((await model.call('GET /api/logs', { query: { since } })).entries);
      }
    } catch {
      // as above
    } finally {
      reading = false;
    }
  };
  let followed = false;
  model.onEvent(({ event, data }) => {
    if (!followed) return;
    if (event === 'log' && data.source === 'read') {
      missing ??= data.id;
      void readMissing();
    } else if (event === 'log') {
      arrived?.push(data);
      add([data]);
    }
    if (event === 'snapshot') void read();
  });
  return {
    log,
    loadLog() {
      if (!followed) void read();
      followed = true;
    },
  };
}

/** Whether this device may only read, asked again whenever a stream begins. On this machine everything is allowed. */
function followRights(model: Model): ReadonlySignal<boolean> {
  const readOnly = signal(false);
  const read = async () => {
    try {
      readOnly.value = (await model.call('GET /api/session')).rights === 'read';
    } catch {
      // as above
    }
  };
  model.onEvent(({ event, data }) => {
    if (event === 'snapshot' && data.remoteAccess) void read();
  });
  return readOnly;
}

/** A daemon that was updated underneath serves another page than this one. */
async function compareVersions(model: Model, newer: Signal<string | null>): Promise<void> {
  try {
    const { version } = await model.call('GET /api/health');
    newer.value = version === __VERSION__ ? null : version;
  } catch {
    // as above
  }
}
