// Renders the desktop apps of the computer, and starts them through its local proxy.
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { App as DesktopApp } from '../../api/schema.ts';
import { workCommand } from '../../view/form.ts';
import { searchedText } from '../../view/forms/search-rows.ts';
import { openApps } from '../../view/pages/apps.ts';
import { appBadge, appDetails, launchable } from '../../view/states/apps.ts';
import { fill } from '../../view/translator.ts';
import { useApp } from '../app.ts';
import { rowInAddress } from '../navigation.ts';
import { SearchField } from '../widgets/rows/entry-row.tsx';
import { Menu } from '../widgets/rows/menu.tsx';
import { StatusView } from '../widgets/rows/status.tsx';
import { CommandButton, useGeneralReason } from '../widgets/rows/words.tsx';
import { VirtualList } from '../widgets/virtual-list.tsx';

/** Height of a row, in px. */
const ROW_HEIGHT = 56;

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
  const { proxy } = app.view.value;
  const { _ } = app.tr.value;
  const changes = useSignal(0);
  const page = useMemo(
    () => openApps(app.host, () => changes.value++, { query: searchedText(rowInAddress()) }),
    [app.host],
  );
  void changes.value; // renders again after each change
  useEffect(() => page.close, [page]);
  const { by, listed, status, busy, failed } = page.view(app.view.value);
  const apps = useMemo(() => [...listed.values()], [listed]);
  const general = useGeneralReason();
  const isFree = busy.size === 0;
  const mayChange = app.client.value.offline === null && isFree;
  const startable = mayChange && (proxy.look === 'on' || proxy.sensitive);
  const reason = isFree || general ? null : _('An app is being started.');
  const toolbar = useRef<HTMLDivElement>(null);
  const hadFocus = document.activeElement !== document.body;
  useLayoutEffect(() => {
    // the button of the status is gone
    if (hadFocus && document.activeElement === document.body) toolbar.current!.querySelector('input')!.focus();
  });
  return (
    <>
      <div class="toolbar" ref={toolbar}>
        <SearchField label={_('Search apps')} text={by.query} type={query => page.narrow({ query })} />
        <label>
          <input
            type="checkbox"
            checked={by.all}
            onChange={event => page.narrow({ all: event.currentTarget.checked })}
          />
          {_('Show all')}
        </label>
      </div>
      {reason !== null && (
        <p id={WHY_BUSY} class="subtitle">
          {reason}
        </p>
      )}
      {failed !== null && (
        <p class="problem" role="alert">
          {failed}
        </p>
      )}
      {status && <StatusView status={status} alone />}
      {!status && listed.size === 0 && <p class="empty">{_('Reading…')}</p>}
      {!status && listed.size > 0 && (
        <VirtualList items={apps} rowHeight={ROW_HEIGHT} label={_('Apps')}>
          {(each, tabIndex) => (
            <AppRow
              key={each.id}
              app={each}
              page={page}
              tabIndex={tabIndex}
              busy={busy.has(each.id)}
              why={general ?? (isFree ? WHY_LOCKED : WHY_BUSY)}
              startable={startable}
              mayChange={mayChange}
            />
          )}
        </VirtualList>
      )}
    </>
  );
}

interface AppRowProps {
  app: DesktopApp;
  /** For the first control of the row. */
  tabIndex: number;
  busy: boolean;
  /** Id of the text that says why a button can't be used. */
  why: string;
  /** True if the app can be started through the proxy now. */
  startable: boolean;
  /** True if its menu and shortcut can be used now. */
  mayChange: boolean;
  page: ReturnType<typeof openApps>;
}

function AppRow({ app, tabIndex, busy, why, startable, mayChange, page }: AppRowProps) {
  const tr = useApp().tr.value;
  const { _ } = tr;
  const { id, name, shortcut } = app;
  const command = (label: string, work: () => Promise<unknown>) => ({ label, command: workCommand(work) });
  const entries = () => [
    ...(launchable(app)
      ? [command(shortcut === null ? _('Add to Menu') : _('Remove from Menu'), () => page.toggleShortcut(id))]
      : []),
    ...page.entries(id).map(entry => command(entry.label, () => page.run(id, entry.command))),
  ];
  return (
    <div class="row">
      <div class="words">
        <span class="title">{name}</span>
        <span class="subtitle" title={appDetails(app, tr)}>
          {appBadge(app, tr)} · {appDetails(app, tr)}
        </span>
      </div>
      {launchable(app) && (
        <button
          type="button"
          tabIndex={tabIndex}
          // Translators: %s is the name of an app
          aria-label={fill(_('Start %s'), name)}
          aria-busy={busy}
          aria-disabled={startable ? undefined : true}
          aria-describedby={startable ? undefined : why}
          onClick={() => startable && void page.launch(id)}
        >
          {_('Start')}
        </button>
      )}
      <Menu
        entries={entries}
        name={name}
        sensitive={mayChange}
        description={mayChange ? undefined : why}
        tabIndex={launchable(app) ? -1 : tabIndex}
      />
    </div>
  );
}
