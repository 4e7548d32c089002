// Starts the browser page.
import { render } from 'preact';
import { createModel } from '../view/client/model.ts';
import { isRightToLeft } from '../view/format.ts';
import { AppContext } from './app.ts';
import { createApp } from './create-app.ts';
import { startWithPage } from './first-events.ts';
import { loadFurtherPages } from './further-pages.ts';
import { firstTranslator, loadTranslator, wantedLanguage } from './locale.ts';
import { shareStream } from './shared-stream.ts';
import { Shell } from './shell.tsx';
import style from './style.css';
import { createTransport } from './transport.ts';

const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets = [sheet];

const model = createModel(startWithPage(shareStream(createTransport())));
const first = firstTranslator();
const app = createApp(model, first);

/** Follows `ui.locale`, and says which language the page is in, and which way it is written. */
function followLocale(): void {
  let { config } = model.state();
  let language = document.documentElement.lang;
  let whole = false;
  const show = async (language: string) => {
    const tr = await loadTranslator(language);
    if (!tr) return;
    app.tr.value = tr;
    document.documentElement.lang = language;
    document.documentElement.dir = isRightToLeft(tr) ? 'rtl' : 'ltr';
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

/** Reads the tunnel's figures while the page is visible. */
const FIGURES_SECONDS = 5;
let seconds = 0;
/** A second that lasted this long was spent asleep, in ms. */
const SLEEP_MS = 30_000;

/** Catches up at once after the page was hidden or the machine was asleep. */
function lookAgain(which: 'stale' | 'all'): void {
  if (model.state().offline) model.retry();
  else void model.refresh(which);
}

followLocale();
let clock: ReturnType<typeof setInterval> | undefined;
const tick = () => {
  const slept = Date.now() - app.now.value > SLEEP_MS;
  app.now.value = Date.now();
  if (slept) lookAgain('all');
  if (++seconds % FIGURES_SECONDS === 0) void model.refresh('stale');
};
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

/** The first state is drawn at once; where it did not come with the page and takes long, the page says what it waits for. */
const PATIENCE_MS = 100;
const known = new Promise<void>(resolve => {
  setTimeout(resolve, PATIENCE_MS);
  const unsubscribe = model.subscribe(() => {
    unsubscribe();
    resolve();
  });
});
const opened = app.page.value === 'connection' ? null : loadFurtherPages(app).catch(app.showError);
void Promise.all([known, opened]).then(() =>
  render(
    <AppContext.Provider value={app}>
      <Shell />
    </AppContext.Provider>,
    document.getElementById('app')!,
  ),
);
