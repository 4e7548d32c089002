// Measures the panel, or an empty window, from within its own process. Printed as JSON lines:
// {frame, ran, text} when a frame was painted for the first time, or with another state (text: the state in words).
// Requests on stdin, one JSON line each: {do: 'open', page}, {do: 'scroll'}, {do: 'search', text}, {do: 'worst'},
// {do: 'collect'}, {do: 'edit', text} (the text of the routes), {do: 'press', label, until} (a button, until a text begins so).
// Answers: {ms, cpu, worst, worstRan}: until it is painted, and the longest that a frame took,
// each by the clock and as the time that the main thread ran.
import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { gc } from 'system';

Gtk.init();
const now = () => GLib.get_monotonic_time() / 1000;
/** ms that the main thread has run: what a busy machine does not change. */
const ran = () =>
  Number(new TextDecoder().decode(GLib.file_get_contents('/proc/self/schedstat')[1]).split(' ')[0]) / 1e6;
let shown = null;
let worst = 0;
let worstRan = 0;
let before = { worst: 0, worstRan: 0 };
let waiting = null;
/** The beginning of a text that has to be painted. */
let awaited = null;

function* inside(widget) {
  if (!widget.get_mapped()) return;
  yield widget;
  for (let child = widget.get_first_child(); child; child = child.get_next_sibling()) yield* inside(child);
}
const find = (window, type) => {
  for (const widget of inside(window)) if (widget instanceof type) return widget;
  return null;
};
const stateOf = window => {
  for (const widget of inside(window)) if (widget.has_css_class('title-1')) return widget.label ?? '';
  return '';
};

function painted(window) {
  if (shown === null || waiting === null) {
    const text = stateOf(window);
    if (text !== shown) print(JSON.stringify({ frame: now(), ran: ran(), text }));
    shown = text;
  }
  if (awaited !== null && waiting && textBegins(window, awaited)) answered();
  if (!waiting || awaited !== null) return;
  const list = find(window, Gtk.ListView);
  // the rows of before may still be painted
  if (!list?.get_first_child() || list.model.get_item(0) === waiting.first) return;
  answered();
}

function textBegins(window, start) {
  for (const widget of inside(window)) if (widget instanceof Gtk.Label && widget.label.startsWith(start)) return true;
  return false;
}

function answered() {
  const { since, sinceRan } = waiting;
  waiting = awaited = null;
  print(JSON.stringify({ ms: now() - since, cpu: ran() - sinceRan, worst, worstRan }));
}

function follow(window) {
  const clock = window.get_frame_clock();
  let begun = 0;
  let begunRan = 0;
  clock.connect('before-paint', () => {
    begun = now();
    begunRan = ran();
  });
  clock.connect('after-paint', () => {
    worst = Math.max(worst, now() - begun);
    worstRan = Math.max(worstRan, ran() - begunRan);
    painted(window);
  });
}

Gtk.Window.get_toplevels().connect('items-changed', (windows, at, _removed, added) => {
  if (added) windows.get_item(at).connect('realize', follow);
});

const main = () => Gtk.Window.list_toplevels().find(window => 'goTo' in window);
/** Result of a request whose widget the page does not show yet. */
const TOO_EARLY = Symbol();
const requests = {
  open({ page }) {
    waiting = { first: null, since: now(), sinceRan: ran() };
    main().activate_action('page', GLib.Variant.new_string(page));
  },
  search({ text }) {
    waiting = { first: find(main(), Gtk.ListView).model.get_item(0), since: now(), sinceRan: ran() };
    find(main(), Gtk.SearchEntry).text = text;
  },
  edit({ text }) {
    const view = find(main(), Gtk.TextView);
    if (!view) return TOO_EARLY;
    view.buffer.text = text;
    print(JSON.stringify({ ms: 0, cpu: 0, worst, worstRan }));
  },
  press({ label, until }) {
    const button = [...inside(main())].find(widget => widget instanceof Gtk.Button && widget.label === label);
    if (!button?.is_sensitive()) return TOO_EARLY;
    waiting = { first: null, since: now(), sinceRan: ran() };
    awaited = until;
    button.emit('clicked');
  },
  scroll() {
    const { vadjustment } = find(main(), Gtk.ListView);
    let steps = 60;
    main().add_tick_callback(() => {
      vadjustment.value = ((60 - steps) / 60) * (vadjustment.upper - vadjustment.page_size);
      if (--steps > 0) return true;
      print(JSON.stringify({ ms: 0, cpu: 0, worst, worstRan }));
      return false;
    });
  },
  /** Since the request before. */
  worst() {
    print(JSON.stringify({ ms: 0, cpu: 0, worst: before.worst, worstRan: before.worstRan }));
  },
  collect() {
    gc();
    print(JSON.stringify({ ms: 0, cpu: 0, worst, worstRan }));
  },
};

const input = new Gio.DataInputStream({ base_stream: new Gio.UnixInputStream({ fd: 0, close_fd: false }) });
function read() {
  input.read_line_async(GLib.PRIORITY_DEFAULT, null, (_source, result) => {
    const [line] = input.read_line_finish_utf8(result);
    if (line === null) return;
    const request = JSON.parse(line);
    before = { worst, worstRan };
    worst = 0;
    worstRan = 0;
    perform(request);
    read();
  });
}
function perform(request) {
  if (requests[request.do](request) === TOO_EARLY) setTimeout(() => perform(request), 20);
}
read();
