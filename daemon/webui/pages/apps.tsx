// Apps of the computer's desktop, started through the local proxy there.
import { useSignal } from '@preact/signals';
import { useEffect, useId } from 'preact/hooks';
import type { App as DesktopApp } from '../../api/schema.ts';
import { searchedText } from '../../view/forms/search/searched-rows.ts';
import {
  type AppEntry,
  appBadge,
  appDetails,
  appMatches,
  appMenuName,
  furtherWays,
  isFarFetched,
  launchable,
  launchedText,
  noAppsText,
  shortcutText,
  sortApps,
} from '../../view/states/apps.ts';
import { fill } from '../../view/translator.ts';
import { useApp } from '../client/app.ts';
import { rowInAddress } from '../navigation.ts';
import { CommandButton } from '../widgets/rows/command-button.tsx';
import { useGeneralReason } from '../widgets/rows/words.tsx';
import { SearchField } from '../widgets/search-field.tsx';

/** Ids of the texts that say why an app can't be started now. */
const WHY_LOCKED = 'why-apps';
const WHY_BUSY = 'why-busy';

export function AppsPage() {
  const app = useApp();
  const { proxy } = app.view.value;
  const warning = proxy.failure?.text ?? proxy.warning;
  return (
    <>
      <section class="hero">
        <p role="status">{proxy.sentence}</p>
        {warning !== null && (
          <p class="problem" id={WHY_LOCKED}>
            {warning}
          </p>
        )}
        {proxy.failure?.remedy && (
          <CommandButton command={proxy.failure.remedy.command}>{proxy.failure.remedy.label}</CommandButton>
        )}
        {proxy.look !== 'on' && (
          <CommandButton
            class="suggested"
            command={proxy.enable.command}
            sensitive={proxy.sensitive}
            aria-busy={proxy.waiting}
            aria-describedby={proxy.sensitive || warning === null ? undefined : WHY_LOCKED}
          >
            {proxy.enable.label}
          </CommandButton>
        )}
      </section>
      <AppList />
    </>
  );
}

/** The apps of the desktop, null until they were read, and what can be done with each. */
function useApps() {
  const app = useApp();
  const { model } = app.host;
  const apps = useSignal<DesktopApp[] | null>(null);
  /** Id of the app that is being started or changed. */
  const busy = useSignal<string | null>(null);
  const read = () =>
    model.call('GET /api/apps').then(({ apps: list }) => {
      apps.value = sortApps(list, app.tr.value.locale);
    }, app.host.showError);
  const online = app.client.value.offline === null;
  useEffect(() => {
    if (online) void read();
  }, [online]);
  /** @param what resolves with what to say, or with whether it was done */
  const attempt = async (appId: string, what: () => Promise<string | boolean>) => {
    if (busy.value !== null) return;
    busy.value = appId;
    try {
      const done = await what();
      if (done === false) return;
      if (done !== true) app.host.toast(done);
      await read();
    } catch (error) {
      app.host.showError(error);
    } finally {
      busy.value = null;
    }
  };
  const launch = ({ id, name }: DesktopApp) =>
    attempt(id, async () => {
      const { look, enable } = app.view.value.proxy;
      if (look !== 'on' && !(await app.host.run(enable.command))) return false;
      await model.call('POST /api/apps/proxy-launcher', { body: { appId: id } });
      return launchedText(name, app.tr.value);
    });
  const setShortcut = ({ id, name, shortcut }: DesktopApp) =>
    attempt(id, async () => {
      const present = shortcut === null;
      await model.call('POST /api/apps/shortcut', { body: { appId: id, present } });
      return shortcutText(name, present, app.tr.value);
    });
  const runEntry = ({ id }: DesktopApp, { command }: AppEntry) => attempt(id, () => app.host.run(command));
  return {
    apps: apps.value,
    busy: busy.value,
    mayChange: online,
    launch,
    setShortcut,
    runEntry,
  };
}

