// Defines the pages that are forms, and the data that each page reads while visible. `page-list.ts` has their titles.
import type { ClientState } from '../client/client-state.ts';
import { clientCommand, type Form, workCommand } from '../form.ts';
import { formatCount } from '../format.ts';
import { accountForm, joinCommand } from '../forms/account.ts';
import { checksForm, type ServiceTask } from '../forms/checks.ts';
import { type DesktopFacts, preferencesForm, UNKNOWN_DESKTOP } from '../forms/preferences.ts';
import type { Ordering } from '../forms/tool-account-rows.ts';
import { READ_AGAIN_MS, toolAccountsForm } from '../forms/tool-accounts.ts';
import { trustForm } from '../forms/trust.ts';
import { dnsForm } from '../forms/tunnel/dns.ts';
import { killSwitchForm, NOT_READ, READ_BLOCKED_MS, recordsBlocked } from '../forms/tunnel/killswitch.ts';
import { advancedForm, modeForm } from '../forms/tunnel/modes.ts';
import { networksForm } from '../forms/tunnel/networks.ts';
import { updatesForm } from '../forms/updates.ts';
import { seenCommand, WELCOME_STEPS, welcomeStep } from '../forms/welcome.ts';
import type { Host } from '../host.ts';
import type { PageName } from '../page-list.ts';
import type { ChecksState } from '../states/findings.ts';
import { fill, type Translator } from '../translator.ts';
import type { View } from '../view.ts';
import { appsPage } from './apps.ts';
import { historyPage } from './history.ts';
import { networksPage } from './networks.ts';
import { type Page, reading } from './page.ts';
import { editorPage, routesPage } from './routes.ts';

interface PageDefinition {
  open: Page;
  /** Builds the form from the state alone, for a search; absent for pages that a search skips. */
  searched?(view: View, tr: Translator, checks: ChecksState): Form;
}

/** Defines a page that depends on the state alone. */
function ofState(form: (view: View, tr: Translator) => Form): PageDefinition {
  return { open: host => ({ form: view => form(view, host.tr()) }), searched: form };
}

/** The kill switch page, which reads the blocked traffic while visible. */
const killSwitchPage: Page = (host, changed) => {
  const blocked = reading(host, changed, {
    read: () => host.model.call('GET /api/killswitch/blocked'),
    everyMs: READ_BLOCKED_MS,
    when: ({ killSwitch }) => killSwitch.installed,
  });
  return {
    ticks: true,
    form(view) {
      const { value: list, failed } = blocked.now(view);
      const records = recordsBlocked(view.client);
      return killSwitchForm(view.killSwitch, host.now(), host.tr(), { list, failed, records });
    },
    close: blocked.close,
  };
};

/**
 * The account page, which reads the details whenever it is opened and when the registration changes. In a desktop app, a
 * Culvert in the app menu finishes the sign-in to an organization.
 */
const accountPage: Page = (host, changed) => {
  const account = reading(host, changed, {
    read: () => host.model.call('GET /api/account'),
    of: ({ client }) => JSON.stringify(client.snapshot?.account ?? null),
  });
  const join = async (team: string) => {
    const { desktop } = host;
    // if Culvert can't finish the sign-in, the user can still paste the address
    if (desktop && desktop.signInProgram() !== 'culvert') await host.task('handle-sign-in').catch(host.showError);
    await host.run(joinCommand(team));
  };
  return {
    form(view) {
      const { value, failed } = account.now(view);
      const joining = { program: host.desktop?.signInProgram(), join };
      // without details, the page shows the snapshot's summary
      return accountForm(view.client, failed === null ? value : null, host.tr(), joining);
    },
    /** Not the license, which is secret. The first control of a device only copies an id. */
    get first() {
      return host.view().client.snapshot?.account.organization ? 'device' : 'team';
    },
    shown: account.shown,
    close: account.close,
  };
};

