// Builds the page of the first steps: one step at a time, with buttons for the next and the previous step.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Form } from '../../../daemon/view/form.ts';
import { formatCount } from '../../../daemon/view/format.ts';
import { type DesktopFacts, UNKNOWN_DESKTOP } from '../../../daemon/view/forms/preferences.ts';
import { seenCommand, WELCOME_STEPS, welcomeStep } from '../../../daemon/view/forms/welcome.ts';
import { PAGES, pageTitle } from '../../../daemon/view/page-list.ts';
import { fill } from '../../../daemon/view/translator.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import { hasTrayHost, watchAutostart } from '../desktop.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { labelButton } from '../widgets/buttons.ts';
import { vertical } from '../widgets/columns.ts';
import { FormPage } from '../widgets/rows/form-page.ts';

export class WelcomePage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertWelcomePage' }, WelcomePage);
  }
  readonly #host: WindowHost;
  readonly #place = new Gtk.Label({ css_classes: ['dim-label'], hexpand: true });
  readonly #back = new Gtk.Button();
  readonly #next = new Gtk.Button({ css_classes: ['suggested-action'] });
  readonly #form: FormPage;
  readonly #endWatch: () => void;
  #facts: DesktopFacts = UNKNOWN_DESKTOP;
  #step = 0;

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    this.#form = new FormPage(host, () => ({ form: view => this.#stepForm(view) }), pageTitle('welcome', tr));
    this.#form.vexpand = true;
    const bar = new Gtk.Box({ spacing: 6, margin_top: 6, margin_bottom: 6, margin_start: 12, margin_end: 12 });
    for (const widget of [this.#back, this.#place, this.#next]) bar.append(widget);
    const page = vertical(0);
    for (const widget of [this.#form, new Gtk.Separator(), bar]) page.append(widget);
    this.child = page;
    this.#back.connect('clicked', () => this.#turn(this.#step - 1));
    this.#next.connect('clicked', () => this.#turn(this.#step + 1));
    this.#endWatch = watchAutostart(autostart => this.#learn({ autostart }));
    void hasTrayHost().then(tray => this.#learn({ tray }));
  }

  /** Control that gets the initial focus. */
  get first(): Gtk.Widget {
    return this.#next;
  }

  refresh(view: View): void {
    this.#form.refresh(view);
    // Translators: the first %d is the number of a step, the second how many there are
    this.#place.label = fill(_('%d of %d'), formatCount(this.#step + 1, tr), formatCount(WELCOME_STEPS, tr));
    labelButton(this.#back, this.#step === 0 ? _('Skip') : _('Previous'));
    labelButton(this.#next, this.#step === WELCOME_STEPS - 1 ? _('Done') : _('Next'));
  }

  /** Records that the user has seen the steps, and returns to the first step. */
  leave(): void {
    this.#step = 0;
    const seen = seenCommand(this.#host.view().client);
    if (seen) void this.#host.run(seen);
  }

  close(): void {
    this.#endWatch();
  }

  /** Returns the form of the step. A missing setup has a status; the other steps get one from their words. */
  #stepForm(view: View): Form {
    const { title, text, form } = welcomeStep(this.#step, view, this.#facts, tr);
    const { icon } = PAGES.welcome;
    return { status: { icon, tone: 'accent', title, sentence: text, buttons: [] }, ...form };
  }

  #turn(step: number): void {
    if (step < 0 || step === WELCOME_STEPS) {
      this.#host.goTo('connection');
      return;
    }
    this.#step = step;
    this.refresh(this.#host.view());
    this.#form.scrollToStart();
  }

  #learn(facts: Partial<DesktopFacts>): void {
    this.#facts = { ...this.#facts, ...facts };
    this.refresh(this.#host.view());
  }
}
