// Runs the panel: one window that shows the daemon's state. It starts without waiting for the daemon.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import System, { exit } from 'system';
import { createModel, type Model } from '../../daemon/view/client/model.ts';
import { isRightToLeft } from '../../daemon/view/format.ts';
import { PLACES } from '../../daemon/view/forms/settings.ts';
import { FORMER_PAGE_NAMES, PAGE_NAMES, type PageName, placeOf } from '../../daemon/view/page-list.ts';
import { chosenLanguage } from '../../daemon/view/translator.ts';
import { _, followLocale, tr } from '../i18n.ts';
import { APP_ID, BRAND, icondir, RESOURCES, socketPath, TRAY_NAME, TRAY_PATH } from '../install-paths.ts';
import { readLastState, stopDaemon } from '../programs.ts';
import { createTransport } from '../transport.ts';
import { finishLoading } from './page-loader.ts';
import './resource.ts'; // the application takes its style from there when it starts
import { showAbout, showShortcuts } from './widgets/compat.ts';
import { Window } from './window/window.ts';
import { savedSize, saveSize } from './window/window-size.ts';

declare const __VERSION__: string;

/** Keyboard shortcuts by action; `vfunc_startup` adds Alt and Ctrl with a digit for the main pages. */
const ACCELERATORS: Record<string, string[]> = {
  'app.shortcuts': ['<primary>question', 'F1'],
  'window.close': ['<primary>w', '<primary>q'],
  'win.toggle': ['<primary>t'],
  'win.refresh': ['<primary>r', 'F5'],
  'win.search': ['<primary>f'],
  'win.back': ['<alt>Left'],
  'win.escape': ['Escape'],
  'win.page::preferences': ['<primary>comma'],
  'win.page::log': ['<primary>l'],
};

class Application extends Adw.Application {
  static {
    GObject.registerClass({ GTypeName: 'CulvertApplication' }, Application);
  }
  /** Public for tests, which wait for a revision. */
  declare model: Model;
  #desktopDirection = Gtk.TextDirection.LTR;

