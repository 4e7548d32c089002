// The page that stands in for the tunnel's while something must be done first.
import './resource.ts';
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { ActionName, Blocked } from '../../daemon/api/schema.ts';
import { blockedPage, type BlockedPage as Content } from '../blocked.ts';
import { _, words } from '../i18n.ts';
import { commandBox } from './command-box.ts';

/** What the page asks of its window. */
export interface Asks {
  perform(action: ActionName): void;
  /** Resolves with whether the user agreed. */
  confirm(question: NonNullable<NonNullable<Content['action']>['confirm']>, links: Gtk.Widget): Promise<boolean>;
  open(uri: string): void;
  say(text: string): void;
}

export class BlockedPage extends Adw.Bin {
  static {
    GObject.registerClass(
      {
        GTypeName: 'CulvertBlockedPage',
        Template: 'resource:///org/culvert/Culvert/ui/blocked-page.ui',
        InternalChildren: ['page', 'box'],
      },
      BlockedPage,
    );
  }
  declare readonly _page: Adw.StatusPage;
  declare readonly _box: Gtk.Box;
  readonly #asks: Asks;
  #shown: Blocked | null = null;
  #button: Gtk.Button | null = null;

  constructor(asks: Asks) {
    super();
    this.#asks = asks;
  }

  /** @param free no action is pending. */
  showBlocked(blocked: Blocked, free: boolean): void {
    if (blocked !== this.#shown) this.#build(blockedPage(blocked, words));
    this.#shown = blocked;
    if (this.#button) this.#button.sensitive = free;
  }

  #build({ icon, title, description, commands, links, action, open }: Content): void {
    this._page.icon_name = icon;
    this._page.title = title;
    // markup, unlike the title
    this._page.description = GLib.markup_escape_text(description, -1);
    for (let child = this._box.get_first_child(); child; child = this._box.get_first_child()) this._box.remove(child);
    this.#button = null;
    if (links.length) this._box.append(this.#links(links));
    if (action) {
      this.#button = pill(action.label);
      this.#button.connect('clicked', () => void this.#act(action, links));
      this._box.append(this.#button);
    }
    if (open) {
      const button = pill(open.label);
      button.connect('clicked', () => this.#asks.open(open.uri));
      this._box.append(button);
    }
    for (const { purpose, command } of commands)
      this._box.append(commandBox(purpose, command, () => this.#asks.say(_('Copied to the clipboard'))));
  }

  async #act({ name, confirm }: NonNullable<Content['action']>, links: Content['links']): Promise<void> {
    if (!confirm || (await this.#asks.confirm(confirm, this.#links(links)))) this.#asks.perform(name);
  }

  #links(links: Content['links']): Gtk.Widget {
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, halign: Gtk.Align.CENTER });
    for (const { label, uri } of links) {
      const link = new Gtk.LinkButton({ label, uri });
      link.connect('activate-link', () => {
        this.#asks.open(uri);
        return true;
      });
      box.append(link);
    }
    return box;
  }
}

function pill(label: string): Gtk.Button {
  return new Gtk.Button({ label, halign: Gtk.Align.CENTER, css_classes: ['pill', 'suggested-action'] });
}
