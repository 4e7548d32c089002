// Draws the first state for the HTML: the daemon runs this, and the script takes the result over.
import { signal } from '@preact/signals';
import { renderToString } from 'preact-render-to-string';
import type { ClientState } from '../view/client/client-state.ts';
import type { Draw } from '../view/client/draw.ts';
import { INITIAL, type Model } from '../view/client/model.ts';
import { AppContext } from './app.ts';
import { parseCatalog, translatorOf } from './catalog.ts';
import { createApp } from './create-app.ts';
import { ENGLISH } from './locale.ts';
import { Shell } from './shell.tsx';

export const draw: Draw = ({ snapshot, config, language, catalog }) => {
  const state: ClientState = { ...INITIAL, snapshot, config, update: snapshot.update, offline: null };
  const tr = catalog ? translatorOf(language, parseCatalog(catalog)) : ENGLISH;
  return renderToString(
    <AppContext.Provider value={createApp(still(state), tr, signal('connection'))}>
      <Shell />
    </AppContext.Provider>,
  );
};

/** A model of one state: nothing is sent to it, and nothing is asked of it. */
function still(state: ClientState): Model {
  const never = () => new Promise<never>(() => {});
  return {
    ...{ state: () => state, subscribe: () => () => {}, onEvent: () => () => {}, retry() {}, close() {} },
    ...{ perform: never, changeKillSwitch: never, checkUpdate: never, call: never, refresh: never },
  };
}
