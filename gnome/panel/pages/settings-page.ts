// Builds the page that leads to all settings, with a search over every row of every page.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Group } from '../../../daemon/view/form.ts';
import { createLookup } from '../../../daemon/view/forms/search/lookup.ts';
import { gatherForSearch, NOTHING_GATHERED } from '../../../daemon/view/forms/search/searched-rows.ts';
import { overviewForm } from '../../../daemon/view/forms/settings.ts';
import { type Hit, hitCount, hitsForm, searchedPages, searchPages } from '../../../daemon/view/pages/search.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import type { PageWidget, WindowHost } from '../host.ts';
import { setName } from '../widgets/a11y/accessible.ts';
import { announce } from '../widgets/compat.ts';
import { FormGroups } from '../widgets/rows/form-page.ts';

export class SettingsPage extends Adw.Bin implements PageWidget {
  static {
    GObject.registerClass({ GTypeName: 'CulvertSettingsPage' }, SettingsPage);
  }
  readonly #host: WindowHost;
  readonly #entry = new Gtk.SearchEntry({ placeholder_text: _('Search settings'), hexpand: true });
  readonly #groups: FormGroups;
  readonly #lookup;
  #view: View | null = null;
  #gathered = NOTHING_GATHERED;
  #count = '';

  constructor(host: WindowHost) {
    super();
    this.#host = host;
    this.#lookup = createLookup(host.model, () => this.#show());
    const page = new Adw.PreferencesPage({ vexpand: true });
    this.#groups = new FormGroups(
      host,
      group => page.add(group),
      group => page.remove(group),
    );
    setName(this.#entry, _('Search settings'));
    this.#entry.connect('search-changed', () => this.#show());
    const focus = new Gtk.EventControllerFocus();
    focus.connect('enter', () => void this.#gather());
    this.#entry.add_controller(focus);
    this.#entry.connect('activate', () => {
      const [first] = this.#hits();
      if (first) this.#host.goTo(first.page, first.row);
    });
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
    // inside of the clamp, as the margins of the list below it are
    const top = new Gtk.Box({ css_classes: ['culvert-toolbar'] });
    top.append(this.#entry);
    box.append(new Adw.Clamp({ maximum_size: 600, child: top }));
    box.append(page);
    this.child = box;
  }

  get inert(): boolean {
    return this.#groups.inert;
  }

  refresh(view: View): void {
    this.#view = view;
    this.#show();
  }

  focusSearch(): void {
    this.#entry.grab_focus();
  }

  /** The next search begins empty. */
  leave(): void {
    this.#entry.text = '';
  }

  /** Reads the lists that only a search shows, when one begins. */
  async #gather(): Promise<void> {
    this.#gathered = { ...NOTHING_GATHERED, ...(await gatherForSearch(this.#host.model)) };
    this.#show();
  }

  #show(): void {
    if (!this.#view) return;
    this.#lookup.follow(this.#entry.text, this.#view);
    const answer = this.#lookup.group(this.#view, tr);
    const groups = this.#entry.text.trim() ? this.#found() : overviewForm(this.#view, tr).groups;
    this.#groups.show({ groups: answer ? [answer, ...groups] : groups });
  }

  #found(): Group[] {
    const hits = this.#hits();
    const count = hitCount(hits, tr);
    if (count !== this.#count) announce(this.#entry, count);
    this.#count = count;
    return hitsForm(hits, tr).groups.map(group => (hits.length ? { ...group, title: count } : group));
  }

  #hits(): Hit[] {
    return this.#view ? searchPages(searchedPages(this.#view, tr, this.#gathered), this.#entry.text, tr) : [];
  }
}
