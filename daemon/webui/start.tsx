// Makes the page live: follows the daemon's state, and takes over what the daemon drew.
import { hydrate, render } from 'preact';
import { createModel, type Model } from '../view/client/model.ts';
import { isRightToLeft } from '../view/format.ts';
import { type App, AppContext } from './app.ts';
import { createApp } from './create-app.ts';
import { startWithPage } from './first-events.ts';
import { loadFurtherPages } from './further-pages.ts';
import { firstTranslator, loadTranslator, wantedLanguage } from './locale.ts';
import { followAddress } from './navigation.ts';
import { shareStream } from './shared-stream.ts';
import { Shell } from './shell.tsx';
import { createTransport } from './transport.ts';

/** @param root may hold the first page as the daemon drew it; inert until it is live */
export function start(root: HTMLElement): void {
  const page = followAddress();
  const model = createModel(startWithPage(shareStream(createTransport())));
  const app = createApp(model, firstTranslator(), page);
  followLocale(app);
  keepCurrent(app);
  const opened = page.value === 'connection' ? null : loadFurtherPages(app).catch(app.showError);
  void Promise.all([stateOf(model), opened]).then(() => {
    const shell = (
      <AppContext.Provider value={app}>
        <Shell />
      </AppContext.Provider>
    );
    if (page.value !== 'connection') root.replaceChildren();
    if (root.firstChild) hydrate(shell, root);
    else render(shell, root);
    root.hidden = false;
    root.inert = false;
  });
}

/** The first state is drawn at once; where it did not come with the page and takes long, the page says what it waits for. */
const PATIENCE_MS = 100;

/** Resolves with the first state and the configuration, which follows it, or with the failure. */
function stateOf(model: Model): Promise<void> {
  return new Promise<void>(resolve => {
    setTimeout(resolve, PATIENCE_MS);
    const unsubscribe = model.subscribe(() => {
      const { snapshot, config } = model.state();
      if (snapshot && !config) return;
      unsubscribe();
      resolve();
    });
  });
}

/** Follows `ui.locale`, and says which language the page is in, and which way it is written. */
function followLocale({ model, tr }: App): void {
  let { config } = model.state();
  let language = document.documentElement.lang;
  let whole = false;
  const show = async (language: string) => {
    const loaded = await loadTranslator(language);
    if (!loaded) return;
    tr.value = loaded;
    document.documentElement.lang = language;
    document.documentElement.dir = isRightToLeft(loaded) ? 'rtl' : 'ltr';
  };
  model.subscribe(() => {
    const state = model.state();
    const wanted = state.config === config ? language : wantedLanguage(state.config);
    config = state.config;
    // the first page needs the texts of the checks only for what they found
    const found = Boolean(state.snapshot?.diagnosis);
    if (wanted === language && (whole || !found)) return;
    language = wanted;
    whole = true;
    void show(wanted);
  });
}

/** How often the tunnel's figures are read while the page is visible. */
const FIGURES_SECONDS = 5;
/** A second that lasted this long was spent asleep, in ms. */
const SLEEP_MS = 30_000;

/** Moves the clock and reads the tunnel's figures while the page is visible; catches up when it was hidden or asleep. */
function keepCurrent({ model, now }: App): void {
  const lookAgain = (which: 'stale' | 'all') => {
    if (model.state().offline) model.retry();
    else void model.refresh(which);
  };
  let seconds = 0;
  const tick = () => {
    const slept = Date.now() - now.value > SLEEP_MS;
    now.value = Date.now();
    if (slept) lookAgain('all');
    if (++seconds % FIGURES_SECONDS === 0) void model.refresh('stale');
  };
  let clock: ReturnType<typeof setInterval> | undefined;
  const startClock = () => {
    clearInterval(clock);
    clock = setInterval(tick, 1000);
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return clearInterval(clock);
    startClock();
    tick();
    lookAgain('stale');
  });
  addEventListener('online', () => model.retry());
  startClock();
}
