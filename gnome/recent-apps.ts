// Stores the apps recently started through the tunnel in a list that the panel and the tray both read and write.
import GLib from 'gi://GLib?version=2.0';
import { statePath } from './install-paths.ts';

export interface RecentApp {
  id: string;
  name: string;
}
const KEPT = 5;

const path = () => statePath('recent-apps.json');

/** Returns the recent apps, newest first; an empty list if the file is missing or invalid. */
export function recentApps(): RecentApp[] {
  try {
    const [, bytes] = GLib.file_get_contents(path());
    const list: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return Array.isArray(list) ? list.filter(isApp).slice(0, KEPT) : [];
  } catch {
    return [];
  }
}

/** Puts an app first in the list. Ignores a failure to write the file. */
export function rememberApp(app: RecentApp): void {
  const list = [app, ...recentApps().filter(({ id }) => id !== app.id)].slice(0, KEPT);
  try {
    GLib.mkdir_with_parents(GLib.path_get_dirname(path()), 0o700);
    // GLib writes a temporary file and renames it
    GLib.file_set_contents(path(), new TextEncoder().encode(JSON.stringify(list)) as never);
  } catch {
    // without the list, the user searches for the app again
  }
}

function isApp(value: unknown): value is RecentApp {
  const app = value as Partial<RecentApp> | null;
  return typeof app?.id === 'string' && typeof app.name === 'string';
}