function AppList() {
  const app = useApp();
  const { proxy } = app.view.value;
  const { _ } = app.tr.value;
  const { apps, busy, mayChange, launch, setShortcut, runEntry } = useApps();
  const query = useSignal(searchedText(rowInAddress()));
  const all = useSignal(false);
  const general = useGeneralReason();
  const isFree = busy === null;
  const startable = mayChange && isFree && (proxy.look === 'on' || proxy.sensitive);
  const reason = isFree || general ? null : _('An app is being started.');
  const searched = query.value.trim();
  // a search covers all apps
  const shown =
    apps?.filter(each => appMatches(each, searched) && (searched !== '' || all.value || !isFarFetched(each))) ?? [];
  const none = noAppsText((apps?.length ?? 0) > 0, app.tr.value).description;
  return (
    <>
      <div class="toolbar">
        <SearchField query={query} label={_('Search apps')} />
        <label>
          <input
            type="checkbox"
            checked={all}
            onChange={event => {
              all.value = event.currentTarget.checked;
            }}
          />
          {_('Show all')}
        </label>
      </div>
      {reason !== null && (
        <p id={WHY_BUSY} class="subtitle">
          {reason}
        </p>
      )}
      {shown.length === 0 ? (
        <p class="empty">{apps === null ? _('Reading…') : none}</p>
      ) : (
        <ul class="card apps">
          {shown.map(each => (
            <AppRow
              key={each.id}
              app={each}
              busy={busy === each.id}
              why={general ?? (isFree ? WHY_LOCKED : WHY_BUSY)}
              launch={startable ? launch : null}
              setShortcut={mayChange && isFree ? setShortcut : null}
              runEntry={mayChange && isFree ? runEntry : null}
            />
          ))}
        </ul>
      )}
    </>
  );
}

interface AppRowProps {
  app: DesktopApp;
  busy: boolean;
  /** Id of the text that says why a button can't be used. */
  why: string;
  /** null while it can't be started. */
  launch: ((app: DesktopApp) => Promise<void>) | null;
  /** null while it can't be changed. */
  setShortcut: ((app: DesktopApp) => Promise<void>) | null;
  /** null while none can be used. */
  runEntry: ((app: DesktopApp, entry: AppEntry) => Promise<void>) | null;
}

function AppRow({ app, busy, why, launch, setShortcut, runEntry }: AppRowProps) {
  const { tr: language, host, view } = useApp();
  const tr = language.value;
  const open = useSignal(false);
  const id = useId();
  const { _ } = tr;
  const { name, shortcut } = app;
  const word = shortcut === null ? _('Add to Menu') : _('Remove from Menu');
  return (
    <li class="row">
      <div class="words">
        <span class="title">{name}</span>
        <span class="subtitle" title={appDetails(app, tr)}>
          {appBadge(app, tr)} · {appDetails(app, tr)}
        </span>
      </div>
      {launchable(app) && (
        <>
          <button
            type="button"
            // Translators: %s is the name of an app
            aria-label={fill(_('Start %s'), name)}
            aria-busy={busy}
            aria-disabled={launch ? undefined : true}
            aria-describedby={launch ? undefined : why}
            onClick={() => void launch?.(app)}
          >
            {_('Start')}
          </button>
          <button
            type="button"
            aria-label={`${name}: ${word}`}
            aria-disabled={setShortcut ? undefined : true}
            aria-describedby={setShortcut ? undefined : why}
            onClick={() => void setShortcut?.(app)}
          >
            <span class="word">{word}</span>
            <span class="sign" aria-hidden="true">
              {shortcut === null ? '+' : '−'}
            </span>
          </button>
        </>
      )}
      <button
        type="button"
        title={appMenuName(app, tr)}
        aria-label={appMenuName(app, tr)}
        aria-expanded={open.value}
        aria-controls={id}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <span aria-hidden="true">⋮</span>
      </button>
      <div class="further-ways" id={id} hidden={!open.value}>
        {open.value &&
          furtherWays(app, { call: host.model.call, helper: view.value.killSwitch.look }, tr).map(entry => (
            <button
              key={entry.label}
              type="button"
              aria-label={`${name}: ${entry.label}`}
              aria-disabled={runEntry ? undefined : true}
              aria-describedby={runEntry ? undefined : why}
              onClick={() => void runEntry?.(app, entry)}
            >
              {entry.label}
            </button>
          ))}
      </div>
    </li>
  );
}
