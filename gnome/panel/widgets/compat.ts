// Wraps the features newer than libadwaita 1.2 and GTK 4.8 (Debian 12), and uses them if they exist: the types describe 1.8.
import Adw from 'gi://Adw?version=1';
import Gdk from 'gi://Gdk?version=4.0';
import type Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { _ } from '../../i18n.ts';
import { mendTree, setName, within } from './accessible.ts';
import { labelButton } from './buttons.ts';

/** Namespace with optional members, which forces a check before use. GJS returns undefined for a missing class. */
const A = Adw as unknown as Partial<typeof Adw>;

/** Creates a view with bars above and below `content`. */
export function toolbarView(bars: Gtk.Widget[], content: Gtk.Widget, below: Gtk.Widget[]): Gtk.Widget {
  if (A.ToolbarView) {
    // 1.4
    const view = new A.ToolbarView({ content });
    for (const bar of bars) view.add_top_bar(bar);
    for (const bar of below) view.add_bottom_bar(bar);
    return view;
  }
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
  for (const bar of bars) box.append(bar);
  content.vexpand = true;
  box.append(content);
  for (const bar of below) box.append(bar);
  return box;
}

interface BannerButton {
  label: string;
  activate(): void;
}
export interface Banner {
  widget: Gtk.Widget;
  /** Shows the text and at most one button; null hides the banner. */
  show(title: string | null, button?: BannerButton | null, caution?: boolean): void;
}

/** Creates a bar across the window. */
export function createBanner(): Banner {
  return A.Banner ? newBanner(A.Banner) : oldBanner();
}

/** Creates a banner with the class from 1.3. */
function newBanner(Class: typeof Adw.Banner): Banner {
  const banner = new Class({ title: '', use_markup: false });
  let pressed = () => {};
  banner.connect('button-clicked', () => pressed());
  return {
    widget: banner,
    show(title, button, caution) {
      mark(banner, caution);
      if (title !== null) {
        banner.title = title;
        banner.button_label = button?.label ?? '';
        pressed = () => button?.activate();
      }
      banner.revealed = title !== null;
    },
  };
}

function mark(widget: Gtk.Widget, caution = false): void {
  if (caution) widget.add_css_class('caution');
  else widget.remove_css_class('caution');
}

function oldBanner(): Banner {
  const label = new Gtk.Label({ wrap: true, hexpand: true, css_classes: ['heading'] });
  const box = new Gtk.Box({ spacing: 12, css_classes: ['culvert-banner'] });
  const widget = new Gtk.Button({ valign: Gtk.Align.CENTER });
  let pressed = () => {};
  widget.connect('clicked', () => pressed());
  box.append(label);
  box.append(widget);
  const revealer = new Gtk.Revealer({ child: box });
  // screen readers would find the child of a closed revealer
  revealer.visible = false;
  revealer.connect('notify::child-revealed', () => {
    if (!revealer.child_revealed && !revealer.reveal_child) revealer.visible = false;
  });
  return {
    widget: revealer,
    show(title, button, caution) {
      mark(revealer, caution);
      if (title !== null) {
        label.label = title;
        label.xalign = button ? 0 : 0.5;
        label.justify = button ? Gtk.Justification.LEFT : Gtk.Justification.CENTER;
        widget.visible = Boolean(button);
        // wraps: in large letters, one line is wider than a narrow window
        labelButton(widget, button?.label ?? '');
        pressed = () => button?.activate();
        revealer.visible = true;
      }
      revealer.reveal_child = title !== null;
      if (title === null && !revealer.get_mapped()) revealer.visible = false;
    },
  };
}

/** Question in a dialog, with any number of responses. */
export interface Dialog {
  heading: string;
  body: string;
  /** Possible responses; closing the dialog chooses the first one. */
  responses: [id: string, label: string][];
  suggested?: string;
  destructive?: string;
  extra?: Gtk.Widget;
  /** Widget with the initial focus (default: the suggested response). */
  focus?: Gtk.Widget | null;
  /** Receives a function that enables the suggested or destructive response, for when `extra` is filled in. */
  gate?(allow: (allowed: boolean) => void): void;
}

