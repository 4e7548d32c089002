// Builds the page of the kill switch: what was blocked is recorded and read while the page can be seen.

import {
  type BlockedState,
  NOT_READ,
  READ_BLOCKED_MS,
  recordsBlocked,
} from '../../../daemon/view/forms/tunnel/blocked.ts';
import { killSwitchForm } from '../../../daemon/view/forms/tunnel/killswitch.ts';
import { errorText } from '../../../daemon/view/states/problems.ts';
import { tr } from '../../i18n.ts';
import type { Shell } from '../shell.ts';
import { FormPage } from '../widgets/rows/form-page.ts';

export function killSwitchPage(shell: Shell): FormPage {
  let state: BlockedState = NOT_READ;
  /** When it was last read, in ms since the epoch. */
  let readAt = 0;
  const page = new FormPage(
    shell,
    ({ killSwitch, client }) => {
      const now = Date.now();
      if (killSwitch.installed && now - readAt >= READ_BLOCKED_MS) void read();
      return killSwitchForm(killSwitch, now, tr, { ...state, records: recordsBlocked(client) });
    },
    true,
  );
  const read = async () => {
    readAt = Date.now();
    try {
      state = { list: await shell.model.call('GET /api/killswitch/blocked'), failed: null };
    } catch (error) {
      state = { list: null, failed: errorText(error, tr) };
    }
    page.refresh(shell.view());
  };
  return page;
}
