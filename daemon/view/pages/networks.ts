// Defines the networks page, which reads the desktop's network, edits the rules, and searches a long list.
import { createRuleEditor } from '../client/rule-editor.ts';
import type { Search } from '../form.ts';
import { READ_NETWORKS_MS } from '../forms/tunnel/network-rules.ts';
import { networksForm } from '../forms/tunnel/networks.ts';
import type { CurrentNetwork } from '../host.ts';
import type { View } from '../view.ts';
import { type Page, reading } from './page.ts';

/** Number of rules and trusted networks from which on the list can be searched. */
const SEARCHED_FROM = 10;

/** The networks page. Its reads make the daemon follow the networks and send them as events. */
export const networksPage: Page = (host, changed) => {
  const { model, desktop } = host;
  const editor = createRuleEditor(model, changed);
  // a failed read is ignored, as the rest of the page needs no answer
  const networks = reading(host, changed, { read: () => model.call('GET /api/networks'), everyMs: READ_NETWORKS_MS });
  let network: CurrentNetwork | null = null;
  let query = '';
  /** True once the list was long. The field then stays, although the user may remove rules. */
  let isSearched = false;
  const readNetwork = async () => {
    if (!desktop) return;
    network = await desktop.currentNetwork();
    changed();
  };
  const searchOf = ({ client: { snapshot } }: View): Search | undefined => {
    const listed = (snapshot?.networks?.rules.length ?? 0) + (snapshot?.options.trustedSsids?.length ?? 0);
    isSearched ||= listed >= SEARCHED_FROM;
    if (!isSearched) return undefined;
    return {
      label: host.tr()._('Search networks'),
      text: query,
      type(text) {
        if (text === query) return;
        query = text;
        changed();
      },
    };
  };
  // the page offers to trust the network in use
  const unwatch = desktop?.watchNetwork(() => void readNetwork());
  return {
    ticks: true,
    form(view) {
      networks.now(view);
      const { settable } = view.tunnel;
      const search = searchOf(view);
      return networksForm(view.client, { settable, network, now: host.now(), editor, search }, host.tr());
    },
    shown: () => void readNetwork(),
    left() {
      query = '';
    },
    close() {
      networks.close();
      unwatch?.();
    },
  };
};
