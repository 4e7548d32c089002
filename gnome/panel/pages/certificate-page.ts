// Builds the page of the organization's certificate: the tools are tried when it is turned to.

import { NO_TRUST, trustForm } from '../../../daemon/view/forms/trust.ts';
import { createTrustPage } from '../../../daemon/view/forms/trust-page.ts';
import { tr } from '../../i18n.ts';
import type { Shell } from '../shell.ts';
import { FormPage } from '../widgets/rows/form-page.ts';

export function certificatePage(shell: Shell): FormPage {
  let state = NO_TRUST;
  const show = (next: typeof state) => {
    state = next;
    page.refresh(shell.view());
  };
  const tasks = createTrustPage(shell.model, show, () => tr);
  const page = new FormPage(shell, () => trustForm(state, tasks, tr));
  const check = () => {
    if (!shell.view().client.offline) void tasks.check();
  };
  return Object.assign(page, { opened: check, reload: check });
}
