// The window: tabs, banners over them, and what its pages may ask of it.
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import type { ActionName } from '../../daemon/api/schema.ts';
import { _, words } from '../i18n.ts';
import type { Model } from '../model.ts';
import { startDaemon } from '../start.ts';
import { describe, doneWord, type Look } from '../view.ts';
import { AppsPage } from './apps-page.ts';
import { createBanners } from './banners.ts';
import { ask, isSeen, onSeenChanged, openUri, toolbarView } from './compat.ts';
import { ConsolePage } from './console-page.ts';
import { createHeader } from './header.ts';
import { PAGES, type Page, type PageName, type Shell } from './shell.ts';
import { createToasts } from './toasts.ts';
import { TunnelPage } from './tunnel-page.ts';
import { showUpdateCommand, UpdatesWindow } from './updates-window.ts';

/** How often figures are asked for while someone may look at them. */
const REFRESH_MS = 5000;

export class Window extends Adw.ApplicationWindow {
  static {
    GObject.registerClass({ GTypeName: 'CulvertWindow' }, Window);
  }
  readonly #model: Model;
  readonly #shell: Shell;
  readonly #stack = new Adw.ViewStack();
  readonly #tunnel: TunnelPage;
  readonly #built = new Map<PageName, Page>();
  readonly #banners: ReturnType<typeof createBanners>;
  readonly #toggleAction = new Gio.SimpleAction({ name: 'toggle' });
  #updates: UpdatesWindow | null = null;
  #paced: Look | null = null;
  #tick: ReturnType<typeof setInterval> | null = null;
  #poll: ReturnType<typeof setInterval> | null = null;

  /** @param page what is shown first. */
  constructor(application: Adw.Application, model: Model, page: PageName = 'connection') {
    super({
      application,
      title: 'Culvert',
      default_width: 440,
      default_height: 760,
      width_request: 340,
      height_request: 360,
    });
    this.#model = model;
    const toasts = createToasts(this);
    this.#shell = {
      model,
      say: toasts.say,
      complain: toasts.complain,
      ask: question => ask(this, question),
      open: uri => openUri(this, uri, toasts.complain),
      goTo: name => {
        this.#stack.visible_child_name = name;
      },
      perform: (action, value) => this.#perform(action, value),
    };
    this.#tunnel = new TunnelPage(this.#shell);
    this.#built.set('connection', this.#tunnel);
    const titles = { connection: _('Connection'), apps: _('Apps'), console: _('Console') };
    const icons = { connection: 'org.culvert.Culvert', apps: 'culvert-apps', console: 'culvert-console' };
    for (const name of PAGES) {
      const child = name === 'connection' ? this.#tunnel : new Adw.Bin();
      this.#stack.add_titled(child, name, titles[name]).icon_name = `${icons[name]}-symbolic`;
    }
    this.#stack.connect('notify::visible-child-name', () => this.#turned());
    toasts.overlay.set_child(this.#stack);
    this.#banners = createBanners(this.#shell, {
      startDaemon: () => this.#start(),
      // its progress is shown where it can be followed
      applyUpdate: () => void this.#showUpdates().apply(),
      showUpdateCommand: () => void showUpdateCommand(this.#shell),
    });
    const { header, below } = createHeader(this.#stack);
    this.set_content(toolbarView([header, ...this.#banners.widgets], toasts.overlay, [below]));
    this.#addActions();

    const unsubscribe = model.subscribe(() => this.#show());
    this.connect('destroy', () => {
      unsubscribe();
      for (const built of this.#built.values()) built.close?.();
      if (this.#tick) clearInterval(this.#tick);
      if (this.#poll) clearInterval(this.#poll);
    });
    onSeenChanged(this, () => this.#pace());
    this.#stack.visible_child_name = page;
    this.#show();
  }

  get page(): PageName {
    return this.#stack.visible_child_name as PageName;
  }

  #addActions(): void {
    const action = (name: string, activate: () => void) => {
      const added = new Gio.SimpleAction({ name });
      added.connect('activate', activate);
      this.add_action(added);
    };
    this.#toggleAction.connect('activate', () => {
      const { action: wanted } = describe(this.#model.facts(), words).toggle;
      if (wanted) void this.#perform(wanted);
    });
    this.add_action(this.#toggleAction);
    action('refresh', () => {
      this.#model.retry();
      void this.#model.refresh('all');
      this.#built.get(this.page)?.reload?.();
    });
    action('search', () => this.#built.get(this.page)?.focusSearch?.());
    action('updates', () => this.#showUpdates());
    const turn = new Gio.SimpleAction({ name: 'page', parameter_type: GLib.VariantType.new('s') });
    turn.connect('activate', (_action, name) => this.#shell.goTo(name!.unpack() as PageName));
    this.add_action(turn);
  }

  /** A page is built when it is first turned to. */
  #turned(): void {
    const name = this.page;
    if (!this.#built.has(name)) {
      const page = name === 'apps' ? new AppsPage(this.#shell) : new ConsolePage(this.#shell);
      this.#built.set(name, page);
      (this.#stack.visible_child as Adw.Bin).child = page;
      page.refreshState();
    }
    this.#pace();
  }

  #show(): void {
    const facts = this.#model.facts();
    this.#banners.refreshState();
    this.#toggleAction.enabled = describe(facts, words).toggle.sensitive;
    for (const page of this.#built.values()) page.refreshState();
    this.#updates?.refreshState();
    Adw.StyleManager.get_default().color_scheme =
      { light: Adw.ColorScheme.FORCE_LIGHT, dark: Adw.ColorScheme.FORCE_DARK, system: Adw.ColorScheme.DEFAULT }[
        facts.config?.config.ui.theme ?? 'system'
      ] ?? Adw.ColorScheme.DEFAULT;
    this.#pace();
  }

  /** Timers run only while someone can see what they change. */
  #pace(): void {
    const { look } = describe(this.#model.facts(), words);
    const seen = isSeen(this) && this.page === 'connection';
    // what a state shows first should not wait for the next turn of the clock
    if (seen && look !== this.#paced) void this.#model.refresh('stale');
    this.#paced = look;
    if (seen && look !== 'unavailable') this.#tick ??= setInterval(() => this.#tunnel.tick(), 1000);
    else if (this.#tick) this.#tick = stop(this.#tick);
    if (seen) this.#poll ??= setInterval(() => void this.#model.refresh('stale'), REFRESH_MS);
    else if (this.#poll) this.#poll = stop(this.#poll);
  }

  async #perform(action: ActionName, value?: string): Promise<boolean> {
    try {
      await this.#model.perform(action, value);
      const title = doneWord(action, words);
      if (title) this.#shell.say(title);
      return true;
    } catch (error) {
      this.#shell.complain(error);
      return false;
    }
  }

  #showUpdates(): UpdatesWindow {
    if (this.#updates) {
      this.#updates.present();
      return this.#updates;
    }
    const updates = new UpdatesWindow(this, this.#model);
    this.#updates = updates;
    updates.connect('close-request', () => {
      this.#updates = null;
      return false;
    });
    return updates;
  }

  #start(): void {
    startDaemon(error => this.#shell.complain(error));
    this.#model.retry();
  }
}

function stop(timer: ReturnType<typeof setInterval>): null {
  clearInterval(timer);
  return null;
}
