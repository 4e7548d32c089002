// Builds the window with the header, the banners and the current page.
import Adw from 'gi://Adw?version=1';
import type Gio from 'gi://Gio?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Look } from '../../../daemon/view/client/labels.ts';
import type { Model } from '../../../daemon/view/client/model.ts';
import { generalReason } from '../../../daemon/view/forms/availability.ts';
import { gatherFigures } from '../../../daemon/view/graph.ts';
import type { PageName } from '../../../daemon/view/page-list.ts';
import { BANNERS, isSaidByState } from '../../../daemon/view/states/banners.ts';
import { describe, type View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import { DEVELOPMENT } from '../../install-paths.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { createPages, loadFurtherPages, type Pages } from '../page-loader.ts';
import { keepFocus, mendTree, turnTo } from '../widgets/accessible.ts';
import { createBanner, isSeen, onSeenChanged, toolbarView } from '../widgets/compat.ts';
import { createConfirmBar, createReason, createToasts } from '../widgets/notices.ts';
import { createHost } from './create-host.ts';
import { createHeader, type Header } from './header.ts';
import { createSidebar, isListed, SIDEBAR_FROM, type Sidebar } from './sidebar.ts';
import { addWindowActions } from './window-actions.ts';

declare const __VERSION__: string;

/** Time between requests for statistics while the window is visible, in ms. */
const REFRESH_MS = 5000;
/** Pages with values that the daemon reads only on request. */
const LIVE: readonly PageName[] = ['connection', 'history', 'networks'];
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
  readonly #host: WindowHost;
  readonly #stack = new Gtk.Stack({ vexpand: true, hexpand: true });
  /** Box with the list of pages and the page. */
  readonly #middle = new Gtk.Box();
  /** List of pages; null until the window is first wide enough. */
  #sidebar: Sidebar | null = null;
  readonly #pages: Pages;
  readonly #figures: ReturnType<typeof gatherFigures>;
  readonly #header: Header;
  readonly #confirmBar = createConfirmBar(command => this.#host.run(command));
  readonly #reason = createReason(this.#stack);
  readonly #banners = BANNERS.map(name => ({ name, ...createBanner() }));
  readonly #toggleAction: Gio.SimpleAction;
  #view: View;
  #page: PageName = 'connection';
  #current: PageWidget;
  /** The page to show once its code is loaded. */
  #wanted: PageName = 'connection';
  /** Earlier pages, to which the back button returns. */
  #before: PageName[] = [];
  #greeted = false;
  #paced: Look | null = null;
  readonly #tick = createTimer(1000, () => this.#beat());
  readonly #poll = createTimer(REFRESH_MS, () => void this.#model.refresh('stale'));

  /** @param size width and height at the last start. */
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
    this.#figures = gatherFigures(model);
    const toasts = createToasts(this);
    this.#host = createHost(this, {
      model,
      toasts,
      figures: this.#figures.samples,
      view: () => this.#view,
      goTo: (page, row = null) => this.goToPlace({ page, row }),
    });
    this.#pages = createPages(this.#host);
    toasts.overlay.set_child(this.#reason.over);
    this.#header = createHeader({ goTo: name => this.goTo(name), back: () => this.#back() });
    const bars = [
      this.#header.above,
      this.#confirmBar.widget,
      ...this.#banners.map(({ widget }) => widget),
      this.#reason.line,
    ];
    this.#middle.append(toasts.overlay);
    this.set_content(toolbarView(bars, this.#middle, [this.#header.below]));
    mendTree(this, 'Culvert');
    this.#toggleAction = addWindowActions(this, this.#host, {
      page: () => this.#current,
      search: () => this.#focusSearch(),
      goToPlace: place => this.goToPlace(place),
      canGoBack: () => this.#before.length > 0,
      back: () => this.#back(),
    });
    this.#resized(size[0]);
    // later, since a layout must not change itself
    this.connect('realize', () => {
      this.get_surface()!.connect('layout', (_surface, width) => {
        void Promise.resolve().then(() => this.#resized(width));
      });
    });

    const unsubscribe = model.subscribe(() => this.#show());
    // not 'destroy', which GTK sends with the last reference: the subscriptions below hold one
    this.connect('unrealize', () => {
      unsubscribe();
      this.#figures.close();
      this.#host.checks.close();
      for (const built of this.#pages.made()) built.close?.();
      this.#tick.run(false);
      this.#poll.run(false);
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
        void loadFurtherPages().catch(() => {}); // the page that needs the code reports it
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
    this.#showSidebar(width >= SIDEBAR_FROM);
  }

  /** Shows or hides the list of pages; the page keeps its scroll position and focus. */
  #showSidebar(isWide: boolean): void {
    if (isWide === (this.#sidebar?.widget.visible ?? false)) return;
    if (!this.#sidebar) {
      this.#sidebar = createSidebar({
        goTo: name => this.goTo(name),
        search: text => this.#searchFor(text),
        enter: () => this.#page === 'settings' && this.#current.searchBar?.enter(),
      });
      this.#middle.prepend(this.#sidebar.widget);
    }
    const { widget, search } = this.#sidebar;
    const { searchBar } = this.#current;
    const [from, to] = isWide ? [searchBar, search] : [search, searchBar];
    const isSearched = this.#page === 'settings' && from && to;
    const hasFocus = (area: Gtk.Widget) => this.get_focus()?.is_ancestor(area) ?? false;
    const [hadFocus, isTyping] = [hasFocus(widget), isSearched && hasFocus(from.widget)];
    widget.visible = isWide;
    if (isSearched && isWide) search.put(from.text());
    this.#placeSearch();
    this.#sidebar.show(this.#page, this.#view.client);
    if (isTyping) to?.focus(true);
    else if (hadFocus && !isWide && !this.#current.first?.grab_focus())
      this.#current.child_focus(Gtk.DirectionType.TAB_FORWARD);
  }

  /** Shows one search field of all pages: in the sidebar, or else on the page of all settings. */
  #placeSearch(): void {
    if (this.#page !== 'settings') this.#sidebar?.search.put('');
    else if (this.#current.searchBar) this.#current.searchBar.widget.visible = !this.#sidebar?.widget.visible;
  }

  #searchFor(text: string): void {
    if (this.#page === 'settings') this.#current.searchBar?.type(text);
    else if (text)
      this.goTo('settings', ({ searchBar }) => {
        searchBar?.type(text);
        this.#sidebar?.search.focus(true); // the page took the focus
      });
  }

  #focusSearch(): void {
    if (this.#current.focusSearch && this.#page !== 'settings') this.#current.focusSearch();
    else if (this.#sidebar?.widget.visible) this.#sidebar.search.focus();
    else this.goTo('settings', settings => settings.focusSearch?.());
  }

  /**
   * Shows a page and focuses it, immediately unless its code is still loading.
   * @param then receives the page once it is shown
   */
  goTo(name: PageName, then: (page: PageWidget) => void = () => {}): void {
    this.#wanted = name;
    const before = this.#page;
    const page = this.#turn(name);
    if (page) {
      if (name !== before) this.#before = [...this.#before.filter(page => page !== name), before];
      then(page);
    } else {
      const again = () => this.#wanted === name && this.goTo(name, then);
      const missing = _('A part of Culvert is missing. Close and open this window, or install Culvert again.');
      void loadFurtherPages().then(again, () => this.#host.showError(new Error(missing)));
    }
  }

  /** Shows a page, at one of its rows. */
  goToPlace({ page, row }: { page: PageName; row: string | null }): void {
    this.goTo(page, shown => row !== null && shown.reveal?.(row));
  }

  #back(): void {
    this.#turn(this.#before.pop() ?? 'connection');
  }

  /** @returns the page; null while its code is not loaded. */
  #turn(name: PageName): PageWidget | null {
    const page = this.#pages.get(name);
    if (!page) return null;
    if (name !== this.#page) this.#current.leave?.();
    // otherwise the focus would return to its last place in the page
    this.set_focus(null);
    this.#page = name;
    this.#current = page;
    const fresh = page.parent === null;
    page.refresh(this.#view);
    if (fresh) {
      // before adding the page: a role can't change once the page is in the window
      mendTree(page, this.#pages.title(name));
      this.#stack.add_named(page, name);
    } else page.reload?.();
    turnTo(this.#stack, name, this.#pages.title(name));
    this.#header.show(name, this.#pages.title(name), isListed(name, this.#view.client));
    this.#sidebar?.show(name, this.#view.client);
    this.#placeSearch();
    this.#showBanners();
    if (fresh) page.opened?.();
    if (this.get_mapped() && !page.first?.grab_focus()) page.child_focus(Gtk.DirectionType.TAB_FORWARD);
    this.#pace();
    return page;
  }

  #show(): void {
    this.#view = describe(this.#model.state(), __VERSION__, tr);
    const { tunnel, client } = this.#view;
    this.#confirmBar.show(this.#view.unconfirmed);
    this.#toggleAction.enabled = tunnel.toggle.sensitive;
    // a hidden page is updated when it is shown
    this.#current.refresh(this.#view);
    this.#showBanners();
    this.#sidebar?.show(this.#page, this.#view.client);
    this.#greet();
    Adw.StyleManager.get_default().color_scheme =
      SCHEMES[client.config?.config.ui.theme ?? 'system'] ?? Adw.ColorScheme.DEFAULT;
    this.#pace();
  }

  /** Shows the first steps to a user who has not seen them, unless another page is requested. */
  #greet(): void {
    const { config } = this.#view.client;
    if (!config || this.#greeted) return;
    this.#greeted = true;
    if (!config.config.ui.firstSteps || this.#wanted !== 'connection') return;
    const greet = () => this.#wanted === 'connection' && this.goTo('welcome');
    void loadFurtherPages().then(greet, () => {}); // the page that needs the code reports it
  }

  #showBanners(): void {
    const { banners, tunnel } = this.#view;
    for (const { name, show } of this.#banners) {
      const banner = banners[name];
      // the connection page shows the same text and button below its state
      const once = this.#page === 'connection' && banner && isSaidByState(banner, tunnel);
      const { title = null, button = null, caution = false } = (once ? null : banner) ?? {};
      show(title, button && { label: button.label, activate: () => void this.#host.run(button.command) }, caution);
    }
    this.#showReason();
  }

  /** Shows why controls can't be used, unless a banner or the connection page already shows the reason. */
  #showReason(): void {
    const reason = this.#current?.inert ? generalReason(this.#view, tr) : null;
    const isSaid =
      !reason?.passing &&
      (this.#page === 'connection' || BANNERS.some(name => this.#view.banners[name]?.title === reason?.text));
    this.#reason.show(isSaid ? null : reason);
  }

  /** Starts or stops the timers, which run only while the window is visible. */
  #pace(): void {
    const { look } = this.#view.tunnel;
    const visible = isSeen(this);
    const live = visible && LIVE.includes(this.#page);
    // the first statistics of a new state should not wait for the timer
    if (live && look !== this.#paced) void this.#model.refresh('stale');
    this.#paced = look;
    const moves = this.#current.tick !== undefined && look !== 'unavailable';
    this.#tick.run(visible && (moves || this.#view.unconfirmed !== null));
    this.#poll.run(live);
  }

  #beat(): void {
    this.#confirmBar.tick();
    this.#current.tick?.();
  }
}

/** Creates a timer that can be started and stopped repeatedly. */
function createTimer(everyMs: number, work: () => void): { run(wanted: boolean): void } {
  let timer: ReturnType<typeof setInterval> | null = null;
  return {
    run(wanted) {
      if (wanted) timer ??= setInterval(work, everyMs);
      else if (timer) {
        clearInterval(timer);
        timer = null;
      }
    },
  };
}
