// Drives the panel from within its own process, for tests of behavior. A test writes requests to stdin, one JSON object
// a line such as {"do": "press", "name": "Connect"}; each is answered by a line {"ok": …} or {"error": "…"}. `REQUESTS` lists
// them. A request that must wait is tried again after each painted frame and each event of the daemon, so no clock
// decides how long a test takes.

import Gio from 'gi://Gio?version=2.0';
import GLib from 'gi://GLib?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import { REQUESTS, type Request } from './requests.gjs.ts';
import { allNames, releaseRows } from './widgets.gjs.ts';

/** The part of the panel's application that the driver uses: its model. */
interface Panel {
  model?: { state(): { snapshot: { revision: number } | null }; subscribe(listener: () => void): () => void };
}

/** After this long without a frame or an event, a request fails. */
const STALLED_MS = 60_000;
/** A request fails after this long in any case: a clock that ticks in the window paints frames forever. */
const LONGEST_MS = 120_000;
Gtk.init();

/** Frames painted since `settle` saw its revision; null before. */
let frames: number | null = null;
let progress = Date.now();
let waiting: { request: Request; since: number } | null = null;
const queue: Request[] = [];

function panel(): Panel | null {
  return Gio.Application.get_default() as Panel | null;
}

/** @returns undefined while the request must wait. */
function answerTo({ do: request, name = '', text = '', revision = 0, width = 0, height = 0 }: Request): unknown {
  if (request === 'settle') return settled(revision);
  const handler = REQUESTS[request];
  if (!handler) throw new Error(`no request ${request}`);
  return handler({ do: request, name, text, revision, width, height });
}

/** Waits for the daemon's revision, and for a frame that shows it. */
function settled(revision: number): true | undefined {
  if ((panel()?.model?.state().snapshot?.revision ?? 0) < revision) return undefined;
  if (frames === null) {
    // the window may have nothing to draw: have one frame more
    frames = 0;
    for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) window.queue_draw();
  }
  return frames > 0 ? true : undefined;
}

function answer(value: object): void {
  waiting = null;
  print(JSON.stringify(value));
  GLib.idle_add(GLib.PRIORITY_LOW, () => {
    proceed();
    return GLib.SOURCE_REMOVE;
  });
}

function proceed(): void {
  if (!waiting) {
    const request = queue.shift();
    if (!request) return;
    waiting = { request, since: Date.now() };
    frames = null;
    progress = Date.now();
  }
  const { request } = waiting;
  try {
    const value = answerTo(request);
    if (value !== undefined) answer({ ok: value });
  } catch (error) {
    answer({ error: String(error) });
  }
  releaseRows();
}

/** Tries the waiting request again: something changed. */
function wake(): void {
  progress = Date.now();
  if (waiting) proceed();
}

const watched = new WeakSet<Gtk.Window>();
function watch(): void {
  for (const window of Gtk.Window.list_toplevels() as Gtk.Window[]) {
    if (watched.has(window)) continue;
    watched.add(window);
    const follow = () => {
      const clock = window.get_frame_clock();
      clock?.connect('after-paint', () => {
        if (frames !== null) frames++;
        wake();
      });
    };
    if (window.get_frame_clock()) follow();
    else window.connect('realize', follow);
    window.connect('unmap', () => GLib.idle_add(GLib.PRIORITY_LOW, once(wake)));
  }
}

function once(work: () => void): () => boolean {
  return () => {
    work();
    return GLib.SOURCE_REMOVE;
  };
}

setInterval(() => {
  if (!waiting) return;
  const now = Date.now();
  if (now - progress < STALLED_MS && now - waiting.since < LONGEST_MS) return;
  const { request } = waiting;
  answer({ error: `${JSON.stringify(request)} did not come true; on screen: ${[...new Set(allNames())].join(' | ')}` });
}, 500);

Gtk.Window.get_toplevels().connect('items-changed', () => {
  watch();
  GLib.idle_add(GLib.PRIORITY_LOW, once(wake));
});

/** Moved to its own namespace in GLib 2.80; Debian 12 has 2.74. */
type InputStream = new (properties: { fd: number; close_fd: boolean }) => Gio.InputStream;
const { gi } = (globalThis as unknown as { imports: { gi: Record<string, Record<string, InputStream>> } }).imports;
function unixInputStream(): InputStream {
  try {
    return gi.GioUnix!.InputStream!;
  } catch {
    return gi.Gio!.UnixInputStream!;
  }
}
const input = new Gio.DataInputStream({ base_stream: new (unixInputStream())({ fd: 0, close_fd: false }) });
function read(): void {
  input.read_line_async(GLib.PRIORITY_DEFAULT, null, (_source: unknown, result: Gio.AsyncResult) => {
    const [line] = input.read_line_finish_utf8(result);
    if (line === null) return;
    queue.push(JSON.parse(line) as Request);
    subscribe();
    proceed();
    read();
  });
}

let subscribed = false;
function subscribe(): void {
  const model = panel()?.model;
  if (subscribed || !model) return;
  subscribed = true;
  model.subscribe(() => GLib.idle_add(GLib.PRIORITY_LOW, once(wake)));
}
read();