/** Opens a dialog; resolves with the chosen response's ID. */
export function ask(
  parent: Gtk.Window,
  { heading, body, responses, suggested, destructive, extra, focus, gate }: Dialog,
): Promise<string> {
  const fill = (dialog: Adw.AlertDialog | Adw.MessageDialog) => {
    for (const [id, label] of responses) dialog.add_response(id, label);
    if (suggested) dialog.set_response_appearance(suggested, Adw.ResponseAppearance.SUGGESTED);
    if (destructive) dialog.set_response_appearance(destructive, Adw.ResponseAppearance.DESTRUCTIVE);
    dialog.set_default_response(suggested ?? responses[0]![0]);
    dialog.set_close_response(responses[0]![0]);
    if (extra) dialog.set_extra_child(extra);
    mendTree(dialog, heading);
    if (focus) dialog.connect('map', () => void Promise.resolve().then(() => focus.grab_focus()));
    gate?.(allowed => dialog.set_response_enabled(suggested ?? destructive!, allowed));
  };
  return new Promise(resolve => {
    if (A.AlertDialog) {
      // 1.5
      const dialog = new A.AlertDialog({ heading, body });
      fill(dialog);
      dialog.choose(parent, null, (_: unknown, result: Gio.AsyncResult) => resolve(dialog.choose_finish(result)));
    } else {
      // 1.2; deprecated in 1.6
      const dialog = new Adw.MessageDialog({ heading, body, transient_for: parent, modal: true });
      fill(dialog);
      dialog.connect('response', (_dialog, response) => resolve(response));
      presentOver(dialog);
    }
  });
}

export interface About {
  application_name: string;
  application_icon: string;
  version: string;
  comments: string;
  developer_name: string;
  website: string;
  /** Short name of the license. */
  license: string;
  license_type: Gtk.License;
  translator_credits: string;
}

export function showAbout(parent: Gtk.Window, about: About): void {
  // 1.5
  if (A.AboutDialog) {
    const { license: _name, ...properties } = about;
    new A.AboutDialog(properties).present(parent);
  } else void plainAbout(parent, about);
}

/** Replaces AdwAboutWindow of 1.2, which keeps hidden pages and nameless buttons in the accessibility tree. */
async function plainAbout(parent: Gtk.Window, about: About): Promise<void> {
  const extra = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6 });
  const { PRESENTATION: accessible_role } = Gtk.AccessibleRole;
  extra.append(new Gtk.Image({ icon_name: about.application_icon, pixel_size: 96, accessible_role }));
  const lines = [about.version, about.developer_name, about.license, about.translator_credits];
  // in English, the translators' credits are only a placeholder
  for (const label of lines.filter(line => line !== 'translator-credits'))
    extra.append(new Gtk.Label({ label, wrap: true, justify: Gtk.Justification.CENTER }));
  const responses: Dialog['responses'] = [['close', _('Close')]];
  await ask(parent, { heading: about.application_name, body: about.comments, extra, responses });
}

/** Names the widgets that GTK leaves without a name in its shortcuts window. */
function nameShortcuts(window: Gtk.ShortcutsWindow): void {
  const title = _('Keyboard Shortcuts');
  setName(window, title);
  mendTree(window, title);
  for (const widget of within(window))
    if (widget instanceof Gtk.SearchEntry) setName(widget, _('Search'));
    else if (widget instanceof Gtk.ToggleButton)
      setName(widget, widget.parent instanceof Gtk.MenuButton ? title : _('Search'));
    else if (widget instanceof Gtk.MenuButton) setName(widget, title);
    else if (widget instanceof Gtk.ShortcutLabel) setName(widget, widget.accelerator);
}

/** Section of the shortcuts window; each line has a title and an accelerator. */
export type ShortcutSection = [title: string, lines: [title: string, accelerator: string][]];

export function showShortcuts(parent: Gtk.Window, sections: ShortcutSection[]): void {
  if (A.ShortcutsDialog && A.ShortcutsSection && A.ShortcutsItem) {
    // 1.8
    const dialog = new A.ShortcutsDialog();
    for (const [title, lines] of sections) {
      const section = A.ShortcutsSection.new(title);
      for (const [name, accelerator] of lines) section.add(A.ShortcutsItem.new(name, accelerator));
      dialog.add(section);
    }
    dialog.present(parent);
    return;
  }
  // before 4.14, GtkShortcutsWindow accepts children only from a builder
  const text = (s: string) => GLib.markup_escape_text(s, -1);
  const line = ([title, accelerator]: [string, string]) =>
    `<child><object class="GtkShortcutsShortcut"><property name="title">${text(title)}</property>` +
    `<property name="accelerator">${text(accelerator)}</property></object></child>`;
  const groups = sections.map(
    ([title, lines]) =>
      `<child><object class="GtkShortcutsGroup"><property name="title">${text(title)}</property>${lines.map(line).join('')}</object></child>`,
  );
  const builder = Gtk.Builder.new_from_string(
    `<interface><object class="GtkShortcutsWindow" id="window"><property name="modal">1</property><child>` +
      `<object class="GtkShortcutsSection"><property name="visible">1</property>${groups.join('')}</object></child></object></interface>`,
    -1,
  );
  const window = builder.get_object('window') as Gtk.ShortcutsWindow;
  window.transient_for = parent;
  nameShortcuts(window);
  presentOver(window);
}