/** The certificate page, which checks the tools whenever it is opened. */
const certificatePage: Page = (host, changed) => {
  const { model } = host;
  const trust = reading(host, changed, { read: () => model.call('POST /api/trust', { body: {} }) });
  const send = async (line: 'POST /api/trust/apply' | 'POST /api/trust/undo', tools?: string[]) => {
    await model.call(line, { body: tools ? { tools } : {} });
    trust.shown();
  };
  const tasks = {
    check: trust.again,
    apply: (tools?: string[]) => send('POST /api/trust/apply', tools),
    undo: (tools?: string[]) => send('POST /api/trust/undo', tools),
  };
  return {
    form(view) {
      const { value: report, failed, running } = trust.now(view);
      return trustForm({ report, running, failed: running ? null : failed }, tasks, host.tr());
    },
    shown: trust.shown,
    close: trust.close,
  };
};

/**
 * Sends the user's new orders of accounts, one request at a time. Skips an order that a newer order replaces.
 * @param read reads the accounts again
 */
function createOrdering({ model }: Host, changed: () => void, read: () => Promise<void>): Ordering {
  const asked = new Map<string, readonly string[]>();
  let last: Promise<unknown> = Promise.resolve();
  const send = async (cli: string, names: readonly string[]) => {
    if (asked.get(cli) !== names) return;
    try {
      await model.call('POST /api/accounts', { body: { change: 'order', cli, names: [...names] } });
      await read();
    } finally {
      if (asked.get(cli) === names) asked.delete(cli);
      changed();
    }
  };
  return {
    asked,
    ask(cli, names) {
      asked.set(cli, names);
      changed();
      const sent = last.then(() => send(cli, names));
      last = sent.catch(() => {});
      return sent;
    },
  };
}

/** The page of tool accounts, which reads at opening, follows events, and reads again before the daemon stops watching. */
const toolAccountsPage: Page = (host, changed) => {
  const accounts = reading(host, changed, {
    read: () => host.model.call('GET /api/accounts'),
    everyMs: READ_AGAIN_MS,
    from: ({ event, data }) => (event === 'accounts' ? data : undefined),
  });
  const ordering = createOrdering(host, changed, accounts.again);
  return {
    ticks: true,
    form(view) {
      const { value: answer, failed } = accounts.now(view);
      const offline = view.client.offline !== null;
      return toolAccountsForm(
        { answer, failed, again: accounts.again, ordering },
        { offline, now: host.now() },
        host.tr(),
      );
    },
    shown: accounts.shown,
    close: accounts.close,
  };
};

/** Follows the desktop of a page; watches the autostart entry, because the user may change it elsewhere. */
function followDesktop({ desktop }: Host, changed: () => void) {
  let facts = UNKNOWN_DESKTOP;
  const learn = (change: Partial<DesktopFacts>) => {
    facts = { ...facts, ...change };
    changed();
  };
  return {
    facts: () => facts,
    shown() {
      void desktop?.hasTrayHost().then(tray => learn({ tray }));
      void desktop?.hasShortcuts().then(shortcuts => learn({ shortcuts }));
    },
    close: desktop?.watchAutostart(autostart => learn({ autostart })),
  };
}

const preferencesPage: Page = (host, changed) => {
  const clearHistory = () => host.model.call('POST /api/history/clear', { body: {} });
  const { facts, ...desktop } = followDesktop(host, changed);
  return { form: ({ client }) => preferencesForm(client, facts(), host.tr(), clearHistory), ...desktop };
};

/** The first steps, one at a time. They are recorded as seen when the user leaves the page. */
const welcomePage: Page = (host, changed) => {
  const { facts, ...desktop } = followDesktop(host, changed);
  let step = 0;
  const turn = async (to: number) => {
    if (to < 0 || to === WELCOME_STEPS) return host.goTo('connection');
    step = to;
    changed();
  };
  const turnTo = (label: string, to: number) => ({ label, command: workCommand(() => turn(to)) });
  return {
    form(view) {
      const tr = host.tr();
      const { _ } = tr;
      return {
        ...welcomeStep(step, view, facts(), tr),
        steps: {
          at: step,
          // Translators: the first %d is the number of a step, the second how many there are
          place: fill(_('%d of %d'), formatCount(step + 1, tr), formatCount(WELCOME_STEPS, tr)),
          back: turnTo(step === 0 ? _('Skip') : _('Previous'), step - 1),
          next: turnTo(step === WELCOME_STEPS - 1 ? _('Done') : _('Next'), step + 1),
        },
      };
    },
    left() {
      step = 0;
      const seen = seenCommand(host.view().client);
      if (seen) void host.run(seen);
    },
    ...desktop,
  };
};

