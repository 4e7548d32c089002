// Builds the page of the routes as text: the field, and below it what the text would change, presets and earlier lists.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { createRoutesEditor, type RoutesEditor } from '../../../daemon/view/client/routes-editor.ts';
import { editorForm } from '../../../daemon/view/forms/tunnel/routes-editor.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { setName } from '../widgets/a11y/accessible.ts';
import { FormGroups } from '../widgets/rows/form-page.ts';

export class EditorPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertEditorPage' }, EditorPage);
  }
  readonly #host: WindowHost;
  readonly #editor: RoutesEditor;
  readonly #field = new Gtk.TextView({
    monospace: true,
    wrap_mode: Gtk.WrapMode.WORD_CHAR,
    editable: false,
    // else the Tab key would not leave the field
    accepts_tab: false,
    top_margin: 9,
    bottom_margin: 9,
    left_margin: 12,
    right_margin: 12,
  });
  readonly #groups: FormGroups;
  /** The text of the field: reading 5,000 lines from the buffer takes milliseconds. */
  #typed = '';

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    this.#editor = createRoutesEditor(host.model, () => this.#show());
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 18 });
    this.#groups = new FormGroups(
      host,
      group => box.append(group),
      group => box.remove(group),
    );
    box.append(this.#text());
    const clamp = new Adw.Clamp({ maximum_size: 720, child: box });
    for (const side of ['margin_top', 'margin_bottom'] as const) clamp[side] = 18;
    for (const side of ['margin_start', 'margin_end'] as const) clamp[side] = 12;
    this.child = new Gtk.ScrolledWindow({ hscrollbar_policy: Gtk.PolicyType.NEVER, child: clamp });
    this.reload();
  }

  /** Always, since its rows come with what it reads. */
  readonly inert = true;

  refresh({ client }: View): void {
    // a daemon that came back may hold another list
    if (!client.offline && !this.#editor.state().routes) this.reload();
    this.#show();
  }

  reload(): void {
    if (this.#host.view().client.offline) return;
    this.#editor.read().catch(error => this.#host.showError(error));
  }

  close(): void {
    this.#editor.close();
  }

  #text(): Gtk.Widget {
    const { buffer } = this.#field;
    buffer.connect('changed', () => {
      this.#typed = buffer.text;
      this.#editor.type(this.#typed);
    });
    setName(this.#field, _('Edit as Text'));
    const about = new Gtk.Label({ xalign: 0, wrap: true, css_classes: ['dim-label'] });
    about.label = _(
      'One address, range, host or difference such as 10.0.0.0/8 - 10.1.2.0/24 a line; # begins a comment.',
    );
    const scrolled = new Gtk.ScrolledWindow({
      child: this.#field,
      height_request: 220,
      css_classes: ['card', 'culvert-text'],
      hscrollbar_policy: Gtk.PolicyType.NEVER,
    });
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, spacing: 6 });
    box.append(about);
    box.append(scrolled);
    return box;
  }

  #show(): void {
    const { text, routes, busy } = this.#editor.state();
    if (this.#typed !== text) this.#field.buffer.text = text;
    this.#field.editable = routes !== null && !routes.readOnly && busy !== 'setting';
    const { settable } = this.#host.view().tunnel;
    this.#groups.show(editorForm(this.#editor, { settable, files: this.#host }, tr));
  }
}
