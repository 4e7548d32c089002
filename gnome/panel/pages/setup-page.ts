// Builds the page that replaces the connection while WARP needs setup.
import Adw from 'gi://Adw?version=1';
import GLib from 'gi://GLib?version=2.0';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { type SetupView, setupView } from '../../../daemon/view/forms/setup.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { commandBox, labelButton } from '../widgets/buttons.ts';
import { linkBox } from '../widgets/dialogs.ts';

export class SetupPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertSetupPage' }, SetupPage);
  }
  readonly #host: WindowHost;
  // it scrolls already, so it must not be inside a scrolling page
  // compact, so that the buttons stay visible in a low window
  readonly #page = new Adw.StatusPage({ css_classes: ['compact'] });
  readonly #waiting = new Gtk.Label({ css_classes: ['dim-label'] });
  #shown = '';
  #buttons: Gtk.Button[] = [];

  constructor(host: WindowHost) {
    super({});
    this.#host = host;
    this.child = this.#page;
  }

  refresh({ tunnel, client }: View): void {
    if (!tunnel.setup) return;
    const cli = client.snapshot?.tunnelCli ?? null;
    const shown = `${tunnel.setup} ${tunnel.lost?.title} ${tunnel.lost?.sentence} ${cli?.version} ${cli?.installCommand} ${cli?.systemd}`;
    if (shown !== this.#shown) this.#build(setupView(tunnel.setup, tr, tunnel.lost, cli));
    this.#shown = shown;
    for (const button of this.#buttons) button.sensitive = client.pending === null;
    this.#waiting.label = tunnel.waiting ?? '';
    this.#waiting.visible = tunnel.waiting !== null;
  }

  #build({ icon, title, description, buttons, links, commands }: SetupView): void {
    this.#page.icon_name = icon;
    this.#page.title = title;
    // the description is markup, unlike the title
    this.#page.description = GLib.markup_escape_text(description, -1);
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 12 });
    if (links.length) box.append(linkBox(links, this.#host.open));
    this.#buttons = buttons.map(({ label, command }, i) => {
      const button = new Gtk.Button({ halign: Gtk.Align.CENTER });
      labelButton(button, label);
      button.css_classes = i === 0 ? ['pill', 'suggested-action'] : ['pill'];
      button.connect('clicked', () => void this.#host.run(command));
      box.append(button);
      return button;
    });
    this.#waiting.unparent();
    box.append(this.#waiting);
    for (const { purpose, command } of commands)
      box.append(commandBox(purpose, command, () => this.#host.toast(_('Copied'))));
    this.#page.child = new Adw.Clamp({ maximum_size: 600, child: box });
  }
}
