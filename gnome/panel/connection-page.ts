// The page of the tunnel: one switch, the state in words, and the figures while it runs.
import './resource.ts';
import Adw from 'gi://Adw?version=1';
import GObject from 'gi://GObject?version=2.0';
import Gtk from 'gi://Gtk?version=4.0';
import type { Mode, Protocol, Snapshot } from '../../daemon/api/schema.ts';
import { describeProxy } from '../apps-view.ts';
import { formatBytes, formatDuration, formatLatency, formatLoss } from '../format.ts';
import { _, words } from '../i18n.ts';
import { describe, durationTitle, modeName, type Tone, type View } from '../view.ts';
import { fill } from '../words.ts';
import { Choice } from './choice.ts';
import { Columns } from './columns.ts';
import { announce } from './compat.ts';
import { type ConfirmedSwitch, confirmSwitch } from './confirmed-switch.ts';
import { copyButton } from './copy.ts';
import { type FactRow, factRow } from './fact-row.ts';
import type { Graph } from './graph.ts';
import './graph.ts';
import { KillSwitchGroup } from './killswitch-group.ts';
import type { Shell } from './shell.ts';

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

  readonly #shell: Shell;
  readonly #switch: ConfirmedSwitch;
  readonly #mode: Choice;
  readonly #protocol: Choice;
  #rows: Rows | null = null;
  #view: View | null = null;
  #snapshot: Snapshot | null = null;

  constructor(shell: Shell) {
    super();
    this.#shell = shell;
    this._columns.layout_manager = new Columns();
    this.#mode = new Choice(
      this._mode,
      MODES,
      mode => modeName(mode, words).title,
      mode => void shell.perform('setMode', mode),
    );
    this.#protocol = new Choice(
      this._protocol,
      PROTOCOLS,
      name => name,
      name => void shell.perform('setProtocol', name),
    );
    this.#switch = confirmSwitch(this._toggle, () => {
      const action = this.#view?.toggle.action;
      if (action) void shell.perform(action);
    });
    this._connect.connect('clicked', () => void shell.perform('connect'));
    this._disconnect.connect('clicked', () => void shell.perform('disconnect'));
  }

  refreshState(): void {
    const before = this.#view;
    const facts = this.#shell.model.facts();
    const view = describe(facts, words);
    [this.#view, this.#snapshot] = [view, facts.snapshot];
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
    this.#switch.show(view.toggle.on, view.toggle.sensitive);
    this._toggle.tooltip_text = view.toggle.sensitive ? view.toggle.label : '';

    this._details.sensitive = view.look !== 'unavailable';
    // nothing of this is known, or shown, before the first snapshot
    if (facts.snapshot) this.#rows ??= this.#build();
    this.#rows?.killSwitch.refreshState();
    this.#rows?.proxy.show(describeProxy(facts, words).address);
    this.#mode.show(view.mode, view.settable);
    this._mode.subtitle = view.mode === null ? '' : modeName(view.mode, words).subtitle;
    this.#protocol.show(view.protocol, view.settable);
    this.#showTunnel(before);
  }

  /** Moves what only time moves. */
  tick(): void {
    if (!this.#rows) return;
    this.#rows.killSwitch.tick();
    const { duration } = this.#rows.facts;
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
    if (!this.#rows) return;
    const { duration: _ticking, ...rows } = this.#rows.facts;
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

  #build(): Rows {
    const row = (title: string) => factRow(this._facts, title);
    const facts = {
      duration: row(''),
      endpoint: row(_('Endpoint')),
      colo: row(_('Data centre')),
      transport: row(_('Transport')),
      received: row(_('Received')),
      sent: row(_('Sent')),
    };
    const address = () => describeProxy(this.#shell.model.facts(), words).address ?? '';
    const copied = () => this.#shell.say(_('Copied to the clipboard'));
    const proxy = factRow(this._facts, _('Local proxy'), copyButton(_('Copy the proxy’s address'), address, copied));
    const killSwitch = new KillSwitchGroup(this.#shell);
    this._columns.append(killSwitch);
    return { facts, proxy, killSwitch };
  }
}

interface Rows {
  facts: Record<'duration' | 'endpoint' | 'colo' | 'transport' | 'received' | 'sent', FactRow>;
  proxy: FactRow;
  killSwitch: KillSwitchGroup;
}