  override vfunc_startup(): void {
    super.vfunc_startup();
    this.#desktopDirection = Gtk.Widget.get_default_direction();
    this.model = createModel(createTransport(socketPath()), {}, undefined, readLastState());
    this.model.subscribe(() => {
      if (!followLocale(this.model.state().config)) return;
      this.#setDirection();
      this.#rebuild();
    });
    Gtk.IconTheme.get_for_display(Gdk.Display.get_default()!).add_search_path(icondir);
    Gtk.Window.set_default_icon_name(BRAND);
    // the tray activates this action, and ends the other programs itself
    this.#action('quit', () => this.quit());
    this.#action('quit-everything', () => void this.#quitEverything());
    this.#action('about', () => this.#about());
    this.#action('shortcuts', () => this.#shortcuts());
    // both actions need the state, which may not have arrived when they start the panel
    for (const name of ['copy-proxy', 'report'])
      this.#action(name, () => {
        this.activate();
        this.#whenKnown(() => this.#window()?.activate_action(name, null));
      });
    // the tray and the desktop entry activate these actions
    for (const name of [...PAGE_NAMES, ...FORMER_PAGE_NAMES])
      this.#action(name, () => {
        this.activate();
        this.#window()?.goToPlace(placeOf(name)!);
      });
    for (const [action, keys] of Object.entries(ACCELERATORS)) this.set_accels_for_action(action, keys);
    PLACES.forEach((page, i) => {
      this.set_accels_for_action(`win.page::${page}`, [`<primary>${i + 1}`, `<alt>${i + 1}`]);
    });
  }

  override vfunc_activate(): void {
    (this.#window() ?? this.#open('connection')).present();
  }

  override vfunc_shutdown(): void {
    this.model.close();
    // for dialogs that are still open, as `presentOver` does in compat.ts
    for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) window.set_transient_for(null);
    super.vfunc_shutdown();
  }

  /** Sets the text direction: GTK reads the desktop's once, and a language chosen in Culvert may differ. */
  #setDirection(): void {
    const { LTR, RTL } = Gtk.TextDirection;
    const chosen = isRightToLeft(tr) ? RTL : LTR;
    Gtk.Widget.set_default_direction(chosenLanguage(this.model.state().config) ? chosen : this.#desktopDirection);
  }

  #window(): Window | undefined {
    return this.get_windows().find((window): window is Window => window instanceof Window);
  }

  #open(page: PageName): Window {
    const window = new Window(this, this.model, savedSize(), page);
    window.connect('close-request', () => {
      saveSize(window);
      return false;
    });
    return window;
  }

  /** Builds the window again in the new language, since existing widgets keep their texts. */
  #rebuild(): void {
    const old = this.#window();
    if (!old) return;
    const { default_width, default_height, maximized } = old;
    const window = this.#open(old.page);
    // not the drawn size, which lacks the shadow where there is no compositor
    window.set_default_size(default_width, default_height);
    if (maximized) window.maximize();
    window.present();
    // close the old window's dialogs, which are in the old language
    for (const dialog of Gtk.Window.list_toplevels() as Gtk.Window[]) if (dialog.transient_for === old) dialog.close();
    old.destroy();
  }

  /** Calls `work` when the daemon's state and configuration have arrived, or when it is clear that no daemon answers. */
  #whenKnown(work: () => void): void {
    const isKnown = () => {
      const { offline, config } = this.model.state();
      return offline ? offline.code !== 'starting' : config !== null;
    };
    if (isKnown()) {
      work();
      return;
    }
    const unsubscribe = this.model.subscribe(() => {
      if (!isKnown()) return;
      unsubscribe();
      work();
    });
  }

  /** Quits through the running tray's entry of the same name; without a tray, stops the daemon and quits the panel. */
  async #quitEverything(): Promise<void> {
    const args = new GLib.Variant('(sava{sv})', ['quit', [], {}]);
    const { NO_AUTO_START } = Gio.DBusCallFlags;
    try {
      await this.get_dbus_connection()!.call(
        TRAY_NAME,
        TRAY_PATH,
        'org.gtk.Actions',
        'Activate',
        args,
        null,
        NO_AUTO_START,
        -1,
        null,
      );
    } catch {
      stopDaemon();
      this.quit();
    }
  }

  #action(name: string, activate: () => void): void {
    const action = new Gio.SimpleAction({ name });
    action.connect('activate', activate);
    this.add_action(action);
  }

  #about(): void {
    showAbout(this.get_active_window()!, {
      application_name: 'Culvert',
      application_icon: BRAND,
      version: __VERSION__,
      comments: _('Unofficial client for Cloudflare WARP. Not made or endorsed by Cloudflare.'),
      developer_name: _('The Culvert contributors'),
      website: '',
      license: 'MIT',
      license_type: Gtk.License.MIT_X11,
      // Translators: your name, one per line
      translator_credits: _('translator-credits'),
    });
  }

  #shortcuts(): void {
    showShortcuts(this.get_active_window()!, [
      [
        _('Tunnel'),
        [
          [_('Connect or disconnect'), '<Primary>t'],
          [_('Refresh'), '<Primary>r'],
        ],
      ],
      [
        _('Pages'),
        [
          [_('Connection'), '<Primary>1'],
          [_('Apps'), '<Primary>2'],
          [_('Settings'), '<Primary>3'],
          [_('App'), '<Primary>comma'],
          [_('Log'), '<Primary>l'],
          [_('Back'), '<Alt>Left'],
          [_('Search'), '<Primary>f'],
        ],
      ],
      [
        _('General'),
        [
          [_('Main menu'), 'F10'],
          [_('Keyboard shortcuts'), '<Primary>question'],
          [_('Close the window'), '<Primary>w'],
        ],
      ],
    ]);
  }
}

GLib.set_prgname(APP_ID); // window class and Wayland app ID, by which a shell finds the desktop entry
GLib.set_application_name('Culvert');
const application = new Application({
  application_id: APP_ID,
  resource_base_path: RESOURCES,
  flags: Gio.ApplicationFlags.DEFAULT_FLAGS,
});
// GJS 1.74 lacks runAsync, so nothing before this line may await
const status = application.run([System.programInvocationName, ...ARGV]);
finishLoading();
exit(status);
