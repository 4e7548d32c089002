// Provides a switch that shows only what the daemon confirmed: flipping it asks, and it moves when the event says so.
import type Gtk from 'gi://Gtk?version=4.0';

export interface ConfirmedSwitch {
  show(on: boolean, sensitive: boolean): void;
}

/** @param asked is called with the position that the user wants. */
export function confirmSwitch(widget: Gtk.Switch, asked: (on: boolean) => void): ConfirmedSwitch {
  let confirmed = false;
  let setting = false;
  const set = (on: boolean) => {
    setting = true;
    widget.active = on;
    widget.state = on;
    setting = false;
  };
  // A click moves a GtkSwitch before it asks. It returns immediately to the confirmed state, and the event will move it;
  // not from within the signal, after which GtkSwitch would still report to screen readers where it had been moved.
  widget.connect('state-set', () => {
    if (setting) return false;
    void Promise.resolve().then(() => {
      set(confirmed);
      if (widget.sensitive) asked(!confirmed);
    });
    return true;
  });
  return {
    show(on, sensitive) {
      confirmed = on;
      set(on);
      widget.sensitive = sensitive;
    },
  };
}
