// The page of the tunnel: one switch, the state in words, and the figures while it runs.
import './resource.ts';
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango?version=1.0';
import type { ActionName, Mode, Protocol, Snapshot } from '../../daemon/api/schema.ts';
import { formatBytes, formatDuration, formatLatency, formatLoss } from '../format.ts';
import { _, words } from '../i18n.ts';
import { durationTitle, modeName, type Tone, type View } from '../view.ts';
import { fill } from '../words.ts';
import { Choice } from './choice.ts';
import { Columns } from './columns.ts';
import { announce } from './compat.ts';
import type { Graph } from './graph.ts';
import './graph.ts';

const MODES: Mode[] = ['warp', 'warp+doh', 'warp+dot', 'doh', 'dot', 'proxy', 'tunnel_only'];
const PROTOCOLS: Protocol[] = ['MASQUE', 'WireGuard'];
const TONES: Tone[] = ['success', 'accent', 'warning', 'error', 'neutral'];

export class ConnectionPage extends Adw.Bin {
  static {
    GObject.registerClass(
      {
        GTypeName: 'CulvertConnectionPage',
        Template: 'resource:///org/culvert/Culvert/ui/connection-page.ui',
        InternalChildren: [
          ...['columns', 'hero', 'icon', 'state', 'sentence', 'reason', 'toggle', 'choice', 'connect', 'disconnect'],
          ...['details', 'figures', 'latency', 'loss', 'graph', 'facts', 'mode', 'protocol'],
        ],
      },
      ConnectionPage,
    );
  }
  // `declare`: a field would overwrite what the template set
  declare readonly _columns: Gtk.Box;
  declare readonly _hero: Gtk.Box;
  declare readonly _icon: Gtk.Image;
  declare readonly _state: Gtk.Label;
  declare readonly _sentence: Gtk.Label;
  declare readonly _reason: Gtk.Label;
  declare readonly _toggle: Gtk.Switch;
  declare readonly _choice: Gtk.Box;
  declare readonly _connect: Gtk.Button;
  declare readonly _disconnect: Gtk.Button;
  declare readonly _details: Gtk.Box;
  declare readonly _figures: Gtk.Box;
  declare readonly _latency: Gtk.Label;
  declare readonly _loss: Gtk.Label;
  declare readonly _graph: Graph;
  declare readonly _facts: Adw.PreferencesGroup;
  declare readonly _mode: Adw.ComboRow;
  declare readonly _protocol: Adw.ComboRow;

  readonly #perform: (action: ActionName, value?: string) => void;
  readonly #mode: Choice;
  readonly #protocol: Choice;
  readonly #rows: Record<'duration' | 'endpoint' | 'colo' | 'transport' | 'received' | 'sent', FactRow>;
  #view: View | null = null;
  #snapshot: Snapshot | null = null;
  #settingSwitch = false;

