// The first tab: the connection, or in its place the page for what must be done first.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { _, words } from '../i18n.ts';
import { describe } from '../view.ts';
import { BlockedPage } from './blocked-page.ts';
import { ConnectionPage } from './connection-page.ts';
import type { Page, Shell } from './shell.ts';

export class TunnelPage extends Adw.Bin implements Page {
  static {
    GObject.registerClass({ GTypeName: 'CulvertTunnelPage' }, TunnelPage);
  }
  readonly #shell: Shell;
  readonly #connection: ConnectionPage;
  #blocked: BlockedPage | null = null;
  readonly #pages = new Gtk.Stack({ transition_type: Gtk.StackTransitionType.CROSSFADE });

  constructor(shell: Shell) {
    super();
    this.#shell = shell;
    this.#connection = new ConnectionPage(shell);
    this.#pages.add_named(this.#connection, 'connection');
    this.child = this.#pages;
  }

  refreshState(): void {
    const facts = this.#shell.model.facts();
    const { blocked } = describe(facts, words);
    this.#connection.refreshState();
    if (blocked) this.#blockedPage().showBlocked(blocked, facts.pending === null);
    this.#pages.visible_child_name = blocked ? 'blocked' : 'connection';
  }

  /** Moves what only time moves. */
  tick(): void {
    this.#connection.tick();
  }

  /** Built when it is first needed, which is seldom. */
  #blockedPage(): BlockedPage {
    if (this.#blocked) return this.#blocked;
    const { ask, open, perform, say } = this.#shell;
    this.#blocked = new BlockedPage({
      perform: action => void perform(action),
      confirm: async ({ heading, body, accept }, extra) => {
        const responses: [string, string][] = [
          ['cancel', _('Cancel')],
          ['accept', accept],
        ];
        return (await ask({ heading, body, responses, suggested: 'accept', extra })) === 'accept';
      },
      open,
      say,
    });
    this.#pages.add_named(this.#blocked, 'blocked');
    return this.#blocked;
  }
}
