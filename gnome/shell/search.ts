// The search of GNOME Shell for an installation of one user, whose provider the Shell does not look for: hands searches over to
// the bridge (gnome/bridge/search.ts). Nothing runs before a search.
import type Gio from 'gi://Gio';
import type GLib from 'gi://GLib';
import { loadIcons } from './tile.ts';

const NAME = 'org.culvert.Client1';
const PATH = '/org/culvert/SearchProvider';
const INTERFACE = 'org.gnome.Shell.SearchProvider2';
const APP = 'org.culvert.Culvert.desktop';
/** The file of a package, which makes this one superfluous. */
const FILE = 'gnome-shell/search-providers/org.culvert.Culvert.search-provider.ini';
/** Time for a call, in ms; connecting may take that long. */
const LIMIT_MS = 60_000;

/** @param directory of the extension. @returns what takes the provider away again */
export function addSearch(shell: Shell.Modules, directory: Gio.File): () => void {
  const { Gio, GLib, Main } = shell;
  const isThere = GLib.get_system_data_dirs().some(data => Gio.File.new_for_path(`${data}/${FILE}`).query_exists(null));
  if (isThere) return () => {};
  const provider = createProvider(shell, directory);
  const { searchController, _overview } = Main.overview;
  if (searchController?.addProvider) {
    searchController.addProvider(provider);
    return () => searchController.removeProvider(provider);
  }
  const { _searchResults: results } = _overview.controls._searchController;
  results._registerProvider(provider);
  return () => results._unregisterProvider(provider);
}

function createProvider(shell: Shell.Modules, directory: Gio.File): Shell.SearchProvider {
  const { Gio, GLib, Shell, St, global } = shell;
  const call = (method: string, signature: string, args: unknown[], cancellable: Gio.Cancellable | null = null) =>
    new Promise<unknown[]>((resolve, reject) => {
      const packed = new GLib.Variant(signature as '(s)', args as [string]);
      const { NONE } = Gio.DBusCallFlags;
      Gio.DBus.session.call(NAME, PATH, INTERFACE, method, packed, null, NONE, LIMIT_MS, cancellable, (bus, result) => {
        try {
          resolve(bus!.call_finish(result).recursiveUnpack<unknown[]>());
        } catch (error) {
          reject(error);
        }
      });
    });
  /** A bridge that can't answer finds nothing. */
  const ask = async <T>(...given: Parameters<typeof call>): Promise<T[]> => {
    try {
      return (await call(...given))[0] as T[];
    } catch (error) {
      const isEnd = (error as GLib.Error).matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED);
      if (!isEnd) console.warn(`Culvert: ${(error as Error).message}`);
      return [];
    }
  };
  const iconOf = loadIcons(shell, directory);
  const picture = (name: string) => (name.startsWith('/') ? Gio.icon_new_for_string(name) : iconOf(name));
  return {
    id: 'culvert@culvert.org',
    appInfo: Shell.AppSystem.get_default().lookup_app(APP)?.app_info,
    canLaunchSearch: true,
    getInitialResultSet: (terms, cancellable) => ask('GetInitialResultSet', '(as)', [terms], cancellable),
    getSubsearchResultSet: (before, terms, cancellable) =>
      ask('GetSubsearchResultSet', '(asas)', [before, terms], cancellable),
    async getResultMetas(ids, cancellable) {
      const metas = await ask<Record<'id' | 'name' | 'description' | 'gicon', string>>(
        'GetResultMetas',
        '(as)',
        [ids],
        cancellable,
      );
      return metas.map(({ gicon, ...meta }) => ({
        ...meta,
        createIcon: size => new St.Icon({ gicon: picture(gicon), icon_size: size }),
      }));
    },
    filterResults: (results, most) => results.slice(0, most),
    activateResult: (id, terms) => void ask('ActivateResult', '(sasu)', [id, terms, global.get_current_time()]),
    launchSearch: terms => void ask('LaunchSearch', '(asu)', [terms, global.get_current_time()]),
  };
}
