// Asks the desktop which program finishes the sign-in with an organization, and makes it Culvert.
import Gio from 'gi://Gio?version=2.0';
import { _ } from '../i18n.ts';
import { APP_ID } from '../install-paths.ts';

/** Scheme of the address at which the vendor's page ends. */
const TYPE = 'x-scheme-handler/com.cloudflare.warp';
const ENTRY = `${APP_ID}.desktop`;

/** The program that the desktop starts: null for none, `culvert` for this one. */
export function signInProgram(): string | null {
  const program = Gio.AppInfo.get_default_for_type(TYPE, false);
  return program && (program.get_id() === ENTRY ? 'culvert' : program.get_name());
}

/** Makes it Culvert. @throws Error where the app menu has no Culvert */
export function claimSignIn(): void {
  const entry = Gio.AppInfo.get_all().find(app => app.get_id() === ENTRY);
  if (!entry) throw new Error(_('Culvert is not in the app menu. Install it, then try again.'));
  entry.set_as_default_for_type(TYPE);
}

/** Makes it Culvert where no program does it yet, for a sign-in that begins. */
export function claimFreeSignIn(): void {
  try {
    if (signInProgram() === null) claimSignIn();
  } catch {
    // the address can be pasted
  }
}
