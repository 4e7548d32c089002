// Renders the frame around every page: navigation, banners, toasts and the dialog. Sets the page's title and theme.
import { type Signal, useSignal, useSignalEffect } from '@preact/signals';
import { useCallback, useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { UNENCRYPTED } from '../view/client/labels.ts';
import { formatTime } from '../view/format.ts';
import { generalReason } from '../view/forms/availability.ts';
import { entryOfPage, navigationGroups, PLACES, placeOfPage } from '../view/forms/settings.ts';
import { type PageName, pageTitle } from '../view/page-list.ts';
import { connectionPage } from '../view/pages/connection.ts';
import { BANNERS, isSaidByState } from '../view/states/banners.ts';
import { countdownText } from '../view/states/changes.ts';
import { fill } from '../view/translator.ts';
import { useApp } from './app.ts';
import { furtherPages, openFurtherPages } from './create-host.ts';
import { addressOfPage, goTo, revealRow } from './navigation.ts';
import { Icon } from './widgets/icon.tsx';
import { Dialog, Toasts } from './widgets/messages.tsx';
import { PageView } from './widgets/page-view.tsx';
import { SearchField } from './widgets/rows/entry-row.tsx';
import { CommandButton, WHY } from './widgets/rows/words.tsx';

export function Shell() {
  const app = useApp();
  const wanted = app.page.value;
  const further = furtherPages.value;
  const page = further ? wanted : 'connection';
  const { tunnel, client } = app.view.value;
  const { _ } = app.tr.value;
  // after serving the page, the daemon refuses only requests from other machines
  const tokenAsked = client.offline?.code === 'refused';
  const query = useKeptSearch();
  const heading = useRef<HTMLHeadingElement>(null);
  const searching = further !== null && !tokenAsked && query.value.trim() !== '';
  const shown = searching ? null : page;
  const leaveSearch = useCallback(() => {
    query.value = '';
    heading.current!.focus(); // the followed link is gone
  }, [query]);
  const title = searching ? _('Search') : pageTitle(page, app.tr.value);
  useTheme();
  useEffect(() => {
    document.title = `${title} – ${tunnel.label} – Culvert`;
  }, [title, tunnel.label]);
  const first = useRef(true);
  useEffect(() => {
    if (tokenAsked || (wanted !== 'connection' && !first.current)) void openFurtherPages(app);
    first.current = false;
  }, [wanted, tokenAsked]);
  useGreeting();
  const before = useRef(page);
  // in the same step as the page: later, this would take the focus from a control in use
  useLayoutEffect(() => {
    if (page !== before.current) heading.current!.focus(); // a screen reader then reads the new title
    before.current = page;
  }, [page]);
  useEffect(() => {
    if (!searching) revealRow();
  }, [page, searching, further]);
  return (
    <>
      <button type="button" class="skip" onClick={() => heading.current!.focus()}>
        {_('Skip to content')}
      </button>
      <header class={`tone-${tunnel.tone}`}>
        <span class="brand">Culvert</span>
        <span class="badge" title={tunnel.label}>
          <Icon name={tunnel.icon} />
          {tunnel.label}
        </span>
      </header>
      <div class="columns">
        <Navigation page={page} query={query} />
        <main data-page={page} aria-busy={client.pending !== null || client.offline?.code === 'starting'}>
          <ConfirmBar />
          <Banners shown={shown} />
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
          <Why />
          {tokenAsked && further && <further.SignInPage />}
          {searching && <further.SearchResults query={query.value} leave={leaveSearch} />}
          {!tokenAsked &&
            !searching &&
            (page === 'connection' ? (
              <PageView page={connectionPage} />
            ) : (
              further && <further.FurtherPage key={page} page={page} />
            ))}
        </main>
      </div>
      <Toasts />
      <Dialog />
    </>
  );
}

/** Returns the search text, which survives a reload. */
function useKeptSearch(): Signal<string> {
  const app = useApp();
  const kept: unknown = history.state?.search;
  const query = useSignal(typeof kept === 'string' ? kept : '');
  useSignalEffect(() => history.replaceState({ search: query.value }, ''));
  useEffect(() => {
    if (query.peek() !== '') void openFurtherPages(app);
  }, []);
  return query;
}

/** Shows links to the three main pages; a wide window also lists all settings pages in groups. */
function Navigation({ page, query }: { page: PageName; query: Signal<string> }) {
  const app = useApp();
  const tr = app.tr.value;
  const { _ } = tr;
  const link = (name: PageName, isCurrent: boolean) => (
    <li key={name}>
      <a href={addressOfPage(name)} aria-current={isCurrent ? (name === page ? 'page' : 'true') : undefined}>
        {pageTitle(name, tr)}
      </a>
    </li>
  );
  return (
    <nav aria-label={_('Pages')}>
      <search class="search" onFocusIn={() => void openFurtherPages(app)}>
        <button
          type="button"
          aria-label={_('Search settings')}
          onClick={({ currentTarget }) => currentTarget.parentElement!.querySelector('input')!.focus()}
        >
          <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path d="M6.5 1a5.5 5.5 0 1 0 3.4 9.8l4 4 1.4-1.4-4-4A5.5 5.5 0 0 0 6.5 1zm0 2a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7z" />
          </svg>
        </button>
        <SearchField
          label={_('Search settings')}
          text={query.value}
          type={text => {
            query.value = text;
          }}
        />
      </search>
      <ul class="places">{PLACES.map(place => link(place, placeOfPage(page) === place))}</ul>
      <div class="further">
        {navigationGroups(app.client.value, tr).map(({ id, title, pages }) => (
          <div key={id}>
            <p id={`nav-${id}`}>{title}</p>
            <ul aria-labelledby={`nav-${id}`}>{pages.map(name => link(name, entryOfPage(page) === name))}</ul>
          </div>
        ))}
      </div>
    </nav>
  );
}

/** True without a reverse proxy's TLS or an SSH tunnel to this machine: others on the network can read the traffic. */
const IS_UNENCRYPTED = location.protocol !== 'https:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(location.hostname);

/** @param shown the page below the banners; null for the results of a search */
function Banners({ shown }: { shown: PageName | null }) {
  const { view, newer, tr } = useApp();
  const { banners } = view.value;
  const { _ } = tr.value;
  return (
    <div class="banners">
      <OfflineBanner shown={shown} />
      {IS_UNENCRYPTED && (
        <div class="banner caution">
          <p>{_(UNENCRYPTED)}</p>
        </div>
      )}
      {newer.value && (
        <div class="banner">
          {/* Translators: %s is a version */}
          <p>{fill(_('Culvert %s is running now; this page is from another version.'), newer.value)}</p>
          <button type="button" onClick={() => location.reload()}>
            {_('Reload')}
          </button>
        </div>
      )}
      {BANNERS.filter(name => name !== 'offline').map(name => {
        const banner = banners[name];
        const isSaid = banner && shown === 'connection' && isSaidByState(banner, view.value.tunnel);
        return (
          banner &&
          !isSaid && (
            <div key={name} class={banner.caution ? 'banner caution' : 'banner'}>
              <p>{banner.title}</p>
              {banner.button && <CommandButton command={banner.button.command}>{banner.button.label}</CommandButton>}
            </div>
          )
        );
      })}
    </div>
  );
}

/** Shows why the page's controls can't be used. The style sheet hides the text while no control refers to it. */
function Why() {
  const { view, tr } = useApp();
  const reason = generalReason(view.value, tr.value);
  return (
    reason && (
      <div class={reason.passing ? 'why passing' : 'why'}>
        <p id={WHY.here}>{reason.text}</p>
      </div>
    )
  );
}

/** Shows that the daemon is gone, and the time since which the page may be out of date. */
function OfflineBanner({ shown }: { shown: PageName | null }) {
  const { client, staleSince, tr, view } = useApp();
  const { _ } = tr.value;
  const banner = view.value.banners.offline;
  const { tunnel } = view.value;
  // the status of the page then has the same sentence and button
  const isSaid = banner && tunnel.remedy && shown === 'connection' && isSaidByState(banner, tunnel);
  // controls name this text as their reason
  if (isSaid && (!client.value.snapshot || staleSince.value === null))
    return (
      <p class="unseen" id={WHY.offline}>
        {banner.title}
      </p>
    );
  return (
    <div role="alert">
      {banner && (
        <div class="banner caution stale">
          <p id={WHY.offline}>
            <span class={isSaid ? 'unseen' : undefined}>{banner.title}</span>
            {client.value.snapshot &&
              staleSince.value !== null &&
              // Translators: %s is a time of day
              ` ${fill(_('Out of date since %s.'), formatTime(staleSince.value, tr.value))}`}
          </p>
          {banner.button && !isSaid && (
            <CommandButton command={banner.button.command}>{banner.button.label}</CommandButton>
          )}
        </div>
      )}
    </div>
  );
}

/** Shows the first steps to a user who has not seen them, unless the address names a page. */
function useGreeting() {
  const { client } = useApp();
  const greeted = useRef(false);
  const { config, offline, snapshot } = client.value;
  useEffect(() => {
    if (!config || offline || greeted.current) return;
    greeted.current = true;
    // a user on another machine has already set up Culvert
    if (config.config.ui.firstSteps && location.hash === '' && !snapshot?.remoteAccess) goTo('welcome');
  }, [config, offline]);
}

/** Applies `ui.theme` to the page. */
function useTheme() {
  const { client } = useApp();
  useSignalEffect(() => {
    const theme = client.value.config?.config.ui.theme;
    if (theme) document.documentElement.dataset.theme = theme;
  });
}

/** Shows an unconfirmed change on every page, with a countdown and the buttons Keep and Revert Now. */
function ConfirmBar() {
  const { view, now, tr } = useApp();
  const { unconfirmed } = view.value;
  const { _ } = tr.value;
  return (
    <div class="confirm" role="alert">
      {unconfirmed && (
        <div class="banner caution">
          <p class="words">
            <strong>{_('Keep this change?')}</strong>
            <span>{unconfirmed.text}</span>
            {/* screen readers must not read the change of each second */}
            <span role="timer" aria-live="off">
              {countdownText(unconfirmed, now.value, tr.value)}
            </span>
          </p>
          <CommandButton command={unconfirmed.revert}>{_('Revert Now')}</CommandButton>
          <CommandButton class="suggested" command={unconfirmed.keep}>
            {_('Keep')}
          </CommandButton>
        </div>
      )}
    </div>
  );
}
