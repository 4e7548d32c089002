// Links to pages of the web, one below the other.
import Gtk from 'gi://Gtk?version=4.0';

export function linkBox(links: { label: string; uri: string }[], open: (uri: string) => void): Gtk.Widget {
  const box = new Gtk.Box({ orientation: Gtk.Orientation.VERTICAL, halign: Gtk.Align.CENTER });
  for (const { label, uri } of links) {
    const link = new Gtk.LinkButton({ label, uri });
    link.connect('activate-link', () => {
      open(uri);
      return true;
    });
    box.append(link);
  }
  return box;
}
