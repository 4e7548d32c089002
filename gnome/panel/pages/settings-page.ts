// Builds the page that leads to all settings, with a search over every row of every page.
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Form, PageName } from '../../../daemon/view/forms/form.ts';
import { settingsForm } from '../../../daemon/view/forms/preferences.ts';
import { type Hit, searchPages } from '../../../daemon/view/forms/search.ts';
import { pageTitle } from '../../../daemon/view/page-titles.ts';
import type { View } from '../../../daemon/view/view.ts';
import { _, tr } from '../../i18n.ts';
import type { Page, Shell } from '../shell.ts';
import { setName } from '../widgets/a11y/accessible.ts';
import { FormGroups } from '../widgets/rows/form-page.ts';

export type Searched = readonly (readonly [page: PageName, title: string, form: Form])[];

export class SettingsPage extends Adw.Bin implements Page {
  static {
    GObject.registerClass({ GTypeName: 'CulvertSettingsPage' }, SettingsPage);
  }
  readonly #shell: Shell;
  readonly #searched: (view: View) => Searched;
  readonly #entry = new Gtk.SearchEntry({ placeholder_text: _('Search settings'), hexpand: true });
  readonly #groups: FormGroups;
  #view: View | null = null;

  /** @param searched the pages that the search looks through. */
  constructor(shell: Shell, searched: (view: View) => Searched) {
    super();
    [this.#shell, this.#searched] = [shell, searched];
    const page = new Adw.PreferencesPage({ vexpand: true });
    this.#groups = new FormGroups(
      shell,
      group => page.add(group),
      group => page.remove(group),
    );
    setName(this.#entry, _('Search settings'));
    this.#entry.connect('search-changed', () => this.#show());
    this.#entry.connect('activate', () => {
      const [first] = this.#hits();
      if (first) this.#shell.goTo(first.page);
    });
    const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL });
    box.append(new Adw.Clamp({ maximum_size: 600, child: this.#entry, css_classes: ['culvert-toolbar'] }));
    box.append(page);
    this.child = box;
  }

  refresh(view: View): void {
    this.#view = view;
    this.#show();
  }

  focusSearch(): void {
    this.#entry.grab_focus();
  }

  #show(): void {
    if (!this.#view) return;
    this.#groups.show(this.#entry.text.trim() ? formOf(this.#hits()) : overview(this.#view));
  }

  #hits(): Hit[] {
    if (!this.#view) return [];
    const here = ['settings', pageTitle('settings', tr), overview(this.#view)] as const;
    return searchPages([here, ...this.#searched(this.#view)], this.#entry.text);
  }
}

function formOf(hits: Hit[]): Form {
  if (!hits.length)
    return { groups: [{ id: 'none', rows: [{ kind: 'note', id: 'none', title: _('Nothing found') }] }] };
  return {
    groups: [
      {
        id: 'hits',
        rows: hits.map(({ page, place, title, subtitle }, i) => ({
          kind: 'link',
          id: `${i} ${page} ${title}`,
          page,
          title,
          subtitle: [place, subtitle].filter(Boolean).join(' · '),
        })),
      },
    ],
  };
}

function overview({ tunnel, killSwitch, client }: View): Form {
  const { splitTunnel, account } = client.snapshot ?? { splitTunnel: { ips: [], hosts: [] }, account: null };
  return settingsForm(
    {
      mode: tunnel.modeTitle,
      killSwitch: killSwitch.on ? _('On') : _('Off'),
      routes: splitTunnel.ips.length + splitTunnel.hosts.length,
      account: account?.organization ?? account?.type ?? null,
    },
    tr,
  );
}
