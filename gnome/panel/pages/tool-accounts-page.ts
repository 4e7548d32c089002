// Builds the page of tool accounts: read when it is turned to, followed by events, and read again while it can be seen.
import {
  NO_TOOL_ACCOUNTS,
  READ_AGAIN_MS,
  type ToolAccountsState,
  toolAccountsForm,
} from '../../../daemon/view/forms/tools/tool-accounts.ts';
import { errorText } from '../../../daemon/view/states/problems.ts';
import { tr } from '../../i18n.ts';
import type { Shell } from '../shell.ts';
import { FormPage } from '../widgets/rows/form-page.ts';

export function toolAccountsPage(shell: Shell): FormPage {
  const { model } = shell;
  let state: ToolAccountsState = NO_TOOL_ACCOUNTS;
  /** When it was last read, in ms since the epoch. */
  let readAt = 0;
  const page = new FormPage(
    shell,
    ({ client }) => {
      const offline = client.offline !== null;
      const now = Date.now();
      if (!offline && now - readAt > READ_AGAIN_MS) void read();
      return toolAccountsForm(state, { offline, now }, tr);
    },
    true,
  );
  const show = (next: ToolAccountsState) => {
    state = next;
    page.refresh(shell.view());
  };
  const read = async () => {
    readAt = Date.now();
    try {
      show({ answer: await model.call('GET /api/accounts'), failed: null });
    } catch (error) {
      show({ ...state, failed: errorText(error, tr) });
    }
  };
  const unsubscribe = model.onEvent(({ event, data }) => {
    if (event === 'accounts') show({ answer: data, failed: null });
    // another daemon may watch nothing yet
    if (event === 'snapshot') readAt = 0;
  });
  return Object.assign(page, { reload: () => void read(), close: unsubscribe });
}
