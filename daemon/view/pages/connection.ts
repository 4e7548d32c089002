// Defines the first page, which also reads the credits of command-line tools. It is not in `all.ts`, because clients load it
// before the other pages.
import { current } from '../client/client-state.ts';
import { connectionForm } from '../forms/connection.ts';
import { type Page, reading } from './page.ts';

/** Time between reads of the credits. Events report changes only for the first minutes after a read. */
const READ_CREDITS_MS = 300_000;

export const connectionPage: Page = (host, changed) => {
  const { model } = host;
  // the credits must not delay the first form
  let isShown = false;
  const accounts = reading(host, changed, {
    read: () => model.call('GET /api/accounts'),
    everyMs: READ_CREDITS_MS,
    when: ({ client }) => isShown && client.offline === null && client.snapshot?.toolAccounts.offered === true,
    from: ({ event, data }) => (event === 'accounts' ? data : undefined),
  });
  return {
    ticks: true,
    form(view) {
      const { value } = accounts.now(view);
      // without a daemon, nothing says how much is left now
      const tools = (current(view.client)?.toolAccounts.offered && value?.tools) || [];
      const facts = { now: host.now(), figures: host.figures(), tools };
      return connectionForm(view, facts, host.tr());
    },
    shown() {
      if (isShown) accounts.shown();
      else {
        isShown = true;
        changed();
      }
    },
    close: accounts.close,
  };
};
