// Apps of the computer's desktop, started through the local proxy there.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { App as DesktopApp } from '../../api/schema.ts';
import { searchedText } from '../../view/forms/search/searched-rows.ts';
import {
  appBadge,
  appDetails,
  appMatches,
  isFarFetched,
  launchable,
  launchedText,
  noAppsText,
  shortcutText,
  sortApps,
} from '../../view/states/apps.ts';
import { fill } from '../../view/translator.ts';
import { useApp } from '../client/app.ts';
import { useGeneralReason } from '../client/reasons.ts';
import { rowInAddress } from '../navigation.ts';
import { CommandButton } from '../widgets/rows.tsx';
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

function AppList() {
  const app = useApp();
  const { model, client } = app;
  const { proxy } = app.view.value;
  const { _, locale } = app.tr.value;
  const apps = useSignal<DesktopApp[] | null>(null);
  const query = useSignal(searchedText(rowInAddress()));
  const all = useSignal(false);
  const busy = useSignal<string | null>(null);
  const read = () =>
    model.call('GET /api/apps').then(({ apps: list }) => {
      apps.value = sortApps(list, locale);
    }, app.showError);
  const online = client.value.offline === null;
  useEffect(() => {
    if (online) void read();
  }, [online]);
  const attempt = async (appId: string, what: () => Promise<string | null>) => {
    if (busy.value !== null) return;
    busy.value = appId;
    try {
      const done = await what();
      if (done === null) return;
      app.toast(done);
      await read();
    } catch (error) {
      app.showError(error);
    } finally {
      busy.value = null;
    }
  };
  const launch = ({ id, name }: DesktopApp) =>
    attempt(id, async () => {
      if (app.view.value.proxy.look !== 'on' && !(await app.run(proxy.enable.command))) return null;
      await model.call('POST /api/apps/proxy-launcher', { body: { appId: id } });
      return launchedText(name, app.tr.value);
    });
  const setShortcut = ({ id, name, shortcut }: DesktopApp) =>
    attempt(id, async () => {
      const present = shortcut === null;
      await model.call('POST /api/apps/shortcut', { body: { appId: id, present } });
      return shortcutText(name, present, app.tr.value);
    });
  const general = useGeneralReason();
  const isFree = busy.value === null;
  const mayChange = online && !app.readOnly.value;
  const startable = mayChange && isFree && (proxy.look === 'on' || proxy.sensitive);
  const reason = isFree || general ? null : _('An app is being started.');
  const why = general ?? (isFree ? WHY_LOCKED : WHY_BUSY);
  const searched = query.value.trim();
  // a search covers all apps
  const shown =
    apps.value?.filter(each => appMatches(each, searched) && (searched !== '' || all.value || !isFarFetched(each))) ??
    [];
  const none = noAppsText((apps.value?.length ?? 0) > 0, app.tr.value).description;
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
        <p class="empty">{apps.value === null ? _('Reading…') : none}</p>
      ) : (
        <ul class="card apps">
          {shown.map(each => (
            <li key={each.id} class="row">
              <div class="words">
                <span class="title">{each.name}</span>
                <span class="subtitle" title={appDetails(each, app.tr.value)}>
                  {appBadge(each, app.tr.value)} · {appDetails(each, app.tr.value)}
                </span>
              </div>
              {launchable(each) && (
                <>
                  <button
                    type="button"
                    // Translators: %s is the name of an app
                    aria-label={fill(_('Start %s'), each.name)}
                    aria-busy={busy.value === each.id}
                    aria-disabled={startable ? undefined : true}
                    aria-describedby={startable ? undefined : why}
                    onClick={() => startable && void launch(each)}
                  >
                    {_('Start')}
                  </button>
                  <button
                    type="button"
                    aria-label={fill(
                      // Translators: %s is the name of an app
                      each.shortcut === null ? _('Add %s to the app menu') : _('Remove %s from the app menu'),
                      each.name,
                    )}
                    aria-disabled={mayChange && isFree ? undefined : true}
                    aria-describedby={mayChange && isFree ? undefined : why}
                    onClick={() => mayChange && void setShortcut(each)}
                  >
                    <span class="word">{each.shortcut === null ? _('Add to Menu') : _('Remove from Menu')}</span>
                    <span class="sign" aria-hidden="true">
                      {each.shortcut === null ? '+' : '−'}
                    </span>
                  </button>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
