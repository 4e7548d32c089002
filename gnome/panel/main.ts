// The panel: one window on the daemon's state. It starts without waiting for the daemon.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import System, { exit } from 'system';
import { _, followLocale } from '../i18n.ts';
import { createModel, type Model } from '../model.ts';
import { APP_ID, icondir, socketPath } from '../place.ts';
import { createTransport } from '../transport.ts';
import { showAbout, showShortcuts } from './compat.ts';
import { PAGES } from './shell.ts';
import { Window } from './window.ts';

declare const __VERSION__: string;

class Application extends Adw.Application {
  static {
    GObject.registerClass({ GTypeName: 'CulvertApplication' }, Application);
  }
  #model!: Model;

  override vfunc_startup(): void {
    super.vfunc_startup();
    this.#model = createModel(createTransport(socketPath()));
    this.#model.subscribe(() => {
      if (followLocale(this.#model.facts().config)) this.#rebuild();
    });
    Gtk.IconTheme.get_for_display(Gdk.Display.get_default()!).add_search_path(icondir);
    Gtk.Window.set_default_icon_name(APP_ID);
    this.#action('quit', ['<primary>q'], () => this.quit());
    this.#action('about', [], () => this.#about());
    this.#action('shortcuts', ['<primary>question'], () => this.#shortcuts());
    this.set_accels_for_action('window.close', ['<primary>w']);
    this.set_accels_for_action('win.toggle', ['<primary>t']);
    this.set_accels_for_action('win.refresh', ['<primary>r', 'F5']);
    this.set_accels_for_action('win.search', ['<primary>f']);
    PAGES.forEach((page, i) => {
      this.set_accels_for_action(`win.page::${page}`, [`<primary>${i + 1}`, `<alt>${i + 1}`]);
    });
  }

  override vfunc_activate(): void {
    (this.get_active_window() ?? new Window(this, this.#model)).present();
  }

  override vfunc_shutdown(): void {
    this.#model.close();
    // as in compat.ts, for a dialog that is still open
    for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) window.set_transient_for(null);
    super.vfunc_shutdown();
  }

  /** Widgets keep the words they were built with. */
  #rebuild(): void {
    const old = this.get_windows().find(window => window instanceof Window);
    if (!old) return;
    const window = new Window(this, this.#model, old.page);
    window.set_default_size(old.get_width(), old.get_height());
    window.present();
    old.destroy();
  }

  #action(name: string, accelerators: string[], activate: () => void): void {
    const action = new Gio.SimpleAction({ name });
    action.connect('activate', activate);
    this.add_action(action);
    this.set_accels_for_action(`app.${name}`, accelerators);
  }

  #about(): void {
    showAbout(this.get_active_window()!, {
      application_name: 'Culvert',
      application_icon: APP_ID,
      version: __VERSION__,
      comments: _('Unofficial client for Cloudflare WARP. Not made or endorsed by Cloudflare.'),
      developer_name: _('The Culvert contributors'),
      website: '',
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
          [_('Read everything again'), '<Primary>r'],
        ],
      ],
      [
        _('Pages'),
        [
          [_('Connection'), '<Primary>1'],
          [_('Apps'), '<Primary>2'],
          [_('Console'), '<Primary>3'],
          [_('Search'), '<Primary>f'],
        ],
      ],
      [
        _('General'),
        [
          [_('Main menu'), 'F10'],
          [_('Keyboard shortcuts'), '<Primary>question'],
          [_('Close the window'), '<Primary>w'],
          [_('Quit'), '<Primary>q'],
        ],
      ],
    ]);
  }
}

GLib.set_prgname(APP_ID); // window class and Wayland app id: how a shell finds the desktop entry
GLib.set_application_name('Culvert');
const application = new Application({ application_id: APP_ID, flags: Gio.ApplicationFlags.DEFAULT_FLAGS });
// not runAsync, which GJS 1.74 lacks; so nothing before this line may await
exit(application.run([System.programInvocationName, ...ARGV]));
