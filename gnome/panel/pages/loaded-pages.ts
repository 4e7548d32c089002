// Pages of forms that show more than the event stream brings: account, networks, checks, updates.
import type { Account } from '../../../daemon/api/schema.ts';
import { createRuleEditor, type RuleEditor } from '../../../daemon/view/client/rule-editor.ts';
import { clientCommand } from '../../../daemon/view/form.ts';
import { accountForm } from '../../../daemon/view/forms/account.ts';
import { checksForm, type ServiceTask } from '../../../daemon/view/forms/checks.ts';
import { parseReport } from '../../../daemon/view/forms/parse-report.ts';
import { type DesktopFacts, preferencesForm, UNKNOWN_DESKTOP } from '../../../daemon/view/forms/preferences.ts';
import { READ_NETWORKS_MS } from '../../../daemon/view/forms/tunnel/network-rules.ts';
import { type CurrentNetwork, networksForm } from '../../../daemon/view/forms/tunnel/networks.ts';
import { updatesForm } from '../../../daemon/view/forms/updates.ts';
import { type ChecksState, NO_CHECKS, receiveProgress, receiveReport } from '../../../daemon/view/states/findings.ts';
import { errorText } from '../../../daemon/view/states/problems.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import { culvertProgram } from '../../install-paths.ts';
import {
  currentNetwork,
  hasShortcuts,
  hasTrayHost,
  NotAllowed,
  repairProgram,
  runProgram,
  runRepair,
  watchAutostart,
  watchNetwork,
} from '../desktop.ts';
import type { Shell } from '../shell.ts';
import { signInProgram } from '../sign-in.ts';
import { FormPage } from '../widgets/rows/form-page.ts';

/** The account's details are read when the page is turned to and when the registration changes. */
export function accountPage(shell: Shell): FormPage {
  let account: Account | null = null;
  let read: string | null = null;
  const page = new FormPage(shell, view => {
    const summary = view.client.offline ? null : JSON.stringify(view.client.snapshot?.account ?? null);
    if (summary !== null && summary !== read) {
      read = summary;
      void load();
    }
    return accountForm(view.client, account, tr, signInProgram());
  });
  const load = async () => {
    try {
      account = await shell.model.call('GET /api/account');
    } catch {
      // the summary of the snapshot stays
      account = null;
    }
    page.refresh(shell.view());
  };
  return Object.assign(page, { reload: () => void load() });
}

export function networksPage(shell: Shell): FormPage {
  let network: CurrentNetwork | null = null;
  /** When the daemon was asked to follow the networks, in ms since the epoch. */
  let askedAt = 0;
  const editor: RuleEditor = createRuleEditor(shell.model, () => page.refresh(shell.view()));
  const page: FormPage = new FormPage(
    shell,
    ({ client, tunnel }) => {
      const now = Date.now();
      if (!client.offline && now - askedAt > READ_NETWORKS_MS) {
        askedAt = now;
        // the answer comes as an event; an older daemon has no such request
        shell.model.call('GET /api/networks').catch(() => {});
      }
      return networksForm(client, { settable: tunnel.settable, network, now, editor }, tr);
    },
    true,
  );
  const load = async () => {
    network = await currentNetwork();
    page.refresh(shell.view());
  };
  // the trusted network must be the one in use
  const watch = watchNetwork(() => void load());
  void load();
  return Object.assign(page, { reload: () => void load(), close: watch });
}

/** Its switch for the start at login shows the entry that the desktop reads, which the user may have changed elsewhere. */
export function preferencesPage(shell: Shell): FormPage {
  let facts: DesktopFacts = UNKNOWN_DESKTOP;
  const page = new FormPage(shell, ({ client }) => preferencesForm(client, facts, tr));
  const show = (change: Partial<DesktopFacts>) => {
    facts = { ...facts, ...change };
    page.refresh(shell.view());
  };
  const watch = watchAutostart(autostart => show({ autostart }));
  const load = async () => {
    void hasShortcuts().then(shortcuts => show({ shortcuts }));
    show({ tray: await hasTrayHost() });
  };
  void load();
  return Object.assign(page, { reload: () => void load(), close: watch });
}

export interface ChecksPage {
  page: FormPage;
  run(): Promise<void>;
}

/** Findings of the daemon's checks as they come; without a daemon, the output of `culvert doctor` at its end. */
export function checksPage(shell: Shell): ChecksPage {
  let state: ChecksState = NO_CHECKS;
  const { model } = shell;
  let program = repairProgram();
  let repairing = false;
  const service = async (task: ServiceTask) => {
    if (await shell.run(clientCommand(task))) await runChecks();
  };
  const root = async (argv: readonly string[]) => {
    if (repairing || !program) return;
    repairing = true;
    try {
      await runRepair(argv, program);
    } catch (error) {
      if (!(error instanceof NotAllowed)) throw error;
      // the commands are then shown in the open
      if (!error.canAsk) program = null;
      shell.toast(error.message);
      return;
    } finally {
      repairing = false;
      page.refresh(shell.view());
    }
    await runChecks();
  };
  const page = new FormPage(shell, ({ client }) =>
    checksForm(
      state,
      { offline: client.offline !== null, repair: { service, root: program === null ? null : root } },
      tr,
    ),
  );
  const show = (next: ChecksState) => {
    state = next;
    page.refresh(shell.view());
  };
  const unsubscribe = model.onEvent(({ event, data }) => {
    if (event === 'doctor') show(receiveProgress(state, data));
  });
  const read = async () => {
    if (!shell.view().client.offline) return receiveReport(await model.call('POST /api/doctor', { body: {} }));
    show({ ...state, running: { completed: 0, total: 0 } });
    const program = culvertProgram();
    if (!program) throw new Error(_('The program “culvert” was not found. Install Culvert again.'));
    return receiveReport(parseReport(await runProgram([program, 'doctor', '--json'], null, true)));
  };
  const runChecks = async () => {
    if (state.running) return;
    try {
      show(await read());
    } catch (error) {
      show({ ...state, running: null, failed: errorText(error, tr) });
    }
  };
  return { page: Object.assign(page, { opened: () => void runChecks(), close: unsubscribe }), run: runChecks };
}

export interface UpdatesPage {
  page: FormPage;
  check(): Promise<void>;
  apply(): Promise<void>;
  rollBack(): Promise<void>;
}

export function updatesPage(shell: Shell): UpdatesPage {
  let waiting: 'check' | 'change' | null = null;
  const page = new FormPage(shell, ({ update, client }: View) =>
    updatesForm(update, { offline: client.offline !== null, waiting }, tr),
  );
  /** One request at a time; the buttons show it. */
  const during = async (what: 'check' | 'change', work: () => Promise<void>) => {
    if (waiting) return;
    waiting = what;
    page.refresh(shell.view());
    try {
      await work();
    } finally {
      waiting = null;
      page.refresh(shell.view());
    }
  };
  const restart = () => shell.toast(_('Close and open this window to use it'));
  const check = () => during('check', async () => void (await shell.model.checkUpdate()));
  const opened = () => {
    const { client } = shell.view();
    if (!client.update && !client.offline) void check().catch(shell.showError);
  };
  return {
    page: Object.assign(page, { opened }),
    check,
    apply: () =>
      during('change', async () => {
        await shell.model.call('POST /api/update/apply', { body: {} });
        restart();
      }),
    rollBack: () =>
      during('change', async () => {
        await shell.model.call('POST /api/update/rollback', { body: {} });
        restart();
      }),
  };
}
