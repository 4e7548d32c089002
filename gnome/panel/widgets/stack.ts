// Turns a stack to one of its pages, and hides the others.
import type Gtk from 'gi://Gtk?version=4.0';
import { nameAccessible } from './a11y/accessible.ts';

/**
 * A page that is not shown is hidden, or GTK keeps it in the tree of a screen reader, and lays it out.
 * @param title what assistive technology calls the page.
 */
export function turnTo(stack: Gtk.Stack, name: string, title: string): void {
  const wanted = stack.get_child_by_name(name);
  if (!wanted) throw new Error(`no page ${name}`);
  nameAccessible(stack.get_page(wanted), title);
  wanted.visible = true;
  stack.visible_child = wanted;
  for (let child = stack.get_first_child(); child; child = child.get_next_sibling())
    if (child !== wanted) child.visible = false;
}
