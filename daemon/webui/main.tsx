// Starts the browser page: follows the daemon's state, and renders the page when the first state arrives.
import { render } from 'preact';
import { createModel, type Model } from '../view/client/model.ts';
import { type App, AppContext } from './app.ts';
import { createApp } from './create-app.ts';
import { loadFurtherPages } from './create-host.ts';
import { ENGLISH, followLocale } from './locale.ts';
import { followAddress } from './navigation.ts';
import { Shell } from './shell.tsx';
import style from './style.css';
import { createTransport, shareStream } from './transport.ts';

/** Longest wait for the first state, in ms; after that, the page renders without it. */
const PATIENCE_MS = 200;

const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets = [sheet];
start(document.getElementById('app')!);

function start(root: HTMLElement): void {
  const page = followAddress();
  const model = createModel(shareStream(createTransport()));
  const app = createApp(model, ENGLISH, page);
  keepCurrent(app);
  const opened = page.value === 'connection' ? null : loadFurtherPages().catch(app.host.showError);
  void Promise.all([stateOf(model).then(() => followLocale(app)), opened]).then(() =>
    render(
      <AppContext.Provider value={app}>
        <Shell />
      </AppContext.Provider>,
      root,
    ),
  );
}

/** Resolves when the first state and the configuration after it have arrived, or after `PATIENCE_MS`. */
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

/** Seconds between reads of the tunnel's statistics while the page is visible. */
const FIGURES_SECONDS = 5;
/** A longer time between two ticks means that the computer was asleep, in ms. */
const SLEEP_MS = 30_000;

/** Updates the clock and the tunnel's statistics while the page is visible; catches up after it was hidden or asleep. */
function keepCurrent({ host: { model }, now }: App): void {
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