/** Presents a dialog, and unlinks its parent on unmap: at exit, the engine frees windows in any order. */
function presentOver(dialog: Gtk.Window): void {
  dialog.connect('unmap', () => dialog.set_transient_for(null));
  dialog.present();
}

/** Opens an address in the browser. */
export function openUri(parent: Gtk.Window, uri: string, failed: (error: unknown) => void): void {
  const { UriLauncher } = Gtk as unknown as Partial<typeof Gtk>;
  if (!UriLauncher) {
    Gtk.show_uri_full(parent, uri, Gdk.CURRENT_TIME, null, (_source: unknown, result: Gio.AsyncResult) => {
      try {
        Gtk.show_uri_full_finish(parent, result);
      } catch (error) {
        failed(error);
      }
    });
    return;
  }
  // 4.10
  const launcher = new UriLauncher({ uri });
  launcher.launch(parent, null, (_: unknown, result: Gio.AsyncResult) => {
    try {
      launcher.launch_finish(result);
    } catch (error) {
      failed(error);
    }
  });
}

/** Makes screen readers say `text`; requires GTK 4.14. */
export function announce(widget: Gtk.Widget, text: string): void {
  const able = widget as Partial<Pick<Gtk.Widget, 'announce'>>;
  // without an accessibility bus, GTK uses a context for tests, in which an announcement crashes GTK 4.24
  const context = able.announce && widget.get_at_context();
  if (context && GObject.type_name_from_instance(context as never) === 'GtkTestATContext') return;
  able.announce?.call(widget, text, Gtk.AccessibleAnnouncementPriority.MEDIUM);
}

/** True while the window is visible: mapped, not minimized, and since 4.12 not on another workspace or behind a lock. */
export function isSeen(window: Gtk.Window): boolean {
  const { suspended } = window as Partial<Pick<Gtk.Window, 'suspended'>>;
  return window.get_mapped() && !suspended && !isMinimized(window);
}

/** True if the surface is minimized; before 4.12, only this state, from X11, shows that. */
function isMinimized(window: Gtk.Window): boolean {
  const surface = window.get_surface() as (Gdk.Surface & Partial<Pick<Gdk.Toplevel, 'state'>>) | null;
  return ((surface?.state ?? 0) & Gdk.ToplevelState.MINIMIZED) !== 0;
}

/** Calls `listener` whenever `isSeen` may have changed. */
export function onSeenChanged(window: Gtk.Window, listener: () => void): void {
  window.connect('map', listener);
  window.connect('unmap', listener);
  window.connect('realize', () => window.get_surface()?.connect('notify::state', listener));
  if ('suspended' in window) window.connect('notify::suspended', listener);
}

/** Returns a widget's text color from CSS, for drawing. */
export function textColor(widget: Gtk.Widget): { red: number; green: number; blue: number } {
  const able = widget as Partial<Pick<Gtk.Widget, 'get_color'>>;
  // 4.10; the style context is deprecated since
  return able.get_color ? able.get_color.call(widget) : widget.get_style_context().get_color();
}

/** Returns a color that CSS names; null if there is none. The style context is deprecated since 4.10, without a replacement. */
export function namedColor(widget: Gtk.Widget, name: string): Gdk.RGBA | null {
  const [isKnown, color] = widget.get_style_context().lookup_color(name);
  return isKnown ? color : null;
}

/**
 * Names a list's row for screen readers. Before 4.12, this names the list's own widget around the row. With newer releases,
 * code must not even touch that widget: see `within` in accessible.ts.
 */
export function nameListItem(item: Gtk.ListItem, label: string): void {
  const { child } = item;
  if ('accessible_label' in item) {
    item.accessible_label = label;
    return;
  }
  const widget = child?.get_parent();
  if (widget) setName(widget, label);
}
