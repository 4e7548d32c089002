// Copies text for the user.
import type { App } from '../client/app.ts';

/** Copies text; where the browser forbids it (a page without TLS on another machine) the user does it. */
export async function copy(app: App, text: string): Promise<boolean> {
  const { _ } = app.tr.value;
  try {
    await navigator.clipboard.writeText(text);
    app.toast(_('Copied'));
    return true;
  } catch {
    void app.ask({ heading: _('Copy this'), body: '', shell: text, accept: _('Close'), notice: true });
    return false;
  }
}
