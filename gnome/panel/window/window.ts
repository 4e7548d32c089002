// Builds the window: header, banners, the page that is turned to, and what its pages may ask of it.
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Model } from '../../../daemon/view/client/model.ts';
import { createCommandRunner } from '../../../daemon/view/client/run-command.ts';
import { type ClientTask, PAGE_NAMES, type PageName } from '../../../daemon/view/forms/form.ts';
import { applySettings, exportSettings, type SettingsHands, undoSettings } from '../../../daemon/view/settings-file.ts';
import { BANNERS } from '../../../daemon/view/states/banners.ts';
import type { Look } from '../../../daemon/view/states/labels.ts';
import { describe, type View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import { DEVELOPMENT } from '../../install-paths.ts';
import { startDaemon } from '../../start-daemon.ts';
import { installKillSwitch, manageWarp, openNetworkSettings } from '../desktop.ts';
import { gatherHistory, type History } from '../history.ts';
import { createPages, loadFurtherPages, type Pages } from '../page-list.ts';
import type { Page, Shell } from '../shell.ts';
import { mendTree } from '../widgets/a11y/accessible.ts';
import { keepFocus } from '../widgets/a11y/keep-focus.ts';
import { ask, createBanner, isSeen, onSeenChanged, openUri, toolbarView } from '../widgets/compat.ts';
import { copyText } from '../widgets/copy.ts';
import { createConfirmBar } from '../widgets/dialogs/confirm-bar.ts';
import { openText, saveText } from '../widgets/dialogs/files.ts';
import { answered } from '../widgets/dialogs/questions.ts';
import { createToasts } from '../widgets/dialogs/toasts.ts';
import { showUpdateCommand } from '../widgets/rows/command-box.ts';
import { turnTo } from '../widgets/stack.ts';
import { createHeader, type Header } from './header.ts';
import { showReport } from './report.ts';

declare const __VERSION__: string;

/** How often figures are asked for while someone may look at them. */
const REFRESH_MS = 5000;
/** Pages that show what the daemon reads only on request. */
const LIVE: readonly PageName[] = ['connection', 'graph', 'history'];
const SCHEMES = {
  light: Adw.ColorScheme.FORCE_LIGHT,
  dark: Adw.ColorScheme.FORCE_DARK,
  system: Adw.ColorScheme.DEFAULT,
};

export class Window extends Adw.ApplicationWindow {
  static {
    GObject.registerClass({ GTypeName: 'CulvertWindow' }, Window);
  }
  readonly #model: Model;
  readonly #shell: Shell;
  readonly #stack = new Gtk.Stack({ vexpand: true });
  readonly #pages: Pages;
  readonly #history: History;
  readonly #header: Header;
  readonly #confirmBar = createConfirmBar(command => this.#shell.run(command));
  readonly #banners = BANNERS.map(name => ({ name, ...createBanner() }));
  readonly #toggleAction = new Gio.SimpleAction({ name: 'toggle' });
  #view: View;
  #page: PageName = 'connection';
  #current: Page;
  /** What is turned to once its code is loaded. */
  #wanted: PageName = 'connection';
  /** The way back from a page that is not a primary one. */
  #before: PageName[] = [];
  #paced: Look | null = null;
  #tick: ReturnType<typeof setInterval> | null = null;
  #poll: ReturnType<typeof setInterval> | null = null;

  /** @param size width and height, as the window was left. */
  constructor(
    application: Adw.Application,
    model: Model,
    size: readonly [number, number],
    page: PageName = 'connection',
  ) {
    super({
      application,
      title: 'Culvert',
      default_width: size[0],
      default_height: size[1],
      width_request: 340,
      height_request: 360,
    });
    if (DEVELOPMENT) this.add_css_class('devel'); // libadwaita's stripes on the header bar
    this.#model = model;
    this.#view = describe(model.state(), __VERSION__, tr);
    this.#history = gatherHistory(model);
    const toasts = createToasts(this);
    this.#shell = this.#createShell(toasts);
    this.#pages = createPages(this.#shell, this.#history);
    toasts.overlay.set_child(this.#stack);
    this.#header = createHeader({ goTo: name => this.goTo(name), back: () => this.#back() });
    const bars = [this.#header.above, this.#confirmBar.widget, ...this.#banners.map(({ widget }) => widget)];
    this.set_content(toolbarView(bars, toasts.overlay, [this.#header.below]));
    mendTree(this, 'Culvert');
    this.#addActions();
    this.#resized(size[0]);
    // not from within the layout, which must not be changed by what it finds
    this.connect('realize', () => {
      this.get_surface()!.connect('layout', (_surface, width) => {
        void Promise.resolve().then(() => this.#resized(width));
      });
    });

    const unsubscribe = model.subscribe(() => this.#show());
    this.connect('destroy', () => {
      unsubscribe();
      this.#history.close();
      for (const built of this.#pages.made()) built.close?.();
      if (this.#tick) clearInterval(this.#tick);
      if (this.#poll) clearInterval(this.#poll);
    });
    onSeenChanged(this, () => this.#pace());
    this.#page = this.#pages.get(page) ? page : 'connection';
    this.#current = this.#turn(this.#page)!;
    this.#show();
    const { first } = this.#current;
    this.set_focus(first ?? null);
    const focusLater = keepFocus(this);
    // GTK gives the focus to a tab when the window is shown and the first control can't take it yet
    const mapped = this.connect('map', () => {
      this.disconnect(mapped);
      const clock = this.get_frame_clock()!;
      const painted = clock.connect('after-paint', () => {
        clock.disconnect(painted);
        void loadFurtherPages().catch(() => {}); // a page that is turned to says so
      });
      void Promise.resolve().then(() => {
        if (!first || first === this.get_focus()) return;
        this.set_focus(null);
        focusLater(first);
      });
    });
  }

  get page(): PageName {
    return this.#page;
  }

  #resized(width: number): void {
    this.#header.resized(width);
    this.#confirmBar.resized(width);
  }

  /**
   * Turns to a page, and puts the keyboard onto it; at once, unless its code is still being loaded.
   * @param then is given the page once it is turned to
   */
  goTo(name: PageName, then: (page: Page) => void = () => {}): void {
    this.#wanted = name;
    const before = this.#page;
    const page = this.#turn(name);
    if (page) {
      if (name !== before) this.#before = [...this.#before.filter(page => page !== name), before];
      then(page);
    } else {
      const again = () => this.#wanted === name && this.goTo(name, then);
      const missing = _('A part of Culvert is missing. Close and open this window, or install Culvert again.');
      void loadFurtherPages().then(again, () => this.#shell.showError(new Error(missing)));
    }
  }

  #back(): void {
    this.#turn(this.#before.pop() ?? 'connection');
  }

  /** @returns the page; null while its code is not loaded. */
  #turn(name: PageName): Page | null {
    const page = this.#pages.get(name);
    if (!page) return null;
    if (name !== this.#page) this.#current.leave?.();
    // else a page that was left begins where the keyboard was in it
    this.set_focus(null);
    this.#page = name;
    this.#current = page;
    const fresh = page.parent === null;
    page.refresh(this.#view);
    if (fresh) {
      // first, since a role can't change once the page is in the window
      mendTree(page, this.#pages.title(name));
      this.#stack.add_named(page, name);
    } else page.reload?.();
    turnTo(this.#stack, name, this.#pages.title(name));
    this.#header.show(name, this.#pages.title(name));
    this.#showBanners();
    if (fresh) page.opened?.();
    if (this.get_mapped() && !page.first?.grab_focus()) page.child_focus(Gtk.DirectionType.TAB_FORWARD);
    this.#pace();
    return page;
  }

  #createShell(toasts: ReturnType<typeof createToasts>): Shell {
    const hands = {
      model: this.#model,
      toast: toasts.toast,
      showError: toasts.showError,
      ask: (question: Parameters<Shell['ask']>[0]) => ask(this, question),
      open: (uri: string) => openUri(this, uri, toasts.showError),
      goTo: (name: PageName) => this.goTo(name),
      copy: (text: string) => copyText(this, text),
      task: (task: ClientTask) => this.#task(task),
    };
    const run = createCommandRunner({
      ...hands,
      translator: () => tr,
      answer: question => answered(hands, question),
      copy: async text => {
        hands.copy(text);
        return true;
      },
    });
    return {
      ...hands,
      run,
      view: () => this.#view,
      perform: request => run({ ask: { kind: 'action', request } }),
      window: () => this,
    };
  }

  #addActions(): void {
    const action = (name: string, activate: () => void) => {
      const added = new Gio.SimpleAction({ name });
      added.connect('activate', activate);
      this.add_action(added);
    };
    this.#toggleAction.connect('activate', () => {
      const { action: wanted } = this.#view.tunnel.toggle;
      if (wanted) void this.#shell.perform({ action: wanted });
    });
    this.add_action(this.#toggleAction);
    action('refresh', () => {
      this.#model.retry();
      void this.#model.refresh('all');
      this.#current.reload?.();
    });
    action('search', () => {
      if (this.#current.focusSearch) this.#current.focusSearch();
      else this.goTo('settings', page => page.focusSearch?.());
    });
    action('back', () => {
      if (this.#before.length) this.#back();
    });
    action('escape', () => {
      const search = this.get_focus()?.get_ancestor(Gtk.SearchEntry.$gtype) as Gtk.SearchEntry | null | undefined;
      if (search?.text) search.text = '';
      else if (this.#before.length) this.#back();
    });
    action('copy-proxy', () => {
      const { address } = this.#view.proxy;
      if (!address) return;
      copyText(this, address);
      this.#shell.toast(_('Copied'));
    });
    action('report', () => void showReport(this.#shell).catch(this.#shell.showError));
    const turn = new Gio.SimpleAction({ name: 'page', parameter_type: GLib.VariantType.new('s') });
    turn.connect('activate', (_action, name) => {
      const wanted = name!.unpack() as string;
      const page = PAGE_NAMES.find(known => known === wanted);
      if (page) this.goTo(page);
    });
    this.add_action(turn);
  }

  #show(): void {
    this.#view = describe(this.#model.state(), __VERSION__, tr);
    const { tunnel, client } = this.#view;
    this.#showBanners();
    this.#confirmBar.show(this.#view.unconfirmed);
    this.#toggleAction.enabled = tunnel.toggle.sensitive;
    // a page that is not shown is renewed when it is turned to
    this.#current.refresh(this.#view);
    Adw.StyleManager.get_default().color_scheme =
      SCHEMES[client.config?.config.ui.theme ?? 'system'] ?? Adw.ColorScheme.DEFAULT;
    this.#pace();
  }

  #showBanners(): void {
    const { banners, tunnel } = this.#view;
    for (const { name, show } of this.#banners) {
      const banner = banners[name];
      // with its button, the page of the connection says the same below its state
      const once = this.#page === 'connection' && banner?.title === tunnel.sentence;
      const { title = null, button = null, caution = false } = (once ? null : banner) ?? {};
      show(title, button && { label: button.label, activate: () => void this.#shell.run(button.command) }, caution);
    }
  }

  /** Timers run only while someone can see what they change. */
  #pace(): void {
    const { look } = this.#view.tunnel;
    const visible = isSeen(this);
    const live = visible && LIVE.includes(this.#page);
    // what a state shows first should not wait for the next turn of the clock
    if (live && look !== this.#paced) void this.#model.refresh('stale');
    this.#paced = look;
    const moves = (this.#current.tick && look !== 'unavailable') || this.#view.unconfirmed;
    if (visible && moves) this.#tick ??= setInterval(() => this.#beat(), 1000);
    else if (this.#tick) this.#tick = stop(this.#tick);
    if (live) this.#poll ??= setInterval(() => void this.#model.refresh('stale'), REFRESH_MS);
    else if (this.#poll) this.#poll = stop(this.#poll);
  }

  #beat(): void {
    this.#confirmBar.tick();
    this.#current.tick?.();
  }

  #settingsHands(): SettingsHands {
    return {
      model: this.#model,
      toast: this.#shell.toast,
      open: () => openText(this),
      save: (name, text) => saveText(this, name, text),
      ask: async question => (await answered(this.#shell, question)) !== null,
    };
  }

  async #task(task: ClientTask): Promise<boolean> {
    switch (task) {
      case 'start-daemon':
        startDaemon(error => this.#shell.showError(error));
        this.#model.retry();
        return true;
      case 'start-service':
      case 'restart-service':
        await manageWarp(task === 'start-service' ? 'StartUnit' : 'RestartUnit');
        void this.#model.refresh('all');
        return true;
      case 'install-killswitch':
        await installKillSwitch();
        void this.#model.refresh('all');
        return true;
      case 'network-settings':
        openNetworkSettings();
        return true;
      case 'check-update':
        await (await this.#pages.further()).updates().check();
        return true;
      case 'apply-update':
        // its progress is shown where it can be followed
        this.goTo('updates');
        await (await this.#pages.further()).updates().apply();
        return true;
      case 'roll-back':
        await (await this.#pages.further()).updates().rollBack();
        return true;
      case 'update-command':
        await showUpdateCommand(this.#shell);
        return true;
      case 'run-checks':
        await (await this.#pages.further()).checks().run();
        return true;
      case 'report':
        await showReport(this.#shell);
        return true;
      case 'export-settings':
        return exportSettings(this.#settingsHands(), tr);
      case 'apply-settings':
        return applySettings(this.#settingsHands(), tr);
      case 'undo-settings':
        return undoSettings(this.#settingsHands(), tr);
    }
  }
}

function stop(timer: ReturnType<typeof setInterval>): null {
  clearInterval(timer);
  return null;
}
