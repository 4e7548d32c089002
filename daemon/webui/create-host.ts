// Creates the host, which carries out the commands of the browser page, and loads the script of the further pages on demand.
import { signal } from '@preact/signals';
import type { Model } from '../view/client/model.ts';
import { serviceCommand } from '../view/client/service-words.ts';
import type { ClientTask } from '../view/form.ts';
import type { Host } from '../view/host.ts';
import { createChecks, createUpdates } from '../view/pages/requests.ts';
import { runCommand } from '../view/pages/run-command.ts';
import { errorWithDetail } from '../view/states/problems.ts';
import type { App } from './app.ts';
import { chooseText, saveText } from './files.ts';
import { loadFurtherTexts } from './locale.ts';
import { goTo } from './navigation.ts';

/** State that the host shares with the rest of the page. */
type Shared = Pick<App, 'view' | 'client' | 'tr' | 'now' | 'samples' | 'messages'>;

export function createHost(model: Model, shared: Shared): Host {
  const { view, tr, now, messages } = shared;
  const host: Host = {
    model,
    view: () => view.value,
    tr: () => tr.value,
    now: () => now.peek(),
    checks: createChecks(model, () => tr.value, null),
    updates: createUpdates(model),
    isHidden: () => document.hidden,
    figures: () => shared.samples.value,
    desktop: null,
    run: command => runCommand(host, command),
    task: task => runTask(host, shared, task),
    answer: messages.askFor,
    toast: (text, undo) => messages.toast(text, undo && { undo }),
    showError: error => messages.toast(errorWithDetail(error, tr.value), { error: true }),
    open: uri => void open(uri, '_blank', 'noopener,noreferrer'),
    goTo,
    async copy(text) {
      const { _ } = tr.value;
      try {
        await navigator.clipboard.writeText(text);
        host.toast(_('Copied'));
        return true;
      } catch {
        // browsers forbid copying on a page that another machine serves without TLS, so the user copies the text
        void messages.ask({ heading: _('Copy this'), body: '', shell: text, accept: _('Close'), notice: true });
        return false;
      }
    },
    openText: chooseText,
    async saveText(name, text) {
      saveText(name, text);
      return true;
    },
  };
  return host;
}

/** Terminal commands for tasks that a browser can't do. */
const IN_A_TERMINAL: Partial<Record<ClientTask, string>> = {
  'start-daemon': 'culvert',
  'handle-sign-in': 'xdg-mime default org.culvert.Culvert.desktop x-scheme-handler/com.cloudflare.warp',
  'network-settings': 'nmtui',
  portal: 'culvert portal',
  'portal-by-hand': 'culvert portal --open',
};

function commandFor({ view, client }: Shared, name: ClientTask): string | null {
  if (name === 'update-command') return view.value.update.command;
  if (name === 'install-killswitch') return client.value.snapshot?.killSwitch.command ?? null;
  if (name === 'start-service' || name === 'restart-service')
    return serviceCommand(
      name === 'start-service' ? 'start' : 'restart',
      client.value.snapshot?.tunnelCli.serviceManager,
    );
  return IN_A_TERMINAL[name] ?? null;
}

async function runTask(host: Host, shared: Shared, name: ClientTask): Promise<boolean> {
  const { model, checks, updates } = host;
  const { messages } = shared;
  const { _ } = host.tr();
  switch (name) {
    case 'run-checks':
      goTo('checks');
      await checks.run();
      return true;
    case 'try-again':
      model.retry();
      return true;
    case 'shortcuts':
      // all other keys belong to the browser
      void messages.ask({
        heading: _('Keyboard Shortcuts'),
        body: [
          _('Tab: next control'),
          _('Shift+Tab: previous control'),
          _('Enter or Space: use the control'),
          _('Arrow keys: other choices of a group'),
          _('Escape: close a dialog'),
        ].join('\n'),
        accept: _('Close'),
        notice: true,
      });
      return true;
    case 'report':
      void loadFurtherTexts();
      await (await loadScript()).showReport(host, messages);
      return true;
    case 'check-update':
      return updates.check();
    case 'apply-update':
      return updates.apply();
    case 'roll-back':
      return updates.rollBack();
    case 'export-settings':
    case 'apply-settings':
    case 'undo-settings':
      return (await loadScript()).SETTINGS_TASKS[name](host);
    default: {
      const shell = commandFor(shared, name);
      const content = shell ? { body: _('Run this on the computer where Culvert runs:'), shell } : { body: '' };
      void messages.ask({ heading: _('In a terminal'), ...content, accept: _('Close'), notice: true });
      return false;
    }
  }
}

type FurtherPages = typeof import('./pages/index.tsx');

/** The further pages; null until their script is loaded. */
export const furtherPages = signal<FurtherPages | null>(null);
let loading: Promise<FurtherPages> | null = null;

/** Loads the script once. @throws Error if the daemon is gone, or was updated and no longer has the file */
function loadScript(): Promise<FurtherPages> {
  loading ??= import('./pages/index.tsx');
  return loading;
}

/** Loads the pages into `furtherPages`, and their texts. @throws Error as `loadScript` does */
export async function loadFurtherPages(): Promise<void> {
  const [pages] = await Promise.all([loadScript(), loadFurtherTexts()]);
  furtherPages.value = pages;
}

/** Loads the pages. If that fails, reloads the whole page as soon as a daemon answers: no further page is open yet. */
export async function openFurtherPages(app: App): Promise<void> {
  try {
    await loadFurtherPages();
  } catch {
    const { model } = app.host;
    const reload = () => {
      if (model.state().offline !== null) return;
      unsubscribe();
      location.reload();
    };
    const unsubscribe = model.subscribe(reload);
    reload();
  }
}
