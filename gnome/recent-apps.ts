// Keeps the apps recently started through the tunnel, for panel and tray, which both read and write the list.
import GLib from 'gi://GLib?version=2.0';
import { statePath } from './install-paths.ts';

export interface RecentApp {
  id: string;
  name: string;
}
const KEPT = 5;

const path = () => statePath('recent-apps.json');

/** Newest first. Anything that is not a list of apps counts as an empty list. */
export function recentApps(): RecentApp[] {
  try {
    const [, bytes] = GLib.file_get_contents(path());
    const list: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return Array.isArray(list) ? list.filter(isApp).slice(0, KEPT) : [];
  } catch {
    return [];
  }
}

/** Puts an app first. A file that can't be written is ignored. */
export function rememberApp(app: RecentApp): void {
  const list = [app, ...recentApps().filter(({ id }) => id !== app.id)].slice(0, KEPT);
  try {
    GLib.mkdir_with_parents(GLib.path_get_dirname(path()), 0o700);
    // GLib writes a temporary file and renames it
    GLib.file_set_contents(path(), new TextEncoder().encode(JSON.stringify(list)) as never);
  } catch {
    // without the list, the user searches once more
  }
}

function isApp(value: unknown): value is RecentApp {
  const app = value as Partial<RecentApp> | null;
  return typeof app?.id === 'string' && typeof app.name === 'string';
}
