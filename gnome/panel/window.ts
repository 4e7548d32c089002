// The window: banners over the page that the state asks for, and toasts for what actions came to.
import Adw from 'gi://Adw?version=1';
import Gio from 'gi://Gio?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { ApiError } from '../../daemon/api/client.ts';
import type { ActionName } from '../../daemon/api/schema.ts';
import { _, words } from '../i18n.ts';
import type { Model } from '../model.ts';
import { startDaemon } from '../start.ts';
import { configWord, describe, doneWord, type Look, lossWord } from '../view.ts';
import { BlockedPage } from './blocked-page.ts';
import { ask, type Banner, createBanner, isSeen, onSeenChanged, openUri, toolbarView } from './compat.ts';
import { ConnectionPage } from './connection-page.ts';

/** How often figures are asked for while someone may look at them. */
const REFRESH_MS = 5000;

export class Window extends Adw.ApplicationWindow {
  static {
    GObject.registerClass({ GTypeName: 'CulvertWindow' }, Window);
  }
  readonly #model: Model;
  readonly #toasts = new Adw.ToastOverlay();
  readonly #pages = new Gtk.Stack({ transition_type: Gtk.StackTransitionType.CROSSFADE });
  readonly #connection: ConnectionPage;
  readonly #blocked: BlockedPage;
  readonly #lost: Banner;
  readonly #demo: Banner;
  readonly #config: Banner;
  #toggleAction = new Gio.SimpleAction({ name: 'toggle' });
  #toast: Adw.Toast | null = null;
  #paced: Look | null = null;
  #tick: ReturnType<typeof setInterval> | null = null;
  #poll: ReturnType<typeof setInterval> | null = null;

  constructor(application: Adw.Application, model: Model) {
    super({
      application,
      title: 'Culvert',
      default_width: 440,
      default_height: 760,
      width_request: 340,
      height_request: 360,
    });
    this.#model = model;
    this.#connection = new ConnectionPage((action, value) => void this.#perform(action, value));
    this.#blocked = new BlockedPage({
      perform: action => void this.#perform(action),
      confirm: async ({ heading, body, accept }, extra) =>
        (await ask(this, {
          heading,
          body,
          responses: [
            ['cancel', _('Cancel')],
            ['accept', accept],
          ],
          suggested: 'accept',
          extra,
        })) === 'accept',
      open: uri => this.#open(uri),
      say: text => this.#say(new Adw.Toast({ title: text })),
    });
    this.#pages.add_named(this.#connection, 'connection');
    this.#pages.add_named(this.#blocked, 'blocked');
    this.#toasts.set_child(this.#pages);

    this.#lost = createBanner({ label: _('Start'), activate: () => this.#start() });
    this.#demo = createBanner();
    this.#demo.widget.add_css_class('caution');
    this.#config = createBanner();
    this.#config.widget.add_css_class('caution');
    const bars = [headerBar(), this.#lost.widget, this.#demo.widget, this.#config.widget];
    this.set_content(toolbarView(bars, this.#toasts));

    this.#toggleAction.connect('activate', () => {
      const { action } = describe(model.facts(), words).toggle;
      if (action) void this.#perform(action);
    });
    this.add_action(this.#toggleAction);
    const refresh = new Gio.SimpleAction({ name: 'refresh' });
    refresh.connect('activate', () => {
      model.retry();
      void model.refresh('all');
    });
    this.add_action(refresh);

    const unsubscribe = model.subscribe(() => this.#show());
    this.connect('destroy', () => {
      unsubscribe();
      if (this.#tick) clearInterval(this.#tick);
      if (this.#poll) clearInterval(this.#poll);
    });
    onSeenChanged(this, () => this.#pace());
    this.#show();
  }

  #show(): void {
    const facts = this.#model.facts();
    const view = describe(facts, words);
    this.#lost.show(lossWord(facts.loss, words));
    this.#demo.show(view.emulated ? _('Demo: emulated tunnel, nothing is protected') : null);
    this.#config.show(configWord(facts.config, words));
    this.#toggleAction.enabled = view.toggle.sensitive;
    this.#connection.showState(view, facts.snapshot);
    if (view.blocked) this.#blocked.showBlocked(view.blocked, facts.pending === null);
    this.#pages.visible_child_name = view.blocked ? 'blocked' : 'connection';
    Adw.StyleManager.get_default().color_scheme =
      { light: Adw.ColorScheme.FORCE_LIGHT, dark: Adw.ColorScheme.FORCE_DARK, system: Adw.ColorScheme.DEFAULT }[
        facts.config?.config.ui.theme ?? 'system'
      ] ?? Adw.ColorScheme.DEFAULT;
    this.#pace();
  }

  /** Timers run only while someone can see what they change. */
  #pace(): void {
    const { look } = describe(this.#model.facts(), words);
    const seen = isSeen(this);
    // what a state shows first should not wait for the next turn of the clock
    if (seen && look !== this.#paced) void this.#model.refresh('stale');
    this.#paced = look;
    if (seen && look !== 'unavailable') this.#tick ??= setInterval(() => this.#connection.tick(), 1000);
    else if (this.#tick) this.#tick = stop(this.#tick);
    if (seen) this.#poll ??= setInterval(() => void this.#model.refresh('stale'), REFRESH_MS);
    else if (this.#poll) this.#poll = stop(this.#poll);
  }

  async #perform(action: ActionName, value?: string): Promise<void> {
    try {
      await this.#model.perform(action, value);
      const title = doneWord(action, words);
      if (title) this.#say(new Adw.Toast({ title }));
    } catch (error) {
      this.#complain(error);
    }
  }

  /** A toast has one line: what more there is to say stands behind its button. */
  #complain(error: unknown): void {
    const problem = error instanceof ApiError ? error.problem : null;
    const title = problem?.detail ?? (error instanceof Error ? error.message : String(error));
    const toast = new Adw.Toast({ title: markup(title), timeout: 8 });
    const body = [title, problem?.hint, problem?.stderr?.trim()].filter(Boolean).join('\n\n');
    toast.button_label = _('Details');
    toast.connect('button-clicked', () => {
      void ask(this, {
        heading: problem?.title ?? _('That did not work'),
        body,
        responses: [['ok', _('OK')]],
      });
    });
    this.#say(toast);
  }

  /** Toasts queue, and the newest result is the one that matters. */
  #say(toast: Adw.Toast): void {
    this.#toast?.dismiss();
    this.#toast = toast;
    this.#toasts.add_toast(toast);
  }

  #open(uri: string): void {
    openUri(this, uri, error => this.#complain(error));
  }

  #start(): void {
    startDaemon(error => this.#complain(error));
    this.#model.retry();
  }
}

function headerBar(): Gtk.Widget {
  const menu = new Gio.Menu();
  menu.append(_('Keyboard Shortcuts'), 'app.shortcuts');
  menu.append(_('About Culvert'), 'app.about');
  menu.append(_('Quit'), 'app.quit');
  const button = new Gtk.MenuButton({
    icon_name: 'open-menu-symbolic',
    menu_model: menu,
    primary: true,
    tooltip_text: _('Main Menu'),
  });
  button.update_property([Gtk.AccessibleProperty.LABEL], [_('Main Menu')]);
  const bar = new Adw.HeaderBar();
  bar.pack_end(button);
  return bar;
}

function stop(timer: ReturnType<typeof setInterval>): null {
  clearInterval(timer);
  return null;
}

/** Toast titles are Pango markup. */
function markup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}
