// Apps of the computer's desktop, started through the local proxy there.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { App as DesktopApp } from '../../api/schema.ts';
import { searchedText } from '../../view/forms/search/searched-rows.ts';
import {
  appBadge,
  appDetails,
  appMatches,
  enableProxyCommand,
  isFarFetched,
  launchable,
  launchedText,
  shortcutText,
  sortApps,
} from '../../view/states/apps.ts';
import { fill } from '../../view/translator.ts';
import { useApp } from '../client/app.ts';
import { useGeneralReason } from '../client/reasons.ts';
import { rowInAddress } from '../navigation.ts';
import { CommandButton } from '../widgets/rows.tsx';
import { SearchField } from '../widgets/search-field.tsx';

export function AppsPage() {
  const app = useApp();
  const { proxy, client, tunnel } = app.view.value;
  const { _ } = app.tr.value;
  return (
    <>
      <section class="hero">
        <p role="status">
          {proxy.look === 'on'
            ? // Translators: %s is an address such as 127.0.0.1:40000
              fill(_('Apps that use the proxy at %s are tunneled.'), proxy.address ?? '…')
            : _('Send single apps through the tunnel: only those that use the local proxy.')}
        </p>
        {proxy.warning && <p class="problem">{proxy.warning}</p>}
        {proxy.failure && <p class="problem">{proxy.failure.text}</p>}
        {proxy.failure?.remedy && (
          <CommandButton command={proxy.failure.remedy.command}>{proxy.failure.remedy.label}</CommandButton>
        )}
        {proxy.look !== 'on' && (
          <CommandButton
            class="suggested"
            command={enableProxyCommand(tunnel.modeTitle, app.tr.value)}
            sensitive={proxy.sensitive}
            aria-busy={proxy.waiting}
          >
            {_('Turn On the Local Proxy')}
          </CommandButton>
        )}
      </section>
      <AppList startable={proxy.look === 'on' && client.offline === null} />
    </>
  );
}

function AppList({ startable }: { startable: boolean }) {
  const app = useApp();
  const { model, client } = app;
  const { _, locale } = app.tr.value;
  const apps = useSignal<DesktopApp[] | null>(null);
  const query = useSignal(searchedText(rowInAddress()));
  const all = useSignal(false);
  const busy = useSignal<string | null>(null);
  const read = () =>
    model.call('GET /api/apps').then(({ apps: found }) => {
      apps.value = sortApps(found, locale);
    }, app.showError);
  const online = client.value.offline === null;
  useEffect(() => {
    if (online) void read();
  }, [online]);
  const attempt = async (appId: string, what: () => Promise<string>) => {
    if (busy.value !== null) return;
    busy.value = appId;
    try {
      app.toast(await what());
      await read();
    } catch (error) {
      app.showError(error);
    } finally {
      busy.value = null;
    }
  };
  const launch = ({ id, name }: DesktopApp) =>
    attempt(id, async () => {
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
  const reason = !startable
    ? _('Turn on the local proxy to start apps here.')
    : isFree
      ? null
      : _('An app is being started.');
  const why = online ? 'why-apps' : general;
  const searched = query.value.trim();
  // a search covers all apps
  const shown =
    apps.value?.filter(each => appMatches(each, searched) && (searched !== '' || all.value || !isFarFetched(each))) ??
    [];
  return (
    <>
      <div class="toolbar">
        <SearchField query={query} label={_('Search')} />
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
      {online && reason && shown.some(launchable) && (
        <p id="why-apps" class="subtitle">
          {reason}
        </p>
      )}
      {shown.length === 0 ? (
        <p class="empty">{apps.value === null ? _('Reading…') : _('No app was found.')}</p>
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
                    aria-label={`${each.name}: ${_('Start')}`}
                    aria-busy={busy.value === each.id}
                    aria-disabled={startable && isFree ? undefined : true}
                    aria-describedby={startable && isFree ? undefined : why}
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
                    aria-disabled={online ? undefined : true}
                    aria-describedby={online ? undefined : why}
                    onClick={() => online && void setShortcut(each)}
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