const checkConditions = ({ offline, snapshot }: ClientState) => ({
  offline: offline !== null,
  demo: snapshot?.tunnelCli.emulated === true,
});

/** The checks page, which shows findings as they arrive; a desktop app also offers repairs with an administrator's password. */
const checksPage: Page = (host, changed) => {
  const { checks, desktop } = host;
  const unsubscribe = checks.subscribe(changed);
  let opened = false;
  let repairing = false;
  const service = async (task: ServiceTask) => {
    if (await host.run(clientCommand(task))) await checks.run();
  };
  const root = async (argv: readonly string[]) => {
    if (repairing || !desktop) return;
    repairing = true;
    try {
      if (!(await desktop.repair(argv))) return;
    } finally {
      repairing = false;
      changed();
    }
    await checks.run();
  };
  return {
    form({ client }) {
      const ways = desktop && { repair: { service, root: desktop.canRepair() ? root : null } };
      return checksForm(checks.state(), { ...checkConditions(client), ...ways }, host.tr());
    },
    shown() {
      // a browser may run on a computer other than the checked one
      if (desktop && !opened) void checks.run();
      opened = true;
    },
    close: unsubscribe,
  };
};

/** The updates page. In a desktop app, it checks for updates if no check was made yet and a source is set. */
const updatesPage: Page = (host, changed) => {
  const { updates } = host;
  let opened = false;
  return {
    form: ({ update, client }) =>
      updatesForm(update, { offline: client.offline !== null, waiting: updates.waiting() }, host.tr()),
    shown() {
      const { client, update } = host.view();
      if (host.desktop && !opened && !client.update && !client.offline && update.hasSource)
        void updates.check().catch(host.showError);
      opened = true;
    },
    close: updates.subscribe(changed),
  };
};

/** The pages that are forms, without the settings page (`search.ts`), which searches them. Clients draw all other pages. */
export const FORM_PAGES = {
  mode: ofState(({ client, tunnel }, tr) => modeForm(client, tunnel.settable, tr)),
  killswitch: {
    open: killSwitchPage,
    searched: ({ killSwitch, client }, tr) =>
      killSwitchForm(killSwitch, Date.now(), tr, { ...NOT_READ, records: recordsBlocked(client) }),
  },
  dns: ofState(({ client, tunnel }, tr) => dnsForm(client, tunnel.settable, tr)),
  networks: {
    open: networksPage,
    searched: ({ client, tunnel }, tr) =>
      networksForm(client, { settable: tunnel.settable, network: null, now: Date.now() }, tr),
  },
  advanced: ofState(({ client, tunnel }, tr) => advancedForm(client, tunnel.settable, tr)),
  preferences: {
    open: preferencesPage,
    searched: ({ client }, tr) => preferencesForm(client, UNKNOWN_DESKTOP, tr),
  },
  account: { open: accountPage, searched: ({ client }, tr) => accountForm(client, null, tr) },
  checks: {
    open: checksPage,
    searched: ({ client }, tr, checks) => checksForm(checks, checkConditions(client), tr),
  },
  updates: {
    open: updatesPage,
    searched: ({ client, update }, tr) => updatesForm(update, { offline: client.offline !== null, waiting: null }, tr),
  },
  apps: { open: appsPage },
  history: { open: historyPage },
  routes: { open: routesPage },
  editor: { open: editorPage },
  tools: { open: toolAccountsPage },
  certificate: { open: certificatePage },
  welcome: { open: welcomePage },
} satisfies { [P in PageName]?: PageDefinition };

/** Returns the pages that a search covers, with forms built from the state alone. */
export function searchedForms(view: View, tr: Translator, checks: ChecksState): [PageName, Form][] {
  const pages: { [P in PageName]?: PageDefinition } = FORM_PAGES;
  return Object.entries(pages).flatMap(([page, { searched }]): [PageName, Form][] =>
    searched ? [[page as PageName, searched(view, tr, checks)]] : [],
  );
}
