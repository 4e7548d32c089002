// Provides a form's search field, with the buttons of the list that it searches and with check boxes.
import Gtk from 'gi://Gtk?version=4.0';
import type { Search } from '../../../../daemon/view/form.ts';
import type { SearchField } from '../../host.ts';
import { setName } from '../accessible.ts';
import { checkButton } from '../buttons.ts';
import { vertical } from '../columns.ts';
import { announce } from '../compat.ts';
import type { LongList } from './long-list.ts';

export interface SearchBar extends SearchField {
  show(search: Search): void;
  /** Replaces the text, including text that the page does not know yet. */
  put(text: string): void;
}

/**
 * Creates a search field.
 * @param list a list to search after each key, with its buttons next to the field; without a list, the search waits for a pause
 */
export function createSearchBar(first: Search, list: Pick<LongList, 'beside' | 'view'> | null): SearchBar {
  let now = first;
  const entry = new Gtk.SearchEntry({ placeholder_text: first.label, hexpand: true });
  setName(entry, first.label);
  /** The text that the page knows. */
  let known = '';
  const tell = () => {
    known = entry.text;
    now.type(known);
  };
  entry.connect(list ? 'changed' : 'search-changed', tell);
  const enter = () => {
    if (!now.enter) return;
    tell();
    now.enter();
  };
  entry.connect('activate', enter);
  const focus = new Gtk.EventControllerFocus();
  focus.connect('enter', () => now.begin?.());
  entry.add_controller(focus);
  // inside the clamp, like the margins of the content below
  const line = new Gtk.Box({ spacing: 6 });
  for (const part of [entry, ...(list?.beside ?? [])]) line.append(part);
  const bar = vertical(6);
  bar.add_css_class('culvert-toolbar');
  bar.append(line);
  const options = first.options && createOptions(first.options);
  if (options) bar.append(options.widget);
  // in a list without a selection, a key is a search; in others, Delete removes an item
  if (list?.view.model instanceof Gtk.NoSelection) entry.set_key_capture_widget(list.view);
  const setText = (text: string) => {
    known = text;
    entry.text = text;
  };
  return {
    widget: bar,
    enter,
    type(text) {
      if (known === '') now.begin?.();
      entry.text = text;
      tell();
    },
    show(search) {
      const { found } = now;
      now = search;
      if (search.found !== undefined && search.found !== found)
        announce(bar.visible ? entry : (bar.parent ?? entry), search.found);
      // keeps text that the page does not know yet
      if (search.text !== known) setText(search.text);
      options?.show(search.options ?? []);
    },
    text: () => entry.text,
    put: setText,
    focus(isTyping = false) {
      if (!isTyping) return void entry.grab_focus();
      (entry.get_delegate() as Gtk.Text).grab_focus_without_selecting();
      entry.set_position(-1);
    },
  };
}

/** Creates the check boxes of a search. */
function createOptions(first: NonNullable<Search['options']>) {
  // otherwise screen readers would present the options as a table
  const accessible_role = Gtk.AccessibleRole.GROUP;
  const widget = new Gtk.FlowBox({
    selection_mode: Gtk.SelectionMode.NONE,
    max_children_per_line: 2,
    accessible_role,
  });
  let now = first;
  const checks = first.map(({ label }, i) => {
    const child = checkButton(label);
    child.connect('toggled', () => now[i]!.on !== child.active && now[i]!.set(child.active));
    widget.append(new Gtk.FlowBoxChild({ child, focusable: false, accessible_role }));
    return child;
  });
  return {
    widget,
    show(options: NonNullable<Search['options']>) {
      now = options;
      for (const [i, { on }] of options.entries()) checks[i]!.active = on;
    },
  };
}
