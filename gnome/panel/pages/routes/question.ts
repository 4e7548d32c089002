// Asks the daemon why a host goes through the tunnel or not, and shows the answer.
import Gtk from 'gi://Gtk?version=4.0';
import type { Why } from '../../../../daemon/api/schema.ts';
import { pageTitle } from '../../../../daemon/view/page-list.ts';
import { whyForm } from '../../../../daemon/view/routes/why.ts';
import { tr } from '../../../i18n.ts';
import type { WindowHost } from '../../host.ts';
import { FormGroups } from '../../widgets/rows/form-page.ts';

/** Room for the shadow of a card, or its outline in high contrast, which what scrolls it would cut off. */
const EDGE = 3;
/** Margin of the page, as in the style sheet. */
const MARGIN = 12;
/** Greatest height of an answer, in pixels: a host with many addresses must not push the list out of the window. */
const MAX_HEIGHT = 440;

export class Question {
  readonly #host: WindowHost;
  readonly #box = new Gtk.Box({
    orientation: Gtk.Orientation.VERTICAL,
    spacing: 6,
    margin_start: EDGE,
    margin_end: EDGE,
    margin_top: EDGE,
    margin_bottom: EDGE,
  });
  readonly widget = new Gtk.ScrolledWindow({
    hscrollbar_policy: Gtk.PolicyType.NEVER,
    margin_start: MARGIN - EDGE,
    margin_end: MARGIN - EDGE,
    margin_top: MARGIN - EDGE,
    child: this.#box,
  });
  readonly #groups: FormGroups;
  #answer: Why | null = null;

  constructor(host: WindowHost) {
    this.#host = host;
    this.#groups = new FormGroups(
      host,
      group => this.#box.append(group),
      group => this.#box.remove(group),
    );
    this.#groups.name = pageTitle('routes', tr);
    this.widget.hadjustment.connect('notify::page-size', () => void Promise.resolve().then(() => this.#fit()));
  }

  /** It can't be asked now. */
  get inert(): boolean {
    return this.#groups.inert;
  }

  show(): void {
    this.#groups.show(whyForm(this.#answer, target => this.#ask(target), tr));
    this.#fit();
  }

  async #ask(target: string): Promise<void> {
    this.#answer = null;
    this.show();
    this.#answer = await this.#host.model.call('POST /api/why', { body: { target } });
    this.show();
  }

  /** Shows the whole answer: on its own, the scroller would ask for the height of lines that are not broken. */
  #fit(): void {
    const width = this.widget.hadjustment.page_size || -1;
    const [, height] = this.#box.measure(Gtk.Orientation.VERTICAL, width);
    this.widget.min_content_height = Math.min(height, MAX_HEIGHT);
  }
}