  /** @param perform asks the daemon for an action; it comes back through `show`. */
  constructor(perform: (action: ActionName, value?: string) => void) {
    super();
    this.#perform = perform;
    this._columns.layout_manager = new Columns();
    this.#mode = new Choice(
      this._mode,
      MODES,
      mode => modeName(mode, words).title,
      mode => perform('setMode', mode),
    );
    this.#protocol = new Choice(
      this._protocol,
      PROTOCOLS,
      name => name,
      name => perform('setProtocol', name),
    );
    this.#rows = {
      duration: this.#row(''),
      endpoint: this.#row(_('Endpoint')),
      colo: this.#row(_('Data centre')),
      transport: this.#row(_('Transport')),
      received: this.#row(_('Received')),
      sent: this.#row(_('Sent')),
    };
    this._toggle.connect('state-set', () => this.#flipped());
    this._connect.connect('clicked', () => perform('connect'));
    this._disconnect.connect('clicked', () => perform('disconnect'));
  }

  /** Shows a state; the switch stands where that state says, whatever was clicked. */
  showState(view: View, snapshot: Snapshot | null): void {
    const before = this.#view;
    [this.#view, this.#snapshot] = [view, snapshot];
    this._icon.icon_name = view.icon;
    for (const tone of TONES) {
      if (tone === view.tone) this._hero.add_css_class(`tone-${tone}`);
      else this._hero.remove_css_class(`tone-${tone}`);
    }
    this._state.label = view.label;
    this._sentence.label = view.sentence;
    this._reason.label = view.reason ?? '';
    this._reason.visible = view.reason !== null;
    if (before && before.look !== view.look) announce(this._state, view.label);

    const either = view.look === 'unknown' && view.settable;
    this._choice.visible = either;
    this._toggle.visible = !either;
    this.#setSwitch(view.toggle.on);
    this._toggle.sensitive = view.toggle.sensitive;
    this._toggle.tooltip_text = view.toggle.sensitive ? view.toggle.label : '';

    this._details.sensitive = view.look !== 'unavailable';
    this.#mode.show(view.mode, view.settable);
    this._mode.subtitle = view.mode === null ? '' : modeName(view.mode, words).subtitle;
    this.#protocol.show(view.protocol, view.settable);
    this.#showTunnel(before);
  }

  /** Moves what only time moves. */
  tick(): void {
    const { duration } = this.#rows;
    const title = this.#view && durationTitle(this.#view.look, words);
    if (!title || !this.#snapshot) {
      duration.show(null);
      return;
    }
    duration.row.title = title;
    const since = new Date(this.#snapshot.status.since);
    duration.show(formatDuration((Date.now() - since.getTime()) / 1000, words));
    duration.row.tooltip_text = fill(_('Since %s'), since.toLocaleString());
  }

  #showTunnel(before: View | null): void {
    const { live, look } = this.#view!;
    const tunnel = this.#snapshot?.tunnel;
    this._facts.visible = look !== 'unavailable';
    this._figures.visible = live && (tunnel?.latencyMs ?? null) !== null;
    if (before?.live && !live) this._graph.clear();
    this.tick();
    const { duration: _ticking, ...rows } = this.#rows;
    if (!live || !tunnel) {
      for (const row of Object.values(rows)) row.show(null);
      return;
    }
    rows.endpoint.show(tunnel.endpoints.filter(address => !/^(::|0\.0\.0\.0)$/.test(address)).join('\n') || null);
    rows.colo.show(tunnel.colo);
    rows.transport.show(tunnel.protocol);
    rows.received.show(tunnel.bytesReceived === null ? null : formatBytes(tunnel.bytesReceived, words));
    rows.sent.show(tunnel.bytesSent === null ? null : formatBytes(tunnel.bytesSent, words));
    this._latency.label = tunnel.latencyMs === null ? '–' : formatLatency(tunnel.latencyMs, words);
    this._loss.label = tunnel.loss === null ? '–' : formatLoss(tunnel.loss, words);
    this.#plot(tunnel);
  }

  #plotted: string | null = null;
  #plot({ at, latencyMs }: Snapshot['tunnel']): void {
    if (at === null || latencyMs === null || at === this.#plotted) return;
    this.#plotted = at;
    this._graph.push(latencyMs);
    const range = this._graph.range()!;
    this._graph.update_property(
      [Gtk.AccessibleProperty.LABEL],
      [
        // Translators: for screen readers; each %s is a latency such as 12 ms
        fill(
          _('Latency over time: from %s to %s, %s on average'),
          formatLatency(range.least, words),
          formatLatency(range.greatest, words),
          formatLatency(range.mean, words),
        ),
      ],
    );
  }

  /**
   * A click moves a GtkSwitch before it asks. It goes back at once to what is confirmed, and the event will move it;
   * not from within the signal, after which GtkSwitch still tells screen readers where it had been moved.
   */
  #flipped(): boolean {
    if (this.#settingSwitch || !this.#view) return false;
    void Promise.resolve().then(() => {
      const { toggle } = this.#view!;
      this.#setSwitch(toggle.on);
      if (toggle.sensitive && toggle.action) this.#perform(toggle.action);
    });
    return true;
  }

  #setSwitch(on: boolean): void {
    this.#settingSwitch = true;
    this._toggle.active = on;
    this._toggle.state = on;
    this.#settingSwitch = false;
  }

  #row(title: string): FactRow {
    const value = new Gtk.Label({
      selectable: true,
      wrap: true,
      wrap_mode: Pango.WrapMode.WORD_CHAR,
      natural_wrap_mode: Gtk.NaturalWrapMode.NONE,
      xalign: 1,
      justify: Gtk.Justification.RIGHT,
      css_classes: ['dim-label', 'numeric'],
    });
    value.can_focus = false;
    const row = new Adw.ActionRow({ title, activatable: false, focusable: true });
    row.add_suffix(value);
    this._facts.add(row);
    const show = (text: string | null) => {
      row.visible = text !== null;
      value.label = text ?? '';
      // the title is its name already
      row.update_property([Gtk.AccessibleProperty.DESCRIPTION], [text ?? '']);
    };
    show(null);
    return { row, show };
  }
}

interface FactRow {
  row: Adw.ActionRow;
  /** null takes the row away. */
  show(text: string | null): void;
}
